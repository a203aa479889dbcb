"""Compiled functions called from several threads, and after fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import stator

from tests.python.process import run_program


def plain(x, y, k):
    z = x * k + y
    if z.sum() > 0:
        z = np.sqrt(abs(z)) - 1
    return np.where(z > 0, z, y), z.max(axis=0)


def same(a, b):
    return all(p.dtype == q.dtype and p.tobytes() == q.tobytes() for p, q in zip(a, b))


@pytest.mark.parametrize("shared", [True, False])
def test_calls_from_many_threads(shared):
    compiled = stator.compile(plain)
    wrong = []

    def work(seed):
        f = compiled if shared else stator.compile(lambda x, y, k: plain(x, y, k))
        rng = np.random.default_rng(seed)
        for _ in range(150):
            shape = tuple(rng.integers(0, 6, rng.integers(1, 3)))
            if 0 in shape:
                shape = (3,) * len(shape)
            x, y = rng.standard_normal(shape), rng.standard_normal(shape)
            k = float(rng.integers(-2, 3))
            if not same(f(x, y, k), plain(x, y, k)):
                wrong.append((seed, shape, k))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
    finally:
        sys.setswitchinterval(interval)
    assert not any(t.is_alive() for t in threads)
    assert not wrong


def test_large_calls_release_the_gil_to_each_other():
    f = stator.compile(lambda x, y: np.sqrt(x * y + 2) - x / y)
    rng = np.random.default_rng(0)
    inputs = [(rng.random(200_000) + 0.5, rng.random(200_000) + 0.5) for _ in range(4)]
    expected = [np.sqrt(x * y + 2) - x / y for x, y in inputs]
    wrong = []

    def work(k):
        for _ in range(20):
            if f(*inputs[k]).tobytes() != expected[k].tobytes():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_goes_on():
    f = stator.compile(plain)
    x, y = np.linspace(-1, 1, 40_000).reshape(200, 200), np.ones((200, 200))
    expected = plain(x, y, 1.5)
    f(x, y, 1.5)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            ok = all(same(f(x, y, 1.5), expected) for _ in range(5))
            g = stator.compile(lambda a: a * 3 + 1)
            ok = ok and all((g(x) == x * 3 + 1).all() for _ in range(4))
            stator.wait()
            os._exit(0 if ok and same(f(x, y, 1.5), expected) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert same(f(x, y, 1.5), expected)


FIRST_USE = """
import sys, threading
import numpy as np
import stator


@stator.compile
def f(x, k):
    y = (x * k).sum() + np.clip(x, 0, k) ** 2
    return x[[0, 1]] + np.asarray(y)[:2]

sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=lambda: [f(np.ones(n), 2.0) for n in (5, 6, 7, 8)]) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
"""


def test_first_use_in_many_threads():
    """What is looked up once is looked up by several threads at once."""
    for _ in range(6):
        done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_the_compiler_is_being_opened() -> None:
    program = """
import os, numpy as np, stator
f = stator.compile(lambda x: x * 2 + 1)
child = os.fork()
x = np.arange(5.0)
for _ in range(3):
    assert f(x).tolist() == [1, 3, 5, 7, 9]
    stator.wait()
assert f.stats()["compiles"] + f.stats()["cache_hits"] == 1
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_explain_measures_its_own_thread_only():
    """The measurement of a call is gone when the call is: what other threads are replaying must not write to it."""
    f = stator.compile(lambda x: x * 2.0 + 1.0)
    x = np.ones(300_000)  # large enough for kernels to let other threads run
    for _ in range(4):
        f(x)
    stator.wait()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            f(x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        times = [stator.explain(f)(x).microseconds for _ in range(60)]
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert {t["replays"] for t in times} == {1}


def test_the_parent_of_a_fork_goes_on_with_what_is_being_compiled() -> None:
    """It waits for none of it, gives no warning of a fork with threads, and asks for nothing more."""
    program = """
import os, time, warnings
import numpy as np, stator
from stator import _stator
warnings.simplefilter("error")
x = np.ones(100)
functions = []
for k in range(12):
    names = {}
    exec(f"def f(x): return np.sqrt(x * {k} + 1.5) - np.exp(-x) / {k + 3}", {"np": np}, names)
    functions.append(stator.compile(names["f"]))
for f in functions:
    f(x), f(x)
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
end = time.monotonic() + 60
while time.monotonic() < end and not all(t.ready() == t.segments for f in functions for t in _stator.traces(f)):
    time.sleep(0.01)
print(all(t.ready() == t.segments for f in functions for t in _stator.traces(f)))
"""
    done = run_program(program, STATOR_ASYNC="1")
    assert done.stdout.split() == ["True"], done.stderr
    assert done.stderr == ""
