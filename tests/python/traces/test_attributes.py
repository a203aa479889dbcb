"""Attributes of objects as state of a trace: results, what the objects hold, the order of keys, exceptions."""

from __future__ import annotations

import dataclasses
import weakref

import numpy as np
import pytest
import stator
from fuzz.compare import same
from replayed import CALLS, X, Y


class Plain:
    def __init__(self):
        self.x = X.copy()
        self.t = 0.0
        self.n = 0

    def moved(self, y):
        self.x = self.x * 0.5 + y
        self.t += 0.25
        self.n = self.n + 1
        return self.x


class Child(Plain):
    scale = 2.0  # a default that the first store hides

    def moved(self, y):
        self.scale = self.scale * 1.5
        return super().moved(y) * self.scale


class Slots:
    __slots__ = ("n", "t", "x", "unset")
    __init__ = Plain.__init__
    moved = Plain.moved


@dataclasses.dataclass
class Data:
    x: np.ndarray = dataclasses.field(default_factory=X.copy)
    t: float = 0.0
    n: int = 0
    moved = Plain.moved


def held(obj):
    names = obj.__slots__ if hasattr(obj, "__slots__") else vars(obj)
    return [(name, getattr(obj, name)) for name in names if hasattr(obj, name)]


def method(obj, y):
    return obj.moved(y).sum()


def new_attributes(obj, y):
    obj.b = y * 2.0
    obj.a = obj.b + obj.x
    obj.b = obj.a - y
    return obj.a


def read_after_write(obj, y):
    obj.x = obj.x + y
    z = obj.x
    obj.x = y
    return z + obj.x


def in_place(obj, y):
    obj.x += y
    obj.x[1:] *= 2.0
    obj.view = obj.x[:3]
    return obj.x.sum()


def swapped(obj, y):
    obj.x, obj.old = obj.x + y, obj.x
    return obj.old


def kept(obj, y):
    obj.pair = (obj.x, y + 1.0)
    obj.name = "a"
    return obj.pair[1]


def one_array_twice(obj, y):
    obj.a = obj.b = obj.x * y
    return obj.a


def steps_between(obj, y):
    obj.x = obj.x + y
    before = repr(held(obj))  # a call that sees the object
    obj.x = obj.x * 2.0
    return before, obj.x


FUNCTIONS = [
    method,
    new_attributes,
    read_after_write,
    in_place,
    swapped,
    kept,
    one_array_twice,
    steps_between,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("cls", [Plain, Child, Slots, Data])
def test_as_eager(cls, function):
    if cls is Slots and function in (new_attributes, in_place, swapped, kept, one_array_twice):
        pytest.skip("needs a dict")
    compiled = stator.compile(function)
    a, b = cls(), cls()
    for i in range(CALLS):
        assert same(compiled(a, Y - i), function(b, Y - i))
        assert same(held(a), held(b))
        pairs = [(m, n) for m, _ in held(b) for n, _ in held(b) if m < n]
        for m, n in pairs:
            assert (getattr(a, m) is getattr(a, n)) == (getattr(b, m) is getattr(b, n))
    stats = stator.stats(compiled)
    if function is not steps_between and cls is not Child:  # super() is Python's
        assert stats["opaque_steps"] == 0 and stats["exits"] == 0, stats
        assert stats["replays"] >= CALLS - 2, stats


def both(p, q, y):
    p.x = p.x + y
    q.x = q.x * 2.0
    return p.x - q.x


def test_two_names_for_one_object():
    compiled = stator.compile(both)
    a, b, c, d = Plain(), Plain(), Plain(), Plain()
    for one in (False, True, False, True, True):
        found, expected = compiled(a, a if one else b, Y), both(c, c if one else d, Y)
        assert same(found, expected) and same((held(a), held(b)), (held(c), held(d)))
    assert stator.stats(compiled)["replays"] >= 3


def read_other(p, q, y):
    p.x = y + 1.0
    return q.x * 2.0


def test_read_through_another_name():
    compiled = stator.compile(read_other)
    a, b = Plain(), Plain()
    for other in (b, b, a, a, b, a):
        expected = (Y + 1.0) * 2.0 if other is a else b.x * 2.0
        assert same(compiled(a, other, Y), expected)


def raises_behind(obj, y, k):
    obj.x = obj.x + y
    obj.n += 1
    z = obj.x * 2.0
    z[k] = 1.0
    obj.x = z
    return obj.x


def test_exception_in_the_middle():
    compiled = stator.compile(raises_behind)
    a, b = Plain(), Plain()
    for k in (0, 1, 99, 2, 99, 3):
        outcomes = []
        for f, obj in ((compiled, a), (raises_behind, b)):
            try:
                outcomes.append(f(obj, Y, k))
            except IndexError as e:
                outcomes.append(str(e))
        assert same(*outcomes) and same(held(a), held(b))


def divides(obj, y):
    obj.x = y + 1.0
    obj.ratio = obj.x / y
    return obj.ratio


def test_fault_behind_a_store():
    compiled = stator.compile(divides)
    a = Plain()
    compiled(a, Y), compiled(a, Y)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(a, np.zeros(7))
    assert same(a.x, np.ones(7)) and same(a.ratio, (Y + 1.0) / Y)


class Property:
    def __init__(self):
        self.log = []
        self._x = X

    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, value):
        self.log.append(float(value.sum()))
        self._x = value


class Setattr(Plain):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name != "log":
            self.__dict__.setdefault("log", []).append(name)


@pytest.mark.parametrize("cls", [Property, Setattr])
def test_stores_that_run_code_stay_where_they_are(cls):
    def function(obj, y):
        obj.x = obj.x + y
        n = len(obj.log)
        obj.x = obj.x * 2.0
        return obj.x * n

    compiled = stator.compile(function)
    a, b = cls(), cls()
    for _ in range(CALLS):
        assert same(compiled(a, Y), function(b, Y))
        assert same(a.log, b.log)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: np.ndarray


def test_frozen():
    def function(obj, y):
        z = y * 2.0
        obj.x = z
        return z

    compiled = stator.compile(function)
    for _ in range(3):
        with pytest.raises(dataclasses.FrozenInstanceError):
            compiled(Frozen(X), Y)


def test_class_that_changes():
    class Changing(Plain):
        pass

    compiled = stator.compile(method)
    a, b = Changing(), Changing()
    for _ in range(CALLS):
        assert same(compiled(a, Y), method(b, Y))
    seen = []
    Changing.__setattr__ = lambda self, name, value: (
        seen.append(name),
        object.__setattr__(self, name, value),
    )
    compiled(a, Y)
    assert seen == ["x", "t", "n"]
    del Changing.__setattr__
    Changing.n = property(lambda self: 3, lambda self, value: seen.append(value))
    compiled(a, Y)
    assert seen == ["x", "t", "n", 4]


class Finalized:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("gone")


def test_what_was_held_goes_away_in_its_place():
    def function(obj, y):
        obj.x = y * 2.0
        obj.thing = None
        n = len(LOG)
        return obj.x * n

    compiled = stator.compile(function)
    for given in (None, None, None, "finalized", None):
        a, b = Plain(), Plain()
        results = []
        for f, obj in ((compiled, a), (function, b)):
            LOG.clear()
            obj.thing = Finalized(LOG) if given else None
            results.append(f(obj, Y))
        assert same(*results)


LOG: list[str] = []


def test_weak_reference_to_what_was_held():
    compiled = stator.compile(method)
    a = Plain()
    for i in range(CALLS):
        order = []
        if i > 2:
            ref = weakref.ref(a.x, lambda _, order=order, a=a: order.append(a.n))
        compiled(a, Y)
        if i > 2:
            assert ref() is None and order == [i]


def test_unset_slot():
    def function(obj, y):
        obj.x = y * 2.0
        return obj.unset + obj.x

    compiled = stator.compile(function)
    for i in range(CALLS):
        a = Slots()
        if i in (1, 2, 4):
            a.unset = 1.0
            assert same(compiled(a, Y), Y * 2.0 + 1.0)
        else:
            with pytest.raises(AttributeError):
                compiled(a, Y)
        assert same(a.x, Y * 2.0)


def test_deleted_attribute():
    def function(obj, y):
        obj.x = obj.x + y
        del obj.x
        obj.n = obj.n + 1
        obj.x = y
        return obj.x * 2.0

    compiled = stator.compile(function)
    a, b = Plain(), Plain()
    for _ in range(CALLS):
        assert same(compiled(a, Y), function(b, Y)) and same(held(a), held(b))


class Borg:
    """Objects that have one dict."""

    held: dict = {}

    def __init__(self):
        self.__dict__ = self.held


def through_both(p, q, x):
    p.v = x * 2
    q.v = q.v + 1
    return p.v


def read_through_the_other(p, q, x):
    q.v = x
    a = q.v
    p.v = a + 1
    return q.v


def made_inside(p, q, x):
    b = Borg()
    b.u = x * 2
    c = Borg()
    c.u = c.u + 1
    return b.u


def through_its_dict(p, q, x):
    held = p.__dict__
    p.v = x * 2
    return held["v"] + 1


@pytest.mark.parametrize("function", [through_both, read_through_the_other, made_inside, through_its_dict])
@pytest.mark.parametrize("later", [False, True])
def test_objects_that_share_a_dict(function, later):
    def objects(shared):
        if shared:
            return Borg(), Borg()
        p, q = Plain(), Plain()
        p.v = q.v = 1.0
        return p, q

    compiled = stator.compile(function)
    for k in range(8):
        shared = k > 4 if later else True
        expected = function(*objects(shared), np.arange(3.0))
        Borg.held.pop("v", None) if function is not through_both else Borg.held.update(v=1.0)
        found = compiled(*objects(shared), np.arange(3.0))
        Borg.held.pop("v", None) if function is not through_both else Borg.held.update(v=1.0)
        assert np.array_equal(found, expected)
        stator.wait()
