"""``np.errstate`` inside compiled functions: what is ignored, reported or raised is as in eager NumPy, at the same line,
and Python code that runs inside the block finds it entered."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import stator

A, B, Z = np.array([4.0, 0.0, 9.0]), np.array([2.0, 0.0, 3.0]), np.array([2.0, 1.0, 3.0])


def outcome(function, *args):
    """Result or exception, warnings with their lines, and the error state left behind."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except FloatingPointError as error:
            result = (str(error), error.__traceback__.tb_next.tb_lineno)
    return repr(result), [(str(w.message), w.lineno) for w in caught], np.geterr()


def ignored_then_not(a, b):
    c = a + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.sqrt(a / b)
    return c * d, a / b


def branch_inside(a, b):
    with np.errstate(all="ignore"):
        h = np.log(a / b)
        if h[0] > 0:
            return h + 1
        return h - np.geterr().__len__()


def nested(a, b):
    with np.errstate(divide="raise"):
        with np.errstate(invalid="ignore", divide="warn"):
            x = a / b
        y = x + 1
        z = (y - y) * 2
        return y / z


def chosen(a, b, mode):
    with np.errstate(all=mode):
        return a / b


def raises_inside(a, b):
    try:
        with np.errstate(all="raise"):
            a = a + 1
            a = a / b
    except FloatingPointError as error:
        return str(error), np.geterr(), a * 2
    return a


def entered_twice(a, b):
    state = np.errstate(divide="ignore", invalid="ignore")
    with state:
        x = a / b
    try:
        with state:
            y = b / a
    except TypeError as error:
        return x, str(error), np.geterr()
    return x, y


CALLS = [
    *[(entered_twice, A, x) for x in (B, Z)],
    *[(ignored_then_not, A, x) for x in (B, Z)],
    *[(branch_inside, x, y) for x in (A, -A) for y in (B, Z)],
    *[(nested, A, x) for x in (B, Z)],
    *[(chosen, A, B, mode) for mode in ("ignore", "warn", "raise")],
    *[(raises_inside, A, x) for x in (B, Z)],
]


@pytest.mark.parametrize("call", CALLS, ids=lambda c: c[0].__name__)
def test_same_as_eager(call):
    function, *args = call
    compiled = stator.compile(function)
    expected = outcome(function, *args)
    for _ in range(5):
        assert outcome(compiled, *args) == expected


@pytest.mark.parametrize("function", [ignored_then_not, branch_inside, nested, raises_inside])
def test_arguments_change_between_calls(function):
    compiled = stator.compile(function)
    for a, b in [(A, Z), (A, B), (-A, Z), (A, Z), (A, B), (-A, B), (A, Z)] * 2:
        assert outcome(compiled, a, b) == outcome(function, a, b)


def test_ignored_faults_stay_in_the_trace():
    def f(a, b):
        with np.errstate(divide="ignore", invalid="ignore"):
            return a / b

    compiled = stator.compile(f)
    for _ in range(5):
        compiled(A, B)
    stats = stator.stats(compiled)
    assert stats["opaque_steps"] == 0 and stats["redone"] == 0 and stats["replays"] == 4


def test_another_module_named_torch(monkeypatch):
    """A folder of that name on the path is a module: looking into it must not cost the program its exception."""
    import sys
    import types

    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    compiled = stator.compile(chosen)
    args = (np.array([4.0, 0.0, 9.0]), np.array([2.0, 0.0, 3.0]), "raise")
    expected = outcome(chosen, *args)
    for _ in range(5):
        assert outcome(compiled, *args) == expected
