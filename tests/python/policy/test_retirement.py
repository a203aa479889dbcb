"""Functions that plain Python is faster for run as that; others keep their compiled code."""

from __future__ import annotations

import numpy as np
import pytest
import stator

from tests.python.process import run_program


@pytest.fixture(autouse=True)
def retirement():
    stator.options.retire = True
    yield
    stator.options.retire = False


def test_a_function_that_is_stepped_over_is_retired() -> None:
    # Its loop is stepped, because the function that it calls has one that might become a region.
    def told(k):
        while k > 5_000:
            k -= 1
        return str(k)

    def f(x):
        y = x + 1
        for k in range(300):
            told(k)
        return y

    g, x = stator.compile(f), np.arange(3.0)
    for _ in range(40):
        assert g(x).tobytes() == f(x).tobytes()
        stator.wait()
    stats = g.stats()
    assert stats["retired"] >= 1 and stats["eager_calls"] > 10, stats
    assert any(r.reason == "Unprofitable" for r in stator.explain(g)(x).reasons)


def test_what_was_given_up_is_tried_when_arrays_come() -> None:
    @stator.compile
    def f(x):
        return x * 2 + 1

    for _ in range(50):
        assert f(1.5) == 4.0
    assert f.stats()["replays"] == 0
    x = np.arange(100.0)
    for _ in range(50):
        assert f(x).tobytes() == (x * 2 + 1).tobytes()
        stator.wait()
    assert f.stats()["replays"] > 30
    assert f(1.5) == 4.0


def test_a_helpable_function_is_served_at_every_size() -> None:
    @stator.compile
    def f(x, y):
        return x * y + y * 2 - x / (y + 1) + x * x - y * y

    for n in (2_000, 10_000, 2_000, 30_000, 5_000):  # by a wide margin, on busy machines too
        x = np.linspace(1, 2, n)
        for _ in range(12):
            f(x, x)
            stator.wait()
    stats = f.stats()
    assert stats["retired"] == 0 and stats["eager_calls"] == 0, stats


def test_fullgraph_is_never_left_to_python() -> None:
    @stator.compile(fullgraph=True)
    def f(x):
        return x + 1

    x = np.ones(200_000)
    for _ in range(30):
        f(x)
        stator.wait()
    assert f.stats()["eager_calls"] == 0


@pytest.mark.parametrize("shape", [(), (1,), (5,)])
def test_zero_dimensional_arrays_are_compiled(shape: tuple) -> None:
    @stator.compile
    def f(x, y):
        return x * y + x / y - 2

    x, y = np.full(shape, 1.5), np.full(shape, 2.5)
    for _ in range(5):
        found, expected = f(x, y), f.__wrapped__(x, y)
        assert type(found) is type(expected) and found.tobytes() == expected.tobytes()
        stator.wait()
    assert f.stats()["replays"] >= 1  # the judge may have some of the four run plainly


def test_a_replay_of_less_than_it_takes_itself_is_retired() -> None:
    """An element is read in 50 ns: less than clocks of CPU time can tell. Of five functions one may win its trial by chance."""
    program = """
import numpy as np, stator
x, served = np.ones(10), []
for n in range(5):
    g = stator.compile(eval(f"lambda x: x[{n}]"))
    for k in range(3000):
        g(x)
    served.append(g.stats()["served"])
print(sorted(served)[2])
"""
    assert int(run_program(program, STATOR_ASYNC="0", STATOR_RETIRE="1").stdout) < 2000


def test_a_replay_that_pays_is_not_given_up_for_what_a_frame_costs() -> None:
    """Under STATOR=all; what its calls cost, the judge has seen. Of three functions two may lose a trial by chance."""
    program = """
import numpy as np, stator
v, served = np.ones(3), []
for n in range(3):
    exec(f"def normalize(v):\\n    n = np.linalg.norm(v)\\n    return v / n if n else v + {n}")
    before = stator.stats()["served"]
    for k in range(20000):
        normalize(v)
    served.append(stator.stats()["served"] - before)
print(max(served))
"""
    # With NumPy answered by stator plain Python needs half as long, and may win.
    environment = {"STATOR": "all", "STATOR_ASYNC": "0", "STATOR_RETIRE": "1", "STATOR_HOST_CALLS": "0"}
    assert int(run_program(program, **environment).stdout) > 5000


def test_what_was_spent_while_nothing_was_judged_is_owed_by_nobody() -> None:
    stator.options.retire = False
    x = np.arange(30.0)
    for n in range(200):
        stator.compile(eval(f"lambda x: np.sqrt(x * {n} + 1) + {n}"))(x)
    stator.options.retire = True
    f = stator.compile(lambda x: x * 2 + 1)
    for _ in range(4):
        f(x)
        stator.wait()
    assert f.stats()["recordings"] >= 1
