"""Objects of classes in Python that a trace makes: what is seen of them is what plain Python gives."""

import abc
import dataclasses
import functools
import gc
import sys
import traceback
import weakref
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest
import stator
from around.compare import flat

X = np.linspace(0.5, 2.0, 9)


def same(function, *calls):
    compiled = stator.compile(function)
    for arguments in calls:
        for _ in range(3):
            assert outcome(compiled, arguments) == outcome(function, arguments)
    return compiled


def outcome(function, arguments):
    try:
        return flat(function(*arguments))
    except Exception as error:  # noqa: BLE001
        frames = traceback.extract_tb(error.__traceback__)[1:]
        return repr(error), [(f.name, f.lineno) for f in frames]


def captures_all(compiled, *arguments):
    text = str(stator.explain(compiled)(*arguments))
    assert "stays in Python\n    nothing" in text, text


class Box:
    kind = "box"

    def __init__(self, data, scale=2.0):
        self.data = data
        self.scale = scale
        self.data = self.data * scale

    @property
    def total(self):
        return self.data.sum() + self.scale

    def moved(self, by):
        return Box(self.data + by, self.scale)


Pair = namedtuple("Pair", "a b")


class Point(NamedTuple):
    x: object
    n: int = 1
    m: int = 1

    def norm(self):
        return (self.x * self.x).sum() * self.n

    @property
    def twice(self):
        return self.x * 2.0


def returned(x):
    b = Box(x)
    return b, [b, b.moved(1.0)], b.total


def one_object(x):
    b = Box(x)
    c = b
    c.extra = x * 3.0
    c.scale = 4.0
    return b, b is c, b.scale, b.extra, b.kind


def two_objects(x):
    a, b = Box(x), Box(x)
    a.other, b.other = b, 1.0
    return a, b, a is b, a.other.data


def inside_a_cell(x):
    b = Box(x)

    def total():
        return b.total

    return total() + total(), b


def named(x):
    p = Point(x)
    q = p._replace(n=p.n + 1)
    y, n, m = q
    return p, q, q.norm() + q.twice.sum(), y * n, m, q[0], p[1:], len(q), q.m


@pytest.mark.parametrize("function", [returned, one_object, two_objects, inside_a_cell, named])
def test_same(function):
    captures_all(same(function, (X,), (X[:4].copy(),)), X)


def test_fields_that_are_one_small_int():
    def f(x, n):
        p = Point(x, 1, n)
        return x * p.m, p

    same(f, (X, 1), (X, 2), (X, 3))


def leaves_in_init(x, limit):
    class_ = Checked
    c = class_(x, limit)
    return c.data + 1.0, c


class Checked:
    def __init__(self, data, limit):
        self.data = data * 2.0
        if data.sum() > limit:
            self.data = np.clip(self.data, 0.0, 1.0)
            self.clipped = True
            if limit < 0.0:
                raise ValueError("limit")
        self.limit = limit


def test_exits_in_the_middle_of_init():
    same(leaves_in_init, (X, 100.0), (X, 1.0), (X, 100.0), (X, -1.0), (X, 1.0), (X, 100.0))


def test_warnings_in_the_middle_of_init():
    def f(x):
        with np.errstate(all="raise"):
            return Divided(x).data

    compiled = stator.compile(f)
    for x in (X, X - X[0], X, X * 0.0, X):
        for _ in range(3):
            assert outcome(compiled, (x,)) == outcome(f, (x,))


class Divided:
    def __init__(self, x):
        self.before = x
        self.data = 1.0 / x


class Returns:
    def __init__(self, x, what):
        self.x = x * 2.0
        if x.sum() > 100.0:
            return what


def test_init_that_returns_something():
    def f(x, what):
        return Returns(x, what)

    same(f, (X, 1), (X + 100.0, 1), (X, 1), (X + 100.0, None))


def test_changed_classes():
    class Thing:
        factor = 2.0

        def __init__(self, x):
            self.x = x * self.factor

        def value(self):
            return self.x + 1.0

    def f(x):
        return Thing(x).value()

    compiled = stator.compile(f)

    def check():
        for _ in range(3):
            assert outcome(compiled, (X,)) == outcome(f, (X,))

    check()
    Thing.factor = 3.0
    check()
    Thing.value = lambda self: self.x - 1.0
    check()
    Thing.__init__ = lambda self, x: setattr(self, "x", x)
    check()
    Thing.x = property(lambda self: X * 7.0, lambda self, value: None)
    check()
    del Thing.x
    seen = []
    Thing.__del__ = lambda self: seen.append(1)
    check()
    assert len(seen) == 6
    del Thing.__del__
    Thing.__new__ = lambda cls, x: object.__new__(cls)
    check()


def test_finalizers_run():
    seen = []

    class Noted:
        def __init__(self, x):
            self.x = x

        def __del__(self):
            seen.append(self.x.sum())

    def f(x):
        return Noted(x * 2.0).x + 1.0

    compiled = stator.compile(f)
    for n in range(1, 6):
        compiled(X)
        assert len(seen) == n


def test_weak_references():
    def f(x):
        b = Box(x)
        return weakref.ref(b), b

    compiled = stator.compile(f)
    for _ in range(4):
        reference, box = compiled(X)
        assert reference() is box


def test_odd_classes():
    class Slotted:
        __slots__ = ("x", "y")

        def __init__(self, x):
            self.y = x
            self.x = x + 1.0

    class Refusing:
        def __init__(self, x):
            self.x = x

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * 2.0)

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def run(self): ...

    class Concrete(Abstract):
        def run(self):
            return 1.0

    class Empty:
        pass

    class Meta(type):
        def __call__(cls, x):
            return super().__call__(x * 3.0)

    class Made(metaclass=Meta):
        def __init__(self, x):
            self.x = x

    class Array(np.ndarray):
        pass

    def slotted(x):
        s = Slotted(x)
        return s.x * s.y, s

    def refusing(x):
        return Refusing(x), Refusing(x).x + 1.0

    def abstract(x):
        return Concrete().run() * x, Abstract()

    def empty(x):
        e = Empty()
        e.x = x * 2.0
        return e, e.x

    def made(x):
        return Made(x).x

    def missing(x):
        e = Empty()
        y = x * 2.0
        return y, e.x

    def wrong_arguments(x):
        return x * 2.0, Box(x, 1.0, 2.0)

    def subclass(x):
        return x.view(Array) * 2.0

    for function in (slotted, refusing, abstract, empty, made, missing, wrong_arguments, subclass):
        same(function, (X,))


@dataclasses.dataclass
class Fields:
    x: np.ndarray
    parts: list = dataclasses.field(default_factory=list)
    named: dict = dataclasses.field(default_factory=dict)
    total: float = dataclasses.field(init=False)

    def __post_init__(self):
        self.total = float(self.x.sum())
        self.parts.append(self.x * 2.0)


def test_dataclass_with_factories():
    def f(x):
        a, b = Fields(x), Fields(x + 1.0)
        a.named["b"] = b
        return a, a.parts[0] + b.parts[0] + b.total

    same(f, (X,))


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: np.ndarray
    n: int = 1

    def __add__(self, other):
        return Frozen(self.x + other.x, self.n + other.n)

    def __iadd__(self, other):
        return Frozen(self.x, -1)

    def __sub__(self, other):
        if not isinstance(other, Frozen):
            return NotImplemented
        return Frozen(self.x - other.x)

    def __rsub__(self, other):
        return Frozen(other - self.x)


def test_operators():
    def f(x):
        a, b = Frozen(x), Frozen(x * 2.0, 3)
        c = a + b
        d = a - b
        c += a
        return a + b, c, d

    def reflected(x):
        return 1.0 - Frozen(x)

    def declined(x):
        return x * 2.0, Frozen(x) - 1.0

    def frozen(x):
        a = Frozen(x)
        a.x = x
        return a

    for function in (f, reflected, declined, frozen):
        same(function, (X,))


class Sub(Frozen):
    def __radd__(self, other):
        return "mine"


def test_operand_of_a_subclass():
    def f(a, b):
        return a + b

    same(f, (Frozen(X), Frozen(X)), (Frozen(X), Sub(X)), (Sub(X), Frozen(X)))


class Counted:
    reads = 0

    def __init__(self, x):
        self._x = x

    @property
    def x(self):
        self.reads += 1
        if self.reads > 8:
            raise AttributeError("no more")
        return self._x * 2.0

    def __getattr__(self, name):
        return name


def test_properties_with_effects_and_errors():
    def f(c):
        return c.x + c.x

    compiled = stator.compile(f)
    a, b = Counted(X), Counted(X)
    for _ in range(6):
        assert outcome(compiled, (a,)) == outcome(f, (b,))
        assert flat(a) == flat(b)


def test_cycles():
    def f(x):
        b = Box(x)
        b.self = b
        return b.data + b.self.scale, b.self is b

    compiled = stator.compile(f)
    for _ in range(4):
        values, is_self = compiled(X)
        assert is_self
        assert values.tobytes() == f(X)[0].tobytes()
    gc.collect()


def test_not_kept():
    class Local:
        def __init__(self, x):
            self.x = x * 2.0

    def f(x):
        return Local(x)

    compiled = stator.compile(f)
    made = [weakref.ref(compiled(X)) for _ in range(4)]
    gc.collect()
    assert not any(r() for r in made)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="lines of instructions")
def test_traceback_through_property():
    class Bad:
        @property
        def value(self):
            return np.ones(3) @ np.ones(self.n)

    def f(x, bad, n):
        bad.n = n
        return x * 2.0, bad.value

    bad = Bad()
    same(f, (X, bad, 3), (X, bad, 4), (X, bad, 3))


class Loud:
    def __init__(self, x, log):
        self.x = x
        self.log = log

    def combine(self, other):
        self.log.append("add")
        return NotImplemented if self.x.sum() > 20.0 else Loud(self.x + 1.0, self.log)

    def __add__(self, other):
        return self.combine(other)

    def __sub__(self, other):
        return self.combine(other)


class Right:
    def __init__(self, x):
        self.x = x

    def __radd__(self, other):
        return "reflected"


def test_operators_that_decline_through_a_helper():
    def f(x, b, log):
        a = Loud(x, log)
        return a + b

    def g(x, b, log):
        a = Loud(x, log)
        a -= b
        return a

    for function in (f, g):
        compiled = stator.compile(function)
        for x in (X, X, X, X + 50.0, X + 50.0, X, X + 50.0):
            for b in (Right(X), 1.0, X, Loud(X, [])):
                logs = [], []
                first = outcome(compiled, (x, b, logs[0]))
                second = outcome(function, (x, b, logs[1]))
                assert first == second
                assert logs[0] == logs[1]


def test_getattr_added_later():
    class Late:
        def __init__(self, x):
            self._x = x

        @property
        def x(self):
            if self._x.sum() > 20.0:
                raise AttributeError("x")
            return self._x * 2.0

    def f(late):
        return late.x + 1.0

    def g(x):
        return Late(x).x + 1.0

    compiled, made = stator.compile(f), stator.compile(g)

    def check():
        for x in (X, X, X, X + 50.0, X + 50.0, X):
            assert outcome(compiled, (Late(x),)) == outcome(f, (Late(x),))
            assert outcome(made, (x,)) == outcome(g, (x,))

    check()
    Late.__getattr__ = lambda self, name: X * 7.0
    check()
    del Late.__getattr__
    check()


def test_named_tuple_with_its_own_new():
    class Checked(namedtuple("Checked", "a b")):
        __slots__ = ()

        def __new__(cls, a, b=2.0):
            return super().__new__(cls, a * 2.0, b)

    def f(x):
        c = Checked(x)
        return c, c.a + c.b

    same(f, (X,))


def test_alternate_constructors():
    class Made:
        scale = 2.0

        def __init__(self, x):
            self.x = x

        @classmethod
        def scaled(cls, x):
            return cls(x * cls.scale)

        @staticmethod
        def plain(x):
            return Made(x)

        def like(self, x):
            return type(self)(x + self.x)

    class More(Made):
        scale = 3.0

    def f(x):
        a, b = Made.scaled(x), More.scaled(x)
        return a, b, a.like(b.x), b.like(a.x), Made.plain(x), type(b) is More, type(a) is More

    def g(a, x):
        return a.like(x), type(a) is More

    same(f, (X,))
    same(g, (Made(X), X), (More(X), X), (Made(X), X))


def test_questions():
    class Thing:
        def __init__(self, x):
            self.x = x
            self.none = None

        @property
        def costs(self):
            asked.append("costs")
            return self.x

    asked = []

    def f(t, x):
        out = x * 2.0
        if hasattr(t, "x"):
            out = out + getattr(t, "x")
        if hasattr(t, "missing"):
            out = out + t.missing
        out = out + getattr(t, "other", 1.0)
        return (
            out,
            hasattr(x, "shape"),
            hasattr(x, "nothing"),
            getattr(x, "nothing", 3),
            getattr(t, "none", 1),
        )

    def g(t, x):
        return hasattr(t, "costs"), x * 2.0, getattr(t, "costs")

    def h(t, x):
        return t.x is x, t.x is t.x, x is not t, (x * 2.0) is x, t.none is None, x + 1.0

    for function in (f, g, h):
        compiled = stator.compile(function)
        for shared in (False, False, False, True, True, False):
            for extra in ({}, {"other": 2.0}, {"missing": 4.0}, {"other": 1.0}):
                results = []
                for called in (compiled, function):
                    asked.clear()
                    x = X.copy()
                    t = Thing(x if shared else X * 3.0)
                    vars(t).update(extra)
                    results.append((outcome(called, (t, x)), list(asked)))
                assert results[0] == results[1]


def test_lists_of_objects():
    def f(x):
        boxes = []
        for k in range(3):
            boxes.append(Box(x * k))
        pair = [Box(x)]
        pair.append(pair[0])
        return boxes, pair, pair[0] is pair[1]

    def cycle(x):
        parts = []
        b = Box(x)
        b.parts = parts
        parts.append(b)
        return b.parts[0] is b, b.data

    same(f, (X,))
    same(cycle, (X,))


class Clipped:
    def __init__(self, x):
        self.sets = 0
        self.x = x

    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, value):
        self.sets += 1
        if value.sum() > 40.0:
            raise ValueError("too much")
        self._x = np.clip(value, 0.0, 10.0)
        return value

    def __iadd__(self, other):
        self.x = self.x + other
        return self


def test_setters():
    def entry(c, by):
        c.x = c.x * by
        c.x *= 2.0
        return c.x.sum(), c.sets

    def made(x, by):
        c = Clipped(x)
        c.x = c.x * by
        return c, c.x + 1.0

    captures_all(stator.compile(entry), Clipped(X), 0.5)
    for function, first in ((entry, Clipped), (made, np.copy)):
        compiled = stator.compile(function)
        for by in (1.0, 1.0, 1.0, 3.0, 10.0, 10.0, 1.0, 10.0):
            a, b = first(X), first(X)
            assert outcome(compiled, (a, by)) == outcome(function, (b, by))
            assert flat(a) == flat(b)


def law(x, a, b=2.0, *rest, c=0.0, **more):
    return a * x**b + c + sum(rest) + sum(more.values())


def power(x, a, b=2.0, c=0.0):
    return a * x**b + c


def test_partials():
    def inside(x):
        p = functools.partial(law, a=2.0, c=x)
        q = functools.partial(law, x, 3.0)
        return p(x), p(x, c=1.0), q(), q(1.0, 4.0, z=5.0), q(c=x * 2.0)

    def given(f, x):
        return f(x) + f(x, c=3.0)

    def kept(x):
        p = functools.partial(law, x, b=3.0)
        if x.sum() > 40.0:
            p.keywords["b"] = 1.0
        return p(2.0), p

    def shown(result):
        return flat([(p.func, p.args, p.keywords) if isinstance(p, functools.partial) else p for p in result])

    def all_inside(x):
        p = functools.partial(power, a=2.0, c=x)
        return p(x), p(x, c=1.0)

    captures_all(same(all_inside, (X,)), X)
    same(inside, (X,), (X[:3].copy(),))
    partials = [functools.partial(law, a=k, b=k) for k in (1.0, 2.0)]
    partials += [functools.partial(law, 2.0, 1.0), functools.partial(law, a=X), functools.partial(law)]
    partials += [functools.partial(functools.partial(law, a=1.0), b=3.0), functools.partial(np.add, X)]
    same(given, *[(p, X) for p in partials + partials[::-1]])
    p = functools.partial(law, a=1.0)
    compiled = stator.compile(given)
    for change in ({}, {}, {}, {"b": 3.0}, {"b": 3.0}, {"a": X}, {"z": 1.0}):
        p.keywords.update(change)
        assert outcome(compiled, (p, X)) == outcome(given, (p, X))
    compiled = stator.compile(kept)
    for x in (X, X, X, X + 50.0, X, X + 50.0):
        assert shown(compiled(x)) == shown(kept(x))


class Node:
    def __init__(self, v, following=None):
        self.v = v
        self.next = following


def chain(x, depth):
    return Node(x * depth) if depth == 0 else Node(x * depth, chain(x, depth - 1))


def total(node):
    return node.v if node.next is None else node.v + total(node.next)


@dataclasses.dataclass(slots=True)
class Slots:
    x: object
    n: int = 1
    other: object = None

    def up(self):
        self.n += 1
        return self


@dataclasses.dataclass(slots=True)
class MoreSlots(Slots):
    z: float = 3.0

    def up(self):
        self.z += 1
        return Slots.up(self)


class Derived(Box):
    def __init__(self, data, more):
        super().__init__(data)
        self.more = more


def recursive(x):
    nodes = chain(x, 4)
    return total(nodes), nodes


def with_slots(x):
    s = Slots(x).up().up()
    t = MoreSlots(x, other=s).up()
    return s, t, t.other is s, t.x * s.n


def derived(x):
    d = Derived(x, x * 2.0)
    return d, d.total + d.more, d.moved(1.0)


def in_all_places(x):
    first, held = Node(x), {}
    node = Node(x * 2.0)
    held["n"], first.next = node, node
    node.v = node.v + 1.0
    held["more"] = {"again": [node, first]}
    return held, held["n"] is first.next, held["more"]["again"][0] is node


@pytest.mark.parametrize("function", [recursive, with_slots, derived, in_all_places])
def test_structures(function):
    same(function, (X,), (X[:4].copy(),))


def test_one_object_twice_among_the_arguments():
    def swap(o, p):
        o.v, p.v = p.v, o.v
        o.v = o.v * 2.0
        return o.v is p.v, o is p

    compiled = stator.compile(swap)
    for shared in (False, False, False, True, True, True, False):
        results = []
        for g in (compiled, swap):
            a = Node(X.copy())
            b = a if shared else Node(X * 3.0)
            results.append((flat(g(a, b)), flat(a), flat(b)))
        assert results[0] == results[1]


def test_finally_with_an_object_in_the_making():
    def f(x, log):
        node = Node(x)
        try:
            node.v = node.v * 2.0
            if x.sum() > 20.0:
                raise KeyError(node.v.sum())
            return node
        finally:
            log.append(node.v.sum())
            node.done = True

    compiled = stator.compile(f)
    for x in (X, X, X, X + 50.0, X + 50.0, X, X + 50.0):
        logs = [], []
        assert outcome(compiled, (x, logs[0])) == outcome(f, (x, logs[1]))
        assert logs[0] == logs[1]


def test_classes_of_arguments_that_change():
    class Thing:
        def __init__(self, x):
            self.x = x

        @property
        def p(self):
            return self.x * 2.0

        def m(self):
            return self.p + 1.0

    class Other(Thing):
        def m(self):
            return self.p - 1.0

    class Third(Thing):
        @property
        def p(self):
            return self.x * 5.0

    def f(thing):
        return thing.m() * thing.p

    compiled = stator.compile(f)

    def check():
        for kind in (Thing, Other, Third, Thing, Other):
            for _ in range(3):
                assert outcome(compiled, (kind(X),)) == outcome(f, (kind(X),))

    check()
    Thing.p = property(lambda self: self.x * 9.0)
    check()
    Other.m = lambda self: self.x
    check()
    Other.p = 7.0
    check()
    del Other.p
    check()
    own = Thing(X)
    own.m = lambda: X * 11.0
    for _ in range(3):
        assert outcome(compiled, (own,)) == outcome(f, (own,))
