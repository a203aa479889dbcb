"""What decides a branch: numbers, and arrays of one element, whose truth is that of the element."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import difference, observe


def compared(x):
    if x[:1] < 0.5:
        return x + 1
    return x - 1


def kept(x):
    y = x[-1:] < 0.5
    return (x + 1 if y else x - 1), y


def negated(x):
    return x * 2 if not x[1:2] < 0.5 else x * 3


def both(x):
    return x + 1 if x[:1] < 0.5 and x[2:3] < 0.5 else x


def of_a_matrix(x):
    y = x.reshape(1, -1).sum(keepdims=True)
    return x / y if y > 1 else y


def of_numbers(x):
    return x + 1 if x[:1] - 0.5 else x - 1


def of_zero_rank(x):
    y = np.asarray(x.sum() < 2)
    return x + 1 if y else (x, y)


def of_an_argument(x):
    return helper(x < 0.5, x)


def helper(mask, x):
    if mask[0:1]:
        return x
    return None


def in_a_loop(x):
    y = x * 0
    for row in x.reshape(-1, 1):
        if row < 0.5:
            y = y + row
        elif row is None:
            y = None
    return y


def with_while(x):
    n = 0
    while x[:1] < 2.5:
        x = x + 0.75
        n += 1
    return x, n


PROGRAMS = [
    compared,
    kept,
    negated,
    both,
    of_a_matrix,
    of_numbers,
    of_zero_rank,
    of_an_argument,
    in_a_loop,
    with_while,
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_arrays_of_one_element(function):
    compiled = stator.compile(function)
    for a, b, c in ((0, 0, 0), (1, 1, 1), (0.6, 0.1, 0.6), (0.1, 0.6, 0.1), (0.5, 0.5, 0), (2, 0, 1), (0, 1, 0), (0.2, 0.2, 0.3)):  # fmt: skip
        for dtype in (np.float64, np.float32):
            args = (np.array([a, b, c], dtype),)
            assert not difference(observe(function, args), observe(compiled, args))
            stator.wait()


def of_masks(m, x):
    return x + 1 if m else x - 1


def test_masks_of_one_element_as_arguments():
    compiled = stator.compile(of_masks)
    x = np.arange(3.0)
    for value in (True, True, False, True, False, False):
        for shape in ((), (1,), (1, 1)):
            args = (np.full(shape, value), x)
            assert not difference(observe(of_masks, args), observe(compiled, args))
