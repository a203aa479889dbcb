"""Named tuples whose classes do in their own way what a trace does with tuples without asking."""

from collections import namedtuple

import numpy as np
import pytest
import stator


class Iterated(namedtuple("Iterated", "x y")):
    def __iter__(self):
        return iter((7.0, 8.0))


class Indexed(namedtuple("Indexed", "x y")):
    def __getitem__(self, i):
        return tuple.__getitem__(self, i) * 10


class Asked(namedtuple("Asked", "x y")):
    answer = True

    def __bool__(self):
        return Asked.answer

    def __eq__(self, other):
        return Asked.answer

    __hash__ = None


class Added(namedtuple("Added", "x y")):
    def __add__(self, other):
        return (self.x * 2, 5.0, 6.0)

    def __mul__(self, other):
        return (1.0, 2.0, 3.0, 4.0)


class Plain(namedtuple("Plain", "x y")):
    pass


def unpack(a):
    x, y = Iterated(a.sum(), 2.0)
    return a * x + y


def star(a):
    return a * 2, [*Iterated(a.sum(), 2.0)], list(Iterated(1.0, 2.0))


def zipped(a):
    return [v * a for v, w in zip(Iterated(a.sum(), 2.0), (1, 2), strict=True)]


def item(a):
    return a * Indexed(a.sum(), 2.0)[0]


def truth(a):
    return a * 2, not Asked(1.0, 2.0), Asked(len(a), 2) == (1, 2)


def add(a):
    return a * 2, Added(a.sum(), 2.0) + (1.0,), Added(a.sum(), 2.0) * 2


def rows(a):
    b = np.zeros(len(a))
    for i in range(len(a)):
        x, y = Iterated(a[i], 2.0)
        b[i] = x + Indexed(a[i], 2.0)[0]
    return b


@pytest.mark.parametrize("f", [unpack, star, zipped, item, truth, add, rows], ids=lambda f: f.__name__)
def test_ways_of_their_own(f):
    compiled = stator.compile(f)
    a = np.ones(300 if f is rows else 1)
    try:
        for Asked.answer in (True, True, True, True, False, True):
            assert repr(compiled(a)) == repr(f(a))
            stator.wait()
    finally:
        Asked.answer = True


def items(a):
    q = Plain(a.sum(), 2.0)
    x, y = q
    return a * q[0] + len(q), not q, q == (1.0, 2.0), q + (1.0,), x + y


def fields(a):
    q = Plain(a.sum(), 2.0)
    return a * q.x + q.y


def replaced(a):
    return a * 2, Plain(1.0, 2.0)._replace(x=5.0)


CHANGES = {
    "__iter__": lambda self: iter((7.0, 8.0)),
    "__getitem__": lambda self, i: 11.0,
    "__len__": lambda self: 5,
    "__bool__": lambda self: False,
    "__eq__": lambda self, other: True,
    "__add__": lambda self, other: (0.5,),
    "x": property(lambda self: 100.0),
    "_make": classmethod(lambda cls, items: cls(11.0, 12.0)),
}


def said(f, a):
    try:
        return repr(f(a))
    except (TypeError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("f", [items, fields, replaced], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", CHANGES)
def test_a_way_is_put_on_the_class_later(name, f):
    compiled = stator.compile(f)
    a = np.ones(2)
    for _ in range(4):
        assert said(compiled, a) == said(f, a)
        stator.wait()
    setattr(Plain, name, CHANGES[name])
    try:
        for _ in range(3):
            assert said(compiled, a) == said(f, a)
    finally:
        delattr(Plain, name)
    assert said(compiled, a) == said(f, a)
