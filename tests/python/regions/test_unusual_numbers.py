"""Infinities and NaNs that a program's data has: arithmetic on them raises no flag, and the loop goes on.

What an operation makes of finite numbers leaves the region, for Python to warn.
"""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import LEAVING, check_whole, function_of
from .whole_programs import PROGRAMS

ELEMENTS = """
def f(a, b):
    out = np.zeros((len(a), 7), a.dtype)
    for i in range(len(a)):
        out[i, 0] = a[i] + b[i]
        out[i, 1] = a[i] - b[i]
        out[i, 2] = a[i] * b[i]
        out[i, 3] = a[i] / b[i]
        out[i, 4] = np.sqrt(a[i])
        out[i, 5] = np.add(b[i], a[i])
        out[i, 6] = np.square(b[i])
    return out
"""


def test_shortest_paths():
    def arguments(n):
        w = np.random.default_rng(n).random((n, n))
        return [np.where(w < 0.3, w, np.inf), 0]

    check_whole(PROGRAMS["dijkstra matrix"][0], arguments)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_raises_no_flag_stays(dtype):
    """Each infinity and NaN with operands that make the result no news."""
    inf, nan = np.inf, np.nan
    pairs = [(inf, inf + 1), (nan, 2.0), (3.0, nan), (nan, inf), (inf, 2.0), (nan, 0.0), (2.0, 1.0)]
    finite_sums = [(a, b) for a, b in pairs if not (a == inf and b == inf)]
    check_whole(ELEMENTS, lambda n: [np.array(c, dtype) for c in zip(*(finite_sums * n), strict=True)])


_QUIET = {np.float64: np.uint64(0x7FF8 << 48), np.float32: np.uint32(0x7FC << 20)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_pair_as_eager(dtype):
    """Of zeros, infinities, quiet and signalling NaNs, and numbers of which products and sums overflow."""
    bits = type(_QUIET[dtype])
    signalling = np.array(
        [_QUIET[dtype] ^ (bits(1) << bits(51 if bits is np.uint64 else 22)) | bits(1)]
    ).view(dtype)
    large = np.finfo(dtype).max
    values = np.array(
        [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, large, -large, np.finfo(dtype).tiny], dtype
    )
    values = np.concatenate([values, signalling])
    compiled = stator.compile(function_of(ELEMENTS))
    calm = [np.array([1.0, 2.0], dtype), np.array([3.0, 4.0], dtype)]
    for _ in range(3):
        compiled(*calm)
        stator.wait()
    eager = function_of(ELEMENTS)
    for x in values:
        for y in values:
            pair = [np.array([1, x, 1], dtype), np.array([1, y, 1], dtype)]
            pair[0][1:2], pair[1][1:2] = values[values.view(bits) == x.view(bits)][:1], y
            expected, found = (
                observe(eager, [p.copy() for p in pair]),
                observe(compiled, [p.copy() for p in pair]),
            )
            assert found == expected, f"{x!r}, {y!r}: {report(expected, found)}"


def test_warnings_of_what_overflows():
    """Behind infinities that are data."""
    text = """
def f(a):
    s = a[0]
    for i in range(1, len(a)):
        s = s * a[i]
    return s
"""
    eager, compiled = function_of(text), stator.compile(function_of(text))
    data = [np.array([2.0, 3.0, 4.0]), np.array([2.0, np.inf, 4.0]), np.array([1e200, 1e200, np.inf, 0.0])]
    for _ in range(3):
        for a in data:
            expected, found = observe(eager, [a]), observe(compiled, [a])
            assert found == expected, report(expected, found)
            stator.wait()
    before = stator.stats(compiled)
    compiled(data[1])
    after = stator.stats(compiled)
    assert {c: after[c] - before[c] for c in LEAVING} == dict.fromkeys(LEAVING, 0)


def test_parts_of_complex_numbers():
    check_whole(
        """
def f(n, c):
    out = np.zeros((n, 3))
    for i in range(n):
        z = complex(i, 1.0) * c
        w = np.complex64(z) if False else z
        out[i, 0] = z.real
        out[i, 1] = z.imag + w.real
        out[i, 2] = abs(z)
    return out
""",
        lambda n: [n, 0.5 - 2j],
    )


MATRICES = """
def f(F, H, P, x, v, n):
    total = np.zeros_like(P)
    for k in range(n):
        x = np.dot(F, x)
        P = np.dot(np.dot(F, P), F.T) + total
        y = np.dot(H, P)
        w = F.dot(v) + np.dot(v, F)
        total = P * 0.5 + np.dot(y.T, y) * 1e-3
        v = w * 0.1
    return x, P, y, v
"""


@pytest.mark.parametrize("lies", ["C", "F"])
def test_products_by_np_dot(lies):
    def arguments(n):
        r = np.random.default_rng(n)
        F = r.random((n, n)) / n
        return [np.array(F, order=lies), r.random((2, n)), r.random((n, n)), r.random((n, 1)), r.random(n), 6]

    check_whole(MATRICES, arguments)
