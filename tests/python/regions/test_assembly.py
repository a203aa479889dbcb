"""Arrays put together out of others, triangles and sums of numbers inside regions: without a call through Python."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import LEAVING, function_of

# Statements of a loop over i, in which a and b are matrices, u and v vectors of a's columns, s a float.
NATIVE = {
    "hstack": "c = np.hstack((a, b * i))",
    "hstack of columns": "c = np.hstack((a[:, 0:1] * i, b[:, 1:2], a[:, 2:3] + b[:, 0:1]))",
    "hstack of vectors": "c = np.hstack((u, v * i, u[1:]))",
    "vstack": "c = np.vstack((a, b * i))",
    "vstack of vectors": "c = np.vstack((u, v + i))",
    "vstack of a vector": "c = np.vstack((a, u))",
    "column_stack": "c = np.column_stack((u, v * i))",
    "column_stack of a matrix": "c = np.column_stack((a, a[:, 0]))",
    "concatenate": "c = np.concatenate((a, b))",
    "concatenate axis": "c = np.concatenate([a, b * 2, a + i], axis=1)",
    "concatenate from the end": "c = np.concatenate((a, b), axis=-1)",
    "concatenate three axes": "c = np.concatenate((a[None] * i, b[None], a[None]), 0)",
    "stack": "c = np.stack((u, v * i))",
    "stack axis": "c = np.stack((a, b * i, a), axis=1)",
    "stack last": "c = np.stack([u, v], axis=-1)",
    "rotation": "u = np.concatenate((u[1:], u[:1]))",
    "swapped halves": "a = np.vstack((a[1:], a[:1] * 0.5))",
    "grown and cut": "u = np.concatenate((u, v))[: len(v)] + i",
    "of itself": "u = np.concatenate((u[:2] * 2, u[2:]))",
    "one piece": "c = np.hstack((a * i,))",
    "ints": "c = np.hstack((k, k * i))",
    "complex": "c = np.hstack((a * 1j, b * 0.5j))",
    "roll": "u = u + 0.1 * (np.roll(u, 1) + np.roll(u, -1) - 2 * u)",
    "roll axis": "a = a + 0.1 * (np.roll(a, 1, 0) + np.roll(a, -1, axis=0) + np.roll(a, 1, axis=-1))",
    "roll by the loop": "c = np.roll(a * i, 3 * i - 7, axis=1)",
    "roll by nothing": "c = np.roll(u, 0) + np.roll(v, 4)",
    "roll far": "c = np.roll(a, 10**15 + i, 0)",
    "roll both": "a = np.roll(a, (1, -2), axis=(0, 1))",
    "roll one axis twice": "c = np.roll(a, (i, 1), (1, 1))",
    "roll a window": "a[1:, 1:3] = np.roll(a[1:, 1:3], i, 1)",
    "roll a column": "a[:, 1] = np.roll(a[:, 1], i)",
    "roll backwards": "c = np.roll(a[::-1, ::-2], 1, 0)",
    "roll nothing": "c = np.roll(a[:0], i, 0)",
    "roll no columns": "c = np.roll(a[:, :0], i, 0)",
    "roll one": "c = np.roll(a[:1], i, 0)",
    "roll ints": "k = np.roll(k, i) + 1",
    "roll a mask": "c = np.roll(a > b, i, axis=0)",
    "roll complex": "c = np.roll(a * 1j, 1, 1)",
    "roll three axes": "c = np.roll(a[None] * i, -1, axis=1)",
    "roll rows of one": "c = np.roll(a[:, :1], 1, axis=0)",
    "triu": "c = np.triu(a * i)",
    "triu of a diagonal": "c = np.triu(a, 1)",
    "triu below": "c = np.triu(a, k=-1)",
    "triu by the loop": "c = np.triu(a, i)",
    "tril": "c = np.tril(a + b)",
    "tril of a diagonal": "c = np.tril(a, -1) + np.triu(b, 1)",
    "tril of ints": "c = np.tril(m, i - 2)",
    "triu of three axes": "c = np.triu(a[None] * i)",
    "sum of a triangle": "s = s + np.sum(np.triu(-(a * b), 1))",
    "sum of a sum": "s = s + np.sum(np.sum(a * i))",
    "sums of numbers": "s = np.prod(np.sum(u)) + np.max(np.sum(v) * -0.0)",
}
# NumPy's own calls.
OTHERS = {
    "complex and ints": "c = np.hstack((a * 1j, b * (i + 1j)))",
    "other dtypes": "c = np.hstack((a, m))",
    "all axes": "c = np.concatenate((a, b), axis=None)",
    "a matrix by rows": "c = np.vstack(a)",
    "a vector's triangle": "c = np.triu(u)",
    "roll flat": "a = np.roll(a, i)",
    "roll by a bool": "c = np.roll(u, True)",
    "roll by two": "c = np.roll(u, (1, i), 0)",
    "a fixed dtype": "c = np.concatenate((a, b), dtype=np.float32)",
}
# These are left to Python, raise or warn in the third iteration.
FAILING = {
    "transposed": "c = np.hstack((a.T, b.T))",
    "roll transposed": "c = np.roll(a.T, i, 0)",
    "roll a repeated row": "c = np.roll(np.broadcast_to(u, (3, 4)), i, 0)",
    "roll a repeated column": "c = np.roll(np.broadcast_to(u[:3, None], (3, 4)), i, 0)",
    "roll by numbers": "c = np.roll(a, 1.0 if i == 2 else 1, 0)",
    "a list of numbers": "c = np.hstack([s, 2.0, i])",
    "a wrong axis": "c = np.stack((a, b), None) if i == 2 else np.stack((a, b), 0)",
    "no diagonal": "c = np.triu(a, None) if i == 2 else np.triu(a, 0)",
    "extents": "c = np.hstack((a, b[: 3 - (i == 2)]))",
    "extents of vectors": "c = np.stack((u, v[: len(v) - (i == 2)]))",
    "ranks": "c = np.concatenate((a, u) if i == 2 else (a, b))",
    "warns": "c = np.hstack((a, b / (i - 2)))",
    "warns where nothing is kept": "c = np.triu(1 / (a * (i - 2)), 5)",
}


def _source(statement):
    return f"""
def f(a, b, u, v, k, m, n):
    s, c = 0.5, None
    for i in range(n):
        {statement}
        s = s * 0.5
    return a, u, c, s
"""


def _arguments(rows, n=6):
    rng = np.random.Generator(np.random.PCG64(rows))
    a, b = rng.standard_normal((2, rows, 4))
    return [a, b, *rng.standard_normal((2, 4)), np.arange(5), np.arange(rows * 4).reshape(rows, 4), n]


@pytest.mark.parametrize("name", [*NATIVE, *OTHERS, *FAILING])
def test_bits(name, monkeypatch):
    """And in native code no call goes through Python."""
    monkeypatch.setattr(stator.options, "async", False)
    text = _source((NATIVE | OTHERS | FAILING)[name])
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for rows in (3, 3, 3, 5, 3):
        expected, found = observe(eager, _arguments(rows)), observe(compiled, _arguments(rows))
        assert found == expected, report(expected, found)
    if name in FAILING:
        return
    warm = stator.stats(compiled)
    compiled(*_arguments(3))
    after = stator.stats(compiled)
    assert {c: after[c] - warm[c] for c in LEAVING} == dict.fromkeys(LEAVING, 0)
    assert warm["regions"] == 1
    if name in NATIVE:
        called = [
            line for r in compiled.regions for line in r.graph_text.splitlines() if " = library " in line
        ]
        assert called == [], called
