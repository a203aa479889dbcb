"""Calls of NumPy by code that is not compiled: what stator answers is what NumPy gives, and what a program sees around it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from process import run_program

from host_calls.sweep import PARTS

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests import levels  # noqa: E402

TESTS = Path(__file__).parents[1]
# Everything is recorded at once, served whatever it takes, and compiled before it is.
AT_ONCE = {
    "STATOR_RETIRE": "0",
    "STATOR_ASYNC": "0",
    # The fund pays for all recordings, however long they take on a busy machine.
    "STATOR_TUNE": "host_call_hot=0,host_call_paid=0,host_call_compiled=0,host_call_backoff=0,"
    "investments_begin=1000000000,investments_most_kept=1000000000",
}

# Parts of which all calls would take minutes; primes, so that no operand is always left out.
EVERY = {"operators": 19, "ufuncs": 7, "functions": 3}


# Loops of NumPy that other processors take: ufuncs and LAPACK are called as NumPy calls them.
@pytest.mark.parametrize(
    ("part", "level"), [*((part, "native") for part in sorted(PARTS)), ("ufuncs", "sse"), ("linalg", "sse")]
)
def test_every_kind_of_call_is_as_numpys(part, level):
    env = {k: v for k, v in os.environ.items() if not k.startswith("STATOR") or k == "STATOR_CACHE_DIR"}
    env |= AT_ONCE | levels.environment(level)
    done = subprocess.run(
        [sys.executable, "-m", "host_calls.sweep", part, str(EVERY.get(part, 1))],
        capture_output=True,
        text=True,
        cwd=TESTS,
        env=env,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " 0 differ" in done.stdout


HEATED = """
import sys, threading, traceback, warnings
import numpy as np
import stator

v, w = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])

def heat(f, *args):
    for _ in range(60):
        f(*args)
    before = stator.stats()["host_calls"]
    f(*args)
    return stator.stats()["host_calls"] > before
"""


def check(text, **environment):
    done = run_program(HEATED + text, **AT_ONCE | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_answers_begin_with_the_first_decorator_and_end_with_the_option():
    said = check("""
print(heat(np.cross, v, w))
stator.compile(lambda x: x)
print(heat(np.cross, v, w))
with stator.options(host_calls=False):
    print(heat(np.cross, v, w))
print(heat(np.cross, v, w))
print(heat(stator.disable(lambda: np.cross(v, w))))
""")
    assert said == ["False", "True", "False", "True", "False"]


def test_nothing_is_answered_where_it_is_switched_off():
    assert check("stator.compile(lambda x: x); print(heat(np.mean, v))", STATOR_HOST_CALLS="0") == ["False"]


EVERY_WAY = """
stator.compile(lambda x: x)
m = np.arange(4.0).reshape(2, 2)
def every_way():
    for _ in range(60):
        v + w; v < w; -v; v**2; m @ m; np.sin(v); v.astype(np.float32) * 2; np.arange(3) + v
        np.linalg.det(m); np.linspace(0.0, 1.0, 5); np.all(np.True_); v.dot(w); np.array([1.0, 2]); np.cross(v, w); v.mean()
        np.sum([1, 2, 3]); x = v.copy(); x += w; x[:2] *= 2
"""


def test_verify_compares_each_answer(tmp_path):
    """None differs; and where each is spoiled, NumPy's result is what the program gets, with a report and a case."""
    assert check(EVERY_WAY + "every_way(); print(stator.stats()['host_calls'] > 0)", STATOR_VERIFY="1") == [
        "True"
    ]
    said = check(
        EVERY_WAY
        + f"""
import os, pickle
os.chdir({str(tmp_path)!r})
from stator import _verify
from stator._stator import _testing
_testing.spoil_host_calls(True)
every_way()
names = {{d.split("NumPy's ")[1].split(" was")[0] for d in _verify.differences}}
print(sorted(names))
print(np.cross(v, w), v + w)
_testing.spoil_host_calls(False)
case = pickle.load(open("stator-verify-cross.pickle", "rb"))
print(case["function"], case["arguments"], case["numpy"], case["stator"])
""",
        STATOR_VERIFY="1",
    )
    answered = "** + - <=> @ add all array cross det dot linspace mean moveaxis multiply sin sum".split()
    wanted = f"{answered} [ 7. -0.5 -2. ] [1.5 1. 5. ]"
    wanted += " cross (array([1., 2., 3.]), array([ 0.5, -1. , 2. ])) [ 7. -0.5 -2. ] None"
    assert " ".join(said) == wanted


def test_tracers_and_profilers_see_numpys_own_functions():
    said = check("""
stator.compile(lambda x: x)
heat(np.mean, v)
def names(install):
    seen = set()
    install(lambda frame, event, arg: seen.add(frame.f_code.co_name))
    np.mean(v)
    install(None)
    return "_mean" in seen
print(names(sys.setprofile), names(sys.settrace))
""")
    assert said == ["True", "True"]


def test_tracers_and_profilers_see_what_is_answered_at_once():
    """Functions that need no trace: NumPy's own frames are seen, as without stator."""
    said = check("""
stator.compile(lambda x: x)
m = np.eye(3) + 1
calls = [lambda: np.linalg.det(m), lambda: np.linalg.norm(v), lambda: np.linspace(0.0, 1.0, 5), lambda: np.all(True),
         lambda: np.clip(v[0], 0.0, 1.0), lambda: np.dot(m, m)]
def events(install, f):
    seen = []
    install(lambda frame, event, arg: seen.append((event, frame.f_code.co_name)))
    f()
    install(None)
    return seen
for f in calls:
    for install in (sys.setprofile, sys.settrace):
        f()
        found = events(install, f)
        with stator.options(host_calls=False):
            print(found == events(install, f))
""")
    assert said == ["True"] * 12


def test_what_runs_code_of_the_program_is_not_recorded():
    """A recording that is dropped would have run it in vain."""
    said = check("""
stator.compile(lambda x: x)
class Counted:
    asked = 0
    def __array__(self, dtype=None, copy=None):
        Counted.asked += 1
        return np.arange(3)
    def __getattr__(self, name):
        Counted.asked += 1
        raise AttributeError(name)
    def __add__(self, other):
        Counted.asked += 1
        return 1.0
    __mul__ = __radd__ = __truediv__ = __lt__ = __add__
class Listed(list):
    def __iter__(self):
        Counted.asked += 1
        return super().__iter__()
    def __len__(self):
        Counted.asked += 1
        return super().__len__()
o = Counted()
objects = np.array([Counted(), Counted()], object)
calls = [lambda: np.take(v, o), lambda: np.take(v, Listed([1])), lambda: np.concatenate([v, o]), lambda: np.sum([o, o]),
         lambda: np.std(objects), lambda: np.median(o), lambda: np.where(o, v, v), lambda: np.vander(v, o)]
def counted(f):
    Counted.asked = 0
    for _ in range(60):
        try:
            f()
        except (TypeError, AttributeError, ValueError):
            pass
    return Counted.asked
for f in calls:
    with stator.options(host_calls=False):
        expected = counted(f)
    print(counted(f) == expected)
""")
    assert said == ["True"] * 8


def test_an_interrupt_while_a_call_is_recorded_arrives():
    said = check("""
import _thread
stator.compile(lambda x: x)
sent = []
def interrupt(event, args):
    if event == "compile" and not sent and str(args[1]).startswith("<numpy."):
        sent.append(True)
        _thread.interrupt_main()
sys.addaudithook(interrupt)
try:
    for _ in range(200):
        np.percentile(v, 50)
except KeyboardInterrupt:
    print("arrived", sent)
""")
    assert said == ["arrived", "[True]"]


def test_an_exception_has_numpys_frames():
    said = check("""
stator.compile(lambda x: x)
heat(np.cross, v, w)
heat(np.linalg.inv, np.eye(3))
def frames(f, *args):
    try:
        f(*args)
    except Exception as e:
        return [t.name for t in traceback.extract_tb(e.__traceback__)]
def both(f, *args):
    with stator.options(host_calls=False):
        expected = frames(f, *args)
    return frames(f, *args) == expected and len(expected) > 1
print(both(np.cross, v, np.zeros(5)), both(np.linalg.inv, np.zeros((3, 3))), both(np.mean, v, 4))
""")
    assert said == ["True", "True", "True"]


def test_classes_of_the_program_are_its_own():
    said = check("""
class Logged(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        calls.append(ufunc.__name__)
        return NotImplemented
    def __array_function__(self, function, types, args, kwargs):
        calls.append(function.__name__)
        return None
class Right:
    def __rmul__(self, other): calls.append("rmul"); return 1
    __array_ufunc__ = None
calls = []
stator.compile(lambda x: x)
heat(np.mean, v)
np.mean(v.view(Logged)); v * Right()
try: v.view(Logged) * 2
except TypeError: pass
print(calls)
""")
    assert "".join(said) == "['mean','rmul','multiply']"


def test_a_function_that_the_program_replaced_is_the_programs():
    said = check("""
stator.compile(lambda x: x)
heat(np.mean, v)
np.mean = lambda x: "mine"
print(np.mean(v))
""")
    assert said == ["mine"]


def test_a_function_of_which_nothing_is_served_is_given_back():
    said = check(
        """
stator.compile(lambda x: x)
def tried():
    for i in range(1000): np.mean(v)
    return stator.stats()["host_calls"]
print(tried() > 0, tried() == tried(), np.mean(v))
""",
        STATOR_RETIRE="1",
        STATOR_TUNE="host_call_hot=0,host_call_gain=1,host_call_given_back=10",
    )
    assert said == ["True", "True", "2.0"]


def test_a_trace_that_calls_numpy_itself_is_not_tried():
    said = check(
        """
stator.compile(lambda x: x)
for i in range(1000): np.sort(v)
print(stator.stats()["host_calls"])
""",
        STATOR_RETIRE="1",
        STATOR_TUNE="host_call_hot=0",
    )
    assert said == ["0"]


def test_calls_that_want_traces_of_their_own_are_all_served():
    """Of each shift and axis; none is recorded in vain while others are served, none is left to NumPy for the others' sake."""
    assert check("""
stator.compile(lambda x: x)
g = np.arange(36).reshape(6, 6) % 5
with stator.options(host_calls=False):
    expected = {(i, k): np.roll(g, i, k) for i in (-1, 0, 1) for k in (0, 1)}
def turn():
    for (i, k), rolled in expected.items():
        assert (np.roll(g, i, k) == rolled).all(), (i, k)
for _ in range(600):
    turn()
before = stator.stats()["host_calls"]
for (i, k) in expected:
    np.roll(g, i, k)
print(stator.stats()["host_calls"] - before)
""") == ["6"]


def test_threads_and_changing_kinds():
    said = check("""
stator.compile(lambda x: x)
def work(k):
    x = np.arange(1.0, 4.0 + k)
    expected = {}
    for i in range(400):
        for f in (np.mean, np.sum, np.std, np.diff, np.argmax):
            y = x[: 2 + i % len(x)] if i % 3 else x.astype(np.float32)
            r = f(y)
            key = f.__name__, y.size, y.dtype
            if key in expected:
                good[k] &= np.array_equal(expected[key], r)
            else:
                with lock, stator.options(host_calls=False):
                    expected[key] = f(y)
                good[k] &= np.array_equal(expected[key], r)
good, lock = [True] * 6, threading.Lock()
threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
for t in threads: t.start()
for t in threads: t.join()
print(all(good))
""")
    assert said == ["True"]


def test_many_threads_record_at_the_same_time():
    """The interpreter changes threads at each chance, in the middle of a recording too."""
    said = check("""
stator.compile(lambda x: x)
def work(k):
    rng = np.random.default_rng(k)
    for i in range(1500):
        x = rng.random(3 + i % 3).astype([float, np.float32][i % 2])
        found = np.mean(x), x.std(), np.clip(x, 0.2, 0.7), np.diff(x), np.cumsum(x), np.argmax(x), x.max(axis=0)
        good[k] &= found[5] == list(x).index(max(x)) and found[6] == max(x)
good = [True] * 8
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(all(good))
""")
    assert said == ["True"]


def test_references_and_memory_are_let_go():
    said = check("""
import gc
stator.compile(lambda x: x)
class Item: pass
held = [1.5, np.float64(2.5)]
calls = [(np.mean, v), (np.hstack, [v, w]), (np.clip, v, 0.1, held[1]), (lambda x: x * 2.0, v), (np.sin, held[1]),
         (np.linalg.solve, np.eye(3), v), (lambda x: x.std(), v)]
for f, *args in calls:
    heat(f, *args)
def counts(): return [sys.getrefcount(o) for o in (v, w, held[1], np.dtype(float), np.dtype(bool))]
before = counts()
for f, *args in calls:
    for _ in range(500): f(*args)
print([abs(b - a) < 20 for a, b in zip(before, counts())])
""")
    assert "".join(said) == "[True,True,True,True,True]"


def test_reports_say_what_was_answered():
    said = check("""
stator.compile(lambda x: x)
from stator import _stator
def all_of_it(n):
    for _ in range(n):
        np.cross(v, w); v * w; v.mean(); np.linalg.det(np.eye(2)); np.array([1.0, 2.0])
all_of_it(60)
before = _stator.host_calls()
all_of_it(10)
after = _stator.host_calls()
names = "numpy.cross", "a * b", "ndarray.mean", "numpy.linalg.det", "numpy.array"
print([after[name] - before[name] for name in names])
stator.reset()
print(_stator.host_calls(), stator.stats()["host_calls"])
with stator.profile() as p:
    all_of_it(20000)
report = p.report
print(report.host_calls["a * b"], "numpy.cross 20,000" in str(report), "numpy.cross 20,000" in report.html())
print(report.parts["answered"] > 0)
print(stator.explain(lambda: v + w)().host_calls)  # by Python, while it is recorded
""")
    assert said == "[10, 10, 10, 10, 10] {} 0 20000 True True True {'a + b': 1}".split()
