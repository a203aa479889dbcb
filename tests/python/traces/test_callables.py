"""Objects that are called: their class's __call__ is followed like a method."""

from __future__ import annotations

import numpy as np
import pytest
import stator

X = np.linspace(0, 1, 40)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x, shift=0.0):
        return x * self.factor + shift


class Dynamic(Scaled):
    def __getattr__(self, name):
        raise AttributeError(name)


class Through(Scaled):
    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x, **options):
        return self.inner(x, **options) - 1


def check(compiled, function, *args):
    for _ in range(3):
        assert np.array_equal(compiled(*args), function(*args))


@pytest.mark.parametrize(
    "make", [Scaled, lambda k: Through(Scaled(k)), lambda k: Through(Through(Scaled(k)))]
)
def test_instances_are_followed(make):
    call = make(2.0)

    def function(x):
        return call(x, shift=1.0) * 2 + x

    compiled = stator.compile(function)
    check(compiled, function, X)
    stats = stator.stats(compiled)
    assert stats["traces"] == 1 and stats["opaque_steps"] == 0 and stats["replays"] == 2, stats
    call = make(-3.0)
    check(compiled, function, X)


def test_changes(monkeypatch):
    call = Scaled(2.0)

    def function(x):
        return call(x) * 2

    compiled = stator.compile(function)
    check(compiled, function, X)
    call.factor = 5.0
    check(compiled, function, X)
    call.__call__ = lambda x: x  # of the instance: not what a call of it calls
    check(compiled, function, X)
    monkeypatch.setattr(Scaled, "__call__", lambda self, x: x - self.factor)
    check(compiled, function, X)


def test_attributes_by_code():
    call = Dynamic(2.0)

    def function(x):
        return call(x) * 2 + x

    check(stator.compile(function), function, X)


class Asked(Scaled):
    asked: list[str] = []

    def __getattr__(self, name):
        Asked.asked.append(name)
        raise AttributeError(name)


def test_nobody_asks_for_a_name():
    """What a call is of stands in messages; a program's own __getattr__ is not run for them."""
    call = Asked(2.0)

    def straight(x):
        return call(x) * 2

    def looping(x, n):
        for _ in range(n):
            x = call(x) * 0.5
        return x

    first, second = stator.compile(straight), stator.compile(looping)
    for n in (3, 5, 4):
        assert first(X).tobytes() == straight(X).tobytes()
        assert second(X, n).tobytes() == looping(X, n).tobytes()
    assert Asked.asked == []
