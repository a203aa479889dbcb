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


# From 3.14 on the interpreter pushes locals without a reference of their own where it can, and NumPy counts on it.
COUNTED = [alone, shared, in_a_loop, of_objects, of_records]
OTHERS = [bound, of_a_view, unchecked]


def outcome(function, n):
    try:
        return np.asarray(function(np.arange(5.0), n)).tobytes()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("function", [*COUNTED, *OTHERS])
def test_resize(function):
    compiled = stator.compile(function)
    for n in (3, 3, 3, 8, 8, 5, 3):
        assert outcome(compiled, n) == outcome(function, n)
        stator.wait()


def helper(a, n):
    return int((a * 2.0).sum()) % n + 3


def counted(x, n):
    y = x * 2.0
    return sys.getrefcount(y), (y + 1).sum()


def counted_among_arguments(x, n):
    y = x * 2.0
    z = max(sys.getrefcount(y), helper(x, n))
    return z, y[0]


def counted_twice(x, n):
    y = x.copy()
    return [y, sys.getrefcount(y), helper(y, n), sys.getrefcount(y)][1:]


def counted_in_a_loop(x, n):
    counts = []
    for i in range(4):
        y = x * i
        counts.append((sys.getrefcount(y), len(y)))
    return counts


def resized_by_what_a_call_gives(x, n):
    y = x.copy()
    y.resize(helper(x, n), refcheck=True)
    return y.shape


def resized_by_what_a_branch_gives(x, n):
    y = x * 1.0
    y.resize((helper(y, n) if n > 2 else 4,))
    return y.sum()


def resized_among_arguments(x, n):
    y = x * 1.0
    return np.add(y, y.resize(helper(y, n)) or 1.0).sum()


INSIDE = [
    counted,
    counted_among_arguments,
    counted_twice,
    counted_in_a_loop,
    resized_by_what_a_call_gives,
    resized_by_what_a_branch_gives,
    resized_among_arguments,
]


def result_or_error(function):
    try:
        return repr(function(np.arange(5.0), 3))
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("function", INSIDE)
def test_in_the_middle_of_a_statement(function):
    compiled = stator.compile(function)
    for _ in range(5):
        assert result_or_error(compiled) == result_or_error(function)
        stator.wait()


def test_the_reason_is_told():
    compiled = stator.compile(alone)
    compiled(np.arange(5.0), 3)
    assert [r.reason for r in stator._stator.remarks(compiled)] == ["CountsReferences"]
