"""Statements over elements that are not adjacent are computed in vectors, too (`gathered_lanes`, kernels/llvm/regions/nest.cpp)."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import function_of

# Bodies of f(a, b, v, n), in a loop of i: two cubes of the same shape, of which the loop takes columns, and a number.
LOOPS = {
    "along the last axis": "a[:, :, i] = (b[:, :, i] * v - a[:, :, i - 1]) * 0.5 + b[:, :, i - 1] * 0.25",
    "a solution": "w = 1.0 / (b[:, :, i] * v + 3 - a[:, :, i - 1] * 0.5); a[:, :, i] = a[:, :, i] * w; b[:, :, i] = (b[:, :, i] - b[:, :, i - 1]) * w",
    "columns of a plane": "a[1, :, i] = (b[0, :, i] - b[1, :, i]) * v * 0.5 - a[0, :, i]",
    "one for all": "a[:, :, i] = (b[:, :1, i] * v - b[:1, :, i]) * 0.5 + b[0, 0, i] * a[:, :, i]",
    "adjacent ones among them": "a[:, :, i] = (b[:, :, i] - b[i % len(b), :, 0] * v) * 0.5 + (np.arange(a.shape[1]) - i) * 0.125",
    "every other one": "a[:, ::2, i] = (b[:, ::2, i] * v - a[:, ::2, i]) * 0.5 + b[:, ::2, 0] * b[:, ::2, i] - 1",
    "backward": "a[:, ::-1, i] = (b[:, :, i] * v - a[:, :, i]) * 0.5 + b[:, ::-1, 0] * b[:, ::-1, i] - 1",
    "shifted in place": "a[:, 1:, i] = (a[:, :-1, i] * v - b[:, 1:, i]) * 0.5 + a[:, :-1, i] * 0.25 + 1",
    "shifted within the column": "a[1:, :, i] = (a[:-1, :, i] + a[1:, :, i]) * 0.5 * v + b[1:, :, i] * 0.25 - 1",
    "twice": "a[:, :, i] = (b[:, :, i] * v + 1) * 0.5; a[:, :, i] = (a[:, :, i] - b[:, :, i] * 0.25) * v + a[:, :, i]",
    "chosen": "a[:, :, i] = np.where((b[:, :, i] * v > a[:, :, i] + 1) & (b[:, :, i] - 1 < v), a[:, :, i] * 2 - 1, b[:, :, i] * 0.5 + v)",
    "positions": "a[:, :, i] = (b[:, :, i] * v + i) * 0.5 - np.arange(a.shape[1]) * 0.25 + (i + 2.0) * b[:, :, 0]",
    "divides by zero in the end": "a[:, :, i] = (a[:, :, i] * v - b[:, :, i]) / (b[:, :, i] - b[0, i % b.shape[1], i - i // 4 * 4]) * 0.5 + a[:, :, 0]",
    "overflows in the end": "a[:, :, i] = (a[:, :, i - 1] * 1e18 + b[:, :, i] * v) * 1e18 * 1e18 + a[:, :, i] * a[:, :, i]",
    "squares": "a[:, :, i] = np.sqrt(b[:, :, i] * b[:, :, i] + v * v) + abs(a[:, :, i] - 1) * v - np.maximum(a[:, :, i], b[:, :, i])",
}  # fmt: skip
SOURCE = "def f(a, b, v, n):\n    for i in range(1, n):\n        {}\n    return a, b\n"


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2"])
@pytest.mark.parametrize("name", LOOPS)
def test_shapes(name, dtype):
    eager, compiled = (
        function_of(SOURCE.format(LOOPS[name])),
        stator.compile(function_of(SOURCE.format(LOOPS[name]))),
    )

    def arguments(shape):
        rng = np.random.default_rng(shape[1])
        cubes = ((rng.normal(size=shape) * 3).astype(dtype) for _ in range(2))
        return [*cubes, 1.5 if dtype[0] == "f" else 3, shape[2]]

    for rows in (3, 4, 17, 2, 8, 31, 40):
        for shape in ((3, rows, 12), (2, rows, 7)):
            expected, found = observe(eager, arguments(shape)), observe(compiled, arguments(shape))
            assert found == expected, f"{shape}: {report(expected, found)}"
            stator.wait()


def test_several_points_are_computed_at_once():
    """The native code of a loop along the last axis divides vectors."""
    f = stator.compile(function_of(SOURCE.format(LOOPS["a solution"])))
    for _ in range(4):
        f(np.ones((8, 40, 30)), np.ones((8, 40, 30)), 1.5, 30)
        stator.wait()
    assert re.search(r"fdiv(\.v\d+f64| <\d+ x double>)", f.regions[0].artifacts().llvm_ir)
