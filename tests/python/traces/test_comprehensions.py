"""Short comprehensions are part of a trace; long ones, sets and generators are left to Python."""

from __future__ import annotations

import pytest
import stator
from fuzz.compare import same
from replayed import CALLS, X, Y, assert_stays_in_one_trace


def list_of_constants(x, y):
    a, b, c = [x * k + y for k in (1.0, 2.0, 3.0)]
    return a * b + c


def list_returned(x, y):
    return [x * k for k in range(4)]


def list_filtered(x, y):
    return [x * k + y for k in range(5) if k % 2 == 0]


def list_nested(x, y):
    return [[x * i + y * j for i in (1, 2)] for j in (3, 4)]


def list_of_two_loops(x, y):
    return [x * i + y * j for i in (1, 2) for j in range(i)]


def list_over_items(x, y):
    return [a + b for a, b in ((x, y), (y, x))]


def list_over_shape(x, y):
    return [x * n for n in x.shape]


def list_over_built_list(x, y):
    parts = [x, y, x + y]
    return [p * 2.0 for p in parts]


def list_empty(x, y):
    return [x for _ in ()], x + y


def list_calls_function(x, y):
    def f(z, n):
        return z * n + y

    return [f(x, n) for n in (1, 2)]


def list_variable_is_shared(x, y):
    fs = [lambda: x * k for k in (1.0, 2.0)]  # noqa: B023 (both see the last k)
    return fs[0]() + fs[1]() + y


def list_outer_variable_kept(x, y):
    k = y
    values = [k * 2.0 for k in (x, x + 1.0)]
    return values, k


def dict_comprehension(x, y):
    return {name: x * len(name) + y for name in ("a", "bb")}


def dict_overwritten(x, y):
    return {name: x * k for k, name in ((1, "a"), (2, "b"), (3, "a"))}


STAY = [
    list_of_constants,
    list_returned,
    list_filtered,
    list_nested,
    list_of_two_loops,
    list_over_items,
    list_over_shape,
    list_over_built_list,
    list_empty,
    list_calls_function,
    list_variable_is_shared,
    list_outer_variable_kept,
    dict_comprehension,
    dict_overwritten,
]


@pytest.mark.parametrize("function", STAY, ids=lambda f: f.__name__)
def test_stays_in_the_trace(function):
    assert_stays_in_one_trace(function)


@pytest.mark.parametrize("make", [tuple, list], ids=["tuple", "list"])
def test_comprehension_over_an_argument(make):
    compiled = stator.compile(lambda arrays: [a * 2.0 + 1.0 for a in arrays])
    for arrays in [[X, Y], [X, Y, X], [Y], [X, Y], [X, Y, X], []]:
        for _ in range(2):
            assert same(compiled(make(arrays)), [a * 2.0 + 1.0 for a in arrays])
    assert stator.stats(compiled)["opaque_steps"] == 0


def test_long_comprehensions_are_left_to_python():
    def function(x):
        return [x * k for k in range(30)]

    compiled = stator.compile(function)
    for i in range(CALLS):
        assert same(compiled(X + i), function(X + i))
    assert "range with more than 8 items" in str(stator.explain(compiled)(X))


def test_set_comprehensions_and_generators_are_left_to_python():
    def function(x):
        names = {n + "!" for n in ("a", "b")}
        return sum(x * k for k in (1.0, 2.0)), names

    compiled = stator.compile(function)
    for i in range(CALLS):
        assert same(compiled(X + i), function(X + i))


def test_exit_inside_a_comprehension():
    def function(x, limits):
        return [x * k if x.sum() > k else x - k for k in limits]

    compiled = stator.compile(function)
    for x in [X, X, X + 1.0, X + 2.0, X - 1.0, X, X + 1.0, X - 1.0, X + 2.0, X + 2.0]:
        limits = [1.0, 5.0, 12.0]
        assert same(compiled(x, limits), function(x, limits))
        assert same(compiled(x, (0.5, *limits)), function(x, (0.5, *limits)))


def test_exit_inside_a_comprehension_over_a_list_that_changes():
    def function(x):
        values = [1.0, 2.0, 3.0]

        def grown(k):
            if x.sum() > 5.0 and len(values) < 5:
                values.append(k * 2.0)
            return x * k

        return [grown(k) for k in values], values

    compiled = stator.compile(function)
    for x in [X, X, X + 1.0, X, X + 1.0, X + 1.0, X]:
        assert same(compiled(x), function(x))
