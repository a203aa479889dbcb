"""Loops over whole arrays are served by their region or by traces of their iterations, whichever is faster: what is asserted here
is that both give NumPy's bits, in whatever order they take turns, and that the report says who serves."""

import pytest
from process import run_program

PROGRAM = """
import numpy as np
import stator


def plain(x, y, n):
    total = np.zeros(x.shape[1:])
    seen = []
    for k in range(n):
        z = x * y + k
        total = total + z.sum(axis=0)
        if k == n // 2:
            seen.append(z[0].copy())
        x = np.maximum(x, z * 0.01)
    return x, total, seen


f = stator.compile(plain)
rng = np.random.default_rng(1)
turns = set()
for shape in [(40, 30), (3, 2), (40, 30), (300, 20), (1, 1)]:
    x, y = rng.random(shape), rng.random(shape)
    for _ in range(8):
        for n in (1, 7, 30):
            got, expected = f(x, y, n), plain(x, y, n)
            assert [a.tobytes() for a in got[:2]] == [a.tobytes() for a in expected[:2]]
            assert [a.tobytes() for a in got[2]] == [a.tobytes() for a in expected[2]]
        stator.wait()
    turns |= {bool(r.error) for r in f.regions}
print(sorted(turns), sum(t.entries for t in f.traces if "maximum" in t.graph_text))
print(stator.explain(f)(x, y, 30))
"""

# Who wins is the machine's; that traces get their turn is not. The loop alone calls `maximum`, so entries of a trace with
# it are iterations that a trace served.
ALWAYS = "duel_least=0,duel_runs=1,duel_few=1000000"


@pytest.mark.parametrize(
    "tune",
    [
        ALWAYS,
        f"{ALWAYS},duel_growth=1,duel_reopened=1000000,duel_window=2,duel_iterations=5",
        "duel_least=1000000000",
    ],
)
def test_both_ways_have_the_same_bits(tune):
    done = run_program(PROGRAM, STATOR_RETIRE="1", STATOR_TUNE=tune)
    assert done.returncode == 0, done.stderr
    never = tune == "duel_least=1000000000"
    turns = done.stdout.splitlines()[0]
    if never:
        assert turns.startswith("[False]")
    else:  # five sizes, each of which is compared
        assert int(turns.split()[-1]) >= 20


NESTED = """
import numpy as np
import stator


def plain(x, y, n):
    total = np.zeros(x.shape[1:])
    t = 0.0
    for k in range(n):
        z = x * y + k
        for i in range(3):
            t += z[0, i % z.shape[1]]
        for row in range(x.shape[0]):
            x[row] = np.maximum(x[row], z[row] * 0.01)
        total = total + z.sum(axis=0)
    return x, total, t


f = stator.compile(plain)
rng = np.random.default_rng(1)
for shape in [(40, 30), (3, 2), (40, 30), (300, 20), (1, 1)]:
    x, y = rng.random(shape), rng.random(shape)
    for _ in range(8):
        for n in (1, 7, 60):
            got, expected = f(x.copy(), y, n), plain(x.copy(), y, n)
            assert [np.asarray(a).tobytes() for a in got] == [np.asarray(a).tobytes() for a in expected]
        stator.wait()
print(sum(t.entries for t in f.traces if "reduce add" in t.graph_text))
"""


@pytest.mark.parametrize(
    "tune", [f"{ALWAYS},duel_instruction=0", f"{ALWAYS},duel_instruction=0,duel_window=2,duel_iterations=5"]
)
def test_loops_with_loops_inside_take_turns(tune):
    done = run_program(NESTED, STATOR_RETIRE="1", STATOR_TUNE=tune)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 100


SLOWER = """
import numpy as np
import stator


@stator.compile
def f(x, y, n):
    for _ in range(n):
        r = x[:, None] * y[None, :]
    return r


x, y = np.random.rand(20, 20, 3), np.random.rand(20, 20, 3)
for _ in range(30):
    f(x, y, 20)
    stator.wait()
print(stator.explain(f)(x, y, 20))
print([r.error for r in f.regions])
"""


def test_explain_says_who_serves():
    """Where traces won; on a machine on which they do not there is nothing to say."""
    done = run_program(SLOWER, STATOR_RETIRE="1")
    assert done.returncode == 0, done.stderr
    if "they serve" in done.stdout:
        assert "1 array operation in 1 trace" in done.stdout and "1 loop in native code" not in done.stdout


def test_nothing_is_compared_where_nothing_is_judged():
    done = run_program(PROGRAM, STATOR_RETIRE="0", STATOR_TUNE=ALWAYS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("[False]")
