"""Comprehensions over zip and enumerate of what a trace knows item by item."""

import sys

import numpy as np
import pytest
import stator

X = np.linspace(-1.0, 2.0, 7)


def flat(value):
    if isinstance(value, np.ndarray):
        return (value.dtype, value.shape, value.tobytes())
    if isinstance(value, list | tuple):
        return (type(value), [flat(v) for v in value])
    if isinstance(value, dict):
        return [(k, flat(v)) for k, v in value.items()]
    return (type(value), value)


def by_name(x):
    return {k: v * 2.0 for k, v in zip("abc", (x, x + 1.0, x - 1.0))}


def numbered(x):
    return [i * v + i for i, v in enumerate([x, x * 2.0, x * 3.0], 4)]


def uneven(x):
    return [a + b * c for a, b, c in zip((x, x * 2.0), range(5), [x, x, x])]


def numbered_pairs(x):
    t = tuple(i + a * b for i, (a, b) in enumerate(zip((x, x + 1.0), (x, x * 3.0))))
    return t[0] + t[1]


def in_two_loops(x):
    return [a * b for a in (x, 2.0) for b in (x, x + 1.0)]


@pytest.mark.parametrize("function", [by_name, numbered, uneven, numbered_pairs, in_two_loops])
def test_same(function):
    compiled = stator.compile(function)
    for x in (X, X, X[:3].copy(), X):
        assert flat(compiled(x)) == flat(function(x))
    # 3.14 makes a loop over the generator of tuple(… for …).
    if function is not numbered_pairs or sys.version_info < (3, 14):
        assert "stays in Python\n    nothing" in str(stator.explain(compiled)(X))


def used_before(x):
    z = zip((x, x * 2.0, x * 3.0), (1.0, 2.0, 3.0))
    next(z)
    return [a * b for a, b in z]


def used_again(x):
    z = zip((x, x * 2.0), (1.0, 2.0))
    first = [a * b for a, b in z]
    return first, [a * b for a, b in z], list(z)


def inner_used_again(x):
    z = zip((x, x * 2.0), (1.0, 2.0))
    e = enumerate(z)
    first = [i + a * b for i, (a, b) in e]
    return first, list(z), list(e)


def over_rows(x):
    m = np.stack([x, x * 2.0])
    return [i * row for i, row in enumerate(m)]


def many(x):
    return [i * a for i, a in enumerate([x] * 20)][19]


def leaves(x):
    return [np.sqrt(a) if a.sum() > k else a for k, a in enumerate((x, x * 2.0, x - 9.0))]


@pytest.mark.parametrize("function", [used_before, used_again, inner_used_again, over_rows, many, leaves])
def test_what_is_used_up_or_unknown(function):
    compiled = stator.compile(function)
    for x in (X + 2.0, X + 2.0, X + 9.0, X + 2.0, X + 30.0, X + 2.0):
        assert flat(compiled(x)) == flat(function(x))
