"""Functions that call themselves, as deep as the limit allows and deeper."""

import ast
import sys

import pytest
from process import run_program


def test_an_exception_of_a_recursion_whose_function_is_given_back():
    program = """
    import collections
    import numpy as np, stator
    @stator.compile
    def f(x, n):
        print(end='')
        if n == 0:
            raise ValueError('end')
        return f(x + 1, n - 1)
    seen = collections.Counter()
    for _ in range(400):
        try:
            f(np.arange(3.0), 1)
        except Exception as error:
            seen[repr(error)] += 1
    print(dict(seen))
    """
    done = run_program(program, STATOR_RETIRE="1")
    assert done.stdout == "{\"ValueError('end')\": 400}\n", done.stdout + done.stderr


WITHOUT_END = """
import sys
import numpy as np
way = sys.argv[1]
if way != "plain":
    import stator
deepest = 0
X = np.arange(1.0, 7.0)

class A:
    def __init__(self, n):
        self.n = n
    def __add__(self, x):
        return [f(x, self.n + 1)]
    @property
    def p(self):
        return f(X, self.n + 1)

def returned(x, n):
    global deepest
    deepest = n
    return f(x + 1, n + 1) + 1

def operator(x, n):
    global deepest
    deepest = n
    return (A(n) + x)[0]

def attribute(x, n):
    global deepest
    deepest = n
    return A(n).p * 2

def guarded(x, n):
    global deepest
    deepest = n
    try:
        return f(x + 1, n + 1)
    finally:
        x += 1

def comprehension(x, n):
    global deepest
    deepest = n
    return [f(x + k, n + 1) for k in range(1)][0]

f = globals()[sys.argv[2]]
if way == "decorated":
    f = stator.compile(f)
found = []
for _ in range(8):
    try:
        f(X, 0)
    except RecursionError:
        found.append(deepest)
print(found)
"""


def depths(way, body, **environment):
    done = run_program(
        WITHOUT_END.replace("sys.argv[1]", repr(way)).replace("sys.argv[2]", repr(body)), **environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return ast.literal_eval(done.stdout)


@pytest.mark.parametrize("body", ["returned", "operator", "attribute", "guarded", "comprehension"])
@pytest.mark.parametrize(
    "environment",
    [{}, {"STATOR_RETIRE": "1"}, {"STATOR_ASYNC": "0"}, {"STATOR": "all"}],
    ids=["served", "judged", "at once", "all"],
)
def test_a_recursion_without_end(environment, body):
    """The error comes where it comes without stator, but for a few levels of what is inlined."""
    plain = depths("plain", body)
    found = depths("all" if "STATOR" in environment else "decorated", body, **environment)
    assert len(found) == 8
    assert max(found) <= max(plain) + 8 and min(found) >= min(plain) - 8, (plain, found)


def test_a_deep_recursion_that_is_allowed():
    program = """
    import sys
    import numpy as np, stator
    sys.setrecursionlimit(60000)
    X = np.linspace(0, 1, 2000)
    def plain(x, n):
        y = x * 0.5 + 1
        w = y * y - x
        y = np.minimum(w + y * x - 2 * x, 1.0)
        if n == 0:
            return y
        print(end='')
        z = c(y, n - 1)
        return z * 0.5 + z * 0.25 + 1
    c = stator.compile(plain)
    for k in [20] * 24 + [5000]:
        found = c(X, k)
    c = plain
    print(found.tobytes() == plain(X, 5000).tobytes())
    """
    for environment in ({}, {"STATOR_RETIRE": "1"}):
        done = run_program(program, **environment)
        assert done.stdout == "True\n", done.stderr[-2000:]


@pytest.mark.parametrize("way", ["decorated", "all"])
@pytest.mark.parametrize("size", [1 << 16, 1 << 17, 1 << 18, 1 << 20])
def test_threads_with_small_stacks(size, way):
    """Calls of functions take no C stack in CPython."""
    if way == "all" and hasattr(sys, "_jit") and sys._jit.is_enabled():
        pytest.skip(
            "the JIT of 3.15 may crash where the evaluator is set and reset for each call: docs/dev/plan.md"
        )
    program = f"""
    import threading
    import numpy as np, stator
    def f(n):
        return 0 if n == 0 else 1 + f(n - 1)
    def g(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * 2
        return s + (x * 2 + 1).sum()
    if {way == "decorated"}:
        f, g = stator.compile(f), stator.compile(g)
    threading.stack_size({size})
    found = []
    def work():
        for k in range(6):
            found.append((f(900), g(np.arange(500.0))))
    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    print(set(found))
    """
    done = run_program(program, **({"STATOR": "all"} if way == "all" else {}))
    assert done.stdout == "{(900, np.float64(499500.0))}\n", done.stderr[-2000:]
