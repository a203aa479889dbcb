"""Arrays stored under a mask, np.mgrid, and sums of numbers: parts of a trace."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report
from replayed import assert_stays_in_one_trace


def selected(x, y):
    z = x * y
    z[x > x[2]] = abs(z[x > x[2]]) ** 1.5
    return z


def of_an_argument(x, y):
    x[y > y[2]] = y[y > y[2]] * 2
    return x + 1


def of_other_dtypes(x, y):
    z = np.zeros((x.size, 2), np.complex128)
    mask = np.stack((x, x), 1) > x[1]
    z[mask] = np.float32(2) * np.stack((x, y), 1)[mask].astype(np.float32)
    return z


def grid(x, y):
    i, j = np.mgrid[0 : x.size, 0:3]
    return i * 2 + j, x[i]


def sum_of_a_sum(x, y):
    return np.sum(np.sum(x * y)) * 2, np.prod(np.sum(x)), np.sum(np.float64(-0.0) * x[0])


@pytest.mark.parametrize("function", [selected, of_an_argument, of_other_dtypes, sum_of_a_sum, grid])
def test_is_part_of_the_trace(function):
    if function is grid:  # begins with what the function's entry does not know
        compiled = stator.compile(function)
        for n in (7, 7, 5, 7):
            x, y = np.arange(n) * 1.0, np.ones(n)
            assert observe(compiled, [x, y]) == observe(function, [x, y])
        assert stator.stats(compiled)["opaque_steps"] == 0
        return
    assert_stays_in_one_trace(function)


def too_few(x, n):
    x[x > 2] = np.ones(n)
    return x


def wraps(x, n):
    z = (x * 50).astype(np.int8)
    z[x > 2] = np.arange(300)[: np.count_nonzero(x > 2)]
    return z


def with_gaps(x, n):
    z = x[::2]
    z[z > 2] = z[z > 2] + 1
    return x


def read_only(x, n):
    x.flags.writeable = False
    x[x > 2] = x[x > 2] + 1
    return x


@pytest.mark.parametrize("function", [too_few, wraps, with_gaps, read_only])
def test_is_numpys(function):
    """What it raises, and the argument behind it."""
    compiled = stator.compile(function)
    for n in (4, 4, 4, 3, 4, 1):
        expected = observe(function, [np.arange(7.0), n])
        found = observe(compiled, [np.arange(7.0), n])
        assert found == expected, report(expected, found)
