"""Arguments as data: what `build` turns into arrays and scalars, afresh for every call.

A description prints as the expression that makes it, so a failing program can be written down as a test.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .choices import Choices, Weighted


class Array(NamedTuple):
    """An array argument.

    `layout` is a row of `LAYOUTS`; `values` is ``"tame"`` (small, no zeros: few warnings), ``"plain"`` (small, zeros
    and signs) or ``"wild"`` (NaN, infinities, denormals, extremes).
    """

    dtype: str
    shape: tuple[int, ...]
    layout: str = "C"
    values: str = "plain"


class Scalar(NamedTuple):
    """A Python scalar (`dtype` is its type's name) or a NumPy scalar (`dtype` is a NumPy type code)."""

    dtype: str
    value: Any


class View(NamedTuple):
    """An argument that shares the memory of argument `of`; `how` is a row of `SHARING`."""

    of: int
    how: str


Spec = Array | Scalar | View

DTYPES = Weighted(
    (30, "f8"), (12, "f4"), (8, "i8"), (5, "i4"), (4, "?"), (4, "u1"), (3, "i1"), (3, "i2"), (3, "u2"), (3, "u4"),
    (3, "u8"), (4, "f2"), (4, "c16"), (3, "c8"),
)  # fmt: skip
LAYOUTS = Weighted(
    (48, "C"), (8, "F"), (6, "reversed"), (6, "every second"), (5, "inner reversed"), (5, "inner columns"),
    (4, "outer rows"), (4, "axes rolled"), (3, "offset"), (2, "broadcast"), (2, "read-only"), (1, "swapped"), (1, "unaligned"), (1, "unpickled"),
)  # fmt: skip
VALUES = Weighted((60, "tame"), (28, "plain"), (12, "wild"))
SHARING = ("same", "shifted", "reversed", "whole", "transposed", "every second")

WILD_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-40, 6e-8, 65504.0, 1e5, 3.5e38,
               1.7e308, -1.7e308, 2.0**31, 2.0**63, -(2.0**63), 0.1, 255.5, 300.0)  # fmt: skip


def _values(dtype: np.dtype, count: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """`count` elements of the given kind."""
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        pair = np.stack([_values(part, count, kind, rng), _values(part, count, kind, rng)], axis=-1)
        return np.ascontiguousarray(pair).view(dtype).reshape(count)
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            if kind == "wild":
                table = np.array(WILD_FLOATS).astype(dtype)
                mixed = rng.standard_normal(count).astype(dtype)
                return np.where(rng.random(count) < 0.5, rng.choice(table, count), mixed)
            if kind == "plain":
                coarse = np.round(rng.standard_normal(count) * 4) / 2
                return np.where(rng.random(count) < 0.3, coarse, rng.standard_normal(count)).astype(dtype)
            return (0.5 + 1.5 * rng.random(count)).astype(dtype)
        limits = np.iinfo(dtype)
        if kind == "wild":
            edge = np.array([limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1, 2, 7], dtype)
            anything = rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
            return np.where(rng.random(count) < 0.5, rng.choice(edge, count), anything)
        low = -9 if kind == "plain" and dtype.kind == "i" else 0 if kind == "plain" else 1
        return rng.integers(low, 9, count, endpoint=True).astype(dtype)


def _array(spec: Array, rng: np.random.Generator) -> np.ndarray:
    dtype, shape, layout = np.dtype(spec.dtype), spec.shape, spec.layout

    def fill(extents: Sequence[int]) -> np.ndarray:
        count = int(np.prod(extents, dtype=np.int64))
        return _values(dtype, count, spec.values, rng).reshape(extents)

    last = len(shape) - 1
    if layout == "F":
        return np.array(fill(shape), order="F")
    if layout == "broadcast" and shape:
        return np.broadcast_to(fill(shape[1:]), shape)
    if layout == "swapped":
        return fill(shape).astype(dtype.newbyteorder())
    if layout == "unpickled":  # with a dtype object of its own
        return pickle.loads(pickle.dumps(fill(shape)))
    if layout == "unaligned":
        raw = np.zeros(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize + 1, np.uint8)
        out = raw[1:].view(dtype).reshape(shape)
        out[...] = fill(shape)
        return out
    if layout == "axes rolled" and len(shape) > 1:
        return np.moveaxis(fill((*shape[1:], shape[0])), -1, 0)
    if layout == "offset":
        return fill((int(np.prod(shape, dtype=np.int64)) + 3,))[3:].reshape(shape)
    if layout == "reversed" and shape:
        return fill(shape)[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "inner reversed" and shape:
        return fill(shape)[..., ::-1]
    if layout == "every second" and shape:
        return fill([2 * n for n in shape])[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "inner columns" and shape:
        return fill((*shape[:last], shape[last] + 3))[..., 2:-1]
    if layout == "outer rows" and shape:
        return fill((3 * shape[0], *shape[1:]))[1::3]
    out = np.array(fill(shape))
    if layout == "read-only":
        out.flags.writeable = False
    return out


def _view(x: Any, how: str) -> Any:
    if how == "same" or not isinstance(x, np.ndarray):
        return x
    if how == "transposed":
        return x.T
    if x.ndim == 0:
        return x[()] if how == "whole" else x
    return {"shifted": x[1:], "reversed": x[::-1], "whole": x[:], "every second": x[::2]}[how]


SCALAR_TYPES = {"int": int, "float": float, "bool": bool, "complex": complex}


def build(specs: Sequence[Spec], seed: int) -> list[Any]:
    """The arguments that `specs` describe; the same for the same seed, never sharing memory with an earlier build."""
    rng = np.random.Generator(np.random.PCG64(seed))
    out: list[Any] = []
    for spec in specs:
        match spec:
            case Array():
                out.append(_array(spec, rng))
            case Scalar(dtype, value):
                maker = SCALAR_TYPES.get(dtype)
                out.append(maker(value) if maker else np.dtype(dtype).type(value))
            case View(of, how):
                out.append(_view(out[of], how))
    return out


# At which NumPy, its iterator and its allocator do something else: what is left over behind vectors, pairwise sums (8,
# 128), small buffers (1,024 bytes), the buffer of casts (8,192 elements), results computed into temporaries (256 KiB of
# 16, 8, 4 and 2 bytes); and what stator shares among threads.
THRESHOLDS = (8, 16, 32, 64, 128, 256, 1024, 4096, 8192, 16_384, 32_768, 65_536, 131_072)


def near(c: Choices) -> int:
    """An extent on one side or the other of a threshold, most often one that is passed quickly."""
    at = min(c.integer(0, len(THRESHOLDS) - 1), c.integer(0, len(THRESHOLDS) - 1))
    return max(1, THRESHOLDS[at] + c.pick((-1, 0, 1, -1, 0, 1, -3, 3, 7)))


def extents(c: Choices) -> tuple[int, ...]:
    """Three extents from which the shapes of one program are made, so that operands often fit each other."""
    if c.chance(0.08):
        return (near(c), 1, c.integer(2, 4))
    table = Weighted(
        (4, 3),
        (4, 5),
        (3, 4),
        (3, 8),
        (2, 2),
        (2, 7),
        (2, 16),
        (2, 17),
        (1, 33),
        (1, 64),
        (1, 100),
        (1, 1),
        (1, 0),
    )
    return tuple(c.weighted(table) for _ in range(3))


def shape(c: Choices, pool: tuple[int, ...]) -> tuple[int, ...]:
    """A shape of rank 0 to 4 over the pool, trailing axes alike so that most pairs broadcast."""
    rank = c.weighted(Weighted((40, 1), (30, 2), (12, 3), (5, 4), (5, 0)))
    vector = pool[1] == 1 and pool[0] > 1
    if vector:
        rank = min(rank, 2)
    out = (
        [pool[i] if i < 3 else 2 for i in reversed(range(rank))]
        if c.chance(0.8)
        else [c.pick(pool) for _ in range(rank)]
    )
    if vector and rank == 2:
        out = [c.pick((1, 2, 3)), pool[0]] if c.chance(0.8) else [pool[0], c.pick((1, 2, 3))]
    while math.prod(out) > 20_000 and rank > 1 and not vector:
        out[out.index(max(out))] = 2
    return tuple(1 if c.chance(0.05) else n for n in out)


def scalar(c: Choices) -> Scalar:
    """A scalar argument."""
    kind = c.weighted(
        Weighted(
            (10, "float"),
            (8, "int"),
            (1, "bool"),
            (1, "complex"),
            (3, "f8"),
            (2, "f4"),
            (2, "i8"),
            (1, "u1"),
            (1, "i4"),
            (1, "c16"),
        )
    )
    if kind in ("float", "f8", "f4"):
        return Scalar(kind, c.pick((1.0, 0.5, 2.0, 1.25, -1.5, 3.0, 0.1, -2.0, 0.0, 7.5, 1e3)))
    if kind == "bool":
        return Scalar(kind, bool(c.integer(0, 1)))
    if kind in ("complex", "c16"):
        return Scalar(kind, c.pick((1j, 1 + 2j, 0.5 - 1j)))
    return Scalar(
        kind, c.pick((1, 2, 3, 5, 7, 0, 4, 10) if kind == "u1" else (1, 2, 3, 5, 7, 0, -1, -3, 100))
    )


def arguments(c: Choices, pool: tuple[int, ...]) -> list[Spec]:
    """One to five arguments, the first an array."""
    out: list[Spec] = []
    family = c.weighted(DTYPES)  # most arguments of one program have one dtype, as in real programs
    values = c.weighted(VALUES)
    for i in range(c.weighted(Weighted((3, 2), (2, 1), (3, 3), (2, 4), (1, 5)))):
        if i and c.chance(0.25):
            out.append(scalar(c))
        elif i and c.chance(0.08):
            out.append(View(c.pick([j for j, s in enumerate(out) if isinstance(s, Array)]), c.pick(SHARING)))
        else:
            dtype = family if c.chance(0.7) else c.weighted(DTYPES)
            out.append(Array(dtype, shape(c, pool), c.weighted(LAYOUTS), values))
    return out


def varied(c: Choices, specs: Sequence[Spec], pool: tuple[int, ...]) -> list[Spec]:
    """The arguments of a later call: other sizes, scalars and now and then another layout, same types and ranks."""
    other = {
        n: n if n <= 1 or c.chance(0.2) else max(2, c.pick((n - 1, n + 1, 2 * n, n + 5)))
        for n in sorted(set(pool))
    }
    resize = c.chance(0.6)
    out: list[Spec] = []
    for spec in specs:
        if isinstance(spec, Array):
            extents = tuple(other.get(n, n) for n in spec.shape) if resize else spec.shape
            out.append(
                spec._replace(shape=extents, layout=c.weighted(LAYOUTS) if c.chance(0.1) else spec.layout)
            )
        elif isinstance(spec, Scalar) and not isinstance(spec.value, bool | complex):
            out.append(spec._replace(value=spec.value + c.integer(0, 2)))
        else:
            out.append(spec)
    return out
