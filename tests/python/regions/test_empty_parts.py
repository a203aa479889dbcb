"""Parts without elements that a loop takes by steps: NumPy gives them the strides of the whole."""

import numpy as np
import pytest
import stator


def seen(a):
    return a.shape, a.strides, a.__array_interface__["data"][0]


def by_steps(x, n):
    a = b = c = d = e = None
    for i in range(n):
        a = x[2:2:2]
        b = x[::-1]
        c = x[i:i:-1]
        d = x[:0][::-1]
        e = x[i : i + i % 3 : 2]
    return a, b, c, d, e


def in_a_tuple(x, n):
    both = None
    for i in range(n):
        both = (x[i:i:3], x[::-1])
    return both


def in_a_list(x, n):
    both = None
    for i in range(n):
        both = [x[i:i:3], x[i + 1 : i : 2]]
    return both


@pytest.mark.parametrize("function", [by_steps, in_a_tuple, in_a_list])
@pytest.mark.parametrize("shape", [(400,), (0,), (400, 4), (0, 4), (1, 3)])
def test_strides_and_addresses(function, shape):
    x = np.zeros(shape)
    compiled = stator.compile(function)
    for n in (298, 299, 300):
        for _ in range(3):
            assert [seen(a) for a in compiled(x, n)] == [seen(a) for a in function(x, n)]
            stator.wait()
    assert compiled.regions
