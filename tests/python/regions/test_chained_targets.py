"""`a[i] = b[j] = expression`: what all targets are given is one array, computed once."""

import warnings

import numpy as np
import pytest
import stator

RNG = np.random.default_rng(5)


def outcome(function, *args):
    """What it returns or raises, what it warns of, and what is in its arguments then."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            result = (type(error), str(error))
    said = [(str(w.message), w.lineno) for w in caught]
    arrays = [a.tobytes() for a in args if isinstance(a, np.ndarray)]
    return result.tobytes() if isinstance(result, np.ndarray) else result, said, arrays


def same(function, *calls):
    compiled = stator.compile(function)
    for _ in range(4):
        for args in calls:
            assert outcome(compiled, *args) == outcome(function, *args)
        stator.wait()
    return compiled


def covariance(data, m):
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:m, i] = cov[i, i:m] = data[:, i] @ data[:, i:m] / 3.0
    return cov


def test_rows_and_columns():
    compiled = same(covariance, (RNG.random((7, 9)), 9), (RNG.random((4, 20)), 20))
    assert len(compiled.regions) == 1


def overlapping(x, n):
    for i in range(1, n):
        x[i:] = x[: n - i] = x[i:] * 2.0 - x[: n - i]
    return x


def test_targets_that_the_expression_reads():
    same(overlapping, (RNG.random(12), 12), (RNG.random(30), 30))


def with_a_name(x, y, n):
    total = 0.0
    for i in range(n):
        y[i] = z = x[:] = x * 0.5 + i
        total += z[0]
        z[1] = -1.0
    return x + y + total


def test_a_name_between():
    same(with_a_name, (RNG.random(6), np.zeros((9, 6)), 9))


def late_error(x, y, n):
    for i in range(n):
        x[i : i + 3] = y[i, :3] = x[:3] + i
    return x


def test_the_second_target_raises():
    same(late_error, (RNG.random(40), np.zeros((20, 5)), 20), (RNG.random(40), np.zeros((20, 5)), 30))


def other_shape(x, y, n):
    for i in range(n):
        x[: i + 1] = y[:4] = x[: i + 1] * 2.0
    return x


def test_the_second_target_has_another_shape():
    same(other_shape, (RNG.random(9), RNG.random(9), 4), (RNG.random(9), RNG.random(9), 9))


def dividing(x, y, n):
    for i in range(n):
        x[1:] = y[i] = x[1:] / x[:-1]
    return x


@pytest.mark.parametrize("zero", [False, True])
def test_warnings_once(zero):
    x = RNG.random(8) + 1.0
    if zero:
        x[3] = 0.0
    same(dividing, (x, np.zeros((6, 7)), 6))


def other_dtypes(x, counts, n):
    for i in range(n):
        counts[i] = x[i] = x[i] * 1.5
    return x


def test_each_target_converts():
    x = RNG.random((6, 5)) * 9
    same(other_dtypes, (x, np.zeros((6, 5), np.int32), 6), (x, np.zeros((6, 5), np.float32), 6))
