"""Byte-swapped and unaligned arrays: NumPy works on them inside traces, and what it changes it changes once."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.arguments import Array, Scalar, View
from fuzz.check import run_source

LAYOUTS = ("swapped", "unaligned")


def twice(*args):
    return args, args


def parts(lay):
    return (
        "def f(a, b):\n"
        "    v = a[1:]\n"
        "    w = v[::-1] * 2\n"
        "    new = np.zeros_like(a), a.copy(), a.reshape(-1)\n"
        "    return v, w, a[2], a.T, a.sum(), a[1:, None], v + b[1:], a[a > 1], a.ndim, np.argmin(a), new\n",
        [twice(Array("f8", (n,), lay), Array("f8", (n,))) for n in (5, 9)]
        + [twice(Array("f8", (9,)), Array("f8", (9,)))],
    )


def stores(lay):
    return (
        "def f(a, b):\n"
        "    a[1:] += a[:-1]\n"
        "    v = b * 2\n"
        "    a[0] = 7\n"
        "    a[...] = v\n"
        "    b += a\n"
        "    a *= 0.5\n"
        "    w = a[::2]\n"
        "    w[...] = 3\n"
        "    a[1:-1] = a[2:]\n"
        "    a[b > 1] = b[0]\n"
        "    b /= a\n"
        "    return v, w, a + b\n",
        [twice(Array("f8", (n,), lay, values), Array("f8", (n,), "C", values)) for n in (5, 9) for values in ("tame", "wild")]
        + [twice(Array("f8", (9,)), Array("f8", (9,)))],
    )  # fmt: skip


def shared_memory(lay):
    return (
        "def f(a, b):\n    v = b + 1\n    a[1:] = 7\n    b[0] = 9\n    a -= 1\n    return v, b + 1, a * 2\n",
        [
            twice(Array("f8", (5,), lay), Array("f8", (5,))),
            twice(Array("f8", (5,)), View(0, "same")),
            twice(Array("f8", (5,), lay), View(0, "whole")),
            twice(Array("f8", (5,), lay), View(0, "reversed")),
        ],
    )


def exceptions(lay):
    return (
        "def f(a, k):\n"
        "    v = a * 2\n"
        "    try:\n"
        "        a[1:] = 3\n"
        "        a[0] = k\n"
        "        a[1] = 300\n"
        "        a /= 2\n"
        "    except (OverflowError, TypeError) as e:\n"
        "        return v, str(e)\n"
        "    return v\n",
        [
            twice(Array(dtype, (5,), lay), Scalar("int", k))
            for dtype, k in (("u1", 3), ("i4", 3), ("i4", 1 << 40), ("f8", 3))
        ],
    )


def faults(lay):
    return (
        "def f(a, b):\n"
        "    a += b\n"
        "    with np.errstate(all='ignore'):\n"
        "        a /= b - b\n"
        "    a[1:] = b[1:] / a[1:]\n"
        "    a[...] = b * 1e30\n"
        "    return a, b\n",
        [
            twice(Array(x, (5,), lay), Array(y, (5,)))
            for x, y in (("f4", "f8"), ("f4", "f4"), ("i8", "i8"), ("c8", "c16"))
        ],
    )


def branches(lay):
    return (
        "def f(a, k):\n"
        "    a[0] = k\n"
        "    b = np.ones(3)\n"
        "    if a.sum() > k:\n"
        "        a[1:] += 1\n"
        "        b += a[0]\n"
        "    a[1] *= 2\n"
        "    if b[0] > k:\n"
        "        a -= k\n"
        "    return a, b\n",
        [twice(Array("f8", (5,), lay), Scalar("float", k)) for k in (1.0, -3.0, 100.0, 1.0)],
    )


@pytest.mark.parametrize("lay", LAYOUTS)
@pytest.mark.parametrize("program", [parts, stores, shared_memory, exceptions, faults, branches])
def test_like_eager(program, lay) -> None:
    source, calls = program(lay)
    assert run_source("import numpy as np\n\n" + source, [list(c) for pair in calls for c in pair]) is None


def update(a, b):
    v = a[1:] * 2
    a[1:] += v
    b += a
    a[0] = 3
    return a.sum() + b


def test_stays_inside_the_trace() -> None:
    compiled, expected = stator.compile(update), np.arange(6.0).astype(">f8")
    a = expected.copy()
    for _ in range(4):
        b, c = np.ones(6), np.ones(6)
        assert compiled(a, b).tobytes() == update(expected, c).tobytes()
        assert a.tobytes() == expected.tobytes()
        stator.wait()
    before = compiled.stats()
    compiled(a, np.ones(6))
    after = compiled.stats()
    assert after["replays"] == before["replays"] + 1
    assert after["opaque_steps"] == before["opaque_steps"]


def test_another_byte_order_is_another_trace() -> None:
    def f(a):
        v = np.asarray(a, dtype="f8")
        v[0] = 5
        return v

    compiled = stator.compile(f)
    for dtype in (">f8", ">f8", "f8", "f8", ">f8"):
        a = np.arange(4.0).astype(dtype)
        v = compiled(a)
        stator.wait()
        assert (v is a) == (dtype == "f8")
        assert a[0] == (5 if v is a else 0)
