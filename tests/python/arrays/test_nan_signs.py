"""The sign of a NaN that comes in alone: what LLVM takes for the same number has another one."""

import numpy as np
import pytest
import stator

EXPRESSIONS = [
    "-x + y",
    "y + (-x)",
    "(-x) + 1.0",
    "-abs(x) + y",
    "-(x * y) + 1.0",
    "abs(x) * abs(x)",
    "(-x) / 3.0",
    "3.0 / (-x)",
    "(-x) * (-y)",
    "x - (-y)",
    "-(x * y)",
    "-0.0 - x",
    "x * -1.0",
    "x / -1.0",
]


def straight(expression):
    return f"def f(x, y, out):\n out[:] = {expression}\n return out"


def elements(expression):
    return f"def f(a, b, out):\n for i in range(len(a)):\n  x = a[i]\n  y = b[i]\n  out[i] = {expression}\n return out"


def statements(expression):
    return f"def f(x, y, out):\n for i in range(60):\n  out[:] = {expression}\n return out"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("form", [straight, elements, statements])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_one_nan(expression, form, dtype):
    space = {}
    exec(form(expression), space)
    function = space["f"]
    compiled = stator.compile(function)
    calm = np.linspace(0.1, 0.9, 83).astype(dtype)
    x = np.full(83, 0.5, dtype)
    x[::3], x[1::3] = -np.nan, np.nan
    with np.errstate(all="ignore"):
        for a in (calm, calm, calm, x, x):
            y = np.ones(83, dtype)
            assert compiled(a, y, np.zeros_like(a)).tobytes() == function(a, y, np.zeros_like(a)).tobytes()
            stator.wait()
