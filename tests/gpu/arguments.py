"""Makers of the suite's arguments: (rng, size) -> tuple."""

import numpy as np


def values(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -1000), min(info.max, 1000), shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return (3 * rng.standard_normal(shape)).astype(dtype)


def of(*dtypes, extra=()):
    """One array of the size for each dtype, then what else is passed."""
    return lambda rng, size: (*[values(rng, size, d) for d in dtypes], *extra)


def whole(*dtypes):
    """Small whole numbers, of which sums are exact in every order."""
    return lambda rng, size: tuple(rng.integers(-8, 9, size).astype(d) for d in dtypes)


def awkward(*dtypes):
    """Of each dtype the numbers at which division, remainders and shifts have cases of their own, in all pairs."""

    def numbers(dtype):
        if dtype.kind == "f":
            info = np.finfo(dtype)
            some = [0.0, -0.0, 1, -1, 2.5, -2.5, 7, -7, info.max, info.tiny, np.inf, -np.inf, np.nan]
            # of which some quotients are rounded to below a whole number
            some += [0.1, -0.3, -65.94, -3.111, 149.67247394612858, -2.4593351434756374, 1041.7]
        else:
            info = np.iinfo(dtype)
            some = [info.min, info.min + 1, info.max, 0, 1, 2, 3, 7, 8 * dtype.itemsize]
            some += [-1, -2, -3, -7] if dtype.kind == "i" else []
        return np.array(some, dtype)

    return lambda rng, size: tuple(rng.choice(numbers(np.dtype(d)), size) for d in dtypes)


def positive(*dtypes):
    return lambda rng, size: tuple((rng.random(size) + 0.25).astype(d) for d in dtypes)
