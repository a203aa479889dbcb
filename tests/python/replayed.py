"""Arguments, and the check that a function of them is replayed from entry to return."""

from __future__ import annotations

import warnings

import numpy as np
import stator
from fuzz.compare import same

X = np.linspace(0.0, 1.0, 7)
Y = np.linspace(1.0, 3.0, 7)
CALLS = 5


def assert_stays_in_one_trace(function):
    """Calls `function(x, y)` several times: all but the first are replayed from entry to return."""
    compiled = stator.compile(function)
    for i in range(CALLS):
        x, y = X + i, Y - i
        assert same(compiled(x, y), function(x, y))
    stats = stator.stats(compiled)
    assert stats["opaque_steps"] == 0 and stats["exits"] == 0 and stats["redone"] == 0, stats
    assert stats["replays"] == CALLS - 1, stats


def outcome(function, *args):
    """What a call gives, with how it lies in memory, or raises; and the warnings that it tells of, with their lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            r = function(*args)
        except Exception as error:
            found = type(error), str(error)
        else:
            found = frozen(r)
    return found, [(w.category, str(w.message), w.lineno) for w in caught]


def frozen(r):
    if isinstance(r, np.ndarray):
        return type(r), r.dtype, r.shape, r.strides, r.tobytes(), r.flags.owndata, r.base is not None
    return (type(r), r.tobytes()) if isinstance(r, np.generic) else (type(r), r)
