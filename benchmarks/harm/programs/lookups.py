"""Loops that look one number up in each iteration, by calls of NumPy and in dictionaries."""

import bisect
from collections import Counter, defaultdict

import numpy as np


def bins(edges, values):
    out = np.zeros(len(edges) + 1, int)
    for v in values:
        out[np.searchsorted(edges, v)] += 1
    return out


def bins_method(edges, values):
    total = 0
    for i in range(len(values)):
        total += edges.searchsorted(values[i], side="right")
    return total


def curve(x, y, at):
    out = []
    for a in at:
        out.append(np.interp(a, x, y))
    return out


def nearest_color(palette, pixels):
    out = np.empty(len(pixels), int)
    for i, p in enumerate(pixels):
        out[i] = np.argmin(((palette - p) ** 2).sum(axis=1))
    return out


def draws(cumulative, values):
    """bisect over a list."""
    counts = [0] * len(cumulative)
    for v in values:
        counts[bisect.bisect_left(cumulative, v)] += 1
    return counts


def count_pairs(text):
    counts = Counter()
    for a, b in zip(text, text[1:]):
        counts[a + b] += 1
    return counts.most_common(5)


def group(rows):
    groups = defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    return {k: sum(v) / len(v) for k, v in groups.items()}


def rolling(values, width):
    out = []
    for i in range(len(values) - width):
        out.append(values[i : i + width].mean())
    return np.array(out)


def where_each(table, keys):
    out = 0
    for k in keys:
        found = np.where(table == k)[0]
        if len(found):
            out += int(found[0])
    return out


def make(jit):
    rng = np.random.default_rng(4)
    edges, values = np.linspace(0, 1, 200), rng.random(150)
    palette, pixels = rng.random((16, 3)), rng.random((60, 3))
    cumulative, plain = [*edges.tolist(), 2.0], values.tolist()
    text = "the quick brown fox jumps over the lazy dog and runs away " * 8
    rows = [(f"k{i % 13}", i * 0.5) for i in range(300)]
    table = rng.permutation(300)
    return [
        ("lookup_searchsorted", bins, lambda k: (edges, values)),
        ("lookup_method", bins_method, lambda k: (edges, values)),
        ("lookup_interp", curve, lambda k: (edges, edges**2, values)),
        ("lookup_argmin", nearest_color, lambda k: (palette, pixels)),
        ("lookup_bisect", draws, lambda k: (cumulative, plain)),
        ("lookup_counter", count_pairs, lambda k: (text,)),
        ("lookup_groups", group, lambda k: (rows,)),
        ("lookup_rolling", rolling, lambda k: (values, 10)),
        ("lookup_where", where_each, lambda k: (table, range(0, 300, 5))),
    ]
