"""Loops over a few constants inside each other: a version of the code for each item would be too many, so the items become an
array."""

import numpy as np
import pytest
import stator
from fuzz.compare import difference, observe

NEIGHBOURS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
WEIGHTS = [0.25, 0.5, 0.25, 1.5, -0.5]


def life(g, n):
    rows, columns = g.shape
    for _ in range(n):
        new = g.copy()
        for i in range(rows):
            for j in range(columns):
                s = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di or dj:
                            s += g[(i + di) % rows, (j + dj) % columns]
                if g[i, j] == 1 and (s < 2 or s > 3):
                    new[i, j] = 0
                elif g[i, j] == 0 and s == 3:
                    new[i, j] = 1
        g = new
    return g, i, j, di, dj, s


def by_pairs(g, n):
    rows, columns = g.shape
    total = 0
    for k in range(n):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                for a, b in NEIGHBOURS:
                    for c, d in NEIGHBOURS:
                        total += g[i + a, j + b] * g[i - c, j - d] + k
    return total, a, b, c, d


def weighed(x, n):
    s = 0
    for k in range(n):
        for i in range(4, len(x) - 4):
            for w in WEIGHTS:
                for o in (0, 1, 2, 3):
                    for side in (-1, 1):
                        s = s + w * x[i + side * o]
                        if s > 1e6:
                            break
    return s, w, o, side


def left(x, n):
    """Left in the middle of the innermost loops, by an exception that shows the variables."""
    s = 0
    for k in range(n):
        for a in (1, 2, 3, 4, 5, 6):
            for b in (1, 2, 3, 4, 5, 6):
                for c in (3, 2, 1, 0, -1):
                    s += (a * b + k) // (c + (k < n - 1) * 4) + x[a]
    return s


GRID = (np.random.default_rng(1).random((12, 9)) < 0.4).astype(np.int64)
X = np.linspace(-1.0, 2.0, 15)


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (life, [(GRID, 3), (GRID, 3), (GRID[:5, :7].copy(), 2)]),
        (by_pairs, [(GRID, 2), (GRID, 2), (GRID * 3, 1)]),
        (weighed, [(X, 2), (X, 2), (X * 1e4, 4)]),
        (left, [(X, 1), (X, 4), (X, 4)]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_few_constants(f, calls):
    compiled = stator.compile(f)
    for args in calls:
        want, got = observe(f, list(args)), observe(compiled, list(args))
        assert not (text := difference(want, got)), text
        stator.wait()
    assert compiled.stats()["regions"] >= 1
