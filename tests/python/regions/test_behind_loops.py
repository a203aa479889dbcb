"""What comes when a region has been left: objects of its numbers, the rest of the function, and entering it again."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import function_of

DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def same(eager, compiled, *arguments):
    copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2)]
    expected, found = observe(eager, copies[0]), observe(compiled, copies[1])
    assert found == expected, report(expected, found)
    stator.wait()


def entries(compiled):
    return {r.name: r.entries for r in compiled.regions}


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_scalars(dtype):
    text = """
def f(a, n):
    first = None
    for v in a:
        last = v
        if first is None:
            first = v
    return first, last, type(last) is type(a[0])
"""
    eager, compiled = function_of(text), stator.compile(function_of(text))
    values = np.array([0, 1, 0, 1, 1, 0], dtype) if dtype == "?" else np.arange(100, 106).astype(dtype)
    for a in (values, values, values, values[:1], values):
        same(eager, compiled, a, 3)
    assert sum(entries(compiled).values()) > 0


LOOPS = """
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s

def plain(a):
    return float(a[0])

def f(a, function):
    k = 0
    for i in range(len(a)):
        k += i
    return k + function(a)
"""


def test_functions_with_loops():
    """A loop behind the loop, in a function that is called there."""
    f, g = function_of(LOOPS), stator.compile(function_of(LOOPS))
    total, plain = f.__globals__["total"], f.__globals__["plain"]
    a = np.arange(5.0)
    for _ in range(4):
        same(f, g, a, total)
    before = entries(g)
    for _ in range(3):
        same(f, g, a, total)
        same(f, g, a, plain)
    after = entries(g)
    assert len(after) == 2, "the function's loop is a region"
    assert all(after[name] - before[name] >= 3 for name in after), (before, after)
    for function in (np.sum, plain, total, len, np.max):
        for _ in range(20):
            same(f, g, a, function)


def test_other_functions_first():
    """Where functions without loops were called all the time, one with a loop is right as well."""
    f, g = function_of(LOOPS), stator.compile(function_of(LOOPS))
    total, plain = f.__globals__["total"], f.__globals__["plain"]
    a = np.arange(5.0)
    for function in (plain, np.sum, total, plain, total):
        for _ in range(15):
            same(f, g, a, function)


def test_an_exception_behind_it():
    text = """
def f(a, n):
    try:
        for i in range(n):
            a[i] += 1.0
        return a[n + 1]
    except IndexError as e:
        for i in range(n):
            a[i] -= 2.0
        return a, str(e)
    finally:
        for i in range(n):
            a[i] *= 3.0
"""
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for size in (9, 9, 9, 7, 8, 9, 8, 8, 9):
        same(eager, compiled, np.arange(float(size)), 7)
    assert len(entries(compiled)) >= 2


def test_names_that_change():
    """What a name stands for is looked at again once its dict was changed, and only then."""
    text = """
def f(a, n):
    s = 0.0
    for i in range(n):
        s += abs(a[i]) + K
    return s
"""
    eager, compiled = function_of(text), stator.compile(function_of(text))
    a = np.linspace(-3, 3, 9)
    own = compiled.__globals__
    for names in (
        {"K": 1.0},
        {"K": 2.0},
        {"K": 1.0, "abs": lambda v: 2 * v},
        {"K": 1.0},
        {"K": 1.0, "other": 3},
    ):
        for namespace in (eager.__globals__, own):
            namespace.pop("abs", None)
            namespace.update(names)
        for _ in range(4):
            same(eager, compiled, a, 9)
    kept = builtins.abs
    try:
        builtins.abs = lambda v: kept(v) + 1
        same(eager, compiled, a, 9)
    finally:
        builtins.abs = kept
    same(eager, compiled, a, 9)
    assert sum(entries(compiled).values()) > 0
