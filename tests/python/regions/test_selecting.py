"""Masks, index arrays, complex numbers and extents that are known at run time only, in loops."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import check_whole, function_of

# Bodies of f(a, b, m, z, j, k, p, n, s): vectors a, b of extent n and a matrix m of one dtype, a complex vector z, vectors of
# indices j (some negative) and k, a mask p, a float s. Nothing may leave their loops.
WHOLE = {
    "a mask is packed": "for i in range(n):\n    t = a[a > 0.2]\n    s += t.sum() + len(t)\nreturn s",
    "numbers of all sizes are packed": "x1, x2, x4, xz = k.astype('i1'), k.astype('u2'), a.astype('f4'), z.astype('c8')\nfor i in range(n):\n    c = b > 0.03 * i\n    t1 = x1[c]\n    t2 = x2[c]\n    t4 = x4[c]\n    t8 = a[c]\n    tb = p[c]\n    tz = z[c]\n    ty = xz[c]\nreturn t1, t2, t4, t8, tb, tz, ty",
    "a mask of two conditions": "for i in range(n):\n    q = np.logical_and(a > 0.1, b < 0.9)\n    s += a[q].mean() + np.count_nonzero(q)\nreturn s, q",
    "masks with operators": "for i in range(n):\n    q = (a > 0.3) & ~(b > 0.5) | p\n    s += q.sum() + a[q].max()\nreturn s, q",
    "any and all": "for i in range(n):\n    if (a > i).any():\n        s += 1\n    if np.all(a > -i):\n        s += 2\nreturn s",
    "a number where a mask holds": "for i in range(n):\n    a[b > 0.5] = i\nreturn a",
    "the same mask on both sides": "for i in range(n):\n    a[p] = b[p] * 2 + a[p]\nreturn a",
    "in place where a mask holds": "for i in range(n):\n    a[a > 0.1] *= 0.75\n    m[m > 0.5] -= 0.25\nreturn a, m",
    "division only where it may be": "for i in range(n):\n    b[i] = 0\n    t = b * 1\n    t[t > 0] = 1.0 / t[t > 0]\n    a += t\nreturn a",
    "a mask that holds nowhere": "for i in range(n):\n    t = a[a > 99]\n    s += len(t)\n    a[a > 99] = 1 / a[a > 99]\nreturn s, t",
    "an array where a mask holds": "for i in range(n):\n    t = a[p] * 0.5\n    b[p] = t\n    z[p] = t + 1j\nreturn b, z, t",
    "an array where the mask of a matrix holds": "for i in range(n):\n    q = m > 0.2\n    t = m[q] * 0.875\n    m[q] = t\nreturn m, t",
    "a part of an array where a mask holds": "q = np.arange(n) % 2 == 0\nfor i in range(n):\n    a[q] = b[::2]\n    b[q] = a[::2][::-1]\n    z[q] = z[: (n + 1) // 2] * 0.5\nreturn a, b, z",
    "bools and integers where a mask holds": "q = p.copy()\nfor i in range(n):\n    t = a[p] > 0.5\n    q[p] = t\n    u = j[q]\n    k[q] = u\nreturn q, k, t, u",
    "numbers of another dtype where a mask holds": "w = np.zeros(n, np.float32)\nfor i in range(n):\n    t = a[p] * 0.5\n    w[p] = t\nreturn w, t",
    "an array of rows where a mask holds": "for i in range(n):\n    t = m[p] * 0.5 + b\n    m[p] = t\nreturn m, t",
    "an array where another mask holds": "q = p[::-1].copy()\nfor i in range(n):\n    a[q] = b[p] + 1\n    b[1:][p[1:]] = a[:-1][p[1:]]\nreturn a, b",
    "an array for a part of a slice": "for i in range(n):\n    t = m[i][p]\n    m[:, i][p] = t\nreturn m",
    "rows that a mask selects": "for i in range(n):\n    t = m[p]\n    s += t.sum() + t.shape[0]\nreturn s",
    "rows where a mask holds": "for i in range(n):\n    m[p] = i\n    m[p] *= 0.5\nreturn m",
    "slices in variables": "c = slice(1, -1)\nlow, high = slice(None, -2), slice(2, None)\nfor i in range(n):\n    a[c] = (b[low] + b[high]) / 2\n    m[c, c] = m[low, c] + m[c, high]\nreturn a, m, c",
    "slices in a tuple": "c = (slice(1, None), slice(None, -1))\nfor i in range(n):\n    m[c] = m[c] / 2\nreturn m",
    "slices that the loop makes": "for i in range(n):\n    t = slice(i, n)\n    u = slice(i)\n    s += a[t].sum() + b[u].sum() + a[slice(None, None, 2)].sum()\nreturn s, t, u",
    "a slice that is rebound": "c = slice(0, 4)\nfor i in range(n):\n    s += a[c].sum()\n    c = slice(i, n)\nreturn s, c",
    "a slice of numbers known at run time": "c = slice(n // 3, n - 1, n // 5 + 1)\nfor i in range(n):\n    a[c] = b[c]\nreturn a, c",
    "where": "for i in range(n):\n    a = np.where(a > b, a * 0.5, b)\n    b = np.where(p, b, s)\nreturn a, b",
    "into another array": "for i in range(n):\n    np.add(a, b, a)\n    np.multiply(a, 0.5, out=a)\n    np.logical_not(p, p)\nreturn a, p",
    "gathered": "for i in range(n):\n    a = b[j] + a[k]\nreturn a",
    "gathered from a slice": "for i in range(n):\n    s += a[i:] @ b[k[i:]]\nreturn s",
    "gathered rows": "for i in range(n):\n    b = b + m[k].sum() + m[k, i].sum() + m[i, j]\nreturn b",
    "gathered by two": "for i in range(n):\n    a = m[j, k] * 0.5 + m[k, 1]\nreturn a",
    "gathered by a matrix": "g = np.stack((k, j))\nfor i in range(n):\n    s += (a[g] * b[g]).sum()\nreturn s",
    "scattered": "for i in range(n):\n    a[j] = b\n    m[j, k] = a * 0.5\n    a[k] += 1\nreturn a, m",
    "scattered rows": "for i in range(n):\n    m[k] = a\n    m[k] += b\n    m[:, j] = s\nreturn m",
    "scattered where a mask holds": "for i in range(n):\n    m[j[p], k[p]] = i\n    a[k[p]] = b[p]\nreturn a, m",
    "arrays that shrink": "for i in range(n):\n    q = a > 0.1 * i\n    a = a[q]\n    b = b[q]\n    s += a.sum()\n    if not len(a):\n        break\nreturn a, b, s",
    "arrays that shrink, in place": "for i in range(n):\n    if not len(z):\n        break\n    np.multiply(z, z, z)\n    z = z[abs(z) < 0.9]\nreturn z",
    "complex sums": "for i in range(n):\n    z = z * 0.5 + z.conj() - a * 0.5j\n    s += z.real.sum() + z.imag[0]\nreturn z, s",
    "complex products": "for i in range(n):\n    z = z * z + (0.25 + 0.5j)\n    z[abs(z) > 1] = 0\n    z = z ** 2\nreturn z",
    "complex elements": "for i in range(n):\n    z[i] = z[i - 1]\n    z[0] = 2.5\n    t = z[i]\nreturn z, t",
    "complex numbers compared": "for i in range(n):\n    s += (z == z[::-1]).sum() + (z != 0).sum()\nreturn s",
    "complex and a mask": "for i in range(n):\n    q = abs(z) < 1\n    z[q] = z[q] ** 2 + 0.25\n    z[p] -= 1j\nreturn z",
    "complex, gathered and scattered": "for i in range(n):\n    z[j] = z[k] * 0.5\n    z[k] += 1\nreturn z",
    "unsigned bounds": "u = np.arange(n + 1, dtype=np.uint32)\nfor i in range(n):\n    s += a[u[i] : u[i + 1]] @ b[k[u[i] : u[i + 1]]]\nreturn s",
}  # fmt: skip
PARAMETERS = "a, b, m, z, j, k, p, n, s"


def _body(text):
    return f"def f({PARAMETERS}):\n" + "".join(f"    {line}\n" for line in text.split("\n"))


def _arguments(n, dtype="f8", index="i8", wild=False):
    rng = np.random.default_rng(n)

    def floats(*shape):
        x = rng.random(shape) * 1.2 - 0.1
        if wild:
            x = np.where(
                rng.random(shape) < 0.4,
                rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.7e308, 5e-324], shape),
                x,
            )
        with np.errstate(all="ignore"):
            return x.astype(dtype)

    z = (floats(n) + 1j * floats(n)).astype("c8" if dtype == "f4" else "c16")
    low = 0 if index.startswith("u") else -n
    return [floats(n), floats(n), floats(n, n), z, rng.integers(low, n, n).astype(index), rng.integers(0, n, n).astype(index), rng.random(n) < 0.5, n, 1.25]  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name):
    check_whole(_body(WHOLE[name]), _arguments, (9, 21, 40))


@pytest.mark.parametrize("name", WHOLE)
def test_values(name, monkeypatch):
    """Other dtypes; NaNs, infinities and what overflows."""
    monkeypatch.setattr(stator.options, "async", False)
    for dtype, index, wild in (("f4", "i4", False), ("f8", "u1", True), ("f4", "u4", True), ("i8", "i2", False), ("i4", "u2", False)):  # fmt: skip
        if dtype[0] == "i" and wild:
            continue
        eager, compiled = function_of(_body(WHOLE[name])), stator.compile(function_of(_body(WHOLE[name])))
        for n in (5, 18, 37, 5):
            expected = observe(eager, _arguments(n, dtype, index, wild))
            found = observe(compiled, _arguments(n, dtype, index, wild))
            assert found == expected, f"{dtype}, {index}, {wild}, {n}: {report(expected, found)}"


# Statements of a loop over i from 0 to n - 1, and what goes wrong in its later iterations.
FAULTS = {
    "an index past the end": "a[k + i] = 0",
    "a gathered one": "a = b[k + i] + 1",
    "one of two": "m[k, j + i] = a",
    "behind a store of the same loop": "a[k] = i\n        b[k + i] = a",
    "only where no mask holds": "a[(k + i)[k + i < n]] = 1",
    "in a product": "s += a @ b[k + i]",
    "of an empty array": "s += a[:0][k[: i // 4]].sum()",
    "a division by zero": "a[i] = 0\n        a[p] = 1 / a[p]",
    "a division by zero elsewhere": "a[i] = 0\n        a[a > 0] = 1 / a[a > 0]",
    "a mean of nothing": "s += a[a > 0.2 * i].mean()",
    "a maximum of nothing": "s += a[a > 0.2 * i].max()",
    "a mask of another extent": "s += a[p[: n - i // 4]].sum()",
    "values of another extent": "a[p] = b[: len(b) - i]",
    "an array of another extent": "t = b[: len(b) - i]\n        a[p] = t",
    "an array of one": "t = b[i : i + 1]\n        a[p] = t",
    "an array where a mask of a matrix holds, of another extent": "t = b * i\n        m[m > 0.5] = t",
    "a NaN that becomes an integer where a mask holds": "t = a[p] / (i - 3.0)\n        a[i] = 0\n        k[p] = t",
    "overflow of complex numbers": "z *= 1e60\n        z = z * z",
    "overflow of a modulus": "z *= 1e60\n        s = abs(z)",
    "a complex number that becomes a float": "a[:] = z",
    "a mask of integers": "a[k] = i\n        m[k > 2, i] = 1",
    "a slice with a step of another sign": "c = slice(None, None, 2 - i)\n        a[c] = b[c] + i",
    "a slice of floats": "c = slice(i * 0.5, None)\n        a[i] = i\n        a[c] = 1",
    "places that overlap": "a[k] = a[j]\n        a[1:][p[1:]] = a[:-1][p[1:]]",
    "a mask of what it stores to": "a[a[::-1] > 0.5] = 0.25\n        a[a > 0.5] = a[::-1][a > 0.5]",
    "indices that it stores to": "k[k] = j % n\n        j[::-1][k] = k",
    "a view of a mask": "q = p[::-1]\n        a[q] = 1\n        s += b[q].sum()",
    "transposed": "m[m.T > 0.5] *= 0.5\n        s += m.T[p].sum()\n        a = m.T[m > 0.25]",
    "layouts of what is gathered": "g = m[:, k]\n        h = m[k[:, None], j]\n        m = m.T[k] + g",
    "numbers among indices": "a = m[0, k] + m[k, -1]\n        m[0, k] = 1\n        m[k, 1:3] = 2",
    "a name for an array that shrank": "c = a[p]\n        d = c\n        c[0:1] = 3\n        b = d * 2",
    "parts of what was computed": "s += (m * 2)[:, 1:].sum() + (m + 1)[::2].sum() + (m - 1)[1:].T.sum()",
    "a variable that holds one of several": "if i % 3 == 1:\n            a = b * 0.5\n        np.add(a, b, a)\n        a *= 0.5\n        b[1:] = a[:-1]",
    "one of several, which may be the other operand": "if i % 3 == 1:\n            a = b\n        if i % 3 == 2:\n            a = b * 0.5\n        a[1:] += b[:-1]\n        np.add(a, b[::-1], a)",
    "two that hold one of several": "if i % 3 == 1:\n            a, b = b * 0.5, a + 1\n        if i == 4:\n            a = m[0]\n        if i == 5:\n            b = m[0]\n        np.multiply(a, b[::-1], a)\n        np.add(b, a, b)",
    "one of several, read-only": "if i % 3 == 1:\n            a = b * 0.5\n        if i == 5:\n            a.flags.writeable = False\n        np.add(a, b, a)",
    "read-only": "a.flags.writeable = False\n        a[p] = 1",
    "two names": "c = a\n        c[p] = i\n        np.add(a, c, c)",
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name, monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)
    text = _body(
        f"for i in range(n):\n        {FAULTS[name]}\nreturn {PARAMETERS}, i".replace("\n        ", "\n    ")
    )
    for dtype in ("f8", "i8"):
        eager, compiled = function_of(text), stator.compile(function_of(text))
        for n in (8, 8, 19, 8):
            for wild in (False, True) if dtype == "f8" else (False,):
                expected = observe(eager, _arguments(n, dtype, "i8", wild))
                found = observe(compiled, _arguments(n, dtype, "i8", wild))
                assert found == expected, f"{dtype}, {n}: {report(expected, found)}"


def test_parts_of_nothing(monkeypatch):
    """They have the strides of the array that has no elements, which depend on NumPy's version."""
    monkeypatch.setattr(stator.options, "async", False)

    def f(a, b, n):
        for _ in range(n):
            r = a[a > b]
            for _ in range(2):
                r = r[1:]
        return r

    compiled = stator.compile(f)
    for b in (0.0, 5.0, 2.0, 9.0, 9.0, 2.0):
        expected, found = f(np.arange(6.0), b, 3), compiled(np.arange(6.0), b, 3)
        assert (found.shape, found.strides) == (expected.shape, expected.strides), b
        assert (found == expected).all()


def test_means_of_more_elements_than_float32_counts() -> None:
    """NumPy divides the sum of float32 numbers as float64, since their number may be no float32."""

    def means(x: np.ndarray) -> tuple:
        a = b = np.float32(0)
        for _ in range(3):
            a = a + x.mean()
            b = b + np.average(x)
        return a, b

    x = np.ones(2**24 + 1, np.float32)
    wanted = means(x)
    assert wanted[0] < 3
    compiled = stator.compile(means)
    for _ in range(3):
        assert [v.tobytes() for v in compiled(x)] == [v.tobytes() for v in wanted]
        stator.wait()
    assert compiled.regions
