"""Loops with what else Python has: odd iterables, rebinding, scopes, objects, exceptions, effects that others see."""

from __future__ import annotations

import pytest
import stator
from fuzz.arguments import Array, Scalar, build
from fuzz.compare import observe, report

# Bodies of f(x, q, m, n, s): a vector and indices of extent n, a matrix of n by n, an int and a float.
BODIES = {
    "the loop variable is changed": "for i in range(n):\n    x[i] += 1\n    i = i * 2\n    s += i\nreturn s, i",
    "the loop variable after an empty loop": "i = 7\nfor i in range(n, n):\n    s += 1\nreturn i, s",
    "a range that is kept": "r = range(1, n, 2)\nfor i in r:\n    s += x[i]\nfor i in r:\n    s -= 0.5 * i\nreturn s, len(r), r",
    "reversed range": "for i in reversed(range(n)):\n    x[i] = x[i - 1] + s\nreturn i",
    "enumerate of a range": "for k, i in enumerate(range(n - 1, -1, -1), 3):\n    x[i] = k\nreturn k, i",
    "zip of ranges": "for i, j in zip(range(n), range(n, 0, -1)):\n    x[i] += j\nreturn i, j",
    "zip of arrays": "for a, b, c in zip(x, q, x[::-1]):\n    s += a * b - c\nreturn s, a, b, c",
    "enumerate of rows": "for i, row in enumerate(m):\n    row[i] = s\n    s += row.sum()\nreturn s, row",
    "an iterator that is shared": "it = iter(range(n))\nfor i in it:\n    s += i\n    for j in it:\n        s += 10 * j\n        break\nreturn s, i",
    "numpy's arange": "for i in np.arange(n):\n    x[i] += i\nreturn i, x[i] + i",
    "a list of numbers": "for v in [1, 2.5, 3]:\n    s = s * v + x[0]\nreturn s, v",
    "a tuple of arrays": "for a in (x, m[0], x):\n    a[1] += 1\n    s += a[1]\nreturn s",
    "a list of arrays": "parts = [x, m[1]]\nfor a in parts:\n    a += 1\nparts.append(x)\nreturn parts",
    "a list grows": "out = []\nfor i in range(n):\n    out.append(x[i] * 2)\nreturn out",
    "a list of numbers is written": "w = [0.0, 0.0]\nfor i in range(n):\n    w[i % 2] += x[i]\nreturn w",
    "a dict is written": "d = {'a': 0.0}\nfor i in range(n):\n    d['a'] += x[i]\nreturn d",
    "a string": "t = ''\nfor i in range(n):\n    t += str(i)\n    s += x[i]\nreturn t, s",
    "a set": "seen = set()\nfor i in range(n):\n    seen.add(int(q[i]) % 3)\nreturn sorted(seen)",
    "several targets": "for i in range(n):\n    a = b = x[i] + 1\n    x[i], s = b, a\nreturn a is b, s",
    "starred targets": "for i in range(n):\n    a, *b = (i, s, x[i])\n    s = b[1]\nreturn a, b",
    "walrus": "i = 0\nwhile (v := x[i]) > -100 and i < n - 1:\n    s += v\n    i += 1\nreturn s, i, v",
    "deleted variables": "for i in range(n):\n    t = x[i] * 2\n    s += t\n    del t\nreturn s",
    "deleted and read": "for i in range(n):\n    if i == 3:\n        del s\n    s = s + x[i]\nreturn s",
    "unbound until late": "for i in range(n):\n    if i > 1:\n        t = x[i]\n    if i > 0:\n        s += t\nreturn s",
    "bound in the first iteration": "for i in range(n):\n    if i == 0:\n        t = 2\n    else:\n        t = t + x[i]\nreturn t",
    "types that change": "t = 0\nfor i in range(n):\n    t = t + (1 if i < 3 else x[i] if i < 5 else 1j)\nreturn t",
    "None first": "best = None\nfor i in range(n):\n    if best is None or x[i] > best:\n        best = x[i]\nreturn best",
    "a flag": "done = False\nfor i in range(n):\n    done = done or x[i] > 1.5\n    if done and i > 2:\n        break\nreturn done, i",
    "else of a loop that breaks": "for i in range(n):\n    if x[i] > s:\n        break\nelse:\n    return 'none'\nreturn i",
    "else of a loop that ends": "for i in range(n):\n    if x[i] > 1e9:\n        break\nelse:\n    s = -s\nreturn s, i",
    "continue in try": "for i in range(n):\n    try:\n        if q[i] > 2:\n            continue\n        s += 1 / q[i]\n    except ZeroDivisionError:\n        s = -1\n    finally:\n        s += 0.25\nreturn s",
    "break in finally's try": "for i in range(n):\n    try:\n        s += x[i + 3]\n    except IndexError as e:\n        t = str(e)\n        break\nreturn s, t, i",
    "return in finally's try": "for i in range(n):\n    try:\n        if i == 4:\n            return s\n        s += x[i]\n    finally:\n        x[0] += 1",
    "raise and catch": "for i in range(n):\n    try:\n        if i % 2:\n            raise ValueError(i)\n        s += x[i]\n    except ValueError as e:\n        s += e.args[0]\nreturn s",
    "the exception's context": "try:\n    for i in range(n):\n        s += x[i + 2]\nexcept IndexError:\n    for j in range(3):\n        s += 1 // (j - 1 or q[0] * 0)\nreturn s",
    "with in a loop": "for i in range(n):\n    with np.errstate(all='ignore'):\n        s = s + x[i] / (x[i] - x[i])\nreturn s",
    "errstate is changed": "np.seterr(divide='raise')\ntry:\n    for i in range(n):\n        s += 1.0 / (x[i] - x[4])\nfinally:\n    np.seterr(divide='warn')\nreturn s",
    "a view is made and written": "for i in range(n):\n    v = x[i:]\n    v[0] = s\n    s += v[-1]\nreturn s, v",
    "a view of what is rebound": "y = x\nfor i in range(n):\n    v = y[1:]\n    y = y + 1\n    v[0] += y[0]\nreturn y, v",
    "identity": "y = x\nfor i in range(n):\n    if y is x:\n        y = m[0]\n    else:\n        y = x\n    y[0] += 1\nreturn y is x, y",
    "two names of one array": "y = x\nfor i in range(1, n):\n    y[i] = x[i - 1] + 1\nreturn y",
    "overlapping views": "a, b = x[1:], x[:-1]\nfor i in range(n - 1):\n    a[i] = b[i] * 0.5\n    b[:] = a\nreturn a, b",
    "a 0-d array": "z = np.array(0.5)\nfor i in range(n):\n    z += x[i]\n    z[...] = z * 0.5\nreturn z, type(z)",
    "a row of a row": "for i in range(n):\n    m[i][i] += m[-1][i]\nreturn m[0]",
    "transposed": "t = m.T\nfor i in range(n):\n    t[i, 0] = m[0, i] + 1\nreturn t",
    "reshaped": "t = m.reshape(-1)\nfor i in range(0, n * n, n + 1):\n    t[i] = s\nreturn t",
    "flat": "for i in range(n):\n    m.flat[i] = x[i]\nreturn m",
    "item and itemset": "for i in range(n):\n    s += x.item(i)\nreturn s",
    "tolist": "for v in x.tolist():\n    s += v\nreturn s, v",
    "shape and size": "for i in range(m.shape[0]):\n    s += m.size + x.ndim + len(m[i])\nreturn s",
    "attributes of numbers": "for i in range(n):\n    s += x[i].real + q[i].dtype.itemsize\nreturn s",
    "strings compared": "mode = 'up' if n > 3 else 'down'\nfor i in range(n):\n    s += x[i] if mode == 'up' else -x[i]\nreturn s",
    "a large integer": "k = 1\nfor i in range(70):\n    k = k * 2 + 1\nreturn k",
    "a negative shift": "for i in range(n):\n    s += 1 << (3 - i)\nreturn s",
    "powers of ints": "k = 0\nfor i in range(n):\n    k += (i - 3) ** 3 + 2 ** i\nreturn k, 2 ** -n, (-2) ** n",
    "an int power that is a float": "for i in range(n):\n    s += (i + 1) ** -2\nreturn s",
    "a complex power": "for i in range(n):\n    z = (i - 3) ** 0.5\nreturn z",
    "float and int keys": "for i in range(n):\n    s += i == 2.0 and x[i] or 0\nreturn s",
    "comparison of NaN": "x[2] = np.nan\nfor i in range(n):\n    s = max(s, x[i])\n    k = min(x[i], s)\nreturn s, k",
    "signed zeros": "for i in range(n):\n    s = min(0.0, -0.0) * (i - 3)\nreturn s, max(0.0, -0.0)",
    "infinite": "s = 1e308\nfor i in range(n):\n    s = s * 10 - s\nreturn s",
    "int of a float": "for i in range(n):\n    q[i] = int(x[i] * 1e3)\nreturn q[i]",
    "int of a large float": "for i in range(n):\n    k = int(s * 10.0 ** (3 * i))\nreturn k",
    "rounding": "for i in range(n):\n    s += round(x[i], 2) + round(x[i])\nreturn s",
    "chained assignments to elements": "for i in range(n - 1):\n    x[i] = x[i + 1] = s = s * 0.5\nreturn s",
    "an index that is a bool": "for i in range(n):\n    x[i > 3] += 1\nreturn x[True]",
    "an index that is a float": "for i in range(n):\n    s += x[i / 1]\nreturn s",
    "an index array": "for i in range(3):\n    x[q % n] += 1\n    s += x[q % n].sum()\nreturn s",
    "a mask": "for i in range(3):\n    x[x > 1] *= 0.5\n    s += x[x < 1].sum()\nreturn s",
    "newaxis and ellipsis": "for i in range(3):\n    m[...] = x[:, None] - x\n    m[..., 0] = x[None, :][0]\nreturn m",
    "an ellipsis and all indices": "for i in range(3):\n    v = x[..., i]\n    x[..., i] = s\nreturn v, m[0, ..., 1]",
    "negative steps": "for i in range(1, n):\n    x[i::-1] = x[i::-1] * 0.5 + m[i, : i + 1]\nreturn x",
    "steps that are variables": "for i in range(1, n):\n    x[::i] += 1\n    s += x[i::-i].sum()\nreturn s",
    "bounds beyond the ends": "for i in range(2 * n):\n    s += x[i:].sum() + x[-i:].sum() + x[:i].sum()\nreturn s",
    "matrix products": "for i in range(3):\n    x = m @ x * 0.1\n    s += x @ x\nreturn x, s",
    "a function inside": "def g(v):\n    return v * s\nfor i in range(n):\n    x[i] = g(x[i])\nreturn x",
    "a lambda inside": "for i in range(n):\n    g = lambda v: v + i\n    x[i] = g(x[i])\nreturn x, g(1)",
    "a closure that writes": "total = 0.0\ndef add(v):\n    nonlocal total\n    total += v\nfor i in range(n):\n    add(x[i])\nreturn total",
    "a comprehension inside": "for i in range(n):\n    x[i] = sum([x[j] for j in range(i)])\nreturn x",
    "a generator inside": "for i in range(n):\n    s += sum(x[j] for j in range(i))\nreturn s",
    "a global that is written": "global counter\ncounter = 0\nfor i in range(n):\n    counter += 1\n    s += x[i] * counter\nreturn s, counter",
    "an object's attribute": "box = Box(x)\nfor i in range(n):\n    box.total += box.data[i]\n    box.count = i\nreturn box.total, box.count",
    "an object's method": "box = Box(x)\nfor i in range(n):\n    box.add(i)\nreturn box.total",
    "an object's array is rebound": "box = Box(x)\nfor i in range(n):\n    box.data = box.data * 0.5 + i\nreturn box.data",
    "prints": "for i in range(n):\n    x[i] += s\n    if i % 3 == 0:\n        print(i, x[i])\nreturn x",
    "a default argument": "for i in range(n):\n    s += scaled(x[i]) + scaled(x[i], by=3) + scaled(by=i, v=1.0)\nreturn s",
    "recursion": "for i in range(n):\n    s += fib(i)\nreturn s",
    "a helper with a loop": "for i in range(n):\n    s += total(m[i]) + total(x, i)\nreturn s",
    "a helper that returns two": "for i in range(n):\n    lo, hi = bounds(x, i)\n    s += hi - lo\nreturn s, lo, hi",
    "a helper that returns early": "for i in range(n):\n    s += first(x, 0.1 * i)\nreturn s",
    "a helper that raises": "for i in range(n):\n    try:\n        s += strict(x, i)\n    except KeyError as e:\n        s += e.args[0]\nreturn s",
    "math's functions": "for i in range(n):\n    s += math.sqrt(abs(x[i])) + math.floor(s) + math.sin(i) + math.pi\nreturn s",
    "random numbers": "rng = np.random.default_rng(0)\nfor i in range(n):\n    x[i] = rng.random()\nreturn x",
    "a warning": "for i in range(n):\n    if i == 2:\n        warnings.warn('here')\n    s += x[i]\nreturn s",
    "locals()": "for i in range(n):\n    s += x[i]\n    seen = sorted(locals())\nreturn s, seen",
    "assert": "for i in range(n):\n    assert x[i] > 0.6, (i, s)\n    s += x[i]\nreturn s",
    "conditional swap": "for i in range(n - 1):\n    for j in range(n - 1 - i):\n        if x[j] > x[j + 1]:\n            x[j], x[j + 1] = x[j + 1], x[j]\nreturn x",
    "binary search": "x.sort()\nlo, hi = 0, n\nwhile lo < hi:\n    mid = (lo + hi) // 2\n    if x[mid] < s:\n        lo = mid + 1\n    else:\n        hi = mid\nreturn lo",
    "Euclid": "a, b = 1071, 462 + n\nwhile b:\n    a, b = b, a % b\nreturn a",
    "Collatz": "k, steps = 27 + n, 0\nwhile k != 1:\n    k = k // 2 if k % 2 == 0 else 3 * k + 1\n    steps += 1\nreturn steps",
    "sieve": "p = np.ones(50, dtype=bool)\nfor i in range(2, 8):\n    if p[i]:\n        p[i * i :: i] = False\nreturn p.nonzero()[0]",
    "a histogram": "h = np.zeros(10, dtype=np.int64)\nfor v in x:\n    h[int(v * 4) % 10] += 1\nreturn h",
    "Horner": "for c in q:\n    s = s * 0.5 + c\nreturn s",
    "Fibonacci in int64": "a, b = np.int64(1), np.int64(1)\nwith np.errstate(all='ignore'):\n    for i in range(100):\n        a, b = b, a + b\nreturn a, b",
    "Newton": "y = s\nwhile abs(y * y - 2) > 1e-12:\n    y = 0.5 * (y + 2 / y)\nreturn y",
    "while with a call": "k = 0\nwhile total(x[:k]) < 5 and k < n:\n    k += 1\nreturn k",
    "nested breaks": "for i in range(n):\n    for j in range(n):\n        if m[i, j] > 1.5:\n            break\n        if j > i:\n            continue\n        s += m[i, j]\n    else:\n        s -= 1\n    if s > 20:\n        break\nreturn s, i, j",
    "many variables": "a = b = c = d = e = g = h = 0.0\nfor i in range(n):\n    a += x[i]; b += a; c += b; d += c; e += d; g += e; h += g\nreturn a, b, c, d, e, g, h",
}  # fmt: skip
PRELUDE = """
import math
import warnings

import numpy as np

counter = 0


class Box:
    def __init__(self, data):
        self.data, self.total, self.count = data, 0.0, 0

    def add(self, i):
        self.total += self.data[i]


def scaled(v, by=2.0):
    return v * by


def fib(k):
    return k if k < 2 else fib(k - 1) + fib(k - 2)


def total(v, skip=0):
    out = 0.0
    for i in range(skip, len(v)):
        out += v[i]
    return out


def bounds(v, i):
    return min(v[i], v[0]), max(v[i], v[0])


def first(v, limit):
    for i in range(len(v)):
        if v[i] > limit:
            return i
    return -1


def strict(v, i):
    if v[i] > 1.5:
        raise KeyError(i)
    return v[i]


"""
OPEN = {"several targets": "numbers that two variables name become two objects"}


def _function(name):
    body = "".join(f"    {line}\n" for line in BODIES[name].split("\n"))
    text = f"{PRELUDE}def f(x, q, m, n, s):\n{body}"
    namespace = {"__name__": "program"}
    exec(compile(text, f"<{name}>", "exec"), namespace)
    return namespace["f"]


def _arguments(kind, n):
    q = Array("i8", (n,), "C", "plain")
    return build([Array(kind, (n,)), q, Array(kind, (n, n)), Scalar("int", n), Scalar("float", 1.25)], n)


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "beside"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.xfail(strict=False, reason=OPEN[n])] if n in OPEN else [])
        for n in BODIES
    ],
)
def test_loop(name, waits, monkeypatch):
    """Three calls, another size, another dtype."""
    monkeypatch.setattr(stator.options, "async", not waits)
    eager, compiled = _function(name), stator.compile(_function(name))
    for kind, n in (("f8", 7), ("f8", 7), ("f8", 7), ("f8", 10), ("f4", 7), ("f8", 7)):
        expected = observe(eager, _arguments(kind, n))
        found = observe(compiled, _arguments(kind, n))
        assert found == expected, f"{kind}, {n}: {report(expected, found)}"
        stator.wait()
