"""What a statement computes first in variables of its own: written apart, a program runs as it does in one piece."""

from __future__ import annotations

import copy
import inspect
import sys

import numpy as np
import pytest
import stator
from fuzz.check import internal_errors
from fuzz.compare import observe, report

from .whole import function_of


def stores(compiled) -> int:
    """How many stores the code of its regions has, of nests."""
    return sum(r.artifacts().loop_ir.count("    put ") for r in compiled.regions)


def in_one_piece(a, b, n):
    for _ in range(n):
        b[1:-1, 1:-1] = 0.25 * ((a[1:-1, 2:] - a[1:-1, :-2]) / 3.0 + (a[2:, 1:-1] - a[:-2, 1:-1]) / 7.0)
        a[1:-1, 1:-1] = b[1:-1, 1:-1] * 0.5 + b[:-2, 1:-1]
    return a


def written_apart(a, b, n):
    for _ in range(n):
        along = a[1:-1, 2:] - a[1:-1, :-2]
        along = along / 3.0
        across = a[2:, 1:-1] - a[:-2, 1:-1]
        across_too = across / 7.0
        total = along + across_too
        b[1:-1, 1:-1] = 0.25 * total
        a[1:-1, 1:-1] = b[1:-1, 1:-1] * 0.5 + b[:-2, 1:-1]
    return a


def _into_b(a, b):
    along = a[1:-1, 2:] - a[1:-1, :-2]
    across = a[2:, 1:-1] - a[:-2, 1:-1]
    along, across = along / 3.0, across / 7.0
    total = along + across
    b[1:-1, 1:-1] = 0.25 * total


def written_apart_in_a_function(a, b, n):
    for _ in range(n):
        _into_b(a, b)
        a[1:-1, 1:-1] = b[1:-1, 1:-1] * 0.5 + b[:-2, 1:-1]
    return a


def written_apart_with_while(a, b, n):
    k = 0
    while k < n:
        k += 1
        along = a[1:-1, 2:] - a[1:-1, :-2]
        across = a[2:, 1:-1] - a[:-2, 1:-1]
        along = along / 3.0
        total = along + across / 7.0
        b[1:-1, 1:-1] = 0.25 * total
        a[1:-1, 1:-1] = b[1:-1, 1:-1] * 0.5 + b[:-2, 1:-1]
    return a


def written_apart_behind_a_copy(a, b, n):
    for _ in range(n):
        along = (a[1:-1, 2:] - a[1:-1, :-2]) / 3.0
        across = (a[2:, 1:-1] - a[:-2, 1:-1]) / 7.0
        b[1:-1, 1:-1] = 0.25 * (along + across)
        half = b[1:-1, 1:-1] * 0.5  # is known where b is stored, and needed where its neighbours are
        a[1:-1, 1:-1] = half + b[:-2, 1:-1]
    return a


def _arguments():
    a = np.linspace(-1.0, 2.0, 30 * 40).reshape(30, 40)
    return a, np.zeros((30, 40)), 12


@pytest.mark.parametrize(
    "way",
    [
        written_apart,
        written_apart_in_a_function,
        written_apart_with_while,
        written_apart_behind_a_copy,
    ],
)
def test_what_is_written_apart_is_not_stored(way):
    expected = in_one_piece(*_arguments())
    counts = []
    for function in (in_one_piece, way):
        compiled = stator.compile(function)
        for _ in range(3):
            assert compiled(*_arguments()).tobytes() == expected.tobytes()
            stator.wait()
        assert len(compiled.regions) == 1
        counts.append(stores(compiled))
    assert counts[1] <= counts[0]


def _frame_locals():
    return {k: v for k, v in inspect.currentframe().f_back.f_locals.items() if isinstance(v, np.ndarray)}


R = np.linspace(-1.0, 2.0, 12)
CASES = {
    "read where the loop is left": "def f(x, n):\n    for i in range(n):\n        t = x * 2\n        x[:] = t - 1\n    return t\n",
    "read in the next iteration": "def f(x, n):\n    t = x\n    for i in range(n):\n        if i % 3 == 2:\n            x[:] = t * 0.5\n        t = x + i\n        x[:] = t - 1\n    return x\n",
    "read by a handler": "def f(x, n):\n    try:\n        for i in range(n):\n            t = x * 2\n            s = t + 1\n            x[i] = 0.0\n            x[:] = s * 0.5\n    except IndexError:\n        return s, i\n    return x\n",
    "deleted": "def f(x, n):\n    for i in range(n):\n        t = x * 2\n        x[:] = t - 1\n        del t\n    return x\n",
    "deleted where it may not be bound": "def f(x, n):\n    try:\n        for i in range(n):\n            if i < 5:\n                t = x * 2\n                x[:] = t - 1\n            del t\n    except UnboundLocalError as e:\n        return x, i, str(e)\n    return x\n",
    "bound on some ways": "def f(x, n):\n    t = None\n    for i in range(n):\n        if x[0] < 0.5:\n            t = x * 2\n            x[:] = t - 1\n        else:\n            x[0] -= 0.75\n    return x, t is None\n",
    "a closure's": "def f(x, n):\n    for i in range(n):\n        t = x * 2\n        x[:] = t - 1\n    g = lambda: t\n    return g(), x\n",
    "read behind a copy": "def f(x, n):\n    y = np.zeros(12)\n    t = s = x\n    for i in range(n):\n        y[1:-1] = x[1:-1] * 0.5\n        t = y[1:-1] * y[1:-1]\n        s = t + 1\n        x[1:-1] = y[2:] - t + s / (x[0] + 1.5 - i)\n    return x, y, t, s\n",
    "in tuples": "def f(x, n):\n    for i in range(n):\n        p = (x * 2, i, x + 1)\n        q = p\n        x[:] = q[0] - p[2]\n    return x, i\n",
    "one array in two variables": "def f(x, n):\n    for i in range(n):\n        t = x * 2\n        s = t\n        s[0] = i\n        x[:] = t - 1\n        t = x + 1\n        x[:] = s * t\n    return x\n",
    "a part of one": "def f(x, n):\n    for i in range(n):\n        t = x * 2\n        s = t[1:]\n        t = x - 1\n        x[1:] = s + t[:-1]\n    return x\n",
    "that warn": "def f(x, n):\n    for i in range(n):\n        t = x / (x - x[i % 3])\n        s = t + 1\n        x[:] = np.where(s > 3, x * 0.5, x)\n    return x\n",
    "locals()": "def f(x, n):\n    for i in range(n):\n        t = x * 2\n        s = t + 1\n        x[:] = s * 0.5\n    return sorted(locals()), locals()['t'], locals()['s']\n",
    "locals() in the loop": "def f(x, n):\n    seen = 0\n    for i in range(n):\n        t = x * 2\n        s = t + 1\n        x[:] = s * 0.5\n        if i == n - 1:\n            seen = [k for k in sorted(locals()) if k in 'ts']\n    return x, seen\n",
    "a frame's locals": "def f(x, n):\n    for i in range(n):\n        t = x * 2\n        s = t + 1\n        x[:] = s * 0.5\n    return frame_locals(), x\n",
}


# What regions do not know: `del`, cells, tuples in variables of the loop.
LEFT_TO_PYTHON = {"deleted", "deleted where it may not be bound", "a closure's", "in tuples"}


@pytest.mark.parametrize("name", CASES)
def test_variables_that_are_not_read_again(name):
    eager, compiled = function_of(CASES[name]), stator.compile(function_of(CASES[name]))
    for f in (eager, inspect.unwrap(compiled)):
        f.__globals__["frame_locals"] = _frame_locals
    with internal_errors() as wrong:
        for n in (7, 7, 7, 1, 0, 12, 30):
            expected = observe(eager, [R.copy(), copy.copy(n)])
            found = observe(compiled, [R.copy(), copy.copy(n)])
            assert found == expected, f"{n} iterations: {report(expected, found)}"
            stator.wait()
    assert not wrong
    assert (stator.stats(compiled)["regions"] == 0) == (name in LEFT_TO_PYTHON)


def test_numbers_stay_where_a_loop_is_left_by_an_error():
    """A traceback's frame has the counters, also those that nothing would read again."""

    def f(x, n):
        for i in range(n):
            k = i * 2
            t = x * k
            x[i] = t[0]

    compiled = stator.compile(f)
    seen = []
    for g in (f, compiled, compiled, compiled):
        try:
            g(R.copy(), 20)
        except IndexError:
            frame = sys.exc_info()[2].tb_next.tb_frame
            seen.append({k: v for k, v in frame.f_locals.items() if k in ("i", "k", "n")})
        stator.wait()
    assert seen[1:] == seen[:1] * 3
    assert seen[0] == {"i": 12, "k": 24, "n": 20}
