"""What people write around numbers in loops, at its edges: errors, other kinds, objects that others see."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import stator
from fuzz.check import internal_errors
from fuzz.compare import observe, report

from .whole import function_of


def case(name, text, *calls):
    return pytest.param(text, calls, id=name)


R = np.linspace(-1.0, 2.0, 12)

CASES = [
    case("a slice that differs from call to call", "def f(x, c, n):\n    for i in range(n):\n        x[c] = x[c] * 0.5 + i\n    return x, c\n",
         (R, slice(1, -1), 9), (R, slice(1, -1), 9), (R, slice(0, 7), 9), (R, slice(2, 900), 9), (R, slice(None), 9), (R, slice(9, 1, -2), 9), (R, slice(1, None, 1), 9), (R, slice(0, 1.5), 9), (R, 3, 9)),
    case("math: a domain error in the middle", "def f(x):\n    s = 0.0\n    for i in range(len(x)):\n        s += math.sqrt(x[i]) + math.log(x[i])\n    return s\n",
         (np.abs(R) + 0.1,), (np.abs(R) + 0.1,), (R[::-1].copy(),), (np.zeros(12),)),
    case("math: overflow, infinities, NaN", "def f(x):\n    n = 0\n    for i in range(len(x)):\n        if math.isnan(x[i]) or math.isinf(x[i]):\n            n += 1\n        n += math.exp(x[i]) > 2\n    return n\n",
         (R,), (R,), (np.array([1.0, np.nan, np.inf, -np.inf]),), (R * 1000,)),
    case("math: whole numbers", "def f(x, n):\n    out = []\n    for i in range(n):\n        out.append(math.floor(x * i) + math.ceil(x / (i + 1)) - math.trunc(-x))\n        out.append(math.sqrt(i))\n    return out\n",
         (1.5, 9), (1.5, 9), (1e30, 3), (-0.0, 4)),
    case("math: functions of two numbers, of NumPy's numbers", "def f(x):\n    t = 0.0\n    for i in range(1, len(x)):\n        t += math.atan2(x[i], x[i - 1]) + math.fabs(x[i]) * math.tanh(i)\n    return t\n",
         (R,), (R,), (R.astype(np.float32),)),
    case("math: more functions of one and two numbers", "def f(x, y):\n    out = []\n    for i in range(len(x)):\n        a, b = x[i], y[i]\n        out.append(math.copysign(a, b) + math.degrees(a) + math.radians(b))\n        out.append(math.erf(a))\n        out.append(math.erfc(b))\n        out.append(math.fmod(a, b))\n        out.append(math.pow(abs(a), b))\n        out.append(math.copysign(i, -0.0))\n    return out\n",
         (R * 3, R[::-1] + 0.1), (R * 3, R[::-1] + 0.1), (np.random.default_rng(1).standard_normal(300) * 2, np.random.default_rng(2).standard_normal(300)), (np.array([0.0, -0.0, 5e-324, 1e300, np.inf, np.nan, -np.inf, 2.0]), np.array([-0.0, 1.0, 2.0, 1.5, -1.0, 2.0, 3.0, np.nan])), (R, R * 0)),
    case("lists of constants, and with the items of tuples", "def f(n, t):\n    s = np.zeros(3)\n    u = (2.5, n)\n    for i in range(n):\n        d = np.array([1.0, 2.0, 3.0]) * i\n        e = np.array([0.5, *u])\n        w = [0.25, 0.5, 1.0, 2]\n        w[1] = i\n        s = s + d * w[1] + e + t[i % 2]\n    return s, d, e, w\n",
         (9, (1.0, 2.0)), (9, (1.0, 2.0)), (3, (0.5, 1)), (1, (0.5, 2))),
    case("appending, and a fault", "def f(x, k):\n    out = [k]\n    try:\n        for i in range(len(x)):\n            out.append(i * k)\n            out.append(x[i + k])\n    except IndexError as e:\n        out.append(str(e))\n    return out\n",
         (R, 0), (R, 0), (R, 5), (R, -20)),
    case("appending to a list whose length is read", "def f(n):\n    out = []\n    k = 0\n    for i in range(n):\n        if len(out) < 5:\n            out.append(i)\n        k += len(out)\n    return out, k\n",
         (9,), (9,), (3,), (12,)),
    case("two names for a list", "def f(n):\n    out = []\n    same = out\n    for i in range(n):\n        out.append(i)\n        same.append(-i)\n    return out, same is out\n",
         (9,), (9,), (3,)),
    case("arrays in a list", "def f(u, n):\n    seen = []\n    for i in range(n):\n        u = u * 0.5\n        seen.append(u)\n        u[0] = i\n        seen.append(u + 1)\n        for j in range(3):\n            u[0] += j\n    return seen, u\n",
         (R.copy(), 6), (R.copy(), 6), (R[:1].copy(), 3)),
    case("a list of the caller", "def f(x, out):\n    for v in x:\n        if v > 0:\n            out.append(v)\n    return len(out)\n",
         (R, []), (R, [1]), (R, ["a", 2, None]), (R, [0] * 30)),
    case("tuples in a list", "def f(x):\n    out = []\n    for i, v in enumerate(x):\n        out.append((i, v, v > 0, 'big' if v > 1 else None))\n    return out\n",
         (R,), (R,), (R[:3],)),
    case("unpacking rows", "def f(p):\n    t = 0.0\n    for i in range(len(p)):\n        x, y = p[i]\n        t += x * y\n    return t\n",
         (R.reshape(6, 2),), (R.reshape(6, 2),), (R.reshape(4, 3),), (R.reshape(3, 4)[:, ::2],)),
    case("unpacking an array of rows", "def f(p, n):\n    for i in range(n):\n        a, b = p\n        a += b\n        b *= 0.5\n    return p\n",
         (R.reshape(2, 6).copy(), 4), (R.reshape(2, 6).copy(), 4), (R.reshape(3, 4).copy(), 4)),
    case("NumPy's types as functions", "def f(x, n):\n    s = np.float32(0)\n    k = np.int8(0)\n    for i in range(n):\n        s += np.float32(x) * np.float32(i)\n        k = np.int8(i * 20 % 128)\n        b = np.bool_(i)\n        w = np.uint16(x)\n    return s, k, b, w, np.float64(s)\n",
         (1.1, 9), (1.1, 9), (1e39, 3), (3, 4), (np.float64(2.5), 5), (-1.5, 4)),
    case("a type's limits", "def f(n, step):\n    k = np.int8(0)\n    for i in range(n):\n        k = np.int8(i * step)\n    return k\n",
         (5, 20), (5, 20), (9, 20), (9, -20)),
    case("items of a dict", "def f(a, d):\n    for i in range(len(a)):\n        a[i] = a[i] * d['k'] + d['b'][i % 3]\n    return a\n",
         (R.copy(), {"k": 2.0, "b": np.ones(3)}), (R.copy(), {"k": 2.0, "b": np.ones(3)}), (R.copy(), {"k": 3, "b": np.ones(4)}), (R.copy(), {"k": np.float32(3), "b": [1, 2, 3]}), (R.copy(), {"b": np.ones(3)})),
    case("a dict that changes", "def f(a, d):\n    for i in range(len(a)):\n        if i == 5:\n            d['k'] = -1.0\n        a[i] = a[i] * d['k']\n    return a, d\n",
         (R.copy(), {"k": 2.0}), (R.copy(), {"k": 2.0}), (R.copy(), {"k": 3.0})),
    case("steps that only the run knows", "def f(x, steps):\n    out = np.zeros(len(steps))\n    for i in range(len(steps)):\n        k = steps[i]\n        y = x[i::k]\n        out[i] = y[-1] + len(y)\n        x[1:-1:k] += 0.5\n    return out, x\n",
         (R.copy(), np.array([1, 2, 3, 50])), (R.copy(), np.array([1, 2, 3, 50])), (R.copy(), np.array([2, -1, 3])), (R.copy(), np.array([2, 0])), (R.copy(), np.array([2**62, 5]))),
    case("a product of one element", "def f(x, y, n):\n    out = np.zeros(n)\n    for i in range(1, n):\n        out[i] = np.dot(x[:i], y[:i]) + -0.0 * (x[:i] @ y[:i])\n        out[i] = np.dot(x[:i], y[:i])\n    return out\n",
         *[(np.array([-0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), 4)] * 4, (np.array([-0.0, 1.0, 2.0], np.float32), np.array([1.0, 2.0, 3.0], np.float32), 4)),
    case("arrays of numbers", "def f(x, k):\n    acc = np.zeros(3)\n    for i in range(len(x)):\n        acc = acc + np.array([x[i], k, 1.5])\n        m = np.array([[1, i], [i, 2]])\n        t = np.asarray((i, 2 * i), dtype=np.float32)\n    return acc, m, t\n",
         (R, 2), (R, 2), (R, 2.5), (R.astype(np.float32), 1)),
    case("complex numbers", "def f(z, n):\n    w = 0j\n    for k in range(n):\n        w = w * w + z\n        if abs(w) > 2:\n            break\n    return w, k, complex(k, -k)\n",
         (0.1 + 0.2j, 20), (0.1 + 0.2j, 20), (1 + 1j, 20), (complex("inf"), 5), (complex(0.0, -0.0), 4), (1.5, 8), (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("text, calls", CASES)
def test_idiom(text, calls):
    eager, compiled = function_of(text), stator.compile(function_of(text))
    with internal_errors() as wrong:
        for round in range(2):
            for k, arguments in enumerate(calls):
                expected = observe(eager, list(copy.deepcopy(arguments)))
                found = observe(compiled, list(copy.deepcopy(arguments)))
                assert found == expected, f"round {round}, call {k}: {report(expected, found)}"
                stator.wait()
    assert not wrong
    assert stator.stats(compiled)["regions"] >= 1
