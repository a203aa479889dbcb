"""Scalar expressions in a loop over elements, of every dtype: types, bits, warnings and exceptions."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

DTYPES = ("f8", "f4", "i8", "i4", "u1", "?", "c16")
OPERATORS = (
    "-x", "+x", "abs(x)", "~x", "not x", "x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** y", "x + 1", "2 - x", "x * 1.5", "1 / x", "3 // x", "7 % x", "x // 2",
    "x // 0.7", "x % 2", "x % 0.7", "x % -3", "x // -3", "x ** 2", "x ** 3", "x ** 0.5", "x ** -1", "x ** 1.7", "2 ** x", "2.0 ** x", "x >> 1", "x << 2", "x & 5", "x | y",
    "x ^ 3", "x < y", "x == 1", "x >= 0.5", "x != y", "0 < x < 2", "x + i", "i * x", "i / x", "x * True", "x and y", "x or 1", "x if x > y else 0", "divmod(x, 2)[1]",
    "divmod(x, y)[0]", "pow(x, 2)", "max(x, 1)", "min(x, y)", "max(x, y, 0.5)", "x + 10 ** 20", "x * 300", "x - 1e300 * 1e10",
)  # fmt: skip
CALLS = (
    "float(x)", "int(x)", "bool(x)", "complex(x)", "round(x)", "x.item()", "x.real", "np.float32(x) * 0.1", "np.float64(x) * 0.1", "np.int32(x)", "np.uint8(x)",
    *(f"np.{name}(x)" for name in ("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "arctan", "arcsin", "sinh", "floor",
                                   "ceil", "rint", "trunc", "sign", "abs", "square", "reciprocal", "negative", "isnan", "isfinite", "signbit", "conj", "logical_not", "invert")),
    *(f"np.{name}(x, {other})" for name in ("power", "maximum", "minimum", "fmax", "fmod", "remainder", "floor_divide", "hypot", "arctan2", "copysign", "add", "multiply",
                                            "float_power", "logical_and", "less", "left_shift") for other in ("y", "2")),
    "np.power(x, 0.5)", "np.where(x > 1, x, y)", "math.sqrt(x)", "math.exp(x)", "math.sin(x)", "math.floor(x)", "math.pow(x, 2)",
)  # fmt: skip
# What is not right yet, and why.
OPEN: dict[str, str] = {}


def _function(expression):
    text = (
        "def f(a, b, out, k):\n"
        "    z = None\n"
        "    for i in range(len(a)):\n"
        "        x, y = a[i], b[i]\n"
        f"        value = {expression}\n"
        "        if i == k:\n"
        "            z = value\n"
        "        out[i] = value\n"
        "    return z, value\n"
    )
    namespace = {"np": np, "math": __import__("math")}
    exec(compile(text, f"<{expression}>", "exec"), namespace)
    return namespace["f"]


def _arguments(dtype, wild):
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal(30) * 3, rng.standard_normal(30) * 3
    if not wild:
        a, b = abs(a) + 1, abs(b) + 1
    if wild and dtype in ("f8", "f4"):
        a[[3, 20]], b[[5, 21]] = (np.nan, np.inf), (0.0, -np.inf)
    out = np.zeros(30, complex if dtype == "c16" else float)
    with np.errstate(all="ignore"):
        return [a.astype(dtype), b.astype(dtype), out, 7]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(e, marks=[pytest.mark.xfail(strict=False, reason=OPEN[e])] if e in OPEN else [])
        for e in (*OPERATORS, *CALLS)
    ],
)
def test_scalar_expression(expression, monkeypatch):
    """Values without faults first, then with: what was compiled for the first has to leave for the second."""
    monkeypatch.setattr(stator.options, "async", False)
    for dtype in DTYPES:
        function = _function(expression)
        compiled = stator.compile(function)
        for wild in (False, False, True):
            expected = observe(function, _arguments(dtype, wild))
            found = observe(compiled, _arguments(dtype, wild))
            assert found == expected, f"{dtype}, wild {wild}: {report(expected, found)}"
