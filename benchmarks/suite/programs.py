"""The functions that are measured, as source text, so that each peer can have them over its own ``np``."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A function ``f`` of arrays.

    `c` is the body of a C loop over ``i`` (or, with `c_rows`, over rows ``i`` of length ``m``) with pointers named as
    the parameters and ``out``; `numexpr` the same as an expression.
    """

    name: str
    source: str
    arguments: Callable[[int], Sequence[Any]]
    c: str = ""
    c_rows: bool = False
    numexpr: str = ""

    def load(self, module: Any = np) -> Callable:
        """The function, with `module` as its ``np``."""
        file = f"<benchmark {self.name}>"
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(True), file)
        namespace: dict[str, Any] = {"np": module, "__name__": "benchmark"}
        exec(compile(self.source, file, "exec"), namespace)
        return namespace["f"]

    def parameters(self) -> list[str]:
        head = self.source.split("(", 1)[1].split(")", 1)[0]
        return [p.strip() for p in head.split(",")]


def vectors(count: int, dtype: str = "f8") -> Callable[[int], list[np.ndarray]]:
    """`count` vectors of values in [0.5, 1.5)."""

    def make(n: int) -> list[np.ndarray]:
        rng = np.random.default_rng(7)
        return [(rng.random(n) + 0.5).astype(dtype) for _ in range(count)]

    return make


def matrices(count: int) -> Callable[[int], list[np.ndarray]]:
    """`count` matrices of about n elements, 1,000 columns or fewer."""

    def make(n: int) -> list[np.ndarray]:
        columns = min(1000, max(1, int(n**0.5)))
        rng = np.random.default_rng(7)
        return [rng.random((n // columns, columns)) + 0.5 for _ in range(count)]

    return make


def _bias(n: int) -> list[np.ndarray]:
    x = matrices(1)(n)[0]
    return [x, x[0].copy()]


def _strided(n: int) -> list[np.ndarray]:
    return [v[::2] for v in vectors(2)(2 * n)]


ADD_ONE = Program(
    "x + 1", "def f(x):\n    return x + 1\n", vectors(1), "out[i] = x[i] + 1.0;", numexpr="x + 1"
)
FIVE = Program(
    "x*y + z*2 - x/y",
    "def f(x, y, z):\n    return x * y + z * 2 - x / y\n",
    vectors(3),
    "out[i] = x[i] * y[i] + z[i] * 2.0 - x[i] / y[i];",
    numexpr="x * y + z * 2 - x / y",
)
TEN_SOURCE = "def f(x, y, z):\n    a = x * {0} + y\n    b = a * z - x / y\n    c = (a - b) * (z + {1})\n    return c * c - b / (a * a + {2})\n"
TEN = Program("10 operations", TEN_SOURCE.format(2.5, 1.25, 3.0), vectors(3))
WHERE = Program(
    "where(x > y, x*2, y)",
    "def f(x, y):\n    return np.where(x > y, x * 2, y)\n",
    vectors(2),
    "out[i] = x[i] > y[i] ? x[i] * 2.0 : y[i];",
    numexpr="where(x > y, x * 2, y)",
)
COMPARE = Program(
    "(x < y) & (y < z)",
    "def f(x, y, z):\n    return (x < y) & (y < z)\n",
    vectors(3),
    "((unsigned char *)out)[i] = (x[i] < y[i]) & (y[i] < z[i]);",
    numexpr="(x < y) & (y < z)",
)
BROADCAST = Program(
    "x*r + r, row r",
    "def f(x, r):\n    return x * r + r\n",
    _bias,
    "for (long j = 0; j < m; ++j) out[i * m + j] = x[i * m + j] * r[j] + r[j];",
    True,
    numexpr="x * r + r",
)
STRIDED = Program(
    "x*y + x, every second",
    "def f(x, y):\n    return x * y + x\n",
    _strided,
    "out[i] = x[2 * i] * y[2 * i] + x[2 * i];",
    numexpr="x * y + x",
)
STENCIL = Program(
    "5-point stencil",
    "def f(u):\n    return u[1:-1, 1:-1] + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])\n",
    matrices(1),
)
SUM_ROWS = Program(
    "(x*y).sum(axis=0)",
    "def f(x, y):\n    return (x * y).sum(axis=0)\n",
    matrices(2),
    "for (long j = 0; j < m; ++j) out[j] += x[i * m + j] * y[i * m + j];",
    True,
)
SUM_COLUMNS = Program("(x*y).sum(axis=1)", "def f(x, y):\n    return (x * y).sum(axis=1)\n", matrices(2))
EXP = Program("exp(-x*x)", "def f(x):\n    return np.exp(-x * x)\n", vectors(1), numexpr="exp(-x * x)")

LARGE = (FIVE, ADD_ONE, WHERE, COMPARE, BROADCAST, STRIDED, STENCIL, SUM_ROWS, SUM_COLUMNS, EXP)


def many_arguments(count: int) -> Program:
    """A chain of five operations or more over `count` vectors."""
    names = [f"a{i}" for i in range(count)]
    neighbours = zip(names, [*names[1:], names[0]], strict=True)
    pairs = itertools.combinations_with_replacement(names, 2) if count == 2 else neighbours
    body = " + ".join(f"{a} * {b}" for a, b in pairs)
    return Program(f"{count} arrays", f"def f({', '.join(names)}):\n    return {body}\n", vectors(count))
