"""Array statements whose rows have no gaps between them run as one row (kernels/llvm/regions/nest.cpp)."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import function_of

LOOPS = {
    "in place": "a += b * 0.5; b *= 0.75",
    "copied": "c = a.copy(); a[0, 0] = i; b[...] = c - b",
    "exchanged": "c = a + 1; a, b = b, c",
    "some rows": "a[1:] = a[1:] * 0.5 + b[:-1]",
    "rows from both": "a[:-1] += a[1:]",
    "part of each row": "a[:, 1:] = b[:, :-1] * 0.5",
    "every other row": "a[::2] += b[::2]",
    "backward": "a[::-1] += b[::-1]",
    "backward into forward": "a[:] += b[::-1, ::-1]",
    "a row for all": "a += b[0]",
    "a column for all": "a += b[:, :1]",
    "one element for all": "a += b[0, 0] * 0.5; a -= b[-1:, -1:]",
    "transposed": "a[:, :] = b + 1; b.T[:, :] = a.T * 0.5",
    "positions": "a = np.triu(a) + np.tril(b, -1) * 0.5",
    "under a mask": "m = a > b; a[m] = b[m] * 0.5 + i",
    "packed": "s = a[a > b] * 0.5; a[0, 0] = len(s) and s[-1]",
    "chosen": "a[:] = np.where(a > b, a - 1, b * 2)",
    "functions": "a[:] = np.exp(-b * b) * 0.5; b[:] = np.sin(a)",
    "sums": "a[:] = np.sum(a[:, None, :] * b, axis=1) * 0.01",
    "warns": "a[:] = a / (b - b[i % len(b), 0])",
}
SOURCE = "def f(a, b, n):\n    for i in range(n):\n        {}\n    return a, b\n"
LAYOUTS = {
    "C": lambda x: x,
    "a column less": lambda x: np.repeat(x, 2, axis=1)[:, : x.shape[1]],
    "F": np.asfortranarray,
    "backward": lambda x: x[::-1].copy()[::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LOOPS)
def test_shapes(name, layout):
    source = SOURCE.format(LOOPS[name])
    eager, compiled = function_of(source), stator.compile(function_of(source))

    def arguments(shape, dtype):
        rng = np.random.default_rng(shape[0])
        return [*(LAYOUTS[layout]((rng.normal(size=shape) * 3).astype(dtype)) for _ in range(2)), 9]

    for dtype in ("f8", "c16", "f4"):
        # Triangles and lengths of one and two leave tests, extents of 0 and 1 are constants of other regions.
        for shape in ((30, 3), (30, 3), (5, 41), (9, 9), (1, 4), (3, 1), (2, 2), (70, 2)):
            expected = observe(eager, arguments(shape, dtype))
            found = observe(compiled, arguments(shape, dtype))
            assert found == expected, f"{shape} {dtype}: {report(expected, found)}"
            stator.wait()


def test_three_axes():
    """Also where only the inner two are one: rows of planes that others lie between."""

    def f(a, b, n):
        for i in range(n):
            a += b * 0.5
            b[:, 1:] *= 0.75
            a[:, :-1] -= b[:, 1:]
            b[1:, :, :] += a[:-1, :, :]
            a[:, :, 1:] = b[:, :, :-1] + i
        return a, b

    compiled = stator.compile(f)
    for shape in ((4, 5, 3), (4, 5, 3), (3, 2, 17), (6, 6, 6), (2, 9, 1), (1, 3, 5)):
        rng = np.random.default_rng(1)
        a, b = rng.normal(size=shape), rng.normal(size=shape)
        expected, found = observe(f, [a.copy(), b.copy(), 8]), observe(compiled, [a.copy(), b.copy(), 8])
        assert found == expected, f"{shape}: {report(expected, found)}"
        stator.wait()
    assert stator.stats(compiled)["regions"] >= 1


def rows_put_together(text: str, *arguments) -> bool:
    compiled = stator.compile(function_of(text))
    for _ in range(3):
        compiled(*arguments)
        stator.wait()
    assert len(compiled.regions) == 1
    return "one.row" in compiled.regions[0].artifacts().llvm_ir


def test_it_is_looked_for_where_it_may_be():
    whole = "def f(a, b, n):\n    for i in range(n):\n        a += b * 0.5\n    return a\n"
    a, b = np.zeros((30, 3)), np.ones((30, 3))
    assert rows_put_together(whole, a, b, 9)
    assert not rows_put_together(whole, a[:, :2], b[:, :2], 9)
    assert not rows_put_together(whole.replace("a += b", "a[:, 1:] += b[:, 1:]"), a, b, 9)
    assert rows_put_together(whole.replace("a += b", "a[1:] += b[:-1]"), a, b, 9)
