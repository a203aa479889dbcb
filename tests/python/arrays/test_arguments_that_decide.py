"""Arguments whose values, not types, decide what a call of NumPy's does: whether it gives its argument back, changes it,
which dtype it names, how large buffers are."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import difference, observe


def agree(function, calls, make):
    compiled = stator.compile(function)
    for values in calls:
        assert not difference(observe(function, (make(), *values)), observe(compiled, (make(), *values))), (
            values
        )
        stator.wait()


def power(x, n):
    r = np.linalg.matrix_power(x, n)
    r += 1
    return x * 2


def written_before(x, n):
    r = np.linalg.matrix_power(x, n)
    x[0] = 7
    return r + 0


def derivative(x, n):
    r = np.polyder(x[0], n)
    r += 1
    return x * 2


def integral(x, n):
    r = np.polyint(x[1], n)
    r *= 3
    return x.sum()


def rounded(x, n):
    i = x.astype(int) * 10
    r = np.round(i, 1 - n)
    r += 1
    return i * 2


@pytest.mark.parametrize("function", [power, written_before, derivative, integral, rounded])
def test_ints_for_which_the_argument_itself_is_given_back(function):
    other = 0 if function in (derivative, integral) else 1
    agree(
        function, [(2,), (2,), (other,), (2,), (other,)], lambda: np.eye(2) * 3 + np.arange(4.0).reshape(2, 2)
    )


MEDIANS = {
    "median": lambda x, on: (x[0] * 2, np.median(x, overwrite_input=on), x[0] * 2),
    "by_position": lambda x, on: (x[0] * 2, np.percentile(x, 30, None, None, on), x[0] * 2),
    "temporary": lambda x, on: ((y := x + 1)[0] + 0, np.nanquantile(y, 0.3, overwrite_input=on), y[0] + 0, y),
    "bytes": lambda x, on: ((y := x + 1) * 2, y.byteswap(on), y * 2),
}


@pytest.mark.parametrize("name", MEDIANS)
def test_flags_that_let_an_argument_be_changed(name):
    agree(
        MEDIANS[name],
        [(False,), (False,), (True,), (True,), (False,)],
        lambda: np.array([4.0, 1, 3, 2, 0, 5, 7, 8, 6]),
    )


@pytest.mark.parametrize("values", [(1.0, 1.0, 1e50, 70000.0), (3, 3, 300, -1), (1j, 1j, 1e50j), tuple(map(np.array, (3, 3, 70000)))])  # fmt: skip
def test_the_least_type_of_a_number(values):
    agree(
        lambda x, k: (x.astype(np.min_scalar_type(k)) * 1, np.min_scalar_type(k)),
        [(k,) for k in values],
        lambda: np.arange(3) * 1j,
    )


def test_the_size_of_buffers():
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(20000) * 10.0 ** rng.integers(-12, 12, 20000)).astype(np.float32)

    def sums(x):
        return x.sum(dtype=np.float64), x.mean(dtype=np.float64), np.add.reduce(x[::3], dtype=np.float64)

    compiled = stator.compile(sums)
    before = np.getbufsize()
    try:
        seen = set()
        for size in (before, before, 16, 16, 128, 1024, before):
            np.setbufsize(size)
            assert compiled(x) == sums(x)
            seen.add(sums(x))
        assert len(seen) > 1  # it matters
    finally:
        np.setbufsize(before)


@pytest.mark.parametrize("values", [(0, 0, 1, 0, 1), (True, True, False, True), (1, 1, 0)])
def test_ints_that_are_flags(values):
    def filled(x, copy):
        y = np.nan_to_num(x, copy)
        y += 1
        return y is x, x * 2, y

    agree(filled, [(v,) for v in values], lambda: np.array([1.0, np.nan, 3.0]))


def medians_in_a_loop(x):
    s = 0.0
    for k in range(3):
        s += np.median(x[k:], overwrite_input=True) * x[k]
    return s, x


def medians_by_position(x):
    s = 0.0
    for k in range(3):
        s += np.median(x[k:], None, None, True) * x[k]
    return s, x


def powers_in_a_loop(x):
    y = np.outer(x, x) / 50
    for k in range(3):
        r = np.linalg.matrix_power(y, k)
        r[0, 0] += 1
    return y


@pytest.mark.parametrize("function", [medians_in_a_loop, medians_by_position, powers_in_a_loop])
def test_loops(function):
    agree(function, [()] * 5, lambda: np.array([4.0, 1, 3, 2, 0, 5, 7, 8, 6]))
