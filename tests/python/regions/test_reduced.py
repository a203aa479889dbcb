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
    case("stores of one extent between which a test has nowhere to leave to",
         "def f(a, b, m):\n    n = a.shape[0]\n    out = b\n    for i in range(1, n):\n        pass\n    for w in a:\n        try:\n            b[1:-1, 1:-1] = (out[2:, 2:] + a[i, 2:]) + out[n - 1 - i, i % m] * b[1:-1, :-2]\n"
         "            out[i, 1:-1] = out[i - 1, :-2]\n        except IndexError:\n            pass\n",
         *[[Array("f8", (3, 1)), Array("f8", (1, 1)), Scalar("int", 1)]] * 3),
    case("memory that only a mask's selection is put into",
         "def g(p):\n    p = p * 1.0\n    kept = p[p > 1e-3]\n    return p\n\n\ndef f(a, u):\n    n = a.shape[0]\n    out = a[:, 0] * 1.0\n    for i in range(n):\n        out = g(out)\n        out[i] = u\n        a[i, 1] = out[i - 1]\n    return a, out\n",
         *[[Array("f8", (4, 2)), Scalar("float", 1.5)]] * 3),
    # Statements that become one nest must not write where the arrays lie that Python gets in front of them.
    case("what is made in turns in one nest, until a flag is raised",
         "def f(a, b):\n    t = a * 2.0\n    u = b\n    for i in range(7):\n        u = t[::-1] + b\n        t = u * b\n        u = u[::-1] - t\n        t = t / u\n    return t, u\n",
         *[[Array("f8", (9,), "C", "plain"), Array("f8", (9,), "C", values)] for values in ("plain", "tame", "wild", "plain", "wild")]),
    case("a row of one element shows its stride",
         "def f(b, m):\n    n = b.shape[0]\n    for i in range(n):\n        w = b[i]\n        w[0] += 1\n    return w\n",
         *[[Array("f8", (7, 1), "F"), Scalar("int", 1)]] * 3),
    # Loops that are entered at several versions of their header.
    case("arrays that are swapped in an inner loop, and a variable that becomes an array",
         "def f(b, x, y, u):\n    m = x.shape[0]\n    for i in range(m):\n        for j in range(len(y), 1, -1):\n            x, b = b, x\n            u = u + b\n    return b, x, u\n",
         *[[Array("f8", (n,)), Array("f8", (n,)), Array("f8", (k,)), Scalar("float", 1.0)] for n, k in ((3, 1), (3, 4), (4, 3), (3, 6))]),
    case("arrays that are swapped in an inner loop, and a list",
         "def f(b, x, u):\n    n = b.shape[0]\n    for i in range(1, n):\n        g = [u, u]\n        for j in range(1, 4):\n            x, b = b, x\n            x[0] += g[1] + j\n    return x, b, g\n",
         *[[Array("f8", (n,)), Array("f8", (n,)), Scalar("float", 1.0)] for n in (2, 5, 6, 5)]),
]  # fmt: skip


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "beside"])
@pytest.mark.parametrize("source, calls", CASES)
def test_reduced(source, calls, waits, monkeypatch):
    """Waiting for the compiler, and compiling beside the program."""
    monkeypatch.setattr(stator.options, "async", not waits)
    assert run_source(source, calls) is None
