"""The smallest forms of programs that the fuzzer found to differ from eager NumPy. New ones go at the end."""

from __future__ import annotations

import pytest
from fuzz.arguments import Array, Scalar, View
from fuzz.check import run_source


def case(name, text, *calls):
    """`text` is a module's source without its imports; each call a list of argument descriptions."""
    return pytest.param("import numpy as np\n\n" + text, [list(c) for c in calls], id=name)


def twice(*args):
    return args, args


CASES = [
    case("exception after a recorded statement", "def f(a):\n    v = a * a\n    np.sin(a, a)\n", [Array("i8", (1,))]),
    case("exception of a joining function", "def f(b):\n    v = b > 300\n    np.stack([v, np.uint16, 7])\n", [Array("f8", (1,))]),
    case("exception handled where it was recorded",
         "def f(b):\n    try:\n        b = np.where(b, b, b)\n        b[7]\n    except IndexError:\n        pass\n    return b\n",
         *twice(Array("f8", (1,)))),
    case("0-d arrays as operands", "def f(a, b):\n    return np.hypot(a, b), np.stack((a, a)), a / 2.0\n", *twice(Array("f8", ()), Array("f8", (1,)))),
    case("strides of an axis of extent 1", "def f(b):\n    v = +b\n    return b[1::2, :2], b[::-1], v\n", *twice(Array("f8", (1, 1)))),
    case("order of a new axis", "def f(z):\n    return np.trunc(z[None])\n", *twice(Array("f8", (2, 2), "axes rolled"))),
    case("broadcast_to is read-only", "def f(b):\n    v = b + 1\n    return v, np.broadcast_to(b, (2, 3))\n", *twice(Array("f8", (3,)))),
    case("warnings of inner Python functions", "def f(b):\n    v = b[1:1, 1:, ::2]\n    return v.mean()\n", *twice(Array("f8", (1, 1, 1)))),
    case("positional out of minimum", "def f(a):\n    np.minimum(a, 10, a)\n", *twice(Array("f8", (3,)))),
    case("in-place update of a long array", "def f(a, b):\n    v = np.any(b)\n    a[:] = 1\n    a += v\n",
         [Array("i8", (2,)), Array("f8", ())], [Array("i8", (8193,)), Array("f8", ())]),
    case("views of nothing are writeable", "def f(a):\n    v = a > 1\n    return v[:3], np.maximum(a, 1e-3).transpose([1, 0])\n", *twice(Array("f8", (0, 2)))),
    case("out= of another dtype", "def f(a, b):\n    v = np.sin(b)\n    np.logical_and(a, v, v)\n    return v\n", *twice(Array("f8", ()), Array("c8", (1,)))),
    case("strides of a converted view", "def f(z):\n    return np.asarray(z[None, 1::2], np.float32)\n", *twice(Array("f8", (4,)))),
    case("real scalars among complex arrays", "def f(a, y):\n    return y - a, np.add(a, True), a * 2 + y\n", *twice(Array("c16", (5,)), Array("i8", ()))),
    case("a complex scalar among integers", "def f(x, z):\n    return z.sum(axis=1).astype(np.int64) + x\n", *twice(Scalar("complex", 0.5 - 1j), Array("f8", (2, 3)))),
    case("complex to half", "def f(b):\n    return b.astype(complex).astype(np.float16)\n", *twice(Array("i1", ()))),
    case("flags of complex comparisons", "def f(b, x):\n    return b > x\n", *twice(Array("u2", (5,)), Array("c16", (4, 5), "C", "wild"))),
    case("whether ravel copies", "def f(x):\n    return x.ravel()\n", [Array("f4", (4,), "reversed")], [Array("f4", (4,))], [Array("f4", (4,), "reversed")]),
    case("strides of a converted F-ordered view", "def f(b):\n    return b[::-1, 1:2].astype(np.int32, copy=False)\n", *twice(Array("f8", (2, 2), "F"))),
    case("strides of a stack", "def f(a):\n    return np.hstack((a, a, a)) / 2\n", *twice(Array("f8", (1, 2, 2), "F"))),
    case("out= of another dtype, then integer division", "def f(b):\n    v = np.concatenate([b, b, b])\n    np.logical_or(v, v, out=(v,))\n    return v // 2\n", *twice(Array("f8", (1,)))),
    case("overlapping arguments", "def f(a, b):\n    a += 1\n    b *= 2\n    return a + b\n",
         [Array("f8", (6,)), View(0, "same")], [Array("f8", (6,)), Array("f8", (6,))], [Array("f8", (6,)), View(0, "same")], [Array("f8", (6,)), View(0, "reversed")]),
    case("a bool among complex numbers", "def f(y):\n    return y < True, np.add(y, True)\n", *twice(Array("c16", (3,)))),
    case("a mask of complex sums", "def f(a, x):\n    v = x + a\n    return v[v > 0]\n", *twice(Array("?", (16,)), Array("c8", ()))),
    case("an empty view beside a store", "def f(a):\n    v = a.clip(None, 3)\n    a *= a\n    return v[1:, 0:0, 1::2, -3:]\n", *twice(Array("f8", (1, 0, 1, 2)))),
    case("flags of what an empty result is computed from", "def f(a, x):\n    v = np.divide(x, 0)\n    a -= v\n", *twice(Array("f8", (0,)), Array("f8", (1,)))),
    case("flags of a scalar that an empty result is computed from", "def f(a, x):\n    x[...] = 3\n    v = x / 0\n    return a - v\n", *twice(Array("f8", (0,)), Array("f8", ()))),
    case("casts to complex", "def f(a, b, c):\n    return a.astype(complex), b.astype(np.complex64), c.astype(np.complex64), c.astype(complex), b.astype(complex)\n",
         *twice(Array("f4", (37,)), Array("i8", (37,)), Array("f2", (5, 7)))),
    case("casts between complex dtypes", "def f(a, b):\n    return a.astype(np.complex64), b.astype(complex), a[::3].astype(np.complex64), a.astype(bool), b.astype(bool)\n",
         *twice(Array("c16", (37,), "C", "wild"), Array("c8", (37,), "C", "wild")), *twice(Array("c16", (37,)), Array("c8", (37,)))),
    case("underflow in casts", "def f(a):\n    with np.errstate(all='warn'):\n        return (a * 1e-42).astype(np.float32)\n", *twice(Array("f8", (9,)))),
    case("in-place sums of many lengths", "def f(a, b):\n    a += b\n    a[1:] -= 1\n    a *= 2\n",
         *([Array("i8", (n,)), Array("i8", (n,))] for n in (2, 31, 33, 100, 2049, 8193))),
    case("loops over copies of reversed arrays", "def f(x):\n    return np.cbrt(np.pad(x, 0)), np.exp(np.roll(x, 0)), np.arctan(np.concatenate((x,)))\n",
         *twice(Array("f8", (1500,), "reversed")), *twice(Array("f4", (1500,), "reversed"))),
    case("loops over one element of a reversed array", "def f(x):\n    return np.cbrt(x[:1])\n", *twice(Array("f8", (1500,), "reversed", "tame"))),
    case("complex products of one element", "def f(b, x):\n    return x * x, x[:1] * b\n", *twice(Array("c16", ()), Array("c16", (1,)))),
    case("views of a reshaped roll", "def f(b, y):\n    v = np.roll(np.stack((b, y, b)), 2)\n    w = np.expand_dims(v, 0)\n    u = np.square(w)\n    return u, w, np.where(u >= 3, 0.1, v)\n",
         *twice(Array("f8", (8,)), Array("f8", (8,)))),
    case("one element of a range", "def f(a):\n    return np.arange(a.shape[1], dtype=np.int8)[1]\n", *twice(Array("f8", (1, 2, 1)))),
    case("reshaped views", "def f(b):\n    w = b.reshape(2, -1)[1:].reshape(-1) * 2\n    return b[2:].reshape(2, -1) + 1, w, (b * 3)[2:].reshape(-1, 2, 1)[:, ::-1].reshape(-1) + 1, b[::2].reshape(2, -1) * 2\n",
         *twice(Array("f8", (8,)))),
    case("an extent that a later statement compares", "def f(a):\n    v = np.take(a, 0, axis=0)\n    w = v // 1\n    u = v[-3:]\n    return w\n",
         *twice(Array("?", (2, 3))), *twice(Array("?", (2, 2)))),
    case("a result that no longer broadcasts", "def f(b):\n    v = np.eye(3)\n    w = np.add.reduce(b)\n    u = w > v\n    return w, u\n",
         *twice(Array("f8", (2, 3), "every second")), *twice(Array("f8", (2, 2), "every second"))),
    case("sums of no complex numbers as reals", "def f(a):\n    return np.sum(a[1:2, :2], axis=-2, dtype=np.float32)\n", *twice(Array("c16", (1, 1)))),
    case("a number stored nowhere", "def f(a):\n    v = np.empty_like(np.cos(a))\n    v[...] = 1e10\n    return v\n", *twice(Array("?", (0,)))),
    case("stores of nothing", "def f(a, b):\n    a[0:0] = 5.0\n    a[1:1] = b[:1]\n    a[:0] = b[0]\n    return a + b\n", *twice(Array("f8", (3,)), Array("f4", (3,)))),
    case("tuples of extents", "def f(a, b):\n    z = np.zeros((2,) + a.shape)\n    z[:] = a\n    if a.shape == b.shape:\n        z = z + b\n    if a.shape[:-1] != b.shape[:-1]:\n        z = z * 2\n    return z, np.ones((3,) * 2 + a.shape[::-1] + ()), a.shape[1:]\n",
         *([Array("f8", x), Array("f8", y)] for x, y in [((4, 3), (4, 3)), ((5, 3), (5, 3)), ((4, 3), (4, 1)), ((4, 3), (1, 3)), ((5, 3), (5, 3))])),
    case("a view of a converted 0-d array", "def f(a, x):\n    x[1::2, ...] = 0.001\n    v = np.asarray(a, dtype=np.float64)\n    return v.T, v\n", *twice(Array("f4", ()), Array("f8", (2,)))),
    case("a store that raises", "def f(a, n):\n    v = a * 2\n    try:\n        a[n:] = a[:-n] + v[:2]\n    except ValueError:\n        pass\n    return v\n",
         [Array("f8", (5,)), Scalar("int", 1)], [Array("f8", (5,)), Scalar("int", 1)], [Array("f8", (3,)), Scalar("int", 1)], [Array("f8", (3,)), Scalar("int", 1)]),
    case("flags of what is not returned", "def f(a):\n    v = a ** -2\n    return v[-3:][0]\n", *twice(Array("f4", (7,), "C", "wild"))),
    case("stores into 0-d arguments", "def f(a, y):\n    v = np.exp2(y)\n    a[...] = a[...] * 0.5\n    y[...] = 3.0\n    return np.sqrt(-a), v, y * 2\n", *twice(Array("f8", ()), Array("f8", ()))),
    case("unpacking arrays and arrays of numbers", "def f(s, k):\n    x, y, z = s\n    v = np.array([k * (y - x), x * (28.0 - z) - y, x * y])\n    p, q = np.stack((s, v))\n    return v, p + q, np.array((k, 1, x.size)), np.array([x, 2.5]), np.array([1, k])\n",
         *([Array("f8", (3,)), Scalar("float", 10.0)], [Array("f8", (3,)), Scalar("float", 2.0)], [Array("f4", (3,)), Scalar("float", 2.0)], [Array("f8", (3, 2)), Scalar("int", 3)], [Array("f8", (3, 2)), Scalar("int", 4)])),
    case("unpacking another number of elements", "def f(s):\n    try:\n        x, y = s\n    except ValueError:\n        return s * 2\n    return x + y\n",
         [Array("f8", (2,))], [Array("f8", (2,))], [Array("f8", (3,))], [Array("f8", (3,))], [Array("f8", (2,))]),
    case("sums of views that lie in C order by chance", "def f(p, n):\n    return p[::-1].sum(), p[:, :n].sum(), p.T.sum(), p[:n].sum()\n",
         *([Array("f8", s, l), Scalar("int", n)] for l in ("C", "reversed", "outer rows", "inner reversed", "F") for s, n in (((3, 40), 40), ((3, 40), 7), ((5, 33), 33), ((5, 33), 2)))),
    case("an empty scalar", "def f(a):\n    v = np.empty(a.shape, a.dtype)\n    v.fill(3)\n    w = np.array(v, np.float32)\n    w[()] = w[...]\n    a.sum(), a.clip(0.5, 1.5)\n    return np.exp(w), np.empty(()).shape\n", *twice(Array("?", ()))),
    case("overlapping parts of other steps", "def f(x):\n    v = x.astype(np.float32, copy=False)\n    v[::2] = v[None, :-2]\n    x[::2] = x[:(x.size + 1) // 2]\n    x[1:] = x[:-1]\n    x[::-1] = x\n    return v\n",
         *twice(Array("f8", (4,))), *twice(Array("f8", (5,)))),
    case("a reshape of memory that was stored to", "def f(b):\n    v = np.array(b, np.float32)\n    v[::-1] += v\n    return 0 + v.ravel()\n", *twice(Array("f8", (1, 1))), *twice(Array("f8", (2, 3), "F"))),
    case("which zero fmax takes", "def f(x, y):\n    return np.fmax(x, y), np.fmin(y, x)\n", *twice(Array("f8", (31, 4, 16), "axes rolled"), Array("f8", (16,)))),
    case("a number read before its array changes", "def f(a):\n    v = np.power(a, 2)\n    k = v[7]\n    np.subtract(a, k, out=(v,))\n    with np.errstate(all='warn'):\n        return v - k\n", *twice(Array("f8", (8,)))),
    case("axes of extent 1 in another order", "def f(a):\n    v = np.array(a[None], np.float32)\n    w = v.transpose([1, 2, 0])\n    w[0] *= 0\n    v[-1] = v * 0.1\n    return v\n", *twice(Array("f8", (1, 1)))),
    case("swapped complex numbers as integers", "def f(a):\n    return a.astype(np.uint16, copy=False), np.array(a, np.int32)\n", *twice(Array("c16", (), "swapped"))),
    case("a sum beside a search of an array with gaps", "def f(a, b):\n    v = b / (b != a)\n    return v.mean(), np.argmin(b), v.sum(), b.max()\n", *[[Array("f8", ()), Array("f8", s, "broadcast")] for s in ((2, 2), (2, 2), (3, 40), (7, 9), (7, 9))]),
    case("a sum of a library result of a known length", "def f(y, z):\n    v = np.gradient(z, axis=-1)\n    return v[:, 0] + y, v.sum(), v[1:].sum(), v[0].sum(), v[:1].mean()\n", *[[Array("f8", (16,)), Array("f8", (3, n, 16))] for n in (2, 2, 5, 5)]),
    case("padding reals with complex numbers", "def f(a):\n    v = np.pad(a, 1, constant_values=(1j, 2))\n    return v * 2, a < 1j\n", *twice(Array("f8", (5,)))),
    case("an array of equal exponents", "def f(a):\n    v = np.empty_like(a)\n    v[...] = 2\n    return a ** np.full_like(a, 2), a ** v, a ** (v + 0)\n", *twice(Array("f8", (2, 2))), *twice(Array("f8", (2, 7)))),
    case("in-place powers of every second complex number", "def f(b):\n    b[None, ::2] **= 2\n    b[1:] *= b[:-1]\n    return b\n", *twice(Array("c16", (3,))), *twice(Array("c16", (33,)))),
    case("too many axes for a store of nothing", "def f(x, b):\n    v = x[1:, 1:-1, None]\n    w = x / 10\n    v[..., 0:0, -1, 0] = v[::2, b:]\n    return w\n", *twice(Array("i8", (7, 3)), Scalar("int", 3))),
    case("the square of one complex number in many places", "def f(b):\n    v = np.max(b.reshape(-1), axis=-1, keepdims=True)\n    np.square(v, out=b)\n", *twice(Array("c8", (2,))), *twice(Array("c8", (9,)))),
    case("the imaginary part of real numbers", "def f(a):\n    v = a.imag\n    return v, v[1:], v + a\n", *twice(Array("f8", (5,))), *twice(Array("f4", (5, 7), "F")), *twice(Array("i4", (3, 0)))),
    case("imaginary parts are read-only", "def f(a):\n    v = a.imag\n    try:\n        v[...] = 1\n    except ValueError as e:\n        return str(e)\n", *twice(Array("f8", (5,)))),
    case("functions of nothing", "def f(a):\n    return np.log(a), a.astype(np.float32), np.sum(a), a.sum(axis=0), np.pad(a, 1), a < 1, np.fmin(a, a)\n", *twice(Array("f8", (0,))), *twice(Array("f8", (3, 0)))),
    case("functions of nothing that warn", "def f(a):\n    b = a * 2\n    return b.mean(), np.mean(b), b.std(), np.median(b)\n", *twice(Array("f8", (0,)))),
    case("a 0-d array through several error states", "def f(a):\n    v = np.asarray(a, dtype=np.float32)\n    with np.errstate(all='ignore'):\n        v[...] = 3\n        w = v[None]\n    with np.errstate(all='warn'):\n        w[...] = a\n        x = v + 1\n        v += x\n    return v, w, x, v[()]\n", *twice(Array("f8", ()))),
    case("a 0-d array gets one element", "def f(a, x):\n    v = np.asarray(a, dtype=np.float32)\n    v[None] = x\n    with np.errstate(all='ignore'):\n        v[None, None] += x * 2\n    return v\n", *twice(Array("f8", ()), Array("f8", (1,)))),
    case("0-d arguments between branches", "def f(a, b):\n    a += 2.0\n    v = a * 3\n    a[None] = b\n    w = a + v\n    if w > 3:\n        a *= 2\n        b[...] = a + w\n    s = b[()]\n    b -= 1\n    return a + b, s, v, w\n",
         *twice(Array("f8", ()), Array("f8", ())), *twice(Array("f8", ()), View(0, "same"))),
    case("faults of 0-d arguments", "def f(a, b):\n    a /= b\n    b[...] = np.sqrt(a)\n    return a + b\n", *twice(Array("f8", ()), Array("f8", ())), *[(Array("f8", (), "C", "wild"), Array("f8", (), "C", "wild"))] * 8),
    case("a 0-d result of a library call is changed", "def f(a):\n    u = np.array(np.median(np.cumsum(a)))\n    u += 1\n    if u > 0:\n        u *= 2\n    u -= a[0]\n    return u, u[None]\n", *twice(Array("f8", (5,)))),
    case("stores into arrays that passed exits know",
         "def f(a, k):\n    v = a * 2\n    w = v[1:]\n    if v[0] > k:\n        v += 1\n    if w.sum() > k:\n        w *= a[1:]\n        v[0] = 7\n    x = v / (a - k)\n    v[::2] = x[::2] * 2\n    w -= 1\n    if x[0] > k:\n        v[...] = np.sqrt(w.sum() - a)\n    return v, w, x\n",
         *[(Array("f8", (n,), "C", how), Scalar("float", k)) for n in (3, 9, 40) for how in ("tame", "plain", "wild") for k in (1.0, 0.0, 2.0)]),
    case("a store behind a check of extents", "def f(a):\n    v = a.astype(bool, copy=False)\n    w = v - a\n    u = np.cumsum(a, axis=0)\n    x = u + a\n    u[1:] *= x[1:]\n    v[1::2] |= v[1::2]\n    return u, v, x, w\n", *twice(Array("f8", (5, 4)))),
]  # fmt: skip


@pytest.mark.parametrize("source, calls", CASES)
def test_reduced(source, calls):
    assert run_source(source, calls) is None
