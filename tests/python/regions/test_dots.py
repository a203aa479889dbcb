"""Dots that are computed ahead, several results at a time: the BLAS's bits, and only what no iteration changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import function_of

# Bodies of f(a, b, v, n): two square matrices and a vector of n elements.
INDEPENDENT = {
    "below the diagonal": "for r in range(n):\n    for c in range(n):\n        b[r, c] += np.dot(a[r + 1:, r], b[r + 1:, c])",
    "a product": "for r in range(n):\n    for c in range(n):\n        b[r, c] = a[r, :] @ a[:, c]",
    "an elimination": "for i in range(n):\n    for j in range(i):\n        a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / (a[j, j] + n)\n"
    "    for j in range(i, n):\n        a[i, j] -= a[i, :i] @ a[:i, j]",
    "downwards": "for r in range(n):\n    for c in range(n - 1, -1, -1):\n        b[r, c] -= a[r:, r] @ b[r:, c]",
    "from behind": "for r in range(n):\n    for c in range(n):\n        b[r, n - 1 - c] += b[r + 1:, n - 1 - c].dot(a[r + 1:, r])",
    "from the end": "for r in range(n):\n    for c in range(1, n + 1):\n        b[r, -c] += b[r + 1:, -c] @ a[r + 1:, r]",
    "every other one": "for r in range(n):\n    for c in range(0, n, 2):\n        b[r, c] += a[r + 1:, r] @ b[r + 1:, c]",
    "every other row": "for r in range(n):\n    for c in range(n):\n        v[c] = a[::2, r] @ b[::2, c]\n    b[r] = v",
    "rows backwards": "for r in range(n):\n    for c in range(n):\n        v[c] = a[::-1, r] @ b[::-1, c] + np.dot(a[::-1, r], b[:, c])\n    b[r] = v",
    "a vector with all columns": "for r in range(n):\n    for c in range(n):\n        a[r, c] = v @ b[:, c]",
    "columns of a part": "w = b[1:, 1:-1]\nfor r in range(n):\n    for c in range(n - 2):\n        v[c] += a[1:, r] @ w[:, c]",
    "columns of a transposed array": "w = b.T\nfor r in range(n):\n    for c in range(n):\n        w[r, c] = a[r, :] @ w[:, c] * 0.5",
    "rows of a transposed array": "w = b.T\nfor r in range(n):\n    for c in range(n):\n        w[c, r] = a[:, r] @ w[c, :] * 0.5",
    "columns that do not lie side by side": "w = b[:, ::2]\nfor r in range(n):\n    for c in range(n // 2):\n        w[r, c] = a[:, r] @ w[:, c] * 0.5",
    "columns backwards": "w = b[:, ::-1]\nfor r in range(n):\n    for c in range(n):\n        w[r, c] = a[r + 1:, r] @ w[r + 1:, c] * 0.5",
    "columns that change as a whole": "for k in range(n):\n    b[:, k] = a[:, k] / (np.sqrt(np.dot(a[:, k], a[:, k])) + 1)\n    for j in range(k + 1, n):\n"
    "        v[j] = b[:, k] @ a[:, j]\n        a[:, j] -= b[:, k] * v[j]",
    "columns of one array": "for k in range(n):\n    a[:, k] /= np.sqrt(np.dot(a[:, k], a[:, k])) + 1\n    for j in range(k + 1, n):\n"
    "        b[k, j] = a[:, k] @ a[:, j]\n        a[:, j] -= a[:, k] * b[k, j]",
    "two dots": "for r in range(n):\n    for c in range(n):\n        v[c] = a[:, r] @ b[:, c] - a[r, :] @ b[:, c]\n    b[r] = v * 0.1",
    "sometimes": "for r in range(n):\n    for c in range(n):\n        if b[r, c] > 0.5:\n            b[r, c] = a[r:, r] @ b[r:, c]",
    "until": "s = 0.0\nfor r in range(n):\n    for c in range(n):\n        if b[r, c] > 0.9:\n            break\n        s += a[:, r] @ b[:, c]\nreturn s",
    "a while loop": "for r in range(n):\n    c = 0\n    while c < n:\n        b[r, c] += a[r + 1:, r] @ b[r + 1:, c]\n        c += 1",
    "in a loop by itself": "for c in range(n):\n    v[c] = a[:, 1] @ b[:, c]",
}  # fmt: skip
DEPENDENT = {
    "a solution": "for i in range(n):\n    v[i] -= a[i, :i] @ v[:i]",
    "a solution by columns": "for i in range(n):\n    v[i] -= a[:i, i] @ v[:i]",
    "the next column": "for r in range(n):\n    for c in range(n - 1):\n        b[r, c + 1] += (a[:, r] @ b[:, c]) * 0.1",
    "a later column": "for r in range(n):\n    for c in range(n - 5):\n        b[n - 1 - r, c + 5] = (a[:, r] @ b[:, c]) * 0.1",
    "the first column": "for r in range(n):\n    for c in range(n):\n        b[r, 0] = (a[:, r] @ b[:, c]) * 0.1",
    "the other vector": "for r in range(n):\n    for c in range(n):\n        a[c, r] = (a[:, r] @ b[:, c]) * 0.1",
    "the other vector as a row": "for r in range(n):\n    for c in range(n):\n        a[r, c] = (a[r, :] @ b[:, c]) * 0.1",
    "the other vector under another name": "w = a[1]\nfor c in range(n):\n    w[c] = (a[1, :] @ b[:, c]) * 0.1",
    "columns under another name": "w = b.T\nfor c in range(n - 3):\n    w[c + 3, 2] = (a[1, :] @ b[:, c]) * 0.1",
    "before the dot": "for r in range(n):\n    for c in range(n):\n        b[r, c] = r + 0.25 * c\n        v[c] = a[:, r] @ b[:, c]\n    a[r] = v * 0.1",
    "before the dot as a whole": "for r in range(n):\n    for c in range(n):\n        b[:, c] += 0.5\n        v[c] = a[:, r] @ b[:, c]\n    a[r] = v * 0.1",
    "before the dot sometimes": "for r in range(n):\n    for c in range(n):\n        if v[c] > 0.5:\n            b[r, c] = 0.25\n        v[c] = a[:, r] @ b[:, c] * 0.1",
    "columns a second time": "for r in range(n):\n    for c in range(-n, n):\n        if c == -n or c > 0:\n            b[r, c] = a[:, r] @ b[:, c] * 0.1\n"
    "        else:\n            b[r, c] = 0.75",
    "a scalar that changes the vector": "for r in range(n):\n    for c in range(n):\n        v[0] = a[:, r] @ b[:, c] * 0.1\n        b[r, c] = v @ b[:, c]",
    "the vector changes": "for r in range(n):\n    x = a[:, r]\n    for c in range(n):\n        v[c] = x @ b[:, c]\n        x = b[:, r]\n    a[r] = v * 0.1",
}  # fmt: skip
SHAPES = [3, 9, 33, 70]


def program(body: str) -> Callable[..., Any]:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return function_of(f"def f(a, b, v, n):\n{lines}    return a, b, v\n")


def arguments(n: int, dtype: str) -> list[Any]:
    rng = np.random.default_rng(n)
    return [*((rng.random(s) / n**0.5).astype(dtype) for s in ((n, n), (n, n), n)), n]


def compare(name: str, dtype: str, make: Callable[[int, str], list[Any]] = arguments) -> Any:
    body = {**INDEPENDENT, **DEPENDENT}[name]
    eager, compiled = program(body), stator.compile(program(body))
    for n in SHAPES:
        for _ in range(3):
            expected, found = observe(eager, make(n, dtype)), observe(compiled, make(n, dtype))
            assert found == expected, f"{name}, {n}: {report(expected, found)}"
            stator.wait()
    return compiled


def ahead(compiled: Any) -> bool:
    """Whether some region has code for several results of a dot at a time."""
    return any(re.search(r"^ahead\d*:", r.artifacts().llvm_ir, re.M) for r in compiled.regions)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", [*INDEPENDENT, *DEPENDENT])
def test_bits(name: str, dtype: str) -> None:
    compare(name, dtype)


def strange(value: float) -> Callable[[int, str], list[Any]]:
    def make(n: int, dtype: str) -> list[Any]:
        given = arguments(n, dtype)
        given[1][n // 2, n // 3] = value
        given[0][n - 1, n // 2] = value
        return given

    return make


@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38, 1e308, -0.0, 5e-324], ids=str)
@pytest.mark.parametrize(
    "name", ["below the diagonal", "a product", "an elimination", "columns that change as a whole"]
)
def test_strange_values(name: str, value: float) -> None:
    """Warnings as well: neighbours that are computed too early must not be heard of."""
    compare(name, "f8", strange(value))
    if abs(value) < 1e300 or not np.isfinite(value):
        compare(name, "f4", strange(value))


def test_negative_zeros() -> None:
    def make(n: int, dtype: str) -> list[Any]:
        return [np.full((n, n), -0.0), np.ones((n, n)), np.full(n, -0.0), n]

    for name in ("below the diagonal", "a product", "a vector with all columns"):
        compare(name, "f8", make)


def dots(x: Any, y: Any, out: Any) -> None:
    for c in range(y.shape[1]):
        out[c] = x @ y[:, c]
        out[c] += np.dot(x, y[:, c])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 8191, 8192, 8193, 12_000, 25_000])
@pytest.mark.parametrize("m", [1, 8, 21, 65])
def test_lengths(n: int, m: int) -> None:
    """Beyond some length a BLAS may use threads, and has other bits."""
    rng = np.random.default_rng(n)
    compiled = stator.compile(dots)
    for dtype in ("f8", "f4"):
        y, wide = rng.normal(size=(n, m)).astype(dtype), rng.normal(size=(n, 3)).astype(dtype)
        for x in (wide[:, 1], np.ascontiguousarray(wide[:, 0]), wide[::-1, 2]):
            expected, found = np.zeros(m, dtype), np.zeros(m, dtype)
            dots(x, y, expected)
            for _ in range(2):
                compiled(x, y, found)
                stator.wait()
                assert found.tobytes() == expected.tobytes()


def windows(x: Any, w: Any, out: Any) -> None:
    for c in range(w.shape[1]):
        w[0, c] = x @ w[:, c] * 0.01
        out[c] = w[0, c]


def test_columns_that_share_elements() -> None:
    """A store to a column is one to its neighbours."""
    compiled = stator.compile(windows)
    for _ in range(4):
        states = []
        for f in (windows, compiled):
            memory = np.arange(100.0)
            w = np.lib.stride_tricks.as_strided(memory, (20, 70), (8, 8))
            out = np.zeros(70)
            f(np.linspace(0, 1, 20)[::-1], w, out)
            states.append((memory.tobytes(), out.tobytes()))
        assert states[0] == states[1]
        stator.wait()


def test_one_array_twice() -> None:
    body = INDEPENDENT["below the diagonal"]
    eager, compiled = program(body), stator.compile(program(body))
    for n in SHAPES * 2:
        a = arguments(n, "f8")[0]
        x, y = a.copy(), a.copy()
        eager(x, x, x[0], n)
        compiled(y, y, y[0], n)
        stator.wait()
        assert x.tobytes() == y.tobytes()


@pytest.mark.skipif(os.environ.get("STATOR_TEST_DOT_ORDER") == "0", reason="no order is known")
def test_what_is_computed_ahead() -> None:
    found = {name for name in INDEPENDENT if ahead(compare(name, "f8"))}
    # A store next to the vector that stays; columns with a negative stride.
    assert set(INDEPENDENT) - found <= {"columns of one array", "columns backwards"}
    for name in ("a solution", "before the dot as a whole", "the vector changes"):
        assert not ahead(compare(name, "f8")), name


def test_an_unknown_order(tmp_path: Path) -> None:
    """Another BLAS: all dots are its own calls, and objects in the cache are others."""
    folders = [str(p) for p in Path(__file__).parents[1:3]] + sys.path
    environment = {**os.environ, "STATOR_TEST_DOT_ORDER": "0", "STATOR_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(folders)
    subprocess.run([sys.executable, __file__], env=environment, check=True, timeout=600)


def test_orders_are_known() -> None:
    """Of the BLAS in NumPy's wheels; else nothing above is tested."""
    config = np.show_config(mode="dicts")
    if "openblas" not in str(config).lower():
        pytest.skip("another BLAS")
    compiled = compare("below the diagonal", "f8")
    assert any("dot{0, " in r.graph_text for r in compiled.regions)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in [*INDEPENDENT, *DEPENDENT]:
            for kind in ("f8", "f4"):
                assert not ahead(compare(case, kind)), case
