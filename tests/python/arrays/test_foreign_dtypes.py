"""Arrays of dtypes that NumPy does not have itself, which are all numbered alike: left to NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from numpy._core._multiarray_umath import _get_sfloat_dtype

Scaled = _get_sfloat_dtype()  # NumPy's own example of such a dtype: doubles with a factor


def scaled(n, factor=2.0):
    return np.arange(1.0, n + 1).view(Scaled(factor))


def straight(x, y):
    return x * y


def stored(x, y):
    x[1:] = y[1:]
    return x


def elements(x, y):
    s = []
    for i in range(len(x)):
        s.append(x[i])
        x[i] = y[i]
    return x


def iterated(x, y):
    n = 0
    for v in x:
        n += v == y[0]
    return n


def made(x, y):
    z = x.copy()
    for i in range(3):
        z = z * y
    return z


def mixed(x, y):
    r = np.zeros(len(x))
    for i in range(len(x)):
        r[i] = r[i] + i
    return r, x[0], np.result_type(x, y)


def shown(value):
    if isinstance(value, tuple):
        return [shown(v) for v in value]
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.view(np.float64).tobytes()
    return type(value), str(value)


@pytest.mark.parametrize("function", [straight, stored, elements, iterated, made, mixed])
def test_left_to_numpy(function):
    compiled = stator.compile(function)
    for round in range(5):
        want = shown(function(scaled(5), scaled(5, 3.0)))
        assert shown(compiled(scaled(5), scaled(5, 3.0))) == want
        stator.wait()
    str(stator.explain(compiled)(scaled(5), scaled(5, 3.0)))


def test_beside_arrays_of_numpys_dtypes():
    compiled = stator.compile(straight)
    x = np.arange(5.0)
    for _ in range(3):
        assert shown(compiled(x, x)) == shown(x * x)
        assert shown(compiled(scaled(5), scaled(5))) == shown(scaled(5) * scaled(5))
        stator.wait()
