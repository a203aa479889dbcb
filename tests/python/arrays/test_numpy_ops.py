"""Every NumPy function that stator models, one by one: recorded, replayed, replayed with other extents.

A case is a function and a maker of arguments. It runs plain and under ``stator.compile`` on equal arguments, four
times with two sets of extents; results (bits, dtype, strides, flags, base), arguments afterwards, warnings and
exceptions must agree, and every later call must be served by a trace without opaque steps, exits or redone segments.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stator
from fuzz.compare import observe

SIZES = (37, 37, 64, 23)


def numbers(n: int, dtype: Any = "f8", seed: int = 0) -> np.ndarray:
    """n values without special ones, exactly representable and away from zero."""
    dtype = np.dtype(dtype)
    base = (np.arange(n) * (7 + 2 * seed) % 29 + 1 + seed) / 8
    if dtype.kind in "iu":
        return (base * 8).astype(dtype)
    if dtype.kind == "b":
        return base.astype("i8") % 2 == 0
    if dtype.kind == "c":
        return (base - 2 + 1j * base[::-1]).astype(dtype)
    return (base - 1.6).astype(dtype)


def grid(n: int, dtype: Any = "f8", seed: int = 0) -> np.ndarray:
    return numbers(n * (n + 3), dtype, seed).reshape(n, n + 3)


def check(
    function: Callable, make: Callable[[int], tuple], *, served: bool = True, sizes: tuple = SIZES
) -> None:
    compiled = stator.compile(function)
    for n in sizes:
        expected = observe(function, make(n))
        found = observe(compiled, make(n))
        assert found == expected, f"n = {n}"
        stator.wait()
    if served:
        stats = compiled.stats()
        bad = {k: stats[k] for k in ("opaque_steps", "exits", "redone") if stats[k]}
        assert stats["replays"] >= len(sizes) - 2 and not bad, (
            stats,
            str(stator.explain(compiled)(*make(sizes[0]))),
        )


def case(name: str, function: Callable, make: Callable[[int], tuple], **options: Any) -> Any:
    return pytest.param(function, make, options, id=name)


def vectors(*dtypes: str) -> Callable[[int], tuple]:
    return lambda n: tuple(numbers(n, t, i) for i, t in enumerate(dtypes))


def grids(*dtypes: str) -> Callable[[int], tuple]:
    return lambda n: tuple(grid(n, t, i) for i, t in enumerate(dtypes))


f8, f4, i8, xy = vectors("f8"), vectors("f4"), vectors("i8"), vectors("f8", "f8")
g8 = grids("f8")


# --- ufuncs: every numeric one of NumPy's, each loop ---

LOOPS = [
    pytest.param(u, types.split("->")[0], id=f"{u.__name__}-{types.split('->')[0]}")
    for u in sorted(
        {
            u
            for u in vars(np).values()
            if isinstance(u, np.ufunc) and not u.signature and u.nout == 1 and u.nin <= 3
        },
        key=lambda u: u.__name__,
    )
    for types in u.types
    if not set(types) & set("OMmgGSUVTqQ") and "str" not in u.__name__
]


def loop_operand(name: str, char: str, n: int, seed: int) -> np.ndarray:
    x = numbers(n, char, seed)
    if name in ("arccosh",):
        return np.abs(x) + np.ones(1, char)
    if name in ("log", "log2", "log10", "sqrt") and char not in "FD":
        return np.abs(x) + np.ones(1, char)
    if name == "log1p" and char not in "FD":
        return np.abs(x)
    if name in ("arcsin", "arccos", "arctanh"):
        return x / np.array(8, char)
    if name in ("power", "float_power"):
        return np.abs(x) % np.array(5, char) + np.ones(1, char) if char not in "FD" else x
    if name in ("left_shift", "right_shift", "bitwise_count"):
        return x % np.array(7, char)
    if name in ("sinh", "cosh", "exp", "exp2", "expm1", "square", "tan") and char in "eFD":
        return x / np.array(4, char)
    return x


@pytest.mark.parametrize("ufunc, chars", LOOPS)
def test_ufunc(ufunc: np.ufunc, chars: str) -> None:
    def call1(x):
        return ufunc(x)

    def call2(x, y):
        return ufunc(x, y)

    def call3(x, y, z):
        return ufunc(x, y, z)

    def make(n):
        return tuple(loop_operand(ufunc.__name__, c, n, i) for i, c in enumerate(chars))

    with np.errstate(all="ignore"):
        check((call1, call2, call3)[len(chars) - 1], make)


# --- operators and promotion ---

OPERATORS = [
    case("add", lambda x, y: x + y, xy),
    case("chain", lambda x, y: (x * y - x / (y + 9.0)) * 0.5 + 1, xy),
    case("float-int", lambda x: x * 2 + 1, f8),
    case("f4-float", lambda x: x * 2.5 + 0.1, f4),
    case("f4-int", lambda x: 3 - x, f4),
    case("int-int", lambda x: x * 2 - 7, i8),
    case("int-float", lambda x: x * 0.5, i8),
    case("int-div", lambda x, y: x / y, vectors("i8", "i8")),
    case("int-floordiv", lambda x, y: x // y + x % y, vectors("i8", "i8")),
    case("float-floordiv", lambda x, y: x // (y + 9) + x % (y + 9), xy),
    case("u1-small", lambda x: x + 3, vectors("u1")),
    case("i4-i8", lambda x, y: x + y, vectors("i4", "i8")),
    case("f4-i8", lambda x, y: x * y, vectors("f4", "i8")),
    case("f4-f8scalar", lambda x, k: x * k, lambda n: (numbers(n, "f4"), np.float64(1.5))),
    case("f4-f4scalar", lambda x, k: x * k, lambda n: (numbers(n, "f4"), np.float32(1.5))),
    case("complex", lambda x, y: x * y + x - y, vectors("c16", "c16")),
    case("complex-scalar", lambda x: x * (1 + 2j) + 1.5, vectors("c16")),
    case("c8", lambda x: x * 2 + 1j, vectors("c8")),
    case("f2", lambda x, y: x * y + 1, vectors("f2", "f2")),
    case("bool-logic", lambda x, y: (x & y) | ~x ^ y, vectors("?", "?")),
    case("int-bits", lambda x, y: ((x & y) | (x ^ 3)) << 2 >> 1, vectors("i8", "i8")),
    case("negative", lambda x: -x + abs(x) - +x, f8),
    case("invert", lambda x: ~x, i8),
    case("compare", lambda x, y: ((x < y) | (x >= 1.0)) & (x != y), xy),
    case("compare-int", lambda x: (x > 5) & (x <= 20), i8),
    case("compare-u1", lambda x: x < 7, vectors("u1")),
    case("power-2", lambda x: x**2, f8),
    case("power-half", lambda x: abs(x) ** 0.5, f8),
    case("power-minus-1", lambda x: (x + 9) ** -1, f8),
    case("power-3", lambda x: x**3, f8),
    case("power-float", lambda x: abs(x) ** 1.7, f8),
    case("power-array", lambda x, y: abs(x) ** y, xy),
    case("power-int", lambda x: x**2 + x**3, i8),
    case("power-base", lambda x: 2.0**x, f8),
    case("power-f4", lambda x: x**2 + x**3.0, f4),
    case("matmul", lambda x, y: x @ y, xy),
    case("zero-d", lambda x, k: x * k + 1, lambda n: (numbers(n), np.array(1.5))),
    case("zero-d-only", lambda k: k + 1, lambda n: (np.array(n / 8),), served=False),
    case("broadcast", lambda x, y: x[:, None] * y[None, :] - 1, xy),
    case("broadcast-row", lambda g, r: g * r[0] + r, lambda n: (grid(n), grid(n)[0])),
    case("extent-one", lambda x, k: x + k, lambda n: (numbers(n), np.array([0.5]))),
    case("columns", lambda g, c: g - c, lambda n: (grid(n), grid(n)[:, :1].copy())),
    case(
        "fortran",
        lambda x, y: x + y * 2,
        lambda n: (np.asfortranarray(grid(n)), np.asfortranarray(grid(n, seed=1))),
    ),
    case("mixed-order", lambda x, y: x + y * 2, lambda n: (np.asfortranarray(grid(n)), grid(n, seed=1))),
    case("reversed", lambda x: np.exp(x) + x, lambda n: (numbers(n)[::-1],)),
    case("strided", lambda x: np.exp(x) + x, lambda n: (numbers(2 * n)[::2],)),
    case("transposed", lambda x: np.sin(x.T) + x.T, g8),
    case("in-place", lambda x, y: inplace(x, y), xy),
    case("in-place-int", lambda x: inplace_int(x), i8),
    case("in-place-power", lambda x: inplace_power(x), f8),
    case("in-place-f4", lambda x, y: inplace_cast(x, y), vectors("f4", "f8")),
    case("in-place-scalar", lambda x: inplace_scalar(x), f8),
    case("overlap", lambda x: overlap(x), f8),
    case("out", lambda x, y: np.add(x, y, out=x), xy),
    case("out-tuple", lambda x, y, o: np.multiply(x, y, out=(o,)), vectors("f8", "f8", "f8")),
    case("out-positional", lambda x, o: np.sqrt(abs(x), o), xy),
    case("out-where", lambda x, y, o: np.divide(x, y, out=o, where=y > 1), vectors("f8", "f8", "f8")),
    case("dtype", lambda x, y: np.add(x, y, dtype=np.float32), vectors("f4", "i2")),
    case("float-argument", lambda x, k: x * k + k / 2, lambda n: (numbers(n), n / 7)),
    case("int-argument", lambda x, k: x * k + (k + 1), lambda n: (numbers(n), n)),
    case("int-argument-int", lambda x, k: x * k + (k // 2), lambda n: (numbers(n, "i8"), n)),
]


def inplace(x, y):
    x += y
    x *= 2
    x -= y / 3
    x /= y + 9
    return x


def inplace_int(x):
    x += 3
    x //= 2
    x <<= 1
    x &= 1023
    return x


def inplace_power(x):
    x **= 2
    return x


def inplace_cast(x, y):
    x += y
    return x


def inplace_scalar(x):
    k = x[0]
    k += 2.0
    x += k
    return k


def overlap(x):
    x[1:] += x[:-1]
    x[:-1] = x[1:]
    return x


@pytest.mark.parametrize("function, make, options", OPERATORS)
def test_operator(function, make, options):
    check(function, make, **options)


# --- indexing and stores ---


def store_slices(x):
    x[1:-1] = 0.5
    x[::2] += 1
    x[-1] = x[0]
    x[...] *= 2
    return x


def store_grid(g, r):
    g[0] = r
    g[:, 0] = 7
    g[1:-1, 1:-1] += g[:-2, 1:-1]
    g[-1] -= 1
    return g


def store_mask(x):
    x[x > 1.0] = 0.25
    x[x < 0] = -1
    return x


def store_constant(x, value):
    x[1:5] = value
    return x + x


def stencil(u, k):
    return u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])


def window(x, i, j):
    return x[i:j] * 2 + x[j]


INDEXING = [
    case("slices", lambda x: x[1:-1] + x[2:] + x[:-2], f8),
    case("stencil", stencil, lambda n: (numbers(n), 0.1)),
    case("step", lambda x: x[::2] * 2, f8),
    case("step-3", lambda x: x[1:-1:3] * 2, f8),
    case("negative-step", lambda x: x[::-1] + x, f8),
    case("negative-step-2", lambda x: x[-2:1:-2] * 1.5, f8),
    case("view", lambda x: x[2:-3], f8, served=False),
    case("ellipsis", lambda g: g[..., 0] + g[..., -1], g8),
    case("row", lambda g: g[1] * g[-1], g8),
    case("element", lambda x: x[3] * x[-1] + x, f8),
    case("element-2", lambda g: g[1, 2] + g, g8),
    case("newaxis", lambda x: x[None, :, None] * 2, f8),
    case("empty", lambda x: x[5:5] * 2, f8),
    case("bounds", window, lambda n: (numbers(n), n // 4, n // 2)),
    case("fancy", lambda x, i: x[i] * 2, lambda n: (numbers(n), np.arange(0, n, 3))),
    case("mask", lambda x: x[x > 1] * 2, f8),
    case("store", store_slices, f8),
    case("store-grid", store_grid, lambda n: (grid(n), grid(n)[2].copy())),
    case("store-mask", store_mask, f8),
    case("store-float-into-int", lambda x: store_constant(x, 1.75), i8),
    case(
        "store-numpy-float-into-int",
        lambda x, k: store_constant(x, k),
        lambda n: (numbers(n, "i8"), np.float64(2.5)),
        served=False,
    ),
    case("store-int-into-bool", lambda x: store_constant(x, 3), vectors("?")),
    case("store-int-into-float", lambda x: store_constant(x, 3), vectors("f4")),
    case("len", lambda x: x / len(x), f8),
    case("shape", lambda g: g * g.shape[0] + g.shape[1] + g.ndim + g.size, g8),
    case("dtype", lambda x: np.zeros(3, x.dtype) + x[:3], f4),
]


@pytest.mark.parametrize("function, make, options", INDEXING)
def test_indexing(function, make, options):
    check(function, make, **options)


# --- reductions ---

REDUCERS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax")
AXES = (None, 0, 1, -1, (0, 1))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", REDUCERS)
def test_reduction(name: str, axis: Any, dtype: str) -> None:
    if name.startswith("arg") and isinstance(axis, tuple):
        pytest.skip("one axis only")
    # Alone, a call that is left to NumPy would not be worth a trace.
    call = eval(f"lambda g: (np.{name}(g, axis={axis}), g == g)")
    keep = eval(f"lambda g: (g.{name}(axis={axis}, keepdims=True), g == g)")
    with np.errstate(all="ignore"):
        check(call, grids(dtype), sizes=(9, 9, 40, 12))
        check(keep, grids(dtype), sizes=(9, 9, 40, 12))


REDUCTIONS = [
    case("expression", lambda x, y: (x * y + 1).sum(), xy),
    case("expression-axis", lambda g: (g * 2).sum(axis=0) + (g + 1).max(axis=0), g8),
    case("row-mean", lambda g: g - g.mean(axis=1, keepdims=True), g8),
    case("variance", lambda x: ((x - x.mean()) ** 2).sum() / x.size, f8),
    case("softmax", lambda g: soft(g), g8),
    case("strided", lambda x: x[::2].sum(), f8),
    case("interior", lambda g: g[1:-1, 1:-1].sum(axis=0) + g[1:-1, 1:-1].sum(), g8),
    case("fortran", lambda g: g.T.sum(axis=0), g8),
    case("fortran-all", lambda g: g.T.sum(), g8),
    case("add-reduce", lambda g: np.add.reduce(g) + np.multiply.reduce(g, axis=0), g8),
    case("maximum-reduce", lambda x: np.maximum.reduce(x), f8),
    case("sum-dtype", lambda x: x.sum(dtype="f8") + np.sum(x, dtype=np.int64), i8),
    case("sum-f4-f8", lambda x: np.sum(x, dtype="f8"), f4),
    case("norm", lambda x: np.sqrt(np.sum(x * x)), f8),
    case("std", lambda x: (x - x.mean()) / x.std(), f8),
    case("any-float", lambda x: np.any(x > 1) | np.all(x), f8),
    case(
        "three",
        lambda x: x.sum(axis=(0, 2)) + x.sum(axis=1)[:, 0],
        lambda n: (numbers(n * 4 * 4).reshape(4, n, 4)[:, :4],),
    ),
    case("three-dense", lambda x: x.sum(axis=(0, 2)), lambda n: (numbers(n * 20).reshape(4, n, 5),)),
    case("large", lambda x: x.sum() + x.mean() + x.max(), lambda n: (numbers(n * 997),)),
    case("nothing", lambda x: (x[5:5].sum(), x[5:5].prod(), np.any(x[5:5]), x + 1), f8),
    case(
        "nothing-axis",
        lambda g: (g[:, 3:3].sum(axis=1), g[3:3].sum(axis=1), np.diff(g[:1], axis=0), g + 1),
        g8,
    ),
    case(
        "nan",
        lambda x: np.maximum.reduce(x) + x.min() + x.argmax(),
        lambda n: (np.where(numbers(n) > 1, np.nan, 1.0),),
    ),
]


def soft(g):
    e = np.exp(g - g.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("function, make, options", REDUCTIONS)
def test_reductions(function, make, options):
    check(function, make, **options)


# --- creation, conversion, shapes, assembly ---


def copied_out(x):
    y = np.empty_like(x)
    y[...] = x
    y.fill(2.0)
    np.copyto(y[1:], x[1:])
    return y


FUNCTIONS = [
    case("zeros", lambda x: np.zeros(x.shape) + x, f8),
    case("zeros-int", lambda n: np.zeros((n, 3), dtype=int), lambda n: (n,)),
    case("ones", lambda x: np.ones(len(x), dtype=x.dtype) * x, f4),
    case("full", lambda x, k: np.full(x.shape, k) - x, lambda n: (numbers(n), n / 3)),
    case("full-int", lambda n: np.full(n, 7), lambda n: (n,)),
    case("zeros-like", lambda g: np.zeros_like(g) + np.ones_like(g) * np.full_like(g, 3), g8),
    case("like-fortran", lambda g: np.ones_like(g), lambda n: (np.asfortranarray(grid(n)),)),
    case("empty", copied_out, f8),
    case("arange", lambda n: np.arange(n) * 2, lambda n: (n,)),
    case("arange-bounds", lambda n: np.arange(2, n, 3) + 1, lambda n: (n,)),
    case("arange-float", lambda x: np.arange(len(x), dtype=float) * x, f8),
    case("arange-down", lambda n: np.arange(n, 0, -1), lambda n: (n,)),
    case("arange-step", lambda x: np.arange(0.0, 3.0, 0.1)[:20] + x[:20], f8),
    case("linspace", lambda x: np.linspace(0.0, 1.0, len(x)) * x, f8),
    case("copy", lambda x: x.copy() + np.copy(x), f8),
    case("copy-only", lambda x: x.copy(), f8),
    case("copy-order", lambda g: g.T.copy(), g8),
    case("astype", lambda x: x.astype(np.float32) + x.astype("i4"), f8),
    case("astype-same", lambda x: x.astype(float), f8),
    case("astype-nocopy", lambda x: x.astype(float, copy=False) + 1, f8),
    case("astype-bool", lambda x: x.astype(bool), f8),
    case("astype-complex", lambda x: x.astype(complex), f8),
    case("asarray", lambda x: np.asarray(x) + 1, f8),
    case("asarray-dtype", lambda x: np.asarray(x, dtype=np.float64) + 1, f4),
    case("array", lambda x: np.array(x), f8),
    case("array-list", lambda x: x[:3] * np.array([1.0, 2.0, 3.0]), f8),
    case("ascontiguous", lambda g: np.ascontiguousarray(g.T), g8),
    case("transpose", lambda g: np.transpose(g) * 2, g8),
    case("transpose-axes", lambda x: x.transpose(1, 2, 0) * 2, lambda n: (numbers(n * 12).reshape(3, n, 4),)),
    case("swapaxes", lambda x: x.swapaxes(0, 2) * 2, lambda n: (numbers(n * 12).reshape(3, n, 4),)),
    case("moveaxis", lambda x: np.moveaxis(x, 0, -1) * 2, lambda n: (numbers(n * 12).reshape(3, n, 4),)),
    case("reshape", lambda x: x.reshape(2, -1) * 2, lambda n: (numbers(2 * n),)),
    case("reshape-tuple", lambda x: np.reshape(x, (-1, 2)) * 2, lambda n: (numbers(2 * n),)),
    case("reshape-flat", lambda g: g.reshape(-1) * 2, g8),
    case("reshape-back", lambda g: (g.ravel() * 2).reshape(g.shape), g8),
    case("reshape-view", lambda x: x.reshape(-1, 1), f8, served=False),
    case("reshape-transposed", lambda g: g.T.reshape(-1), g8),
    case("ravel", lambda g: g.ravel() + 1, g8),
    case("ravel-copy", lambda g: g.T.ravel(), g8),
    case("flatten", lambda g: g.flatten(), g8),
    case("squeeze", lambda x: np.squeeze(x) * 2, lambda n: (numbers(n).reshape(1, n, 1),)),
    case("expand-dims", lambda x: np.expand_dims(x, 1) * x, f8),
    case("broadcast-to", lambda g: np.broadcast_to(g[0], g.shape) + g, g8),
    case("roll", lambda x: np.roll(x, 1) - 2 * x + np.roll(x, -1), f8),
    case("roll-only", lambda x: np.roll(x, 3), f8),
    case("roll-axis", lambda g: np.roll(g, 1, axis=0) + np.roll(g, -2, axis=1), g8),
    case("roll-axes", lambda g: np.roll(g, (1, 2), axis=(0, 1)), g8),
    case("roll-flat", lambda g: np.roll(g, 5), g8),
    case("roll-argument", lambda x, k: np.roll(x, k), lambda n: (numbers(n), n // 5)),
    case("roll-far", lambda x, k: np.roll(x, k), lambda n: (numbers(n), 3 * n + 2)),
    case("concatenate", lambda x, y: np.concatenate([x, y * 2, x]), xy),
    case("concatenate-cast", lambda x, y: np.concatenate((x, y)), vectors("f4", "f8")),
    case("concatenate-axis", lambda g: np.concatenate((g, g[:, :2]), axis=1), g8),
    case("stack", lambda x, y: np.stack([x, y, x + y]), xy),
    case("stack-last", lambda x, y: np.stack((x, y), axis=-1), xy),
    case("vstack", lambda x, y: np.vstack((x, y)), xy),
    case("hstack", lambda x, y: np.hstack((x, y)), xy),
    case("hstack-2", lambda g: np.hstack((g, g[:, 1:])), g8),
    case("pad", lambda x: np.pad(x, 1), f8),
    case("pad-constant", lambda g: np.pad(g, ((1, 2), (0, 3)), constant_values=1.5), g8),
    case("pad-edge", lambda g: np.pad(g, 2, mode="edge"), g8),
    case("pad-wrap", lambda g: np.pad(g, ((1, 1), (2, 2)), mode="wrap"), g8),
    case("pad-reflect", lambda g: np.pad(g, 3, mode="reflect"), g8),
    case("pad-symmetric", lambda x: np.pad(x, (2, 3), mode="symmetric"), f8),
    case("pad-int", lambda x: np.pad(x, (1, 1), "constant", constant_values=9), i8),
    case("diff", lambda x: np.diff(x) * 2, f8),
    case("diff-2", lambda g: np.diff(g, n=2, axis=0), g8),
    case("diff-bool", lambda x: np.diff(x), vectors("?")),
    case("gradient", lambda x: np.gradient(x), f8),
    case("gradient-dx", lambda x, d: np.gradient(x, d), lambda n: (numbers(n), 0.3)),
    case("gradient-2", lambda g: np.gradient(g, 2.0, 3.0), g8),
    case("gradient-f4", lambda g: np.gradient(g, 30.0), grids("f4")),
    case("gradient-axis", lambda g: np.gradient(g, 0.5, axis=1), g8),
    case("gradient-int", lambda x: np.gradient(x), i8),
    case("where", lambda x, y: np.where(x > y, x, y * 2), xy),
    case("where-scalar", lambda x: np.where(x > 1, x, 0.0), f4),
    case("where-int", lambda x: np.where(x > 1, x, 0), f8),
    case("where-cast", lambda x, y: np.where(x > 1, x, y), vectors("f4", "i8")),
    case("where-broadcast", lambda g: np.where(g > g[0], g, -1.0), g8),
    case("clip", lambda x: np.clip(x, 0.0, 1.0), f8),
    case("clip-one", lambda x: np.clip(x, None, 1.0) + np.clip(x, 0, None), f8),
    case("clip-method", lambda x: x.clip(0, 1), f4),
    case("clip-arrays", lambda x, y: np.clip(x, y - 1, y + 1), xy),
    case("clip-int", lambda x: np.clip(x, 3, 9), i8),
    case("minimum", lambda x, y: np.minimum(x, y) + np.maximum(x, 0.5), xy),
    case("hypot", lambda x, y: np.hypot(x, y) + np.arctan2(x, y), xy),
    case("dot", lambda x, y: np.dot(x, y) + x, xy),
    case("cumsum", lambda x: np.cumsum(x) + x, f8),
    case("sort", lambda x: np.sort(x)[1:] + x[1:], f8),
    case("fft", lambda x: np.abs(np.fft.fft(x)), f8),
    case("solve", lambda g: np.linalg.norm(g), g8),
    case("percentile", lambda x: np.percentile(x, 30) + x, f8),
]


@pytest.mark.parametrize("function, make, options", FUNCTIONS)
def test_function(function, make, options):
    with np.errstate(invalid="ignore"):
        check(function, make, **options)


# --- scalars ---


def branch_on_int(x, n):
    if n > 30:
        return x * n
    return x - n


def float_arithmetic(x, a, b):
    c = a * b - a / b + (a // b) + a % b - -a + abs(b)
    return x * c + (a**b)


def int_arithmetic(x, n):
    k = (n * 3 - 7) // 2 + n % 5 - -n + abs(n) + (n << 1) + (n >> 1)
    return x * k + n / 3 + n**2


SCALARS = [
    case("branch", branch_on_int, lambda n: (numbers(n), n), sizes=(37, 37, 64, 41)),
    case("float", float_arithmetic, lambda n: (numbers(n), n / 3, n / 7)),
    case("int", int_arithmetic, lambda n: (numbers(n), n)),
    case(
        "math",
        lambda x, a: x * math.sqrt(a) + math.sin(a) * math.exp(-a) + math.pi,
        lambda n: (numbers(n), n / 9),
    ),
    case("min-max", lambda x, a, n: x * min(a, 2.0) + max(n, 5), lambda n: (numbers(n), n / 9, n)),
    case(
        "min-max-mixed",
        lambda x, a, n: x * min(a, n) + max(a, 1) + min(x[0], 2.0),
        lambda n: (numbers(n), n / 9, n),
    ),
    case("numpy-scalar", lambda x: x[0] * 2 + x[1] / x[2] - 1, f8, served=False),
    case("numpy-f4-scalar", lambda x: x[0] * 2 + x[1] * 0.1, f4, served=False),
    case("numpy-int-scalar", lambda x: x[0] * 2 + x[1], i8),
    case("scalar-power", lambda x: x * x[0] ** 2, f8),
    case("float-of", lambda x: float(x.sum()) * 2 + x, f8),
    case("float64-of", lambda x, k: np.float64(k) * x, lambda n: (numbers(n, "f4"), n / 8)),
    case("scalar-ufunc", lambda x, k: np.sqrt(k) * x, lambda n: (numbers(n), n / 8)),
    case("zero-d-result", lambda x: x.sum() > 3.0, f8),
]


@pytest.mark.parametrize("function, make, options", SCALARS)
def test_scalar(function, make, options):
    check(function, make, **options)


# --- faults, warnings, exceptions ---


def divide(x, y):
    z = x / y
    return z + 1


def log_of(x):
    return np.log(x) + 1


@pytest.mark.parametrize("mode", ["warn", "ignore", "raise"])
@pytest.mark.parametrize(
    "function, make",
    [
        (divide, lambda n: (numbers(n), np.where(numbers(n) > 1, 0.0, 1.0))),
        (log_of, lambda n: (numbers(n) - 2,)),
        (lambda x, y: x // y, lambda n: (numbers(n, "i8"), numbers(n, "i8") % 3)),
        (lambda x: x.astype("i4"), lambda n: (numbers(n) * 1e12,)),
        (lambda x: x * 1e300 * 1e300, f8),
        (lambda x: x + 1e300, f4),
        (lambda x: (x < 1) & (x == x), lambda n: (np.where(numbers(n) > 1, np.nan, 1.0),)),
    ],
    ids=["divide", "log", "int-divide", "cast", "overflow", "f4-scalar", "quiet"],
)
def test_faults(function, make, mode):
    with np.errstate(all=mode):
        check(function, make, served=False)


@pytest.mark.parametrize(
    "function, make",
    [
        (lambda x, y: x + y, lambda n: (numbers(n), numbers(n + 1))),
        (lambda x: x + 300, vectors("u1")),
        (lambda x: x < 300, vectors("u1")),
        (lambda x, y: inplace_cast(x, y), vectors("i8", "f8")),
        (lambda x: x**-1, i8),
        (lambda x: x[99999], f8),
        (lambda x: -x, vectors("?")),
        (lambda x: x @ x, g8),
    ],
    ids=[
        "broadcast",
        "u1-range",
        "u1-compare",
        "same-kind",
        "int-power",
        "index",
        "bool-negative",
        "matmul-shapes",
    ],
)
def test_errors(function, make):
    check(function, make, served=False)


def test_special_values_through_native_ops() -> None:
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 0.5, 1.5, 2.5])
    x, y = (a.ravel() for a in np.meshgrid(special, special))

    def f(x, y):
        first = (
            x + y, x - y, x * y, x / y, np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y), x < y, x <= y,
            x == y, np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.sqrt(x), np.copysign(x, y), abs(x), -x, x // y,
        )  # fmt: skip
        return first, (
            x % y, np.sign(x), np.isnan(x), np.isinf(x), np.isfinite(x), np.signbit(x), np.logical_and(x, y), np.clip(x, y, 1.0),
            np.clip(x, -0.0, 0.0), np.where(x > y, x, y), x.max(), x.min(), x.sum(), x.astype("f4"), x.astype(bool), x**2,
        )  # fmt: skip

    with np.errstate(all="ignore"):
        for t in ("f8", "f4"):
            check(f, lambda n: (x.astype(t), y.astype(t)))


def test_guarded_exponent() -> None:
    @stator.compile
    def f(x, p):
        return x**p

    x = np.abs(numbers(50)) + 0.3
    for p in (2, 2, 3, 0.5, 0.5, -1, 2.0, 1.7, 1.7, 2):
        assert f(x, p).tobytes() == (x**p).tobytes(), p


def test_many_lengths_one_trace() -> None:
    @stator.compile
    def f(x):
        return np.roll(x, 1) + x.sum() + np.pad(x, 1)[1:-1]

    for n in range(5, 45, 2):
        x = numbers(n)
        assert f(x).tobytes() == f.__wrapped__(x).tobytes()
    assert f.stats()["traces"] <= 2, f.stats()


def test_warning_location() -> None:
    @stator.compile
    def f(x):
        y = x + 1
        return y / 0.0

    for _ in range(4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f(numbers(20))
        assert [w.lineno - f.__wrapped__.__code__.co_firstlineno for w in caught] == [3], [
            str(w) for w in caught
        ]


def test_pooled_results() -> None:
    """Results of 64 KiB and more own their data like any other: resized, freed, copied, kept beyond the function."""

    @stator.compile
    def f(x):
        return x * 2 + 1, (x.T + 1)

    x = np.arange(60_000.0).reshape(200, 300)
    kept = []
    for k in range(6):
        a, b = f(x + k)
        stator.wait()
        assert a.flags.owndata and b.flags.owndata and a.base is None and b.flags.f_contiguous
        assert a.tobytes() == ((x + k) * 2 + 1).tobytes() and b.tobytes() == ((x + k).T + 1).tobytes()
        assert a.strides == (2400, 8) and b.strides == (8, 2400) and a.flags.writeable and a.flags.aligned
        kept.append(a)
    for k, a in enumerate(kept):
        expected = (x + k) * 2 + 1
        a.resize(400, 300, refcheck=False)
        assert a[:200].tobytes() == expected.tobytes() and not a[200:].any()
        a.resize(10, refcheck=False)
        assert a.tobytes() == expected.ravel()[:10].tobytes()
        del expected
    del kept, a, b
    assert f.stats()["replays"] == 5
    assert f(x)[0].tobytes() == (x * 2 + 1).tobytes()


def test_results_own_their_memory_at_every_size() -> None:
    """Small results are put together by hand: nothing about them may differ from those of NumPy."""

    @stator.compile
    def f(x):
        return x * 2 + 1

    for shape in ((1,), (5,), (1, 1), (1, 7), (7, 1), (3, 4), (40, 5), (1, 300), (20, 300), (2, 3, 4), (0,)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        for _ in range(3):
            a, b = f(x), x * 2 + 1
            stator.wait()
        assert (a.flags.num, a.strides, a.base, a.dtype) == (b.flags.num, b.strides, b.base, b.dtype)
        kept = [f(x + k) for k in range(50)]
        assert all(kept[k].tobytes() == ((x + k) * 2 + 1).tobytes() for k in range(50))
        a.resize((a.size * 3 + 5,), refcheck=False)
        assert a[: b.size].tobytes() == b.tobytes() and not a[b.size :].any()
        a.resize((2,), refcheck=False)
        c = kept[0]
        c.shape = (c.size,)
        d, c = c.T, None
        kept.clear()
        assert d.tobytes() == b.tobytes()
