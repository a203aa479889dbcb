"""What arguments are made of. Cases name these functions in the expressions of their arguments.

Values are exactly representable small numbers, or, in the rounds that are special, the table of values in which things
differ: a binary function meets every pair of them, because the first operand runs through the table slowly and the
second one fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
LONG = ("g", "G")  # long double and its complex
DATES = ("M8[s]", "m8[s]")
LAYOUTS = (
    "C", "F", "transposed", "gaps", "columns", "rows", "reversed", "inner reversed", "broadcast", "offset", "read-only",
    "unaligned", "swapped", "subclass",
)  # fmt: skip


class Sub(np.ndarray):
    """A subclass that does nothing of its own."""


def specials(dtype: Any) -> np.ndarray:
    """The values in which things differ. No NaN is signaling: which of NumPy's loops report one depends on the CPU and on strides."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "mM":
        return np.array(["NaT", 0, 1, -1, 86400], "m8[s]").astype("i8").view(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        some = {
            0,
            1,
            2,
            3,
            7,
            limits.bits - 1,
            limits.bits,
            limits.max,
            limits.max - 1,
            limits.min,
            limits.min + 1,
        }
        some |= {-1, -2, -7} if dtype.kind == "i" else set()
        return np.array(sorted(some), dtype)
    if dtype.kind == "c":
        part = specials(dtype.char.lower())
        few = part[[0, 2, 3, 4, 6, 7, 9]]
        out = np.empty((len(few), len(few)), dtype)
        out.real, out.imag = few[:, None], few[None, :]
        return out.ravel()
    limits = np.finfo(dtype)
    payload = np.array([np.nan], dtype)
    payload.view(np.uint8)[0] |= 5
    some = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, -2.5, 3.0, limits.max, limits.min, limits.tiny,
            limits.smallest_subnormal, -limits.smallest_subnormal, limits.eps]  # fmt: skip
    return np.concatenate([payload, np.array(some, dtype)])


def values(dtype: Any, count: int, seed: int = 0, special: bool = False) -> np.ndarray:
    """`count` values, without anything special or with little else."""
    dtype = np.dtype(dtype)
    if special:
        table = specials(dtype)
        place = np.arange(count)
        return table[(place // len(table) if seed % 2 else place) % len(table)]
    base = np.arange(count) * (7 + seed) % 11 + 1 + seed
    if dtype.kind == "b":
        return base % 2 == 0
    if dtype.kind in "mM":
        return base.astype("i8").view(dtype)
    if dtype.kind in "iu":
        return base.astype(dtype)
    if dtype.kind == "c":
        return (base / 16 - 0.25 + 0.03125j * base[::-1]).astype(dtype)
    return (base / 16).astype(dtype)


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The elements of `x`, lying in memory in another way; "element" is the first one as a number of NumPy's."""
    shape = x.shape
    if layout == "element":
        return x.reshape(-1)[0]
    if layout == "F":
        return np.array(x, order="F")
    if layout == "transposed":
        return (
            np.array(x.T, order="C").T if x.ndim < 3 else np.moveaxis(np.array(np.moveaxis(x, -1, 0)), 0, -1)
        )
    if layout in ("gaps", "columns", "rows"):
        wide = [2 * n for n in shape] if layout == "gaps" else list(shape)
        if shape and layout != "gaps":
            wide[-1 if layout == "columns" else 0] += 3
        out = np.ones(wide, x.dtype)[
            (..., *(slice(None, 2 * n, 2) if layout == "gaps" else slice(0, n) for n in shape))
        ]
    elif layout in ("reversed", "inner reversed") and shape:
        turned = slice(None, None, -1)
        out = np.ones(shape, x.dtype)[(turned,) * x.ndim if layout == "reversed" else (..., turned)]
    elif layout == "broadcast" and shape:
        return np.broadcast_to(x[:1] if shape[0] else x, shape)
    elif layout == "offset":
        out = np.ones(x.size + 3, x.dtype)[3:].reshape(shape)
    elif layout == "unaligned":
        out = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(shape)
    elif layout == "swapped":
        return x.astype(x.dtype.newbyteorder())
    elif layout == "subclass":
        return x.copy().view(Sub)
    else:
        out = np.array(x)
    out[...] = x
    if layout == "read-only":
        out.flags.writeable = False
    return out


def maker(special: bool) -> Any:
    """The function `a` of argument expressions: an array of this dtype and shape, values by seed."""

    def a(dtype: str, shape: Any = (), layout: str = "C", seed: int = 0) -> np.ndarray:
        shape = (shape,) if isinstance(shape, int) else shape
        count = int(np.prod(shape, dtype=np.int64))
        return laid_out(values(dtype, count, seed, special).reshape(shape), layout)

    return a
