"""NumPy's complex numbers in loops: operators by the formulas of its scalars, in their own precision."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_same, check_whole, function_of

# Bodies of f(n, c, d, z, out): c and d are vectors of complex numbers, z is a Python complex.
WHOLE = {
    "products": "w = c[0]\nfor i in range(n):\n    w = w * c[i] + d[i]\n    out[i] = w.real\nreturn w, out",
    "quotients": "w = c[0]\nfor i in range(n):\n    w = (w + c[i]) / (d[i] - w)\n    out[i] = w.imag\nreturn w, out",
    "squares": "w = c[0]\nfor i in range(n):\n    w = w**2 * d[i] - c[i]\nreturn w",
    "powers": "w = c[0]\nfor i in range(n):\n    w = w**3 + c[i]**4 - d[i]**5 * c[i]**7 + w**8 * d[i]**6\nreturn w",
    "signs": "w = c[0]\nfor i in range(n):\n    w = -w * d[i] - -c[i]\nreturn w",
    "a Python complex": "w = c[0]\nfor i in range(n):\n    w = z * w + z\n    w = w / z - z\nreturn w",
    "begins as a Python complex": "w = 0j\nfor i in range(n):\n    w = w * w * z + c[i]\nreturn w",
    "Python's numbers": "w = c[0]\nfor i in range(n):\n    w = 0.75 * w + i\n    w = (w - 2) / 3.0 + 2 * w / 4\nreturn w",
    "NumPy's reals": "w = c[0]\nx = c[1].real\nfor i in range(n):\n    w = x * w + x\n    w = (x - w) / (w + x) - w * x\nreturn w",
    "an orbit": "for i in range(n):\n    w = 0j\n    for k in range(20):\n        w = w * w + c[i]\n        if abs(w) > 2:\n            break\n    out[i] = k\nreturn w, out",
    "entered with one": "w = c[0] * c[1]\nfor k in range(2):\n    for i in range(n):\n        w = w * d[i] + c[i]\n    w = w * z\nreturn w",
    "stored": "for i in range(n):\n    c[i] = c[i] * d[i] - c[i - 1]\nreturn c",
    "compared": "t = 0\nfor i in range(n):\n    w = c[i] * d[i]\n    if w == c[i] or w.real < w.imag:\n        t = t + 1\nreturn t, w",
}  # fmt: skip
# Left to NumPy's own code, in part.
OTHERS = {
    "powers": "w = c[0]\nfor i in range(n):\n    w = w**3 + c[i]**0.5 + 2**d[i] + c[i] ** d[i] + w**-1\n    w = w / abs(w)\nreturn w",
    "NumPy's ints and bools": "k = np.int16(3)\nw = c[0]\nfor i in range(n):\n    w = (w * k + np.bool_(True) - c[i]) / 8\nreturn w",
    "Python's bools": "w = c[0]\nfor i in range(n):\n    w = w * True + False - c[i] / 8\nreturn w",
    "divided by nothing": "w = c[0]\nfor i in range(n):\n    out[i] = i\n    w = c[i] / (d[i] * (5 - i))\nreturn w, out",
    "overflows": "w = c[0]\nfor i in range(n):\n    out[i] = i\n    w = w * w * 1e30\nreturn w, out",
    "a divisor that overflows": "w = c[0]\nfor i in range(n):\n    out[i] = i\n    w = c[i] / (d[i] * 1.5e308)\nreturn w, out",
    "infinite": "w = c[0] * np.inf\nfor i in range(n):\n    w = w * d[i] + c[i]\nreturn w",
    "large ints": "w = c[0]\nfor i in range(n):\n    w = w + (2**53 + i) - 2**53\nreturn w",
    "large floats": "w = c[0]\nx = 1e300\nfor i in range(n):\n    w = w + x * 0.0 + (x if i == 7 else 0.0)\nreturn w",
}  # fmt: skip


def _text(body):
    return "import numpy as np\n\ndef f(n, c, d, z, out):\n" + "".join(
        f"    {line}\n" for line in body.split("\n")
    )


def _arguments(dtype):
    def make(n):
        rng = np.random.default_rng(n)
        c, d = ((rng.random(n) - 0.5 + 1j * (rng.random(n) - 0.5)).astype(dtype) for _ in range(2))
        return [n, c, d, complex(0.3, -0.4), np.zeros(n)]

    return make


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", WHOLE)
def test_whole(name, dtype):
    if name in ("an orbit", "compared") and dtype is np.complex64:
        check_same(_text(WHOLE[name]), _arguments(dtype))  # abs and == are NumPy's
    else:
        check_whole(_text(WHOLE[name]), _arguments(dtype))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", OTHERS)
def test_other(name, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        check_same(_text(OTHERS[name]), _arguments(dtype))


@pytest.mark.parametrize("dtypes", [(np.complex128, np.complex128), (np.complex64, np.complex64), (np.complex64, np.complex128)])  # fmt: skip
def test_many(dtypes):
    """Parts of all sizes and signs, next to each other and far apart."""
    text = """
def f(x, y, out):
    for i in range(len(x)):
        a = x[i]
        b = y[i]
        out[i, 0] = a * b
        out[i, 1] = a / b
        out[i, 2] = a + b
        out[i, 3] = a - b
        out[i, 4] = a**2
        out[i, 6] = a**3
        out[i, 7] = b**4
        out[i, 8] = a**7
        out[i, 5] = -a
    return out
"""
    rng = np.random.default_rng(5)
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for _ in range(6):
        arrays = []
        for dtype in dtypes:
            size = 35 if dtype is np.complex128 else 4
            re, im = (rng.standard_normal(400) * 10.0 ** rng.integers(-size, size, 400) for _ in range(2))
            re[rng.random(400) < 0.1] = -0.0
            im[rng.random(400) < 0.1] *= -0.0
            re[0] = im[0] = 1.0
            z = np.zeros(400, dtype)
            z.real, z.imag = re, im
            z[z == 0] = 1
            if not arrays:  # what is divided
                z[1:5] = [complex(re, im) for re in (0.0, -0.0) for im in (0.0, -0.0)]
            arrays.append(z)
        arguments = [[*arrays, np.zeros((400, 9), np.complex128)] for _ in range(2)]
        expected, found = observe(eager, arguments[0]), observe(compiled, arguments[1])
        assert found == expected, report(expected, found)
        stator.wait()
    assert stator.stats(compiled)["regions"] >= 1
    assert [region.python_calls for region in compiled.regions if not region.error] == [0]
