"""A frame that was handed to the evaluator, because its loop's code took longer to make than the purse allows, comes back when
the code is there: in the middle of the loop, and without anybody being able to tell."""

import pytest
from process import run_program

# Nothing may be spent on waiting: what waits for code is handed over at once.
TUNE = "investments_overdraft=0,recall_first_look=100000,settled_each=1"

NEST = """
import sys, numpy as np
import stator

def nearest(points, centres, rounds):
    found = np.zeros(len(points), np.int64)
    moved = 0.0
    for r in range(rounds):
        for i in range(len(points)):
            least = np.inf
            for k in range(len(centres)):
                d = 0.0
                for c in range(3):
                    d += (points[i, c] - centres[k, c]) ** 2
                if d < least:
                    least = d
                    found[i] = k
            moved += least * (r + 1)
    return found, moved

rng = np.random.default_rng(1)
points, centres = rng.random((2000, 3)), rng.random((8, 3))
compiled = stator.compile(nearest)
for rounds in (1, 3, 10, 30, 100, 300):
    got = compiled(points, centres, rounds)
    want = nearest(points, centres, rounds) if rounds < 10 else got
    assert got[0].tobytes() == want[0].tobytes() and got[1] == want[1]
    if compiled.stats()["recalls"]:
        break
print(compiled.stats()["recalls"] > 0)
"""

# What is bound, what lies on the stack, and what a closure has, where a frame is recalled. Each length has a function of its
# own, whose code is not there yet.
STATE = """
import sys, weakref, numpy as np
import stator

SOURCE = '''
def f(n, rows, x):
    thing = Thing()
    dies = weakref.ref(thing)
    def inner():
        return total
    total, seen, unbound = 0.0, [], None
    del unbound
    for name in ("a", "b"):
        for row in rows:
            for i in range(n):
                total += x[i % 7] * row[0] + NUMBER
            seen.append(name)
    try:
        unbound
    except UnboundLocalError:
        seen.append("unbound")
    assert dies() is thing
    del thing
    assert dies() is None
    return total, inner(), seen, sorted(locals())
'''

class Thing:
    pass

x = np.arange(7.0)
rows = [(1.0,), (2.0,), (3.0,)]
before = sys.getrefcount(rows), sys.getrefcount(rows[1])
for n in (300_000, 1_000_000, 3_000_000, 10_000_000):
    names = dict(Thing=Thing, weakref=weakref)
    exec(SOURCE.replace("NUMBER", str(n)), names)
    compiled = stator.compile(names["f"])
    got = compiled(n, rows, x)
    recalls = compiled.stats()["recalls"]
    if recalls:
        break
assert got == names["f"](n, rows, x), (got, names["f"](n, rows, x))
del compiled, names
assert before == (sys.getrefcount(rows), sys.getrefcount(rows[1]))
print(recalls > 0)
"""

# A frame that somebody holds, or that handles exceptions of the loop, stays where it is: nobody may see another one.
HELD = """
import sys, numpy as np
import stator

def held(n, x):
    frame = sys._getframe()
    total = 0.0
    for i in range(n):
        total += x[i % 7]
    assert frame is sys._getframe() and frame.f_locals["total"] == total
    return total

def handled(n, x):
    total = 0.0
    try:
        for i in range(n):
            total += x[i % 7]
    except BaseException as e:
        raise AssertionError(repr(e))
    return total

x = np.arange(7.0)
for f in (held, handled):
    compiled = stator.compile(f)
    for n in (10, 200_000, 400_000):
        assert compiled(n, x) == f(n, x)
    print(compiled.stats()["recalls"] == 0)
"""


# Whoever sets a trace function in a frame, gives the function other code, or uses up the recursion limit, sees one frame.
LOOKS = """
import sys, numpy as np
import stator

def arm(trace):
    sys._getframe(1).f_trace = trace

def traced(n, x):
    events = []
    def trace(frame, event, arg):
        events.append(event)
        return trace
    arm(trace)
    t = 0.0
    for i in range(n):
        t += x[i % 7] + 1.0
    sys.settrace(trace)
    t += 1
    t += 2
    sys.settrace(None)
    return t, events

x = np.arange(7.0)
compiled = stator.compile(traced)
for n in (10, 300_000, 300_001):
    assert compiled(n, x) == traced(n, x)

def other(n, x):
    return -1

def swapped(n, x):
    a = b = c = d = e = 0
    t = 0.0
    for i in range(n):
        if i == n // 50:
            this.__code__ = other.__code__
        t = 1.5 - t + x[i % 7]
    return t, i

code = swapped.__code__
this = swapped
expected = swapped(600_000, x)
swapped.__code__ = code
this = stator.compile(swapped)
assert this(600_000, x) == expected

# Nothing of an exception that is being handled outlives it.
import gc, weakref
class Failure(Exception):
    pass
def handles(n, x):
    t = 0.0
    for r in range(6):
        for i in range(n):
            t = 1.5 - t + x[i % 7]
    return t
compiled = stator.compile(handles)
gc.disable()
try:
    raise Failure
except Failure as failure:
    dies = weakref.ref(failure)
    assert compiled(200_000, x) == handles(200_000, x)
    assert sys.exc_info()[1] is failure and failure.__context__ is None
assert dies() is None
gc.enable()

def deepest(k=0):
    try:
        return deepest(k + 1)
    except RecursionError:
        return k

def recursive(n, x):
    t, depths = 0.0, []
    for r in range(6):
        for i in range(n):
            t = 1.5 - t + x[i % 7]
        depths.append(deepest())
    return t, depths

compiled = stator.compile(recursive)
t, depths = recursive(200_000, x)
got, others = compiled(200_000, x)
assert got == t and min(others) >= min(depths) - 2, (others, depths)
print(True)
"""


@pytest.mark.parametrize("program", [NEST, STATE, HELD, LOOKS], ids=["nest", "state", "held", "looks"])
def test_frames_come_back(program, tmp_path):
    done = run_program(program, STATOR_RETIRE="1", STATOR_TUNE=TUNE, STATOR_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"True"}, done.stdout + done.stderr


RAISES = """
import traceback, numpy as np
import stator

SOURCE = '''
def f(n, x, bad):
    total = 0.0
    for r in range(3):
        for i in range(n):
            total += x[i % 7] + NUMBER
        rounds = r
    return x[bad]
'''

x = np.arange(7.0)
for n in (300_000, 1_000_000, 3_000_000, 10_000_000):
    names = {}
    exec(SOURCE.replace("NUMBER", str(n)), names)
    f = stator.compile(names["f"])
    try:
        f(n, x, 9)
    except IndexError as e:
        tb = e.__traceback__.tb_next
        assert e.__context__ is None and tb.tb_next is None
        names = tb.tb_frame.f_locals
        assert sorted(names) == ["bad", "i", "n", "r", "rounds", "total", "x"], names
        assert (names["i"], names["r"], names["n"]) == (n - 1, 2, n)
    recalls = f.stats()["recalls"]
    if recalls:
        break
print(recalls > 0)
"""


def test_a_traceback_shows_one_frame(tmp_path):
    done = run_program(RAISES, STATOR_RETIRE="1", STATOR_TUNE=TUNE, STATOR_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"], done.stdout + done.stderr
