"""Array statements in a loop, of every dtype and several layouts: bits, dtypes, warnings and exceptions."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.arguments import Array, build
from fuzz.compare import observe, report

DTYPES = ("f8", "f4", "i8", "i4", "u1", "?", "c16")
LAYOUTS = ("C", "F", "inner reversed", "every second")
# In a loop over i from 1 to n - 2, of vectors a, b and matrices m, w of extent n; s is a Python float.
STATEMENTS = (
    # stores into parts, overlapping and not
    "a[1:-1] = b[:-2] + b[2:]", "a[1:-1] = a[:-2] + a[2:]", "a[1:] = a[:-1]", "a[:-1] = a[1:]", "a[1:] += a[:-1]", "a[:-1] -= b[1:]", "a[::-1] = a", "a[:] = a[::-1] + b",
    "a[::2] = b[::2]", "a[::2] += a[1::2]", "a[i] = b[i - 1]", "a[i:] = b[i:]", "a[:i] = b[-i:]", "a[i:i + 2] *= 2", "a[...] = 3", "a[:] = s", "a[1:] = b[0]", "a[:i] = a[i]",
    "m[i] = a", "m[:, i] = b", "m[i, 1:] = m[i - 1, :-1]", "m[1:-1, 1:-1] = w[:-2, 1:-1] + w[2:, 1:-1]", "m[1:-1, 1:-1] += m[:-2, 1:-1]", "m[i] += m[i - 1]", "m[:, i] -= m[:, i - 1]",
    "m[i, :i] = w[:i, i]", "m[i:, i] *= 2", "m[:] = w.T", "m += m.T", "m[i][1:] = a[1:]", "m[::-1, i] = a", "m[i, i:] = a[i:] + w[i:, i]", "m[:] = a", "m[:] = a[:, None]",
    "m[:] = np.minimum(m, m[:, i, None] + m[i])", "m[:] = np.minimum(m[:], np.add.outer(m[:, i], m[i, :]))", "m[:] = m & m[i]", "m[1:] = m[1:] - m[:-1, i, None]", "m[:] = np.maximum(m, m[i]) + m[i, ::-1]",
    "m[:] = np.multiply.outer(a, b)", "a = np.subtract.outer(a, 1)", "m = np.less.outer(b, a)", "m[:] = np.maximum.outer(a[::-1], m[:, i] + b)", "m[i, -1] = a[-1]", "m[i - 1:i + 1] = w[i]",
    # whole arrays
    "a = a + b", "a += b", "a -= 1", "a *= s", "a = a * 2", "a = a * 0.5", "a = b", "a = b.copy()", "a, b = b, a", "a = 0.5 * (a + b)", "a = -a", "a = abs(a)", "a = a / 2", "a //= 3", "a %= 3",
    "a = a // 2", "a = a ** 2", "a = a ** 0.5", "a **= 2", "a = a > b", "a = a & 3", "a ^= b", "a <<= 1", "m = m + a", "m = m * a[:, None]", "m *= a", "m = np.zeros_like(m)", "a = np.empty_like(b)\n        a[:] = 1",
    "a = np.zeros(len(b))", "a = np.ones(i)", "a = m[i].copy()", "a = m[i]", "b = m[:, i]", "t = a[1:]\n        t += 1", "t = m[i]\n        t[0] = 5\n        a[:] = m[i]",
    "t = a + b\n        a[:] = t\n        b[:] = t - b", "t = a - b\n        a = t * t",
    # functions
    "a = np.sqrt(abs(b))", "a[:] = np.sqrt(abs(b))", "a = np.exp(-abs(b))", "a = np.sin(b)", "a[1:] = np.maximum(a[1:], b[:-1])", "a = np.where(a > b, a, b)", "a = np.where(a > 0, s, b)",
    "np.add(a, b, out=a)", "np.add(a, b, a)", "np.multiply(m, m, m)", "a = np.square(a)", "a = np.clip(a, 0, 2)", "a = np.roll(a, 1)", "a = np.flip(a)", "a = np.abs(b) > 1", "a = np.logical_and(a > 0, b > 0)",
    "a = np.minimum(a, 1)", "a = np.tanh(b)", "a = np.log(abs(b) + 1)", "a = np.power(abs(b), 2)", "m = np.hypot(m, w)",
    # reductions and products
    "k += a.sum()", "k = np.sum(m)", "k = m[i].sum()", "k = m[:, i].sum()", "k += a[i:].sum()", "k = a.max()", "k = np.min(m[i])", "k = a[:i].mean()", "k = np.mean(m)", "k = a @ b", "k = np.dot(m[i], b)",
    "k = m[i, :i] @ w[:i, i]", "k = np.dot(m[:, i], w[:, i - 1])", "a = m @ b", "m = m @ w", "a[i] = m[i] @ b", "a[:] = m.sum(axis=0)", "a = m.sum(axis=1)", "b = np.max(m, axis=1)", "k = a.prod()", "k = (a > 0).sum()",
    "k = np.any(a > 1)", "k = (a > b).all()", "k = a.argmax()", "k = np.cumsum(a)[-1]", "k = np.abs(a - b).max()", "k = a.std()", "k = np.linalg.norm(a)", "k = a[a > 0].sum()", "a[a > 1] = 0", "a[a > 1] *= 2",
    "m[m < 0] = a[0]", "a = b[b > -9]", "k = a.size + m.shape[1] + len(b)", "k = m[i, i] + m[-1, -1]", "m[i, i - 1], m[i, i] = m[i, i], m[i, i - 1]",
)  # fmt: skip
OPEN: dict[str, str] = {}


def _function(statement):
    text = (
        "def f(a, b, m, w, s):\n"
        "    n = len(a)\n"
        "    k = 0\n"
        "    for i in range(1, n - 1):\n"
        f"        {statement}\n"
        "    return a, b, m, k, i\n"
    )
    namespace = {"np": np}
    exec(compile(text, f"<{statement.splitlines()[0]}>", "exec"), namespace)
    return namespace["f"]


def _arguments(dtype, layout, values, n):
    specs = [
        Array(dtype, (n,), layout, values),
        Array(dtype, (n,), layout, values),
        Array(dtype, (n, n), layout, values),
    ]
    return [*build([*specs, specs[2]], n), 1.5]


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param(x, marks=[pytest.mark.xfail(strict=False, reason=OPEN[x])] if x in OPEN else [])
        for x in STATEMENTS
    ],
)
def test_array_statement(statement, monkeypatch):
    """Two sizes, then values with NaNs, infinities and extremes."""
    monkeypatch.setattr(stator.options, "async", False)
    for dtype in DTYPES:
        for layout in LAYOUTS if dtype in ("f8", "i4") else ("C",):
            function = _function(statement)
            compiled = stator.compile(function)
            for values, n in (("tame", 6), ("plain", 6), ("tame", 9), ("wild", 6)):
                expected = observe(function, _arguments(dtype, layout, values, n))
                found = observe(compiled, _arguments(dtype, layout, values, n))
                assert found == expected, f"{dtype}, {layout}, {values}, {n}: {report(expected, found)}"
