"""The smallest forms of programs with loops that differed from eager Python. New ones go at the end."""

from __future__ import annotations

import pytest
import stator
from fuzz.arguments import Array, Scalar
from fuzz.check import run_source


def case(name, text, *calls, open=""):
    """`text` is a module's source without its imports; each call a list of argument descriptions."""
    marks = [pytest.mark.xfail(strict=False, reason=open)] if open else []
    return pytest.param("import numpy as np\n\n" + text, [list(c) for c in calls], id=name, marks=marks)


CASES = [
    case("a shift too large in an inner loop over rows",
         "def f(n, x):\n    for i in range(3):\n        for s in x:\n            k = 1 << (16 * n)\n    return k, s, i\n",
         [Scalar("int", 4), Array("f8", (2,))], [Scalar("int", 2), Array("f8", (2,))], [Scalar("int", 4), Array("f8", (1,))]),
    case("np.power is not an operator",
         "def f(a, x):\n    for i in range(len(a)):\n        x[i] = np.power(a[i], 2)\n    return x\n",
         *[[Array("f4", (300,), "C", "plain"), Array("f8", (300,))]] * 3),
]  # fmt: skip


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "beside"])
@pytest.mark.parametrize("source, calls", CASES)
def test_reduced(source, calls, waits, monkeypatch):
    """Waiting for the compiler, and compiling beside the program."""
    monkeypatch.setattr(stator.options, "async", not waits)
    assert run_source(source, calls) is None
