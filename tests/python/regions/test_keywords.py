"""Calls with keywords, defaults, `*` and `/` inside regions."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_whole, function_of

PRELUDE = """
def scaled(v, by=2.0, *, plus=0.0):
    return v * by + plus

def first_two(v, w, /, *rest, by=1):
    return v * by + w + len(rest)

def picked(x, i, step=1, *, back=False):
    return x[i - step] if back else x[i]
"""
# Bodies of f(x, n, s): a vector of extent n and a float.
BODIES = {
    "by name": "for i in range(n):\n    s += scaled(v=x[i], by=0.5)\nreturn s",
    "out of order": "for i in range(n):\n    s += scaled(plus=i, by=x[i], v=2.0)\nreturn s",
    "left out": "for i in range(n):\n    s += scaled(x[i]) + scaled(x[i], plus=1.5)\nreturn s",
    "keyword only with a default": "for i in range(1, n):\n    s += picked(x, i, back=True) - picked(x, i)\nreturn s",
    "variable positions": "for i in range(n):\n    s += first_two(x[i], s, 1, 2, by=3) + first_two(s, i)\nreturn s",
    "a sum along all axes": "for i in range(n):\n    s += np.sum(x, axis=None) + x.sum(axis=None, dtype=None)\nreturn s",
    "an array of a dtype": "for i in range(n):\n    t = np.zeros(n, dtype=np.float64)\n    t[i] = x[i]\n    x[:] = t + x\nreturn x",
    "integers": "for i in range(n):\n    t = np.ones(shape=(n,), dtype='int64')\n    t[i] = i\n    x += t\nreturn x",
    "like another": "for i in range(n):\n    t = np.empty_like(x)\n    t[:] = x * 0.5\n    x[:] = t\nreturn x",
    "the array type itself": "for i in range(n):\n    t = np.ndarray((n,), dtype=np.float64)\n    t[:] = x * 0.5\n    x[:] = t\nreturn x",
    "Python's types as dtypes": "for i in range(n):\n    t = np.zeros(n, dtype=int)\n    t[i] = 2\n    x += t * np.ones((n,), float)\nreturn x",
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bound(name):
    body = "".join(f"    {line}\n" for line in BODIES[name].split("\n"))
    check_whole(
        f"{PRELUDE}\ndef f(x, n, s):\n{body}", lambda n: [np.random.default_rng(n).random(n), n, 1.25]
    )


# Defaults that change, and calls that do not fit: what Python says.
CHANGES = {
    "a default": "def g(v, by=2.0):\n    return v * by\ndef f(x, n, s):\n    for i in range(n):\n        s += g(x[i])\n    g.__defaults__ = (n + 0.5,)\n    return s",
    "a keyword's default": "def g(v, *, by=2.0):\n    return v * by\ndef f(x, n, s):\n    for i in range(n):\n        s += g(x[i])\n    g.__kwdefaults__['by'] = n + 0.5\n    return s",
    "no such keyword": "def g(v, by=2.0):\n    return v * by\ndef f(x, n, s):\n    for i in range(n):\n        s += g(x[i], **{}) if i < 4 else g(x[i], to=1)\n    return s",
    "an argument is missing": "def g(v, by):\n    return v * by\ndef f(x, n, s):\n    for i in range(n):\n        s += g(x[i], 2) if i < 4 else g(x[i])\n    return s",
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes(name):
    eager, compiled = function_of(CHANGES[name]), stator.compile(function_of(CHANGES[name]))
    for n in (6, 6, 8, 6):
        arguments = [np.arange(float(n)), n, 1.25]
        expected, found = observe(eager, list(arguments)), observe(compiled, list(arguments))
        assert found == expected, report(expected, found)
        stator.wait()
