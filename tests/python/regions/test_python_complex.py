"""Quotients and powers of Python's complex numbers: CPython's own formulas, its errors left to it."""

from __future__ import annotations

import sys

import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_same, check_whole, function_of

# Bodies of f(n, z, w, out). A float is no complex number with a zero part from 3.14 on.
WHOLE = {
    "quotients": "for i in range(n):\n    w = (w + z) / (z - w)\n    out[i] = w.real\nreturn w, out",
    "squares": "for i in range(n):\n    w = w**2 - z * z\n    w = w / (z + w)\nreturn w",
    "powers": "t = z - z\nfor i in range(n):\n    t = t + w**0 + w**1 + w**3 + w**7 + w**100\n    w = w * z\nreturn t, w",
    "negative powers": "t = z - z\nfor i in range(n):\n    t = t + w**-1 + w**-2 + w**-5\n    w = w * z\nreturn t, w",
    "signs of zeros": "t = complex(-0.0, 0.0)\nu = complex(0.0, -0.0)\nfor i in range(n):\n    t = t / z * w / z\n    u = u**3 / w\nreturn t, u",
}  # fmt: skip
MIXED = {
    "a root by Newton": "for i in range(n):\n    z = z - (z**3 - 1) / (3 * z**2)\nreturn z",
    "with floats": "for i in range(n):\n    w = (1.5 - w) / 2.5 + i / (w + 2)\n    z = 0.25 / z\nreturn w, z",
}  # fmt: skip

OTHERS = {
    "by nothing": "for i in range(n):\n    out[i] = i\n    w = z / (w * (5 - i) - w * (5 - i))\nreturn w, out",
    "nothing to a negative power": "for i in range(n):\n    out[i] = i\n    w = w * (5 - i)\n    t = w**-2\nreturn t, out",
    "too large": "for i in range(n):\n    out[i] = i\n    w = w**50 / z\nreturn w, out",
    "infinite": "w = w * complex(1e200, 1e200)\nfor i in range(n):\n    w = w * w / (w * w)\nreturn w",
    "to a variable power": "t = z\nfor i in range(n):\n    t = t + w**i + w**0.5 + w**z + 2**w\nreturn t",
    "by a very small one": "for i in range(n):\n    w = w / complex(1e-320, 1e-310) * 1e-300\nreturn w",
}  # fmt: skip


def _text(body):
    return "def f(n, z, w, out):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _arguments(n):
    import numpy as np

    return [n, complex(0.75, -0.5 + n / 20), complex(-0.3, 0.9), np.zeros(n)]


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name):
    check_whole(_text(WHOLE[name]), _arguments)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="its mixed operators are calls through Python")
@pytest.mark.parametrize("name", MIXED)
def test_mixed(name):
    check_whole(_text(MIXED[name]), _arguments)


@pytest.mark.parametrize("name", [*OTHERS, *MIXED])
def test_other(name):
    text = _text((OTHERS | MIXED)[name])
    check_same(text, _arguments)


def test_many_quotients_and_powers():
    """Parts of all sizes and signs, next to each other and far apart."""
    import numpy as np

    text = "def f(x, y, out):\n    for i in range(len(x)):\n        z = complex(x[i], y[i])\n        w = complex(y[-i], x[i // 2])\n        q = z / w\n        p = z**3\n        r = w**-2\n        out[i, 0] = q.real\n        out[i, 1] = q.imag\n        out[i, 2] = p.real\n        out[i, 3] = p.imag\n        out[i, 4] = r.real\n        out[i, 5] = r.imag\n    return out\n"
    rng = np.random.default_rng(5)
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for _ in range(6):
        x, y = (rng.standard_normal(300) * 10.0 ** rng.integers(-40, 40, 300) for _ in range(2))
        x[rng.random(300) < 0.1] = -0.0
        y[rng.random(300) < 0.1] *= -0.0
        x[0] = y[0] = 1.0
        arguments = [[x, y, np.zeros((300, 6))] for _ in range(2)]
        expected, found = observe(eager, arguments[0]), observe(compiled, arguments[1])
        assert found == expected, report(expected, found)
        stator.wait()
    assert stator.stats(compiled)["regions"] >= 1
