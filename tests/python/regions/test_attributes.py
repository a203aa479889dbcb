"""Loops that store to attributes are native code, and the objects are as eager leaves them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import stator
from fuzz.compare import same
from numpy import amax, dot, zeros

N = 40


class Sim:
    scale = 1.0

    def __init__(self, n=6):
        self.t = 0.0
        self.dt = 0.125
        self.count = 0
        self.x = np.linspace(0.0, 1.0, n)
        self.v = np.ones(n)
        self.F = np.eye(n) * 0.5 + 0.1
        self.P = np.eye(n)
        self.hist = np.zeros((N, n))
        self.last = None
        self.energy = np.float64(0.0)

    def step(self, dt):
        self.v = self.v - dt * self.x
        self.x = self.x + dt * self.v
        self.t += dt
        self.count += 1

    def record(self, k):
        self.hist[k] = self.x
        if self.x[0] > self.v[0]:
            self.energy = self.x[0] * self.v[0]


class Slots(Sim):
    __slots__ = ()


class Bare:
    __slots__ = ("F", "P", "count", "dt", "energy", "hist", "last", "t", "v", "x")
    __init__, step, record = Sim.__init__, Sim.step, Sim.record
    scale = 1.0


def held(obj):
    names = obj.__slots__ if isinstance(obj, Bare) else vars(obj)
    return [(name, getattr(obj, name)) for name in names]


def clock(sim, n):
    for _ in range(n):
        sim.t += sim.dt
        sim.count += 1
    return sim.t


def filtered(sim, n):
    for k in range(n):
        sim.x = sim.F @ sim.x
        sim.P = sim.F @ sim.P @ sim.F.T
        sim.hist[k] = sim.x
        sim.t += sim.dt
    return sim.x


def names_of_numpys(sim, n):
    for _ in range(n):
        sim.x = dot(sim.F, sim.x)
        sim.P = dot(dot(sim.F, sim.P), sim.F.T) + zeros((6, 6))
        sim.energy = amax(sim.x)
    return sim.x


def in_place(sim, n):
    for k in range(n):
        sim.x *= 0.5
        sim.x[k % 3] += 1.0
        sim.P -= sim.F
    return sim.x


def stepped(sim, n):
    for k in range(n):
        sim.step(sim.dt)
        sim.record(k)
    return sim.t


def early(sim, n):
    for k in range(n):
        sim.x = sim.x * 0.5 + k
        if sim.x[0] > 3.0:
            sim.last = None
            break
        sim.count = k
    return sim.count


def nested(sim, n):
    for i in range(n):
        sim.v = sim.x
        for j in range(3):
            sim.x = sim.v + i * j
            sim.energy = sim.x[0] + j
    return sim.energy


def exchanged(sim, n):
    for _ in range(n):
        sim.x, sim.v = sim.v, sim.x
        sim.x[0] += 1.0
    return sim.x


def of_locals(sim, n):
    y = sim.x
    for k in range(n):
        y = y + 1.0
        sim.x = y
        z = sim.x
        y = z * 0.5
        if k == 3:
            y[1] = 0.0
    return y


FUNCTIONS = [clock, filtered, names_of_numpys, in_place, stepped, early, nested, exchanged, of_locals]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("cls", [Sim, Slots, Bare])
def test_as_eager(cls, function):
    compiled = stator.compile(function)
    a, b = cls(), cls()
    for n in (N, N, 0, 1, N):
        assert same(compiled(a, n), function(b, n))
        stator.wait()
        assert same(held(a), held(b))
        for m, p in held(b):
            for q, r in held(b):
                assert (getattr(a, m) is getattr(a, q)) == (p is r) or not isinstance(p, np.ndarray)
    # With other threads about, one that calls NumPy between its stores is Python's: theirs would be lost.
    others = len(sys._current_frames()) > 1 and function is names_of_numpys
    assert compiled.regions and (others or any(r.entries for r in compiled.regions))


def raises(sim, n, at):
    for k in range(n):
        sim.t += 1.0
        sim.x = sim.x + sim.t
        sim.hist[k + at] = sim.x
        sim.count += 1
    return sim.t


def test_exception_in_the_middle():
    compiled = stator.compile(raises)
    a, b = Sim(), Sim()
    for at in (0, 0, 5, 20, 0):
        outcomes = []
        for f, sim in ((compiled, a), (raises, b)):
            try:
                outcomes.append(f(sim, N, at))
            except IndexError as e:
                outcomes.append(str(e))
            stator.wait()
        assert same(*outcomes) and same(held(a), held(b))
    assert any(r.entries for r in compiled.regions)


def two(p, q, n):
    for _ in range(n):
        p.t += 1.0
        q.t *= 2.0
        p.x = q.x + p.t
    return p.t


def test_two_names_for_one_object():
    compiled = stator.compile(two)
    a, b, c, d = Sim(), Sim(), Sim(), Sim()
    for one in (False, False, True, True, False, True):
        found, expected = compiled(a, a if one else b, 9), two(c, c if one else d, 9)
        stator.wait()
        assert same(found, expected) and same((held(a), held(b)), (held(c), held(d)))


def particles(ps, n):
    for _ in range(n):
        for p in ps:
            p.t += p.dt
            p.x = p.x + p.v * p.dt
    return ps[0].t


def test_objects_in_a_list():
    compiled = stator.compile(particles)
    a, b = [Sim(), Sim(4)], [Sim(), Sim(4)]
    for same_object in (False, False, True, False):
        if same_object:
            a, b = [a[0], a[0]], [b[0], b[0]]
        assert same(compiled(a, N), particles(b, N))
        stator.wait()
        assert same([held(p) for p in a], [held(p) for p in b])


def warns(sim, n):
    for k in range(n):
        sim.x = sim.x + 1.0
        sim.v = sim.x / (k - 20.0)
        sim.count = k
    return sim.v


def test_warning_in_the_middle():
    compiled = stator.compile(warns)
    a, b = Sim(), Sim()
    for _ in range(3):
        with pytest.warns(RuntimeWarning) as found:
            compiled(a, N)
        with pytest.warns(RuntimeWarning) as expected:
            warns(b, N)
        stator.wait()
        assert [w.lineno for w in found] == [w.lineno for w in expected] and same(held(a), held(b))
    seen = []
    with np.errstate(divide="call", call=lambda *_: seen.append(a.count)):
        compiled(a, N)
    assert seen == [19]


class Setattr(Sim):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name == "t":
            object.__setattr__(self, "sets", getattr(self, "sets", 0) + 1)


def test_stores_that_run_code_stay_where_they_are():
    compiled = stator.compile(clock)
    a, b = Setattr(), Setattr()
    for _ in range(3):
        assert same(compiled(a, N), clock(b, N)) and a.sets == b.sets
        stator.wait()


def test_class_that_changes():
    class Changing(Sim):
        pass

    compiled = stator.compile(clock)
    a = Changing()
    for _ in range(3):
        compiled(a, N)
        stator.wait()
    assert any(r.entries for r in compiled.regions)
    seen = []
    Changing.__setattr__ = lambda self, name, value: (
        seen.append(name),
        object.__setattr__(self, name, value),
    )
    compiled(a, 3)
    assert seen == ["t", "count"] * 3
