"""Closures, attributes, methods and globals inside regions: found when a region is entered, and again in the next call."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_whole, function_of

# Modules with f(x, m, n, s).
WHOLE = {
    "attributes": """
class Solver:
    def __init__(self, u, dt):
        self.u, self.dt, self.steps = u, dt, 3

def f(x, m, n, s):
    g = Solver(x, s)
    for i in range(n):
        for k in range(g.steps):
            g.u[i] += g.dt * k
        s += g.u[i] * g.dt
    return s, g.u, g.dt
""",
    "self": """
class Solver:
    order = 2

    def __init__(self, u, dt):
        self.u, self.dt = u, dt

    def run(self, n):
        out = 0.0
        for i in range(n):
            out += self.u[i] * self.dt * self.order
        return out

    def step(self, i, by=1.0):
        self.u[i] += by * self.dt
        return self.u[i]

    def all(self, n):
        for i in range(n):
            self.step(i)
            self.u[0] += self.step(i, by=0.5)
        return self.u[0]

def f(x, m, n, s):
    g = Solver(x, s)
    for i in range(n):
        s += g.run(n) * 0.01 + g.all(i) * 0.001
    return s, x
""",
    "slots": """
class Box:
    __slots__ = ("a", "w")

def f(x, m, n, s):
    box = Box()
    box.a, box.w = x, s
    for i in range(n):
        box.a[i] *= box.w
    return box.a
""",
    "objects in objects": """
class P:
    pass

p, q = P(), P()
p.grid = q

def f(x, m, n, s):
    set_up(m[1], s)
    for i in range(n):
        x[i] += p.grid.u[i] / p.grid.spacing
    return x

def set_up(u, spacing):
    q.u, q.spacing = u, spacing
""",
    "closures": """
def f(x, m, n, s):
    scale = s * 2

    def weighted(v, k):
        return v * scale + k

    for i in range(n):
        x[i] = weighted(x[i], i)
        s += scale
    return x, s
""",
    "closures with arrays and loops": """
def f(x, m, n, s):
    table = m[0] * 2

    def total(v):
        out = 0.0
        for k in range(n):
            out += v[k] * table[k]
        table[0] += out * 0.001
        return out

    for i in range(n):
        s += total(m[i])
    return s, table
""",
    "globals": """
TABLE = np.arange(64.0)
RATE = 0.5
COUNT = 3
WEIGHTS = (0.25, 0.5)

def at(i):
    return TABLE[i] * RATE + WEIGHTS[0]

def f(x, m, n, s):
    for i in range(n):
        x[i] += at(i) * WEIGHTS[1]
        for k in range(COUNT):
            TABLE[k] += 0.001
    return x, TABLE.copy(), np.pi * s
""",
    "one array by two names": """
def f(x, m, n, s):
    y = x
    for i in range(1, n):
        y[i] = x[i - 1] + s
    return y
""",
}  # fmt: skip


def _arguments(n):
    rng = np.random.default_rng(n)
    return [rng.random(n), rng.random((n, n)), n, 1.25]


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name):
    check_whole(WHOLE[name], _arguments)


# What is looked up changes between the calls of f(x, n, call), or while they run.
CHANGES = {
    "an attribute of another kind": """
class P:
    pass
p = P()
def f(x, n, call):
    p.w = (2.0, 3, np.float32(0.5), x, "no", 1 << 70)[call]
    s = 0.0
    for i in range(n):
        s = s + p.w * x[i]
    return s
""",
    "a class attribute that an instance hides": """
class P:
    w = 2.0
p = P()
def f(x, n, call):
    if call == 3:
        p.w = 5.0
    if call == 5:
        del p.w
    s = 0.0
    for i in range(n):
        s += p.w * x[i]
    return s
""",
    "a method that is replaced": """
class P:
    def w(self, v):
        return v * 2
p = P()
def f(x, n, call):
    if call == 3:
        P.w = lambda self, v: v * 3
    if call == 5:
        p.w = lambda v: v * 4
    s = 0.0
    for i in range(n):
        s += p.w(x[i])
    return s
""",
    "a property": """
class P:
    @property
    def w(self):
        print("read")
        return 2.0
p = P()
def f(x, n, call):
    s = 0.0
    for i in range(n):
        s += p.w * x[i]
    return s
""",
    "an attribute is missing": """
class P:
    __repr__ = lambda self: "P"
def f(x, n, call):
    p = P()
    if call != 4:
        p.w = 1.5
    s = 0.0
    for i in range(n):
        s += p.w * x[i]
    return s
""",
    "an attribute that the loop writes": """
class P:
    pass
def f(x, n, call):
    p = P()
    p.t, p.w = 0.0, 2.0
    for i in range(n):
        p.t += p.w * x[i]
        if i == call:
            p.w = 3
    return p.t
""",
    "a global that is rebound": """
W = np.ones(16)
def f(x, n, call):
    global W
    if call == 3:
        W = np.arange(16)
    if call == 4:
        W = x
    s = 0.0
    for i in range(n):
        W[i] += 1
        s += W[i] * x[i]
    return s, W
""",
    "a closure that is rebound": """
def f(x, n, call):
    w = (2.0, 3, x, None, True, 0.5)[call]
    def g(v):
        return v * w
    s = 0.0
    for i in range(n):
        s = s + g(x[i])
        if i == 5:
            w = 4.0
    return s
""",
    "a fault in a closure": """
def f(x, n, call):
    seen = x * 1.0
    def g(v, i):
        seen[i] += 1
        for k in range(2):
            seen[k + i] += v // (i - call if k else 1)
        return seen[i]
    s = 0
    for i in range(n - 1):
        s = s + g(i, i)
    return s, seen
""",
    "a fault in a method": """
class P:
    __repr__ = lambda self: "P"
    def step(self, i, call):
        self.u[i] += 1
        for k in range(2):
            self.u[k] += i // (i - call if k else 1)
        return self.u[i]
def f(x, n, call):
    p = P()
    p.u = x
    s = 0
    for i in range(n):
        s = s + p.step(i, call)
    return s
""",
    "arrays that are the same, and are not": """
def f(x, n, call):
    y = x if call % 2 else x * 2
    for i in range(1, n):
        y[i] = x[i - 1] + 1
    return x, y
""",
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes(name, monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)
    eager, compiled = function_of(CHANGES[name]), stator.compile(function_of(CHANGES[name]))
    n = 9
    for call in (0, 0, *range(6), 0):
        expected, found = (observe(g, [np.arange(1.0, n + 1), n, call]) for g in (eager, compiled))
        assert found == expected, f"call {call}: {report(expected, found)}"
