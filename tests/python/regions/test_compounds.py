"""Functions that NumPy puts together of others, and searches for the greatest and the least, in loops."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import stator
from fuzz.check import internal_errors
from fuzz.compare import observe, report

from .whole import check_whole, function_of

# Bodies of f(a, b, m, n): vectors of one dtype, a matrix, a number.
WHOLE = {
    "argmax and argmin": "s = 0\nfor i in range(n):\n    a[i] = b[i] * 3 - i\n    s += np.argmax(a) + a.argmin()\n    t = np.argmax(b)\nreturn s, t",
    "argmax of expressions and strided vectors": "s = 0\nfor i in range(n):\n    s += np.argmax(a * b) + np.argmin(a[::-1]) + np.argmax(a[::2]) + m[:, i].argmax() + np.argmin(m[i])\nreturn s",
    "argmax of a mask": "s = 0\nfor i in range(n):\n    s += np.argmax(a > b[i]) + np.argmax(a > 99)\nreturn s",
    "an index of argmax": "for i in range(n):\n    k = np.argmax(a)\n    a[k] -= b[i] + 1\n    m[k, np.argmin(m[:, k])] = i\nreturn a, m, k",
    "running sums": "for i in range(n):\n    t = np.cumsum(a)\n    u = (b * 0.5).cumsum()\n    w = m[:, i].cumsum()\n    a[i] = t[n - 1] * 0.01\nreturn a, t, u, w",
    "norms": "s = 0.0\nfor i in range(n):\n    s += np.linalg.norm(a) + np.linalg.norm(a[::-1]) + np.linalg.norm(m[:, i] - b)\n    a = a / np.linalg.norm(a)\nreturn s, a",
    "clipped": "for i in range(n):\n    a = np.clip(a * 1.5, -0.5, 1)\n    b = b.clip(a, 0.9)\n    m = np.clip(m, i * 0.01, b)\n    t = np.clip(m[:, 1] - a, 0, 1)\nreturn a, b, m, t",
    "rounded": "for i in range(n):\n    t = np.round(a * 7.5) + (m[i] * 9).round()\n    m = m + np.around(m)\n    a = a - np.round(a / 0.25) * 0.25\nreturn a, m, t",
}  # fmt: skip


def _body(text):
    return "def f(a, b, m, n):\n" + "".join(f"    {line}\n" for line in text.split("\n"))


def _arguments(n, dtype="f8", special=False):
    rng = np.random.default_rng(n)

    def numbers(*shape):
        x = rng.random(shape) * 2 - 0.5
        if special:
            x = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), x)
        return x.astype(dtype)

    return [numbers(n), numbers(n), numbers(n, n), n]


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name):
    check_whole(_body(WHOLE[name]), _arguments, (9, 21, 40))


@pytest.mark.parametrize("name", WHOLE)
def test_other_numbers(name):
    text = _body(WHOLE[name])
    for dtype, special in (("f4", False), ("f8", True), ("f4", True)):
        eager, compiled = function_of(text), stator.compile(function_of(text))
        with internal_errors() as wrong:
            for n in (9, 9, 9, 17, 64, 1, 33):
                arguments = _arguments(n, dtype, special)
                expected = observe(eager, copy.deepcopy(arguments))
                found = observe(compiled, copy.deepcopy(arguments))
                assert found == expected, f"{dtype}, {n}: {report(expected, found)}"
                stator.wait()
        assert not wrong


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u4", "i8", "u8"])
def test_positions_of_whole_numbers(dtype):
    text = "def f(x, n):\n    s = 0\n    for i in range(n):\n        s += np.argmax(x[i:]) * 3 + x[: i + 1].argmin()\n    return s\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))
    rng = np.random.default_rng(3)
    for length in (20, 20, 20, 35, 15, 15):  # the shortest ones run out of elements: argmax of nothing raises
        x = rng.integers(0, 2 if dtype == "?" else 100, length).astype(dtype)
        arguments = [x, 18]
        expected = observe(eager, copy.deepcopy(arguments))
        found = observe(compiled, copy.deepcopy(arguments))
        assert found == expected, report(expected, found)
        stator.wait()
    assert stator.stats(compiled)["regions"] == 1
