"""The functions that are measured, and the arguments for a number of elements.

Functions name NumPy ``np``; peers get the same code with their own module in its place, or, where their library spells it in
another way, a function of their own.

Of the pyhpc models the equation of state is here. Isoneutral mixing and turbulent kinetic energy are not: the second solves
a tridiagonal system along the depth, step by step, and both are some hundred lines of stores into parts of four-dimensional
arrays, of which not one kernel but dozens would be measured.
"""

from __future__ import annotations

import linecache
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Case:
    """One row: a function at one size.

    `shape` makes arguments from the number of elements that was asked for; `check` is a shape with which results are
    compared with NumPy's.
    """

    group: str
    name: str
    function: Callable
    arguments: Callable[[Any], list[np.ndarray]]
    shape: Any
    check: Any
    rtol: float = 1e-6
    torch: Callable | None = None
    wanted: float = 0.0  # share of the copy bandwidth that was asked for
    x: int = 0  # where a plot has it


def over(function: Callable, module: Any) -> Callable:
    """The function, with `module` as its ``np``."""
    scope = {**function.__globals__, "np": module}
    made = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    made.__qualname__ = function.__qualname__
    return made


_POOL = np.random.default_rng(7).random(1 << 18) + 0.5


def values(shape: Any, dtype: str, turn: int = 0) -> np.ndarray:
    """Numbers in [0.5, 1.5); a new order for each `turn`. Filled from a pool, because large arrays are wanted."""
    count = int(np.prod(shape))
    return np.resize(np.roll(_POOL, 1237 * turn).astype(dtype), count).reshape(shape)


def of(*dtypes: str) -> Callable[[Any], list[np.ndarray]]:
    return lambda shape: [values(shape, d, k) for k, d in enumerate(dtypes)]


def unaligned(count: int, dtype: str) -> Callable[[Any], list[np.ndarray]]:
    """Arrays that begin one element behind a 16-byte boundary."""
    return lambda n: [values(n + 1, dtype, k)[1:] for k in range(count)]


def prime_below(n: int) -> int:
    """The largest prime up to n."""

    def is_prime(k: int) -> bool:
        return k > 1 and all(k % d for d in range(2, int(k**0.5) + 1))

    while not is_prime(n):
        n -= 1
    return n


def chain(operations: int, name: str) -> Callable:
    """A function of two arrays with that many operations on whole arrays."""
    steps = ["a * y", "a - x", "np.maximum(a, y)", "a * 0.5", "a + x"]
    body = "".join(f"    a = {steps[k % len(steps)]}\n" for k in range(1, operations))
    text = f"def {name}(x, y):\n    a = x * y\n{body}    return a\n"
    file = f"<benchmark {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"np": np, "__name__": "benchmark"}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(x, g, b):
    m = x.mean(axis=-1, keepdims=True)
    d = x - m
    v = (d * d).mean(axis=-1, keepdims=True)
    return d / np.sqrt(v + 1e-5) * g + b


def sum_all(x):
    return x.sum()


def maximum_all(x):
    return x.max()


def sum_of_squares(x):
    return (x * x).sum()


def sum_rows(x):
    return x.sum(axis=1)


def sum_columns(x):
    return x.sum(axis=0)


def mean_middle(x):
    return x.mean(axis=1)


def transpose(x):
    return x.T.copy()


def transpose_batches(x):
    return x.transpose(0, 2, 1).copy()


def transpose_add(x, y):
    return x.T + y


def stencil_2d(u):
    return u[1:-1, 1:-1] + 0.25 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    )


def stencil_3d(u):
    return (
        u[1:-1, 1:-1, 1:-1] * 6.0
        - u[2:, 1:-1, 1:-1]
        - u[:-2, 1:-1, 1:-1]
        - u[1:-1, 2:, 1:-1]
        - u[1:-1, :-2, 1:-1]
        - u[1:-1, 1:-1, 2:]
        - u[1:-1, 1:-1, :-2]
    )


def black_scholes(s, k, t):
    """Calls, with the logistic function for the normal distribution."""
    d1 = (np.log(s / k) + (0.1 + 0.5 * 0.2 * 0.2) * t) / (0.2 * np.sqrt(t))
    d2 = d1 - 0.2 * np.sqrt(t)
    n1 = 1 / (1 + np.exp(-1.702 * d1))
    n2 = 1 / (1 + np.exp(-1.702 * d2))
    return s * n1 - k * np.exp(-0.1 * t) * n2


def equation_of_state(sa, ct, p):
    """Density of sea water from absolute salinity, conservative temperature and pressure: the rational function with 48
    terms of McDougall et al. (2011), as in TEOS-10 and the pyhpc benchmarks."""
    r = np.sqrt(sa)
    low = (
        9.998420897506056e2
        + ct * (2.839940833161907 + ct * (-3.147759265588511e-2 + 1.181805545074306e-3 * ct))
        + sa
        * (
            -6.698001071123802
            + ct * (-2.986498947203215e-2 + 2.327859407479162e-4 * ct)
            + r
            * (
                -3.988822378968490e-2
                + ct * (5.095422573880500e-4 + ct * (-1.426984671633621e-5 + 1.645039373682922e-7 * ct))
            )
        )
        + p
        * (
            -2.233269627352527e-2
            + ct * (-3.436090079851880e-4 + 3.726050720345733e-6 * ct)
            + sa * (-1.806789763745328e-4 + 6.876837219536232e-7 * ct)
            + p
            * (
                -3.087032500374211e-7
                + ct * (-1.988366587925593e-8 - 1.061519070296458e-11 * ct)
                + 1.550932729220080e-10 * sa
            )
        )
    )
    high = (
        1.0
        + ct
        * (
            2.775927747785646e-3
            + ct * (-2.349607444135925e-5 + ct * (1.119513357486743e-6 + 6.743689325042773e-10 * ct))
        )
        + sa
        * (
            -7.521448093615448e-3
            + ct
            * (
                -2.764306979894411e-5
                + ct * (1.262937315098546e-7 + ct * (9.527875081696435e-10 - 1.811147201949891e-11 * ct))
            )
            + 5.419326551148740e-6 * sa
            + r
            * (
                -3.303308871386421e-5
                + ct
                * (
                    3.801564588876298e-7
                    + ct
                    * (-7.672876869259043e-9 + ct * (-4.634182341116144e-11 + 2.681097235569143e-12 * ct))
                )
            )
        )
        + p
        * (
            -2.742185394906099e-5
            + ct * (-3.212746477974189e-7 + ct * (3.191413910561627e-9 - 1.931012931541776e-12 * ct))
            + sa * (-1.105097577149576e-7 + 6.211426728363857e-10 * ct)
            + p
            * (
                -1.119011592875110e-10
                - 1.941660213148725e-11 * ct
                - 1.864826425365600e-14 * sa
                + p * (1.119522344879478e-14 - 1.200507748551599e-15 * ct + 6.057902487546866e-17 * sa)
            )
        )
    )
    return low / high


def _torch_softmax(x):
    import torch

    return torch.softmax(x, 1)


def _torch_layernorm(x, g, b):
    import torch

    return torch.nn.functional.layer_norm(x, (x.shape[-1],), g, b, 1e-5)


def _torch_transpose(x):
    return x.T.contiguous()


def _torch_transpose_batches(x):
    return x.transpose(1, 2).contiguous()


def _torch_transpose_add(x, y):
    return (x.T + y).contiguous()


def _pointwise(n: int, quick: bool) -> list[Case]:
    found = []
    counts = (2, 20) if quick else (2, 5, 10, 20, 40)
    for dtype, elements in (("f4", n), ("f8", n // 2)):
        for k in counts:
            f = chain(k, f"chain_{k}_{dtype}")
            found.append(
                Case("pointwise", f"{k} operations, {dtype}", f, of(dtype, dtype), elements, 10_007, wanted=0.92, x=k)
            )  # fmt: skip
        f = chain(5, f"odd_{dtype}")
        found.append(
            Case("pointwise", f"5 operations, {dtype}, prime", f, of(dtype, dtype), prime_below(elements), 4099, wanted=0.92)
        )  # fmt: skip
        found.append(
            Case("pointwise", f"5 operations, {dtype}, unaligned", f, unaligned(2, dtype), elements - 1, 4098, wanted=0.92)
        )  # fmt: skip
    f = chain(5, "chain_5_f2")
    found.append(Case("pointwise", "5 operations, f2", f, of("f2", "f2"), 2 * n, 4099, rtol=2e-3))
    return found


def _rows(n: int, quick: bool) -> list[Case]:
    found = []
    widths = [256, 1024, 4096, 16_384, 65_536, 262_144]
    sizes = widths[:2] if quick else [*widths, 1021, 65_521, 262_139]
    sizes = [w for w in sizes if 4 * w <= max(n, 4096)]

    def normal_arguments(dtype):
        return lambda s: [values(s, dtype), values(s[1], dtype, 1), values(s[1], dtype, 2)]

    for dtype, rtol, wanted in (("f4", 1e-4, 0.85), ("f2", 1e-2, 0.0)):
        for w in sizes if dtype == "f4" else sizes[1:-3] or sizes[:1]:
            count = n if dtype == "f4" else 2 * n
            shape, check = (max(1, count // w), w), (3, min(w, 5003))
            name = f"{w} columns, {dtype}" + (" (prime)" if w in (1021, 65_521, 262_139) else "")
            found.append(
                Case(
                    "softmax",
                    name,
                    softmax,
                    of(dtype),
                    shape,
                    check,
                    rtol,
                    _torch_softmax,
                    wanted=wanted,
                    x=w,
                )
            )
            found.append(
                Case("layernorm", name, layernorm, normal_arguments(dtype), shape, check, rtol, _torch_layernorm, wanted=wanted, x=w)
            )  # fmt: skip
    return found


def _square(n: int) -> tuple[int, int]:
    side = int(n**0.5)
    return (side, side)


def _others(n: int, quick: bool) -> list[Case]:
    side, odd = _square(n), tuple(prime_below(k) for k in _square(n))
    cube = (max(3, round(n ** (1 / 3))),) * 3
    small = (37, 129)
    found = [
        Case("reduction", "sum of all, f4", sum_all, of("f4"), n, 40_007, 1e-4),
        Case("reduction", "sum of squares, f8", sum_of_squares, of("f8"), n // 2, 40_007, 1e-11),
        Case("reduction", "maximum of all, f4, prime", maximum_all, of("f4"), prime_below(n), 40_007),
        Case("reduction", "sum of rows, f4", sum_rows, of("f4"), side, small, 1e-4),
        Case("reduction", "sum of columns, f4", sum_columns, of("f4"), side, small, 1e-4),
        Case("reduction", "sum of columns, f8, prime", sum_columns, of("f8"), odd, small, 1e-11),
        Case("reduction", "sum of 4 long rows, f4", sum_rows, of("f4"), (4, max(1, n // 4)), (4, 33_000), 1e-4),
        Case("reduction", "sum of 4 long columns, f4", sum_columns, of("f4"), (max(1, n // 4), 4), (9_000, 4), 1e-4),
        Case("softmax", "4 long rows, f4", softmax, of("f4"), (4, max(1, n // 16)), (4, 33_000), 1e-4, _torch_softmax, x=n // 16),
        Case("reduction", "mean of a middle axis, f4", mean_middle, of("f4"), (cube[0], cube[0], cube[0]), (7, 33, 65), 1e-4),
        Case("transpose", "f4", transpose, of("f4"), side, small, torch=_torch_transpose),
        Case("transpose", "f8, prime", transpose, of("f8"), odd, small, torch=_torch_transpose),
        Case("transpose", "f2", transpose, of("f2"), side, small, torch=_torch_transpose),
        Case("transpose", "of 16 matrices, f4", transpose_batches, of("f4"), (16, side[0] // 4, side[1] // 4), (3, 37, 129), torch=_torch_transpose_batches),
        Case("transpose", "3 by many, f4", transpose, of("f4"), (3, max(1, n // 3)), (3, 1031), torch=_torch_transpose),
        Case("transpose", "sum with a transposed, f4", transpose_add, lambda s: [values(s, "f4"), values(s[::-1], "f4", 1)], side, small, torch=_torch_transpose_add),
        Case("stencil", "2-D, 5 points, f4", stencil_2d, of("f4"), side, small, 1e-5),
        Case("stencil", "2-D, 5 points, f8, prime", stencil_2d, of("f8"), odd, small, 1e-12),
        Case("stencil", "3-D, 7 points, f4", stencil_3d, of("f4"), cube, (9, 11, 37), 1e-5),
        Case("models", "black-scholes, f4", black_scholes, of("f4", "f4", "f4"), n, 4099, 1e-4),
        Case("models", "black-scholes, f8", black_scholes, of("f8", "f8", "f8"), n // 2, 4099, 1e-11),
        Case("models", "equation of state, f8", equation_of_state, of("f8", "f8", "f8"), n // 2, 4099, 1e-12),
    ]  # fmt: skip
    if quick:
        keep = {"sum of all, f4", "sum of rows, f4", "f4", "2-D, 5 points, f4", "equation of state, f8"}
        found = [c for c in found if c.name in keep]
    return found


def cases(elements: int, quick: bool, groups: Sequence[str] = ()) -> list[Case]:
    """All rows, for about `elements` numbers of four bytes in each array."""
    found = [*_pointwise(elements, quick), *_rows(elements, quick), *_others(elements, quick)]
    return [c for c in found if not groups or c.group in groups]


GROUPS = ("pointwise", "softmax", "layernorm", "reduction", "transpose", "stencil", "models")
