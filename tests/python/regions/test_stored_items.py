"""Tuples and lists of numbers that are stored into rows and other parts of arrays."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_whole, function_of

# Bodies of f(x, out): a vector and a matrix of three columns with as many rows.
WHOLE = {
    "a tuple": "for i in range(len(x)):\n    out[i] = x[i], 2 * x[i], i\nreturn out",
    "a list": "for i in range(len(x)):\n    out[i] = [x[i], out[i - 1, 0], True]\nreturn out",
    "a part of a row": "for i in range(len(x)):\n    out[i, 1:] = x[i], x[-i]\n    out[i, ::2] = (0.5, i)\nreturn out",
    "a swap": "for i in range(len(x)):\n    out[i, :2] = out[i, 1] + i, out[i, 0]\nreturn out",
    "from below": "for i in range(len(x)):\n    out[i, ::-1] = i, 0.25, x[i]\nreturn out",
    "a new row": "for i in range(len(x)):\n    row = np.zeros(3)\n    row[:] = i, x[i], 7\n    out[i] = row * 2\nreturn out",
    "names": "for i in range(len(x)):\n    t = x[i], -x[i], i\n    out[i] = t\n    few = [1, 2, i]\n    few[0] = 5\n    out[i] += few[2]\n    out[i - 1] = few\nreturn out, t, few",
    "of constants": "for i in range(len(x)):\n    out[i] = (1.5, -2, True)\n    out[i, 0] += x[i]\nreturn out",
}  # fmt: skip

OTHERS = {
    "of other lengths": "for i in range(len(x)):\n    out[i, 0] = 5\n    if i > 4:\n        out[i] = i, i\n    else:\n        out[i] = i, i, i\nreturn out",
    "a single item": "for i in range(len(x)):\n    out[i] = (i,)\nreturn out",
    "nothing": "for i in range(len(x)):\n    out[i, :0] = ()\nreturn out",
    "rows": "for i in range(2, len(x)):\n    out[i - 2 : i] = i, x[i], 3\nreturn out",
    "nested": "for i in range(2, len(x)):\n    out[i - 2 : i] = (i, x[i], 3), (1, 2, i)\nreturn out",
    "arrays among them": "for i in range(len(x)):\n    out[i] = x[i : i + 1], i, 3\nreturn out",
    "no number": "for i in range(len(x)):\n    out[i] = i, i, None if i > 4 else 3\nreturn out",
    "no number at all": "for i in range(len(x)):\n    out[i] = i, 'a' if i > 4 else 3, i\nreturn out",
    "beyond the range": "for i in range(len(x)):\n    out[i] = i, 10 ** (3 * i), i\nreturn out",
}  # fmt: skip


def _text(body):
    return "def f(x, out):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _arguments(n, dtype="f8"):
    return [np.linspace(-1, 2, n), np.ones((n, 3), dtype)]


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name):
    check_whole(_text(WHOLE[name]), _arguments)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "u2", "?", "c16", "c8", "f2"])
@pytest.mark.parametrize("name", [*WHOLE, *OTHERS])
def test_dtypes(name, dtype):
    text = _text((WHOLE | OTHERS)[name])
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for size in (7, 11, 7):
        expected, found = observe(eager, _arguments(size, dtype)), observe(compiled, _arguments(size, dtype))
        assert found == expected, f"size {size}: {report(expected, found)}"
        stator.wait()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "u2", "?", "c16"])
@pytest.mark.parametrize(
    "items",
    ["1, 2.75", "x[i], 3", "y[i], x[i]", "k[i], True", "k[i] * 100, 1000", "z[i], 1j", "k[i] > 1, b[i]"],
)
def test_kinds(items, dtype):
    """NumPy's scalars and Python's numbers, into all kinds of arrays."""
    text = f"def f(x, y, k, z, b, out):\n    for i in range(len(x)):\n        out[i, 1:] = {items}\n    return out\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for size in (7, 11, 7):
        x = np.linspace(-3, 200, size)
        same = [x, x.astype("f4"), x.astype("i4"), x * 1j, x > 9]
        expected = observe(eager, [*same, np.ones((size, 3), dtype)])
        found = observe(compiled, [*same, np.ones((size, 3), dtype)])
        assert found == expected, f"size {size}: {report(expected, found)}"
        stator.wait()
