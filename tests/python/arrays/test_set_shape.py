"""Stores to an array's shape, and arrays that np.ndarray makes."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report
from replayed import assert_stays_in_one_trace

sets_warn = pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) >= (2, 5), reason="NumPy deprecates it"
)


def fresh(x, y):
    z = x * 2
    z.shape = (1, z.size)
    return z, z + y


def by_two_names(x, y):
    z = w = x + y
    z.shape = (x.size, 1)
    w[0] = 5
    return z, w is z, w.shape


def of_a_view(x, y):
    z = x[1:]
    z.shape = (z.size, 1)
    w = z * y
    z.shape = -1
    return z, w


def of_several(x, y):
    grid = np.stack((x, y))
    a, b = grid[0], grid[1]
    c = a + b
    a.shape = b.shape = c.shape = (1, x.size)
    grid[0] = 3
    return a, b, c, grid


def made_by_ndarray(x, y):
    z = np.ndarray(x.size, dtype=np.float32)
    z[:] = x
    w = np.ndarray((2, x.size))
    w[0], w[1] = x, y
    return z, w


@pytest.mark.parametrize(
    "function",
    [pytest.param(f, marks=sets_warn) for f in (fresh, by_two_names, of_a_view, of_several)]
    + [made_by_ndarray],
)
def test_is_part_of_the_trace(function):
    assert_stays_in_one_trace(function)


def shown_by_another(x):
    z = x * 2
    part = z[1:]
    z.shape = (z.size, 1)
    z[2] = 7
    return z, part


def kept_in_a_list(x):
    z = x * 2
    kept = [z, z[:2]]
    z.shape = (z.size, 1)
    z[0] = 7
    return kept


def of_an_argument(x):
    y = x + 1
    x.shape = (x.size, 1)
    return y + x


def other_size(x):
    y = x + 1
    y.shape = (5, x.size)
    return y


def not_in_one_piece(x):
    y = (x + 1)[::2]
    y.shape = (2, 2)
    return y


def column_major(x):
    y = np.stack((x, x + 1)).T
    y.shape = (2, x.size)
    return y


def several_are_open(x):
    y = x + 1
    y.shape = (-1, -1)
    return y


def of_an_attribute(x):
    y = x + 1
    y.colour = 3
    return y


def left_behind_it(x):
    y = x * 2
    y.shape = (y.size, 1)
    if y[0, 0] > 3:
        return y.T
    return y


def of_a_buffer(x):
    y = np.ndarray((2,), np.float64, x)
    y[0] = 9
    return x


def view_of_an_argument(x):
    y = x[1:]
    y.shape = (1, y.size)
    y[0, 0] = 4
    return y, y.base is x


@pytest.mark.parametrize(
    "function",
    [
        view_of_an_argument,
        shown_by_another,
        kept_in_a_list,
        of_an_argument,
        other_size,
        not_in_one_piece,
        column_major,
        several_are_open,
        of_an_attribute,
        left_behind_it,
        of_a_buffer,
    ],
)
def test_is_numpys(function):
    """What it gives, what it raises, and the argument behind it."""
    compiled = stator.compile(function)
    for n in (7, 7, 7, 9, 7):
        for start in (0.0, 2.0):
            expected = observe(function, [np.arange(start, start + n)])
            found = observe(compiled, [np.arange(start, start + n)])
            assert found == expected, report(expected, found)
        stator.wait()


def test_explain_says_why():
    assert "shape" in str(stator.explain(stator.compile(of_an_argument))(np.arange(4.0)))
