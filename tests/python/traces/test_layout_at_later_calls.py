"""Layouts and extents that later calls bring and that the recorded one did not have: a copy may be a view then."""

import numpy as np
import pytest
import stator
from numpy.lib.stride_tricks import sliding_window_view


def crop(img):
    v = img.reshape(-1, 3)
    v *= 2
    return v.sum()


def turned(x):
    return x.T.reshape(x.shape)


def flattened(x):
    return x.reshape(-1)


def rows(x):
    return x.reshape(x.shape[0], -1)


def heads(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def within(x, a, b):
    y = x + 1
    w = y.T.reshape(a, b)
    w[0, 0] = -5
    return y, w


def grid(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


CASES = {
    "crop": (crop, (grid(8, 10, 4)[1:5, 1:6, :3],), (grid(8, 10, 4)[..., :3],)),
    "turned": (turned, (grid(4, 6),), (grid(3, 3),)),
    "turned back": (turned, (grid(3, 3),), (grid(4, 6),)),
    "gaps that merge": (flattened, (grid(8, 12)[::2, ::2],), (grid(4, 6, 2)[:, :, 1],)),
    "rows": (rows, (grid(4, 6, 8)[:, 1:5, 1:7],), (grid(4, 6, 8)[:, 1:5],)),
    "planes": (rows, (grid(4, 6, 8)[:, 1:5, 1:7],), (grid(8, 6, 8)[::2],)),
    "heads": (heads, (grid(2, 3, 4, 5),), (grid(3, 4, 4, 4),)),
    "heads that are one": (heads, (grid(2, 3, 4, 5),), (grid(2, 1, 4, 5),)),
    "an array of its own": (within, (np.ones((4, 6)), 8, 3), (np.ones((4, 6)), 6, 4)),
}


def seen(result, args):
    """Values, strides, and whether arrays share memory."""
    parts = [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, np.ndarray)]
    arrays = [*parts, *(a for a in args if isinstance(a, np.ndarray))]
    return (
        [(a.shape, a.strides, a.tolist()) for a in arrays],
        [[np.shares_memory(a, b) for b in arrays] for a in arrays],
        None if parts else result,
    )


def copied(args):
    """The same layouts in other memory."""

    def copy(a):
        if not isinstance(a, np.ndarray) or a.base is None:
            return a.copy("K") if isinstance(a, np.ndarray) else a
        base = a
        while isinstance(base.base, np.ndarray):
            base = base.base
        other = base.copy("K")
        offset = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return np.ndarray(a.shape, a.dtype, other, offset, a.strides)

    return tuple(map(copy, args))


@pytest.mark.parametrize("name", CASES)
def test_reshape(name):
    function, first, later = CASES[name]
    compiled = stator.compile(function)
    for args in (first, first, first, later, later, first, later):
        a, b = copied(args), copied(args)
        assert seen(compiled(*b), b) == seen(function(*a), a)
        stator.wait()


def minus_one(x):
    return x.T - 1


def means(x):
    y = np.exp(x.T)
    return y.mean(axis=0), y.ravel("K")


def product(x):
    return np.sqrt(x.T) @ np.ones(len(x))


@pytest.mark.parametrize("function", [minus_one, means, product])
@pytest.mark.parametrize("windows_first", [False, True])
def test_windows_that_slide(function, windows_first):
    """Of axes of equal strides none comes before the other in memory, so their transposition is in the order of C."""
    gaps = np.linspace(0, 1, 80 * 100).reshape(80, 100)[:, ::2]
    windows = sliding_window_view(np.linspace(0, 1, 400), 300)
    calls = [windows] * 3 + [gaps] * 3 if windows_first else [gaps] * 3 + [windows] * 3
    compiled = stator.compile(function)
    for x in calls:
        assert seen(compiled(x), ()) == seen(function(x), ())
        stator.wait()
