"""ndarray.resize raises where an array has other references: those of a program count, stator's own do not."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import stator


def alone(x, n):
    y = x * 2
    y.resize(n)
    return y + 1


def shared(x, n):
    y = x * 2
    z = y
    y.resize(n)
    return y + 1


def in_a_loop(x, n):
    total = 0.0
    for k in range(n):
        y = x + k
        y.resize(k + 1)
        total += y.sum()
    return total


def bound(x, n):
    y = x * 2
    resize = y.resize
    resize(n)
    return y


def of_a_view(x, n):
    y = (x * 2)[1:]
    y.resize(n)
    return y


def of_objects(x, n):
    y = np.array([None, 1, "two"] * 2)
    s = x + 1
    y.resize(n)
    return s * len(y)


def of_records(x, n):
    y = np.zeros(4, dtype="u4,f4")
    s = x + 1
    y.resize(n)
    return s * len(y)


def unchecked(x, n):
    y = x * 2
    z = y
    y.resize(n, refcheck=False)
    return z


# From 3.14 on the interpreter pushes locals without a reference of their own where it can, and NumPy counts on it;
# the stepper, which has loaded the array, pushes one.
borrowed = pytest.mark.xfail(
    sys.version_info >= (3, 14), reason="the stepper's load has a reference of its own", strict=True
)
COUNTED = [alone, shared, in_a_loop, of_objects, of_records]
OTHERS = [bound, of_a_view, unchecked]


def outcome(function, n):
    try:
        return np.asarray(function(np.arange(5.0), n)).tobytes()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("function", [*(pytest.param(f, marks=borrowed) for f in COUNTED), *OTHERS])
def test_resize(function):
    compiled = stator.compile(function)
    for n in (3, 3, 3, 8, 8, 5, 3):
        assert outcome(compiled, n) == outcome(function, n)
        stator.wait()


@borrowed
def test_the_reason_is_told():
    compiled = stator.compile(alone)
    compiled(np.arange(5.0), 3)
    assert [r.reason for r in stator._stator.remarks(compiled)] == ["CountsReferences"]
