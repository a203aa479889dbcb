"""Loops whose statements run on a window of rows at a time (graph/region/wavefront.cpp), with windows of one row and
more: the bits are those of whole statements."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stator


def heat(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for _ in range(n):
        b[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])
        a[1:-1, 1:-1] = 0.25 * (b[2:, 1:-1] + b[:-2, 1:-1] + b[1:-1, 2:] + b[1:-1, :-2])


def two_rows_behind(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for _ in range(n):
        b[3:] = a[3:] * 0.5 - a[:-3] * 0.25
        c[:-2] = b[2:] + a[:-2] * 0.125
        a[2:-1] = c[3:] * 0.5 + b[2:-1] * 0.5 - c[:-3]


def rows_ahead(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for k in range(n):
        a[:-4] = b[4:] * 0.5 + k
        b[:-3] = a[3:] * 0.25 - c[:-3]


def border_rows(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for k in range(n):
        a[0, :] = c[k % 4, 0]
        b[1:, :] -= 0.5 * (a[1:, :] - a[:-1, :])
        a[:-1, :-1] -= 0.7 * (b[1:, :-1] - b[:-1, :-1] + b[1:, 1:])
        b[-1, :] = b[-2, :] * 0.5


def border_columns(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for k in range(n):
        a[:, 0] = a[:, 1] * 0.5
        b[1:-1, :] = a[:-2, :] + a[2:, :] * 0.25
        a[:, -1] = b[:, -2] - k
        a[1:-1, 1:-1] = b[1:-1, 2:] * 0.5


def along_columns(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for k in range(2, a.shape[1]):
        a[:, k] = 0.5 * b[:, k] + 0.25 * b[:, k - 1] + 0.125 * a[:, k - 1] + 0.3 * a[:, k - 2]


def columns_backwards(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for k in range(a.shape[1] - 2, -1, -1):
        a[:, k] = b[:, k] - a[:, k + 1] * c[:, k]
        b[:, k] = a[:, k] * 0.5


def in_place(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for k in range(n):
        a *= 0.99
        a += b * k
        b -= a * 0.01


def leaves_early(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> int:
    for k in range(n):
        if k == 7:
            break
        b[1:] = a[1:] - a[:-1] * 0.5
        if k % 3 == 1:
            a[:-1] = b[1:] * 0.5
    return k


def overflows(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for _ in range(40):
        b[1:-1] = a[2:] * 1e12 + a[:-2]
        a[1:-1] = b[2:] * 1e12 - b[:-2]


def vectors(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    x, y = a[0], b[0]
    for _ in range(n):
        y[1:-1] = 0.33 * (x[:-2] + x[1:-1] + x[2:])
        x[1:-1] = 0.33 * (y[:-2] + y[1:-1] + y[2:])


def halves(n: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for _ in range(n):
        b[1:-1, 1:-1] = a[1:-1, 2:] - a[1:-1, :-2]
        b[0] = b[1]
        a[2:] = b[1:-1] * np.float32(0.5)


CASES: list[Callable[..., Any]] = [
    heat,
    two_rows_behind,
    rows_ahead,
    border_rows,
    border_columns,
    along_columns,
    columns_backwards,
    in_place,
    leaves_early,
    overflows,
    vectors,
    halves,
]
SHAPES = [(40, 23), (7, 5), (64, 9), (5, 64), (129, 3), (33, 33)]
DTYPES = {halves: np.float32}


def outcome(f: Callable[..., Any], case: Callable[..., Any], shape: tuple[int, int]) -> list[Any]:
    rng = np.random.default_rng(shape)
    dtype = DTYPES.get(case, np.float64)
    arrays = [np.ascontiguousarray(rng.normal(size=shape).astype(dtype)) for _ in range(3)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        returned = f(13, *arrays)
    lines = [(w.lineno, str(w.message)) for w in caught]
    return [returned, lines, *(x.tobytes() for x in arrays)]


def check() -> None:
    for case in CASES:
        compiled = stator.compile(case)
        for turn in range(3):
            for shape in SHAPES:
                assert outcome(compiled, case, shape) == outcome(case, case, shape), (case, shape, turn)
                stator.wait()


@pytest.mark.parametrize("sizes", ["0,1,1", "0,600,4000", "0,2000,100000", "1000000,1,1"])
def test_windows_show_what_statements_need(sizes: str, tmp_path: Path) -> None:
    # A cache of its own: keys do not tell the sizes.
    environment = {**os.environ, "STATOR_TEST_WINDOW": sizes, "STATOR_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, __file__], env=environment, check=True, timeout=600)


def test_loops_have_windows() -> None:
    """What the other test compares does happen."""
    for case in (heat, two_rows_behind, border_rows, along_columns, in_place, vectors):
        f = stator.compile(case)
        for _ in range(5):
            outcome(f, case, (40, 23))
            stator.wait()
        # The loops around the one that was written: rounds, blocks of iterations, windows.
        most = max(r.artifacts().loop_ir.count("\n  loop ") for r in f.regions)
        assert most >= 5, case.__name__


if __name__ == "__main__":
    check()
