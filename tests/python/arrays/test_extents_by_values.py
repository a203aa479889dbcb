"""Results as large as values say: masks, nonzero, unique. Nothing is done twice where there is nothing to select, or one element."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report


def selected(x, t):
    z = x[x > t] * 2.0 + 1.0
    return z.sum(), z


def places(x, t):
    i = np.nonzero(x > t)[0]
    return i * 2 + 1


def where(x, t):
    (i,) = np.where(x > t)
    return x[i] * 2.0


def rows(x, t):
    m = np.outer(x, x) + 1.0
    m[x > t] *= 2.0
    return m - 1


def stored(x, t):
    z = x * 2
    z[x > t] = x[x > t] ** 2
    return z + 1


def kinds(x, t):
    values, counts = np.unique(np.minimum(x, t), return_counts=True)
    return values * counts


def in_a_key(x, t):
    m = np.outer(x, x)
    return m[1:, x > t].sum(axis=0) * 2


def reduced(x, t):
    return np.max(np.compress(x > t, x)) + 1.0


@pytest.mark.parametrize(
    "function", [selected, places, where, rows, stored, kinds, in_a_key, reduced], ids=lambda f: f.__name__
)
def test_results(function, monkeypatch):
    monkeypatch.setenv("STATOR_RETIRE", "0")
    compiled = stator.compile(function)
    for t in [3.0, 3.0, 3.0, 100.0, 5.0, 100.0, 6.0, 6.0, -1.0, 2.0, 100.0, 6.0, 5.0, 0.0] * 3:
        x = np.arange(8.0)
        expected, found = observe(function, [x.copy(), t]), observe(compiled, [x, t])
        assert found == expected, report(expected, found)
    stats = stator.stats(compiled)
    assert stats["bridges"] > 0
    raises = 9 if function is reduced else 0  # of nothing there is no maximum
    assert stats["redone"] <= raises and stats["opaque_steps"] <= raises, stats
