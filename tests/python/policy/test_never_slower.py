"""What does not pay is given up: in the middle of a call, for the kinds of arguments that it was tried with, and not for good.

Nothing here asserts on time: what is decided by counts is looked at, at margins of ten and more.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import stator
from stator import _stator

from tests.python.process import run_program


@pytest.fixture(autouse=True)
def retirement() -> Iterator[None]:
    stator.options.retire = True
    stator.reset()  # what tests before this one have spent is not this one's
    yield
    stator.options.retire = False


def reasons(f: Any, *args: Any) -> str:
    return "\n".join(str(r) for r in stator.explain(f)(*args).reasons)


def test_a_loop_that_is_left_each_iteration_goes_on_in_python_within_one_call() -> None:
    def mixed(seed: int, n: int) -> Any:
        state, mask, out = seed, (1 << 96) - 1, np.empty(n, np.uint64)
        for i in range(n):
            state = (state * 0x9E3779B97F4A7C15F39CC0605 + i) & mask
            out[i] = state >> 40 & 0xFFFFFFFF
        return out, state

    f = stator.compile(mixed)
    out, state = f(12345 << 70, 50_000)
    expected, last = mixed(12345 << 70, 50_000)
    assert out.tobytes() == expected.tobytes() and state == last
    stats = f.stats()
    assert stats["kernels_launched"] < 25_000, "the rest of the loop ran in Python"


def test_shortest_paths_with_a_heap() -> None:
    def dijkstra(adj: Any, s: int) -> Any:
        n = adj.shape[0]
        d = np.full(n, np.inf)
        d[s] = 0
        queue = [(0.0, s)]
        while queue:
            near, u = heapq.heappop(queue)
            if near > d[u]:
                continue
            for v in range(n):
                w = adj[u, v]
                if w > 0 and near + w < d[v]:
                    d[v] = near + w
                    heapq.heappush(queue, (near + w, v))
        return d

    r = np.random.default_rng(0)
    adj = np.where(r.random((50, 50)) < 0.2, r.random((50, 50)), 0)
    f, expected = stator.compile(dijkstra), dijkstra(adj, 0)
    for _ in range(40):
        assert f(adj, 0).tobytes() == expected.tobytes()
        stator.wait()
    served = f.stats()["kernels_launched"]
    for _ in range(400):
        f(adj, 0)
    # It has 200 exits a call, and is tried again now and then.
    assert f.stats()["kernels_launched"] - served < 400 * 70


def test_what_is_given_up_for_ints_is_open_for_floats() -> None:
    def powers(a: Any, k: int) -> Any:
        s = 0
        for i in range(len(a)):
            s = s + a[i] ** k
        return s

    f, ints, floats = stator.compile(powers), np.arange(300), np.arange(300.0)
    for _ in range(60):
        assert f(ints, 3) == powers(ints, 3)
        stator.wait()
    before = f.stats()["served"]
    for _ in range(60):
        assert f(floats, 3) == powers(floats, 3)
        stator.wait()
    assert f.stats()["served"] - before > 20
    assert f(ints, 3) == powers(ints, 3)


def test_calls_that_raise_are_compared_with_calls_that_raise() -> None:
    def store(a: Any, o: Any) -> Any:
        for i in range(len(a)):
            o[i] = a[i]
        return o

    f = stator.compile(store)
    for k in range(200):
        with pytest.raises(OverflowError):
            f([1, 2, 300, 4], np.zeros(4, np.uint8))
        if k % 20 == 0:
            stator.wait()
    stats = f.stats()
    assert stats["eager_calls"] > 100 or stats["served"] < 100, stats


def test_loops_of_a_few_short_iterations_are_no_regions_in_their_first_call() -> None:
    def few(n: int) -> int:
        s = 0
        for i in range(n):
            s += i * i
        return s

    f = stator.compile(few)
    assert f(3) == 5
    assert f.stats()["regions"] == 0
    assert f(30_000) == few(30_000)
    assert f.stats()["regions"] == 1


def test_a_function_that_was_given_up_is_tried_with_larger_arrays_at_once() -> None:
    def f(x: Any) -> Any:
        return x[0] + 1

    def g(x: Any) -> Any:
        return (x * 2 + 1).sum() + f(x)

    h, small, large = stator.compile(g), np.ones(2), np.ones(2_000_000)
    for _ in range(300):
        h(small)
    before = h.stats()["served"]
    for _ in range(6):
        assert h(large) == g(large)
        stator.wait()
    assert h.stats()["served"] > before


EXECUTED = """
import numpy as np, stator
x = np.linspace(0.0, 1.0, 50)
compiled = stator.compile if {decorated} else lambda f: f
def executed(times):
    space = {{"np": np}}
    exec("def f(t):\\n    return np.abs(t - 0.5).sum()\\n", space)
    f = compiled(space["f"])
    for k in range(times):
        f(x)
for k in range({functions}):
    # A purse of its own for each: what the code of another one took on a busy machine decides nothing here.
    stator.options.retire = False
    stator.options.retire = True
    executed({times})
s = stator.stats()
print(s["recordings"], s["served"])
"""


@pytest.mark.parametrize("decorated", [True, False])
def test_functions_of_one_text_that_never_pay_are_begun_with_ever_later(decorated: bool) -> None:
    program = EXECUTED.format(decorated=decorated, functions=300, times=1)
    done = run_program(program, STATOR="1" if decorated else "all", STATOR_ASYNC="0", STATOR_RETIRE="1")
    assert int(done.stdout.split()[0]) <= (2 if decorated else 30)


def test_functions_of_one_text_that_pay_are_begun_with_at_once() -> None:
    done = run_program(
        EXECUTED.format(decorated=True, functions=10, times=200), STATOR_ASYNC="0", STATOR_RETIRE="1"
    )
    recordings, served = map(int, done.stdout.split())
    assert recordings >= 10 and served > 500


def test_what_many_functions_may_lose_before_one_has_won_comes_out_of_one_purse() -> None:
    source = """
def f{k}(x, n):
    names, s = {{}}, {k}
    for i in range(n):
        names[str(i)] = float(x[i % 8]) + {k}
        s += len(names)
    return s
"""
    x = np.arange(8.0)
    for k in range(120):
        namespace: dict[str, Any] = {}
        exec(source.format(k=k), namespace)
        plain = namespace[f"f{k}"]
        f, expected = stator.compile(plain), plain(x, 500)
        for _ in range(4):
            assert f(x, 500) == expected
    # A function of its own allowance each would come to a hundred milliseconds, ns.
    assert _stator.purse()["trials"] > -5_000_000


def test_what_was_spent_on_trials_that_were_won_is_given_back() -> None:
    @stator.compile
    def f(x: Any) -> Any:
        return np.sqrt(x * x + 1.0) - x / 3.0 + (x - 1.0) * 2.0

    before = lowest = _stator.purse()["trials"]
    x = np.arange(1000.0)
    for _ in range(200):
        f(x)
        stator.wait()
        lowest = min(lowest, _stator.purse()["trials"])
    assert f.stats()["replays"] > 100
    assert lowest < before, "finding out that it pays costs something"
    assert before - _stator.purse()["trials"] < (before - lowest) / 10
