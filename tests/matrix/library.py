"""The cases of whole calls, from functions.def, and of guards, error states and checkpoints.

What arguments a function takes is found by trying: of the forms below those that NumPy accepts for doubles, and one
that it refuses.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np

from .case import PLAIN, SPECIAL, Case, Round, arguments, case
from .data import DTYPES, LAYOUTS, LONG
from .table import library_rows

ROUNDS = (*PLAIN, Round(1), Round(0), Round(33, True), Round(5))
FORMS = ("x", "x, axis=0", "x, axis=-1", "x, x", "x, y", "x, 2", "x, 0.5", "x, 2, axis=0", "x, i", "x, i, axis=0", "[x, y]", "(x, y), axis=1", "n", "n, 3", "n, n", "0.0, 1.0, n", "x, x, x", "x, bins=4", "x, [1, 3]", "m, x",
         "b", "b, x", "i, [x]", "i, (n, n)", "2, n, 5", "x, x[:1]", "[b], [x]", "x, (2, 3)", "(n, 1), (1, 3)")  # fmt: skip
# What is told apart by memory that is nobody's is no test, and three matrices make a grid of gigabytes.
OWN_FORMS = {
    "meshgrid": ("x", "x, y", "i, b", "x, y, 2"),
    "lib.stride_tricks.as_strided": (
        "x",
        "x, (len(x),)",
        "x, (2, *x.shape), (0, *x.strides)",
        "x, None, x.strides",
        "x, (len(x) // 2,), (2 * x.strides[0],)",
    ),
}
ARRAYS = ("n", "(n, 3)", "(n, n)")


def _texts(name: str) -> Iterator[str]:
    if name in ("fft.hfft", "fft.irfft"):  # whose result for nothing is memory that nothing was written to
        yield from (f"np.{name}({form})" for form in ("x", "x, axis=0", "x, axis=-1"))
    elif name.startswith("."):
        yield from (
            f"x{name}({form.removeprefix('x').removeprefix(', ')})"
            for form in FORMS
            if form.split(",")[0] == "x"
        )
    else:
        called = name.removeprefix("builtins:") if ":" in name else f"np.{name}"
        yield from (f"{called}({form})" for form in OWN_FORMS.get(name, FORMS))


def _made(text: str, dtype: str, shape: str, layout: str = "C") -> dict[str, str]:
    others = {
        "x": f"a({dtype!r}, {shape}, {layout!r})", "y": f"a({dtype!r}, {shape}, {layout!r}, 1)", "i": "np.arange(n) // 2", "b": f"a('?', {shape})", "m": f"a('?', {shape}, 'C', 1)", "n": "n",
    }  # fmt: skip
    return {
        name: value
        for name, value in others.items()
        if re.search(rf"(?<![\w.]){name}(?!\w)", text.replace("np.", ""))
    }


@cache
def forms(name: str) -> tuple[tuple[str, str], ...]:
    """Texts of calls with shapes, as far as NumPy accepts them."""
    found: list[tuple[str, str]] = []
    refused = 0
    for shape in ARRAYS:
        for text in _texts(name):
            if "x" not in _made(text, "f8", shape) and shape != ARRAYS[0]:
                continue
            c = case("library", "", text, **_made(text, "f8", shape))
            scope = {"np": np}
            exec(c.program(), scope)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    scope["f"](*arguments(c, 0))
                except Exception:
                    refused += 1
                    if refused > 1:
                        continue
            found.append((text, shape))
    return tuple(found)


def library_cases(op: str) -> Iterator[Case]:
    """Each function of functions.def with what it takes."""
    for name in library_rows():
        for number, (text, shape) in enumerate(forms(name)):
            group = f"library {name}"
            for t in (
                (*DTYPES, *(LONG if name not in (".tobytes", ".byteswap") else ()))
                if number < 6
                else ("f8", "i4")
            ):
                yield case(op, group, text, ROUNDS, **_made(text, t, shape))
            for layout in LAYOUTS[1:] if number < 4 and "x" in _made(text, "f8", shape) else ():
                for t in ("f8", "c16"):
                    yield case(op, f"{group}, layout", text, ROUNDS, **_made(text, t, shape, layout))


def guard_cases(op: str) -> Iterator[Case]:
    """Branches on values, on extents and on both sides of what was recorded."""
    values = (
        "x[0] > 0.3",
        "x.sum() > 4",
        "bool(x.any())",
        "x.max() == x[0]",
        "np.all(x > 0)",
        "not x[0]",
        "np.isnan(x).any()",
        "(x > 0.1)[0]",
        "x[-1] < x[0] <= 1",
    )
    extents = (
        "len(x) > 6",
        "x.shape[0] == 5",
        "x.size % 2",
        "len(x) == n",
        "n > 6",
        "n - 5",
        "x.ndim == 1 and len(x)",
        "len(x) // 2 >= 3",
    )
    for test in values if op == "guard" else extents:
        for t in ("f8", "f4", "i4", "?", "c16", "f2", "g"):
            text = f"y = x * 2\nif {test}:\n    y = y + 1\nelse:\n    y = y - x\nreturn y"
            used = (
                {"n": "n"}
                if "n"
                in test.replace("len", "")
                .replace("ndim", "")
                .replace("any", "")
                .replace("np", "")
                .replace("nan", "")
                .replace("and", "")
                .replace("not", "")
                else {}
            )
            yield case(
                op,
                "branch",
                text,
                (*PLAIN, Round(6), Round(1), Round(0), Round(40, True), Round(5)),
                x=f"a({t!r}, n)",
                **used,
            )
            for layout in LAYOUTS[1:]:
                yield case(
                    op,
                    "branch",
                    text,
                    (*PLAIN, Round(6), Round(40, True), Round(5)),
                    x=f"a({t!r}, n, {layout!r})",
                    **used,
                )


def error_state_cases(op: str) -> Iterator[Case]:
    """Faults inside and outside of np.errstate, reported, ignored and raised."""
    states = (
        "all='ignore'",
        "all='warn'",
        "all='raise'",
        "divide='ignore'",
        "invalid='raise', divide='ignore'",
        "over='raise'",
        "under='warn', over='ignore'",
    )
    for state in states:
        for t in ("f8", "f4", "f2", "i4", "u1", "c16", "g"):
            for text in (
                "x / y",
                "x // y",
                "x % y",
                "np.sqrt(x)",
                "np.log(x)",
                "np.exp(x)",
                "x * y * y",
                "x.astype('f4')",
                "x.astype('i4')",
                "x.sum()",
                "np.reciprocal(x)",
                "x @ y",
                "x ** y",
            ):
                inside = f"with np.errstate({state}):\n    r = {text}\n    s = r + 1\nreturn r, s, x + y"
                beside = f"with np.errstate({state}):\n    r = x + 1\ns = {text}\nreturn r, s"
                for body in (inside, beside):
                    yield case(
                        op, "state", body, (*PLAIN, *SPECIAL), x=f"a({t!r}, n)", y=f"a({t!r}, n, 'C', 1)"
                    )


def checkpoint_cases(op: str) -> Iterator[Case]:
    """Stores into arguments with faults, errors and branches behind them."""
    for t in ("f8", "f4", "f2", "i4", "?", "c16", "g"):
        for behind in (
            "r = x / y",
            "r = y[99]",
            "r = np.sqrt(y)",
            "r = 1 if y[0] > 0.2 else 2",
            "x /= y",
            "r = np.zeros(3)[:len(y)] + y",
            "r = int(y.sum())",
            "r = x.sum()",
        ):
            for store in ("x[0] = y[0]", "x += y", "x[1:] = y[:-1]", "x[...] = 0", "x[x == y] = 1"):
                yield case(
                    op,
                    "store",
                    f"r = 0\n{store}\n{behind}\nreturn r, x",
                    (*PLAIN, *SPECIAL),
                    x=f"a({t!r}, n)",
                    y=f"a({t!r}, n, 'C', 1)",
                )
