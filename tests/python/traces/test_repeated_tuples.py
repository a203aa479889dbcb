"""(a,) * n, where n is 1 and where it is not: with 1 Python answers with the tuple itself."""

from __future__ import annotations

import numpy as np
import pytest
import stator


def ones(x, n):
    return np.ones((4,) * n) + 1


def reshaped(x, n):
    return x.reshape((1,) * n + x.shape) * 2


def joined(x, n):
    return np.concatenate((x,) * n)


def counted(x, n):
    return np.array((n, 2) * n) + x[0]


def turned_round(x, n):
    return x[: len(n * (1, 2))] * 2


@pytest.mark.parametrize("function", [ones, reshaped, joined, counted, turned_round])
def test_repeated(function):
    compiled = stator.compile(function)
    x = np.arange(6.0)
    for n in (1, 1, 1, 2, 3, 1, 2, 1, 3):
        want, found = function(x, n), compiled(x, n)
        assert (found.shape, found.tobytes()) == (want.shape, want.tobytes()), n
        stator.wait()
