"""What loops run over inside regions, and small tuples and lists that stay in them."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_whole, function_of

# Bodies of f(x, m, n, s): a vector of extent n, a matrix of n by n, an int and a float.
BODIES = {
    "enumerate of a vector": "for i, v in enumerate(x):\n    s += v * i\nreturn s, i, v",
    "enumerate of rows, from one": "for i, row in enumerate(m, 1):\n    s += row[0] * i\nreturn s, i",
    "enumerate of a range": "for k, i in enumerate(range(n - 1, -1, -2)):\n    x[i] = k\nreturn x, k, i",
    "zip of vectors": "for a, b in zip(x, m[0]):\n    s += a * b\nreturn s, a, b",
    "zip of unequal extents": "for a, b, i in zip(x[1:], x, range(n)):\n    s += a * b - i\nreturn s, a, b, i",
    "zip of zips": "for i, (a, b) in enumerate(zip(x, m[1])):\n    s += a * b - i\nreturn s",
    "reversed range": "for i in reversed(range(1, n)):\n    x[i] = x[i - 1] + s\nreturn i, x",
    "reversed range with a step": "for i in reversed(range(0, n, 3)):\n    s = s * 0.5 + x[i]\nreturn i, s",
    "reversed vector": "for v in reversed(x):\n    s = s * 0.5 + v\nreturn s, v",
    "all of them inside": "for i in range(n):\n    for j, v in enumerate(m[i]):\n        s += v * j\n    for a, b in zip(x, m[:, i]):\n        s -= a * b\n    for a in reversed(m[i]):\n        s = s * 0.5 + a\n    for j in reversed(range(i)):\n        x[j] += 0.5\nreturn s, x",
    "a tuple of numbers": "for i in range(n):\n    for w in (1, 2, 3):\n        s += x[i] * w\nreturn s, w",
    "a tuple of kinds": "for i in range(n):\n    for w in (1, 0.5, x[i], True):\n        s += x[i] * w\nreturn s, w",
    "a tuple of arrays": "for i in range(n):\n    for a in (x, m[0], m[1]):\n        a[i] += s\n        s += a[i] * 0.01\nreturn s, x, m",
    "a tuple from outside": "parts = (x, m[1], 2.0)\nfor i in range(n):\n    a, b, w = parts\n    a[i] += b[i] * w\nreturn x",
    "a list from outside": "parts = [x, m[1]]\nfor i in range(n):\n    for a in parts:\n        a[i] += s\nreturn parts",
    "a list of numbers from outside": "w = [0.25, 0.5, 0.25]\nfor i in range(1, n - 1):\n    x[i] = w[0] * x[i - 1] + w[1] * x[i] + w[2] * x[i + 1]\nreturn x, w",
    "enumerate of a tuple": "for i in range(n):\n    for k, w in enumerate((0.5, 2.0)):\n        s += x[i - k] * w\nreturn s",
    "reversed tuple": "for i in range(n):\n    for w in reversed((1, 2.5, 4)):\n        s = s * 0.5 + w\nreturn s",
    "a break in an unrolled loop": "k = 0\nfor i in range(n):\n    for w in (0.1, 0.5, 0.9):\n        if x[i] < w:\n            break\n    else:\n        k += 100\n    k += 1\nreturn k, w",
    "a list that is written": "for i in range(n):\n    p = [s, x[i], 0.0]\n    p[2] = p[0] + p[1]\n    p[-3] *= 0.5\n    s = p[2] - p[0] + len(p)\nreturn s, p",
    "a tuple that is unpacked": "for i in range(1, n):\n    p = (x[i], x[i - 1], i)\n    a, b, c = p\n    s += a * p[1] - b * c\nreturn s, p",
    "swaps": "a, b, c = 0.5, s, 2.0\nfor i in range(n):\n    a, b, c = b, c, a * 0.5 + x[i]\nreturn a, b, c",
}  # fmt: skip


def _arguments(n):
    rng = np.random.default_rng(n)
    return [rng.random(n), rng.random((n, n)), n, 1.25]


def _source(name):
    return "def f(x, m, n, s):\n" + "".join(f"    {line}\n" for line in BODIES[name].split("\n"))


@pytest.mark.parametrize("name", BODIES)
def test_iteration(name):
    check_whole(_source(name), _arguments)


# Iterators that are left in the middle: f(x, n, bad).
LEFT = {
    "enumerate": "for i, v in enumerate(x):\n    x[i] += 1\n    s += 1 // (i - bad)\nreturn s, x",
    "zip": "for a, i in zip(x, range(n)):\n    x[i] += a\n    s += 1 // (i - bad)\nreturn s, x",
    "reversed": "i = n\nfor a in reversed(x):\n    i -= 1\n    x[i] += a\n    s += 1 // (i - bad)\nreturn s, x",
    "inner iterators": "for i in range(n):\n    for j, (a, b) in enumerate(zip(x, reversed(x)), 2):\n        x[i] += a - b\n        try:\n            s += 1 // (i - bad)\n        except ZeroDivisionError:\n            print(i, j, a)\nreturn s, x",
    "items": "for i in range(n):\n    for w in (0.5, x, 2):\n        x[0] += w[1] if w is x else w\n        print(i, w) if i == bad else None\n    for a in reversed([x, 1]):\n        x[1] += 1\n        print(a) if i == bad else None\nreturn s, x",
    "iterators that others hold": "it = iter(range(n))\nfor k, i in enumerate(it):\n    s += i\n    if k == 2:\n        s += 100 * next(it)\n    x[i] += 1\nreturn s, x",
    "an enumerate that others hold": "it = enumerate(x)\nfor k, v in it:\n    s += v\n    if k == 2:\n        s += 100 * next(it)[1]\n    x[k] += 1\nreturn s, x, list(it)",
    "an enumerate that is kept later": "for call in range(4):\n    it = enumerate(x)\n    keep = it if call == 2 else None\n    for k, v in it if call == 2 else enumerate(x):\n        s += v * k\n        if k == 4:\n            break\n    s += 0 if keep is None else 10 * next(keep)[0]\nreturn s",
    "a list with two names": "for i in range(n):\n    p = [x[i], 0.0]\n    q = p\n    q[1] = 2.5\n    s += p[1]\n    print(p is q) if i == bad else None\nreturn s",
    "a list that grows": "p = [1.0]\nfor i in range(n):\n    p.append(x[i])\n    s += p[i]\nreturn s, p",
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_left_in_the_middle(name, monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)
    text = "def f(x, n, bad):\n    s = 0\n" + "".join(f"    {line}\n" for line in LEFT[name].split("\n"))
    eager, compiled = function_of(text), stator.compile(function_of(text))
    n = 7
    for bad in (-5, -5, *range(n), -5):
        expected = observe(eager, [np.arange(1.0, n + 1), n, bad])
        found = observe(compiled, [np.arange(1.0, n + 1), n, bad])
        assert found == expected, f"bad {bad}: {report(expected, found)}"
