"""Python functions that a region calls: their loops, stores and returns are part of it, and it is left inside them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report
from process import alarm, now, on_alarm

from .whole import check_whole, function_of

# Modules with f(x, m, n, s): a vector of extent n, a matrix of n by n, an int and a float.
WHOLE = {
    "a loop": """
def total(v, skip):
    out = 0.0
    for i in range(skip, len(v)):
        out += v[i]
    return out

def f(x, m, n, s):
    for i in range(n):
        s += total(x, i) * 0.5 + total(m[i], 0)
    return s
""",
    "stores in front of others": """
def shift(v, k):
    v[k] += 1.0
    t = v[k - 1] * 0.5
    v[k - 1] = t
    v[0] -= t

def f(x, m, n, s):
    for i in range(1, n):
        shift(x, i)
        s += x[i]
    return s
""",
    "stores and returns in an expression": """
def bump(v, k):
    v[k] *= 0.5
    return v[k] + 1

def f(x, m, n, s):
    for i in range(n):
        s = s * 0.5 + bump(x, i) * x[i] - bump(m, (i, 0))
    return s
""",
    "early returns out of loops": """
def first(v, limit):
    for i in range(len(v)):
        if v[i] > limit:
            return i
    return -1

def f(x, m, n, s):
    k = 0
    for i in range(n):
        k += first(x, i / n) + first(m[i], s - i)
    return k
""",
    "nested loops, breaks and continues": """
def walk(a, limit):
    count = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > limit:
                break
            if j > i:
                continue
            count += 1
        else:
            count += 100
    return count

def f(x, m, n, s):
    k = 0
    while k < 3 * n * n:
        k += walk(m, k / n) + 1
    return k
""",
    "while loops": """
def halvings(v, floor):
    k = 0
    while v > floor:
        v /= 2
        k += 1
    return k

def f(x, m, n, s):
    k = 0
    for i in range(n):
        k += halvings(x[i] * 100 + 1, s)
    return k
""",
    "array statements and what they make": """
def smoothed(p, rounds):
    q = np.empty_like(p)
    for _ in range(rounds):
        q = p.copy()
        p[1:-1, 1:-1] = 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2])
        p[0, :] = q[1, :]
    return q

def f(x, m, n, s):
    for i in range(n):
        last = smoothed(m, 3)
        m[i] += last[i] * 0.5
    return last
""",
    "an array that is handed on": """
def made(v, w):
    b = np.zeros_like(v)
    b[1:] = v[:-1] + w[1:]
    b[0] = 1.0
    return b

def used(b, rounds):
    out = 0.0
    for k in range(rounds):
        b[k] += 1
        out += b[k]
    return out

def f(x, m, n, s):
    for i in range(n):
        b = made(x, m[i])
        s += used(b, n) * 0.01
        x[:] = b * 0.25
    return s, b
""",
    "an array that it is given and returns": """
def scaled(v):
    for _ in range(3):
        v = v * 0.5 + 1
    return v

def f(x, m, n, s):
    y = x
    for i in range(n):
        y = scaled(y)
        s += y[i]
    return y, s
""",
    "functions of functions": """
def at(v, i):
    return v[i]

def pair(v, i):
    return at(v, i) + at(v, i - 1)

def row(v, n):
    out = 0.0
    for i in range(1, n):
        out += pair(v, i)
    return out

def f(x, m, n, s):
    for i in range(n):
        s += row(m[i], n) * 0.5
    return s
""",
    "several results": """
def extremes(v):
    low = high = v[0]
    for a in v:
        if a < low:
            low = a
        elif a > high:
            high = a
    return low, high

def f(x, m, n, s):
    for i in range(n):
        low, high = extremes(m[i])
        s += high - low
    return s, low, high
""",
    "variables that are floats later": """
def grown(v, n):
    t = 0
    for i in range(n):
        t = t + v[i] if i > 1 else t + 1
    return t

def f(x, m, n, s):
    for i in range(n):
        s += grown(x, i)
    return s
""",
    "variables that are bound on some paths": """
def last(v, limit):
    for a in v:
        if a > limit:
            best = a
    if limit < 0.5:
        return best
    return 0.0

def f(x, m, n, s):
    x[0] = 0.9
    for i in range(n):
        s += last(x, i / (4 * n))
    return s
""",
    "the same function from several places": """
def dot(v, w, n):
    out = 0.0
    for i in range(n):
        out += v[i] * w[i]
    return out

def f(x, m, n, s):
    for i in range(n):
        if i % 2:
            s += dot(x, m[i], n) * 0.01
        else:
            s -= dot(m[i], m[i - 1], i)
        x[i] = dot(x, x, n) * 0.001
    return s
""",
}  # fmt: skip


def _arguments(n):
    rng = np.random.default_rng(n)
    return [rng.random(n), rng.random((n, n)), n, 1.25]


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name):
    check_whole(WHOLE[name], _arguments)


# Modules with f(x, q, n, bad): `bad` is the iteration in which something goes wrong.
LEAVING = {
    "an index, behind stores": """
def step(v, i, bad):
    v[i % 3] += 1
    v[i if i != bad else 1000] += 2
    v[1] -= 1

def f(x, q, n, bad):
    for i in range(n):
        step(x, i, bad)
    return x
""",
    "an index in a loop of it": """
def inner(v, i, bad):
    for j in range(5):
        v[j] += 0.5
        k = j + (1000 if i == bad and j == 3 else 0)
        v[k - j] += j
    return v[0]

def f(x, q, n, bad):
    s = 0
    for i in range(n):
        s += inner(x, i, bad) + 1
    return s
""",
    "caught by the caller": """
def inner(v, i, bad):
    v[0] += 1
    for j in range(3):
        v[j + (1000 if i == bad and j else 0)] += j
    return v[1]

def f(x, q, n, bad):
    s = 0
    try:
        for i in range(n):
            s += inner(x, i, bad)
    except IndexError as e:
        return s, i, str(e), x
    return s, i
""",
    "in the third function": """
def third(v, k):
    v[0] += 1
    return 1 // k

def second(v, i, bad):
    v[1] += 1
    k = third(v, i - bad)
    v[2] += k
    return k

def first(v, i, bad):
    out = 0
    for j in range(2):
        out += second(v, i + j, bad)
        v[3] += out
    return out

def f(x, q, n, bad):
    s = 0
    for i in range(n):
        s = s + first(x, i, bad) * 2
    return s
""",
    "a warning": """
def scaled(v, i, bad):
    v[0] += 1
    t = v[i] / (v[i] - v[i] if i == bad else 1.0)
    v[1] += 1
    return t

def f(x, q, n, bad):
    s = 0.0
    for i in range(n):
        s += scaled(x, i, bad)
    return s, x
""",
    "a warning of an array statement": """
def scaled(v, w, i, bad):
    v += 1
    for k in range(2):
        w[:] = v / (v - v if i == bad and k else v + 1)
        v *= 0.5
    return w[0]

def f(x, q, n, bad):
    y = np.zeros_like(x)
    for i in range(n):
        t = scaled(x, y, i, bad)
    return x, y, t
""",
    "a large integer": """
def grown(k, i, bad):
    for _ in range(3):
        k = k * 3 if i != bad else k * 3 ** 20 * 3 ** 20
        k = k % 1000 if i != bad else k
    return k

def f(x, q, n, bad):
    k = 1
    for i in range(n):
        q[0] += 1
        k = grown(k, i, bad) % 97
    return k
""",
    "a variable without a value": """
def picked(v, i, bad):
    v[0] += 1
    if i != bad:
        t = v[i]
    v[1] += 1
    return t

def f(x, q, n, bad):
    s = 0.0
    for i in range(n):
        s += picked(x, i, bad)
    return s
""",
    "something unknown": """
def shown(v, i, bad):
    v[0] += 1
    for j in range(2):
        if i == bad and j:
            print(i, v[0], j)
        v[1] += 1
    return v[1]

def f(x, q, n, bad):
    s = 0.0
    for i in range(n):
        s += shown(x, i, bad)
    return s, x
""",
    "frames are looked at": """
import sys

def who(v, i, bad):
    v[0] += 1
    for j in range(2):
        if i == bad and j:
            frame = sys._getframe()
            print(frame.f_code.co_name, frame.f_lineno, frame.f_back.f_code.co_name, frame.f_back.f_lineno, frame.f_locals["j"], frame.f_back.f_locals["i"])
            del frame
    return v[0]

def f(x, q, n, bad):
    s = 0.0
    for i in range(n):
        s = (s +
             who(x, i, bad))
    return s
""",
    "an array of the caller's and one of its own": """
def changed(v, w, i, bad):
    w[i] += 1
    t = v + w
    for j in range(3):
        t[j] += w[j + (1000 if i == bad and j == 2 else 0)]
        v = t * 0.5
    return v

def f(x, q, n, bad):
    y = x * 1.0
    z = y
    for i in range(n):
        y = changed(y, x, i, bad)
        if i % 2:
            z = y
    return y, z, y is z
""",
}  # fmt: skip


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "beside"])
@pytest.mark.parametrize("name", LEAVING)
def test_leaving(name, waits, monkeypatch):
    """Nothing goes wrong twice, then in each iteration: exception, lines, variables of all frames and what was written."""
    monkeypatch.setattr(stator.options, "async", not waits)
    eager, compiled = function_of(LEAVING[name]), stator.compile(function_of(LEAVING[name]))
    n = 9
    for bad in (-10, -10, *range(n), -10, 4):
        arguments = [[np.arange(1.0, n + 1), np.arange(n), n, bad] for _ in range(2)]
        expected, found = observe(eager, arguments[0]), observe(compiled, arguments[1])
        assert found == expected, f"bad {bad}: {report(expected, found)}"
        stator.wait()


def test_recursion_limit():
    """A region calls no function that Python would not."""
    text = """
def deep(v, i):
    return v[i] + 1

def deeper(v, i):
    return deep(v, i) * 2

def f(x, n):
    s = 0.0
    for i in range(n):
        s += deeper(x, i)
    return s

def at_depth(g, x, n, k):
    return g(x, n) if k == 0 else at_depth(g, x, n, k - 1)
"""
    f, at_depth = function_of(text), function_of(text, "at_depth")
    compiled = stator.compile(f)
    x = np.ones(5)
    for _ in range(3):
        compiled(x, 5)
        stator.wait()

    def deepest(g):
        for k in range(1, sys.getrecursionlimit()):
            try:
                at_depth(g, x, 5, k)
            except RecursionError:
                return k
        return None

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        assert abs(deepest(compiled) - deepest(f)) <= 2  # the call of `compiled` itself is none of Python's
    finally:
        sys.setrecursionlimit(before)


class Interrupted(Exception):
    pass


def test_interrupt_in_a_function():
    """A signal is handled in the frame of the function whose loop runs."""
    text = """
def busy(v, rounds):
    for k in range(rounds):
        v[k % 8] += 1.0
        v[(k + 1) % 8] -= 1.0
    return v[0]

def f(x, n, rounds):
    s = 0.0
    for i in range(n):
        s += busy(x, rounds)
    return s
"""
    compiled = stator.compile(function_of(text))
    for _ in range(3):
        compiled(np.zeros(8), 50, 50)
        stator.wait()
    names = []

    def handler(_, frame):
        names.append((frame.f_code.co_name, frame.f_back.f_code.co_name))
        raise Interrupted

    x = np.zeros(8)
    with on_alarm(handler):
        due = now() + 0.1
        with pytest.raises(Interrupted) as caught:
            alarm(0.1)
            compiled(x, 10, 10**9)
        assert now() - due < 0.5
    assert names == [("busy", "f")]
    frames = []
    trace = caught.value.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_name, dict(trace.tb_frame.f_locals)))
        trace = trace.tb_next
    assert [name for name, _ in frames][1:] == ["f", "busy", "handle", "handler"], frames
    assert abs(x.sum()) <= 1.0
    k = frames[2][1]["k"]
    wheel = np.zeros(8)
    assert k > 1000 and abs(x - wheel).max() <= 1.0
