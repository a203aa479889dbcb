"""What programs use beside arithmetic: builtins of numbers, containment, strings, named tuples, vectors of windows,
comprehensions that are long, random numbers. Each loop is one region that nothing leaves once it is warm.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_whole, function_of

# Bodies of f(x, q, m, n, s): a vector of floats, one of ints, a matrix, an int, a float.
WHOLE = {
    "max of numbers of two kinds": "for i in range(n):\n    q[i] = max(0, q[i] - 2)\n    s += min(x[i], 0.5)\nreturn q, s, type(s)",
    "what was chosen": "for i in range(n):\n    best = max(i, x[i], 3)\n    s += best\n    x[i] = best\nreturn best, type(best), x, s",
    "max of four": "for i in range(1, n):\n    q[i] = max(q[i] - 3, q[i - 1], 0, i)\nreturn q",
    "max of a tuple": "for i in range(n):\n    s += max((x[i], 0.5, s)) - min([q[i], i])\nreturn s",
    "abs of NumPy's ints": "for i in range(n):\n    q[i] = abs(q[i] - q[0]) + abs(i - 3)\nreturn q",
    "round": "for i in range(n):\n    q[i] = round(x[i] * 2.5) + round(s * i) + round(i)\nreturn q",
    "ties": "x[:4] = 0.5, 1.5, -0.5, 2.5\nfor i in range(n):\n    q[i] = round(x[i])\n    s += round(i + 0.5)\nreturn q, s",
    "sum, any and all of a few": "for i in range(1, n - 1):\n    if any([x[i] > 1.5, i == 2]) and all((q[i] != 1, x[i] < 9)):\n        s += sum((x[i - 1], x[i], x[i + 1]))\nreturn s",
    "sum of rows": "for i in range(1, n - 1):\n    x[:] = sum([m[i - 1], m[i], m[i + 1]], x)\nreturn x",
    "in a tuple": "for i in range(n):\n    if i in (1, 3, 4) or q[i] not in [0, 2]:\n        s += x[i]\nreturn s",
    "in a tuple of pairs": "for i in range(n):\n    if (i % 2, i % 3) in ((0, 1), (1, 0)):\n        s += x[i]\n    if (i, n) != (n, i):\n        s += 1\nreturn s",
    "in a range": "for i in range(2 * n):\n    if i in range(n) and i - 3 not in range(1, n):\n        s += x[i]\nreturn s",
    "in a string": "mode = 'periodic'\nfor i in range(n):\n    if 'per' in mode and mode != 'wall' and mode in ('wall', 'periodic'):\n        s += x[i - 1]\nreturn s",
    "in a dict": "options = {'gain': s}\nfor i in range(n):\n    if 'gain' in options:\n        s += x[i] * options['gain']\nreturn s",
    "a string among options": "options = {'bc': 'open', 'k': 0.5}\nfor i in range(1, n):\n    if options['bc'] == 'periodic':\n        s += x[i - 1]\n    else:\n        s += options['k'] * x[i]\nreturn s",
    "fields of a named tuple": "p = Point(s, x)\nfor i in range(n):\n    s += p.size * p.values[i]\nreturn s",
    "a named tuple unpacked": "p = Point(s, x)\nfor i in range(n):\n    size, values = p\n    s += size * values[i] + p[0]\nreturn s",
    "a vector of a window": "p = np.pad(m, 1)\nfor i in range(n):\n    for j in range(n):\n        window = p[i : i + 3, j : j + 3].ravel()\n        m[i, j] = np.sort(window)[4]\nreturn m, window, window.base is None",
    "patches": "out = np.zeros((9, n * n))\np = np.pad(m, 1)\nk = 0\nfor i in range(n):\n    for j in range(n):\n        patch = p[i : i + 3, j : j + 3].reshape(-1)\n        out[:, k] = patch\n        k += 1\nreturn out, patch, patch.base is None",
    "an expression reshaped": "for i in range(n):\n    v = (m * i).reshape(-1)\n    s += v[i]\nreturn s, v, v.base.shape",
    "a vector rolled": "for i in range(n):\n    y = np.roll(x, 1)\n    x = x + 0.25 * (y - x)\nreturn x, y, y.base.shape",
    "a long comprehension": "v = [x[i % n] * i for i in range(40)]\nreturn v, x * 2 + 1",
    "a comprehension of rows": "v = [r.sum() * k for k, r in enumerate(m)]\nw = [a * b for a, b in zip(x, q)]\nreturn v, w, x * 2 + 1",
    "a comprehension that skips": "v = [i for i in range(5 * n) if x[i % n] > 0.7]\nreturn v, x * 2 + 1",
    "random numbers": "rng = np.random.default_rng(3)\nfor i in range(n):\n    if rng.random() < 0.6:\n        x[i] += rng.normal(0.0, s)\n    q[i] = rng.integers(0, i + 1)\nreturn x, q, rng.random()",
    "random vectors": "rng = np.random.default_rng(3)\nfor i in range(n):\n    x = x + 0.1 * rng.standard_normal(n)\n    m[i] = m[i] * i + rng.uniform(size=n)\n    m += rng.random((n, n))\nreturn x, m, rng.random()",
    "NumPy's older random numbers": "np.random.seed(4)\nfor i in range(n):\n    x[i] = np.random.rand() + np.random.randint(0, 9)\n    m[i] = np.random.randn(n) + np.random.normal(1.0, 2.0, size=n)\nreturn x, m, np.random.rand()",
    "Python's random numbers": "random.seed(5)\nfor i in range(n):\n    s += random.random() * x[i] + random.uniform(1, 2)\n    q[i] = random.randint(0, 5)\nreturn s, q, random.random()",
    "Metropolis": "rng = np.random.default_rng(1)\nfor i in range(4 * n):\n    k = rng.integers(n)\n    new = x[k] + rng.uniform(-0.5, 0.5)\n    if new < x[k] or rng.random() < math.exp(x[k] - new):\n        x[k] = new\n        s += 1\nreturn x, s, rng.random()",
}  # fmt: skip
PRELUDE = "import random\nfrom collections import namedtuple\nPoint = namedtuple('Point', 'size values')\n"


def _text(body):
    return f"{PRELUDE}def f(x, q, m, n, s):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _arguments(n):
    rng = np.random.default_rng(n)
    return [rng.random(n) * 2, rng.integers(-4, 5, n), rng.random((n, n)), n, 1.25]


@pytest.mark.parametrize("name", WHOLE)
def test_is_one_region(name):
    check_whole(_text(WHOLE[name]), _arguments)


# What Python raises or warns about, or decides otherwise in some calls.
LEAVES = {
    "max of numbers that are none": "x[2] = np.nan\nx[3] = -0.0\nfor i in range(n):\n    s = max(x[i], 0.0) + min(0, x[i])\n    x[i] = max(s, x[i], 0)\nreturn s, x",
    "round of no number": "for i in range(n):\n    q[i] = round(x[i])\n    x[i] = -1.0\nreturn q",
    "abs of the least int": "for i in range(n):\n    a[i] = abs(a[i])\nreturn a",
    "the greater of an int and an unsigned one": "for i in range(n):\n    s += max(u[i], i - 3)\nreturn s",
    "an argument that generators refuse": "rng = np.random.default_rng(0)\nfor i in range(n):\n    x[i] = rng.normal(0.0, 3.0 - i)\nreturn x",
    "a size that is negative": "rng = np.random.default_rng(0)\nfor i in range(n):\n    s += rng.random(4 - i).sum()\nreturn s",
    "a key that goes missing": "d = {'k': 2.0}\nfor i in range(n):\n    if 'k' in d:\n        s += x[i]\n    if i == 3:\n        del d['k']\nreturn s, d",
    "windows without gaps": "for i in range(n - 2):\n    w = m[i : i + 2, : i + 2].ravel()\n    w[0] = -1.0\n    s += w.sum()\nreturn s, m, w",
    "a window as wide as its array": "for i in range(n - 1):\n    w = m[i : i + 2, 0 : n - (i % 2)].reshape(-1)\n    w[0] = s\n    s += w.sum()\nreturn s, m, w",
    "a comprehension over an iterator that is kept": "it = iter(range(30))\nv = [x[i % n] for i in it if i < 20]\nw = [next(it, i) for i in it]\nreturn v, w",
    "powers of NumPy's ints": "for i in range(n):\n    s += np.int64(i + 9) ** 1.5 + 1.5 ** np.int64(i) + q[i] ** 2.0 + abs(q[i]) ** 0.5\n    x[i] = (q[i] + 11) ** 1.5\nreturn s, x",
    "a comprehension that raises": "try:\n    return [x[i] + i for i in range(n + 3)]\nexcept IndexError as e:\n    return str(e)",
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVES)
def test_is_as_in_python(name):
    text = _text(LEAVES[name]).replace("f(x, q, m, n, s)", "f(x, q, m, n, s, a, u)")

    def arguments(n):
        values = _arguments(n)
        values[0][n - 2] = np.nan
        a = np.arange(n, dtype=np.int8) - 3
        a[n - 2] = -128
        return [*values, a, np.arange(n, dtype=np.uint64)]

    eager, compiled = function_of(text), stator.compile(function_of(text))
    for n in (7, 7, 9, 7):
        expected, found = observe(eager, arguments(n)), observe(compiled, arguments(n))
        assert found == expected, report(expected, found)
        stator.wait()


def test_generators_in_arguments_and_attributes():
    """The generator may be another one in each call."""

    def walk(x, rng, steps):
        for k in range(steps):
            x = x + rng.normal(size=x.shape[0])
            x[k % 3] = rng.random()
        return x

    compiled = stator.compile(walk)
    for seed in range(6):
        a, b = np.random.default_rng(seed), np.random.default_rng(seed)
        assert np.array_equal(walk(np.ones(5), a, 20), compiled(np.ones(5), b, 20))
        assert a.random() == b.random()
        stator.wait()
    assert stator.stats(compiled)["regions"] >= 1


def test_a_generator_of_another_class():
    """A subclass may do what it likes with each number."""

    class Loud(np.random.Generator):
        drawn = 0

        def random(self, *args, **kwargs):
            Loud.drawn += 1
            return super().random(*args, **kwargs)

    def mean(rng, n):
        s = 0.0
        for _ in range(n):
            s += rng.random()
        return s / n

    compiled = stator.compile(mean)
    for seed in range(5):
        expected = mean(np.random.default_rng(seed), 30)
        kind = Loud if seed % 2 else np.random.Generator
        assert compiled(kind(np.random.PCG64(seed)), 30) == expected
        stator.wait()
    assert Loud.drawn == 60


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("for i in range(n):\n    a, *b = i, s, x[i]\n    s = b[0] + 1\nreturn s", "starred target"),
        ("for i in range(n):\n    s += len({i, 1}) * x[i]\nreturn s", "a set"),
    ],
    ids=["starred", "set"],
)
def test_reasons_speak_of_the_program(body, words):
    """Not of bytecode."""
    compiled = stator.compile(function_of(_text(body)))
    for _ in range(3):
        compiled(*_arguments(7))
    assert words in str(stator.explain(compiled)(*_arguments(7)))


def test_draws_whose_kind_depends_on_values(monkeypatch):
    """random.triangular gives the bound itself where the bounds are equal, when it has drawn already."""
    monkeypatch.setattr(stator.options, "async", False)

    def f(low, high, mode, n):
        s = 0.0
        for _ in range(n):
            s += random.triangular(low, high, mode)
        return s, random.random()

    compiled = stator.compile(f)
    for bounds in ((1, 4, 2), (1, 4, 2), (3, 3, 3), (3, 3, 3), (1.0, 1.0, 1.0)):
        random.seed(6)
        expected = f(*bounds, 30)
        random.seed(6)
        assert compiled(*bounds, 30) == expected
