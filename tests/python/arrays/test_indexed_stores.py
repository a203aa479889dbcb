"""Stores at index arrays, `@=` and stores to parts of complex numbers: NumPy's calls on copies, inside traces."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report
from replayed import assert_stays_in_one_trace


def at_an_array(x, y):
    z = x * y
    z[np.argsort(y)] = y
    return z * 2


def added(x, y):
    z = np.zeros(5)
    bins = (x * 4).astype(np.int64) % 5
    z[bins] += y
    return z


def several_times(x, y):
    z = x + y
    z[[0, 2, 0, 2]] = np.array([1.0, 2.0, 3.0, 4.0])
    return z


def rows_swapped(x, y):
    m = np.outer(x, y)
    m[[0, 1]] = m[[1, 0]]
    return m + 1


def columns(x, y):
    m = np.outer(x, y)
    m[:, [0, 2]] = y[:, None]
    m[1, [0, 1]] *= 3
    return m


def triangle(x, y):
    m = np.zeros((x.size, x.size))
    upper = np.triu_indices(x.size, 1)
    m[upper] = np.outer(x, y)[upper]
    m[np.diag_indices(x.size)] = -1.0
    return m + m.T


def masked_rows(x, y):
    m = np.outer(x, y)
    m[y > y[2]] *= 2.0
    m[y < y[2]] = x
    return m


def open_mesh(x, y):
    m = np.outer(x, y)
    m[np.ix_([0, 2], [1, 3])] = 0.0
    return m


def of_an_argument(x, y):
    x[np.arange(3)] = y[4:]
    return x + y


def product_in_place(x, y):
    q = np.outer(x, y) + np.eye(x.size)
    q @= q.copy()
    return q


def parts(x, y):
    z = x + 1j * y
    z.real = y
    z.imag = 0.5
    return z * 2


@pytest.mark.parametrize(
    "function",
    [at_an_array, added, several_times, rows_swapped, columns, triangle, masked_rows, open_mesh,
     of_an_argument, product_in_place, parts],
)  # fmt: skip
def test_is_part_of_the_trace(function):
    assert_stays_in_one_trace(function)


def out_of_bounds(x, n):
    x[np.arange(n)] = 1.0
    return x


def shapes_that_do_not_fit(x, n):
    x[[0, 1, 2, 3]] = np.ones(n)
    return x


def copies_indices():
    """Whether NumPy copies indices that a store overwrites. Before 2.3 it does not, and may then write anywhere."""
    i = np.arange(3)[::-1].copy()
    i[i] = i.copy()
    return i.tolist() == [0, 1, 2]


COPIES_INDICES = pytest.mark.skipif(not copies_indices(), reason="NumPy writes out of bounds")


def of_other_shapes(x, n):
    z = x[: 2 * n].reshape(2, n) * 1.0
    z @= np.eye(4)
    return z


def warns(x, n):
    z = np.arange(7)
    z[[1, 2]] = x[:2] * (1.0 if n == 4 else np.inf)
    return z


def out_of_range(x, n):
    z = np.zeros(7, np.int8)
    z[[0, 1]] = 100 * (5 - n)
    return z


def from_itself(x, n):
    x[[0, 1, 2]] = x[1:4]
    return x


def indices_from_itself(x, n):
    i = np.arange(7)[::-1].copy()
    i[i] = i + n
    return i


def array_into_one_element(x, n):
    """A warning before NumPy 2.4, an error from then on."""
    z = x * 2.0
    z[n % 7] = x[None, 1:2]
    return z


def arrays_into_single_elements(x, n):
    z = x * 2.0
    for k in range(n):
        z[k] = x[k : k + 1]
    return z


def part_of_a_view(x, n):
    z = np.zeros((3, 8), complex)
    row = z[1, ::2]
    row.real = n
    row[[0, 3]] = 1j
    return z


def complex_into_real(x, n):
    x[[0, 1]] = np.array([1j, 2])
    return x


@pytest.mark.parametrize(
    "function",
    [out_of_bounds, shapes_that_do_not_fit, of_other_shapes, warns, out_of_range, from_itself,
     pytest.param(indices_from_itself, marks=COPIES_INDICES), part_of_a_view, array_into_one_element,
     arrays_into_single_elements, complex_into_real],
)  # fmt: skip
def test_is_numpys(function):
    """What it raises and warns of, and the argument behind it."""
    compiled = stator.compile(function)
    for n in (4, 4, 4, 3, 4, 8, 1, 4):
        expected = observe(function, [np.arange(7.0), n])
        found = observe(compiled, [np.arange(7.0), n])
        assert found == expected, report(expected, found)


def test_few_elements_of_a_large_array_are_not_copied_for():
    """The copy would take longer than the store; a smaller array takes the trace."""

    def f(x, i):
        y = x * 2.0
        y[i] = 0.0
        return y

    compiled = stator.compile(f)
    for size in (100_000, 100_000, 50, 50, 100_000):
        x, i = np.arange(float(size)), np.array([3, 1])
        assert np.array_equal(compiled(x, i), f(x, i))
    assert any("a few elements" in r.message for r in stator.explain(compiled)(x, i).reasons)
