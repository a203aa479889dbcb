"""Reshapes: which are views, extents that are powers of other ints, and what is stored through the memory they share."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import stator
from fuzz.compare import observe
from numpy.lib.stride_tricks import as_strided


def served(f, *calls):
    """Every call as plain Python makes it; and the reasons of what stayed in Python, of the last one."""
    compiled = stator.compile(f)
    for _ in range(2):
        for make in calls:
            assert observe(compiled, make()) == observe(f, make())
            stator.wait()
    return [r.message for r in stator._stator.remarks(compiled) if r.is_break]


def unit_axis_moved(y, n):
    t = np.transpose(np.reshape(y, (1, 4, n)), (1, 0, 2))
    flat = np.reshape(t, (4 * n,))
    y[:] = flat * 2
    return flat, flat.base is y, t.sum()


def raveled(y, n):
    t = y.reshape(n, 1, 4).swapaxes(0, 1)
    flat = t.ravel()
    flat[1:3] = 7
    return y, flat.base is y, t.reshape(-1, 2)[1]


def transposed_rows(y, n):
    t = y.reshape(n, 4).T
    flat = t.reshape(-1)
    flat[0] = 5
    return y, flat.base is y, flat


@pytest.mark.parametrize("f", [unit_axis_moved, raveled, transposed_rows], ids=lambda f: f.__name__)
def test_reshapes_that_are_views_share_memory(f):
    makes = [lambda n=n: (np.arange(4.0 * n) + 1, n) for n in (10, 11, 1, 12, 2, 10)]
    assert not [why for why in served(f, *makes) if "a reshape of this layout" in why or "same memory" in why]


def around(y, n):
    t = np.transpose(np.reshape(y, (1, 4, n)), (1, 0, 2))
    y[:] = np.reshape(t, (4 * n,)) * 2
    return t.sum(), t.ravel() + 1


def test_memory_with_moved_unit_axes_is_stored_to():
    assert served(around, *[lambda n=n: (np.arange(4.0 * n) + 1, n) for n in (10, 11, 12)]) == []


def stages(y, radix, count):
    out = 0.0
    for i in range(count):
        v = y.reshape(radix**i, radix, radix ** (count - i - 1))
        y[:] = v.transpose(1, 0, 2).reshape(-1) * 0.5 + i
        out += float(v[0, 0, 0])
    return out


def test_extents_that_are_powers_need_no_trace_of_their_own():
    compiled = stator.compile(stages)
    for radix, count in ((2, 6), (2, 9), (3, 5), (2, 11), (4, 4), (2, 1), (2, 12), (5, 3)):
        for _ in range(2):
            y, z = np.arange(float(radix**count)), np.arange(float(radix**count))
            assert compiled(y, radix, count) == stages(z, radix, count)
            assert np.array_equal(y, z)
        stator.wait()
    assert not [r for r in stator._stator.remarks(compiled) if "more than 8 traces" in r.message]


def power(x, a, b):
    return x * a**b


def shifts(x, a, b):
    return x * (a << b), x + (a >> b), (1 << b) - 1


CASES = [
    (3, 2),
    (3, 9),
    (2, 62),
    (-2, 63),
    (2, 63),
    (7, 0),
    (0, 0),
    (0, 5),
    (-3, 3),
    (3, -2),
    (1, 70),
    (2, 64),
    (10, 18),
    (True, 3),
]


@pytest.mark.parametrize("f", [power, shifts], ids=lambda f: f.__name__)
def test_powers_and_shifts_of_ints(f):
    x = np.arange(5.0)
    served(f, *[lambda a=a, b=b: (x, a, b) for a, b in CASES])


def sized(n, k):
    return np.zeros(n**k + (1 << k)) + 1, np.arange(2**k)[: n**k].sum()


def test_sizes_that_are_powers():
    served(
        sized,
        *[
            lambda n=n, k=k: (n, k)
            for n, k in ((2, 3), (2, 5), (3, 4), (1, 7), (0, 2), (5, 0), (4, 2), (2, -1))
        ],
    )


def part(b, n):
    return b[(slice(0, n),)], b[1:][::-1], b.reshape(-1, 1)


def stored_part(b, n):
    c = b[1:n]
    d = np.add(c, 1)
    c[...] = 7
    return c, d


def stretched_again(b, n):
    return np.broadcast_to(b, b.shape), np.broadcast_to(b, (n, *b.shape))[1:], np.broadcast_to(b[:1], (n,))


@pytest.mark.parametrize("f", [part, stored_part, stretched_again], ids=lambda f: f.__name__)
@pytest.mark.parametrize("region", [False, True], ids=["trace", "loop"])
def test_parts_of_arrays_without_strides_can_be_written_to(f, region):
    """Of the views that a replay makes, those of np.broadcast_to are read-only. NumPy's own test of ufuncs with overlapping
    operands, of more arrays in a trace that was recorded with strides, found one of as_strided's that was, too."""

    def looped(b, n):
        out = []
        for k in range(2):
            out.append(f(b, n - k))
        return out

    def make(stride):
        x = np.arange(7, dtype=np.int16)
        return as_strided(x, shape=x.shape, strides=(stride,)), 7

    compiled, plain = stator.compile(looped if region else f), looped if region else f
    for stride in (2, 1, 0, 2, 0, 0, 1, 0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of stores through broadcast_to
            expected, found = plain(*make(stride)), compiled(*make(stride))
        for a, b in zip(flat(expected), flat(found), strict=True):
            assert np.array_equal(a, b)
            assert (a.flags.writeable, a.strides) == (b.flags.writeable, b.strides)
        stator.wait()


def flat(found):
    return [a for item in found for a in flat(item)] if isinstance(found, (list, tuple)) else [found]
