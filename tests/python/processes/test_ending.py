"""The interpreter ends, forks or is a second one while stator is at work; each case in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FUNCTIONS = """
import os, signal, sys, threading, time
import numpy as np
import stator

def elements(a, n):
    s = 0.0
    for i in range(n):
        for j in range(a.shape[0]):
            s += a[j] * 0.5
    return s

def solve(a, n):
    for i in range(n):
        a[:] = np.linalg.solve(np.eye(6) * 6, a) * 0.5 + 1.0
    return a

def steps(a, n):
    b = a * 2 + 1
    time.sleep(0)
    c = b * a + 2
    time.sleep(0)
    return c

def large(a, n):
    return a * 2 + 1 - a * 3

def made(a, n):
    f = stator.compile(eval("lambda x: x * 2 + x"))
    return f(a) + f(a)

sizes = {elements: 50, solve: 6, steps: 50, large: 300_000, made: 5}

def forever(f):
    a = np.ones(sizes[f])
    while True:
        f.compiled(a, 500)

for f in sizes:
    f.compiled = f if f is made else stator.compile(f)
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", FUNCTIONS + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("function", ["elements", "solve", "steps", "large", "made"])
def test_daemon_threads_at_the_end(function: str) -> None:
    program = """
for _ in range(3):
    threading.Thread(target=forever, args=(globals()[sys.argv[1]],), daemon=True).start()
time.sleep(float(sys.argv[2]))
print("end")
"""
    for seconds in ("0.02", "0.3"):
        done = run(program, function, seconds)
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


# Callbacks of objects that go with the interpreter run when there are no modules any more.
def test_behind_the_exit_handlers_all_is_eager() -> None:
    program = """
import atexit, sys
seen = []
def gone():
    seen.append(sys.modules["stator"]._stator.stance())
    for f in functions:
        f(np.ones(3))
    print(seen, [f.stats()["replays"] for f in functions])
atexit.register(gone)
import numpy as np
import stator
functions = [stator.compile(lambda x: x * 2 + 1)]
functions[0](np.ones(3))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['eager'] [0]\n", "")


# What a file has not written yet, it writes when it goes.
@pytest.mark.parametrize("way", ["0", "1", "all"])
def test_what_globals_hold_goes_with_the_interpreter(tmp_path, way) -> None:
    program = """
import sys
import numpy as np
import stator
out = open(sys.argv[1], "w")
def helper(x):
    return x + 1
def f(x):
    return helper(x) * 2
g = stator.compile(lambda x: helper(x) * 3)
for _ in range(5):
    f(np.ones(3)), g(np.ones(3))
out.write("written")
"""
    path = tmp_path / "out"
    environment = os.environ | {"STATOR": way, "STATOR_ALL_AFTER": "0"}
    subprocess.run([sys.executable, "-c", program, str(path)], env=environment, check=True)
    assert path.read_text() == "written"


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "os._exit(0)"])
def test_the_end_while_the_compiler_works(end: str) -> None:
    program = """
for k in range(20):
    f = stator.compile(eval(f"lambda x: x * {k} + x / {k + 1} - {k}"))
    f(np.ones(10))
exec(sys.argv[1])
"""
    done = run(program, end)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("where", ["main", "thread"])
def test_forks_while_threads_are_in_loops(where: str) -> None:
    # What is imported when first used is imported first: a fork in the middle of an import leaves its lock locked.
    program = """
import warnings
warn, filters = warnings.warn, list(warnings.filters)
for _ in range(4):
    for f in sizes:
        f.compiled(np.ones(sizes[f]), 5)
    stator.wait()
for f in (elements, solve, steps, large):
    threading.Thread(target=forever, args=(f,), daemon=True).start()

def child():
    signal.alarm(30)
    assert warnings.warn is warn and warnings.filters == filters
    for f in sizes:
        a = np.ones(sizes[f])
        expected = f(a.copy(), 5)
        for _ in range(3):
            assert np.array_equal(f.compiled(a.copy(), 5), expected)
    def new(a):
        s = 0.0
        for i in range(len(a)):
            s = s + a[i] * 3
        return s
    g = stator.compile(new)
    for _ in range(5):
        assert g(np.ones(100)) == 300
    stator.wait()
    assert g(np.ones(100)) == 300

bad = []

def fork(n):
    for _ in range(n):
        time.sleep(0.03)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                child()
                status = 0
            finally:
                os._exit(status)
        bad.append(os.waitpid(pid, 0)[1])

if sys.argv[1] == "main":
    fork(4)
else:
    t = threading.Thread(target=fork, args=(4,))
    t.start()
    t.join()
print(bad)
"""
    done = run(program, where)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 0, 0, 0]\n", "")


def test_a_second_interpreter_is_told() -> None:
    """NumPy refuses, too: what stator's module says is asked for without the package."""
    program = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
try:
    other = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create(isolated=False)
except TypeError:
    other = interpreters.create()
failed = interpreters.run_string(other, '''
import importlib.machinery, importlib.util
loader = importlib.machinery.ExtensionFileLoader("stator._stator", %r)
spec = importlib.util.spec_from_loader("stator._stator", loader)
try:
    loader.exec_module(importlib.util.module_from_spec(spec))
except ImportError as error:
    assert "stator serves the main interpreter only" in str(error), error
else:
    raise AssertionError
''' % stator._stator.__file__)
print(failed)
x = np.arange(3.0)
f = stator.compile(lambda x: x + 1)
for _ in range(3):
    assert f(x).tolist() == [1, 2, 3]
"""
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")
