"""The cases of reductions: functions, methods and ufunc.reduce; axes, keywords, orders of addition, nothing at all."""

from __future__ import annotations

from collections.abc import Iterator

from .case import MANY, PLAIN, Case, Round, case
from .data import DTYPES, LAYOUTS, LONG

SUMS = ("sum", "prod", "min", "max", "any", "all", "mean")
SPREADS = ("var", "std", "ptp", "median", "count_nonzero", "average", "nansum", "nanmax", "nanmean", "nanstd")
RUNNING = ("cumsum", "cumprod")
ARGUMENTS = ("argmax", "argmin", "nanargmax")
METHODS = (
    "sum",
    "prod",
    "min",
    "max",
    "any",
    "all",
    "mean",
    "var",
    "std",
    "cumsum",
    "cumprod",
    "argmax",
    "argmin",
)
UFUNCS = (
    "add",
    "multiply",
    "maximum",
    "minimum",
    "logical_and",
    "logical_or",
    "bitwise_or",
    "hypot",
    "fmax",
    "logaddexp",
    "subtract",
)
ENDS = (Round(300), Round(40, True), Round(1), Round(0), Round(5))
SHAPES = ("n", "(n, 3)", "(3, n)", "(2, n, 3)", "()", "(n, 1, 2, 3)", "(n,) + (1,) * 9")


def _of(op: str, names: tuple[str, ...], methods: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The name of a function or method, and the text of its call with {} for what comes behind the array."""
    for name in names:
        yield name, f"np.{name}(x{{}})"
    for name in methods:
        yield name, f"x.{name}({{}})"


def _keywords(name: str, array: str) -> Iterator[tuple[str, dict[str, str]]]:
    """What is passed behind the array, and the arguments that takes."""
    for more in (
        "axis=0",
        "axis=1",
        "axis=-1",
        "axis=None",
        "axis=2",
        "axis=-3",
        "axis=1.5",
        "axis='a'",
        "axis=np.int64(1)",
        "0",
        "1",
    ):
        yield more, {}
    if name not in RUNNING and name not in ARGUMENTS:
        for more in ("axis=(0, 1)", "axis=(1, 0)", "axis=()", "axis=(0, 0)", "axis=(0, 5)", "axis=[0]"):
            yield more, {}
    if name not in RUNNING:
        for more in (
            "keepdims=True",
            "axis=0, keepdims=True",
            "axis=1, keepdims=True",
            "axis=-1, keepdims=False",
            "keepdims=1",
        ):
            yield more, {}
    if name in (*SUMS, "var", "std", "nansum", "nanmean"):
        for mask in ("a('?', (n, 3))", "a('?', 3)", "a('?', (n, 1))", "a('i8', (n, 3))", "a('?', (n, 4))"):
            yield "where=m", {"m": mask}
        yield "axis=1, where=m", {"m": "a('?', (n, 3))"}
        yield "axis=0, keepdims=True, where=m", {"m": "a('?', (n, 3))"}
        yield "where=True", {}
    if name in ("sum", "prod", "min", "max"):
        for more in (
            "initial=2",
            "initial=2.5",
            "axis=0, initial=-1",
            "axis=1, initial=1j",
            "initial=None",
            "initial=np.inf",
            "initial=[1]",
        ):
            yield more, {}
        yield "initial=1, where=m", {"m": "a('?', (n, 3))"}
        yield "axis=1, initial=1, where=m", {"m": "a('?', (n, 3))"}
    if name in ("sum", "prod", "mean", "var", "std", "cumsum", "cumprod"):
        for dtype in (
            "'f8'",
            "np.float32",
            "int",
            "'i4'",
            "'u1'",
            "bool",
            "complex",
            "'f2'",
            "np.longdouble",
            "object",
            "'odd'",
        ):
            yield f"dtype={dtype}", {}
            yield f"axis=0, dtype={dtype}", {}
    if name in ("var", "std"):
        for more in (
            "ddof=1",
            "ddof=0.5",
            "axis=0, ddof=1",
            "axis=1, ddof=3",
            "axis=1, ddof=4",
            "correction=1",
            "axis=0, mean=m",
            "ddof=n",
        ):
            yield (
                more,
                {"m": "x.mean(axis=0, keepdims=True)"}
                if "=m" in more
                else {"n": "n - 1"}
                if "=n" in more
                else {},
            )
    outs = (
        "a('f8', 3)",
        "a('f4', 3)",
        "a('i8', 3)",
        "a('?', 3)",
        "a('c16', 3)",
        "a('f8', 3, 'gaps')",
        "a('f8', 3, 'swapped')",
        "a('f8', 4)",
        "a('f8', (1, 3))",
        "x[0] if n else x[:0, 0]",
    )
    if name in RUNNING:
        outs = ("a('f8', (n, 3))", "a('f4', (n, 3))", "a('f8', (n, 3), 'F')", "x", "a('f8', 3)")
    if name not in ("average", "count_nonzero"):
        for out in outs:
            yield "axis=0, out=o", {"o": out}
        if name not in RUNNING:  # which crash
            yield "out=o", {"o": "a('f8')"}
    yield "nonsense=1", {}


def _cases(op: str, names: tuple[str, ...], methods: tuple[str, ...]) -> Iterator[Case]:
    for name, text in _of(op, names, methods):
        method = text.startswith("x.")
        for t in (*DTYPES, *LONG):
            for more in ("", "axis=0", "axis=-1"):
                behind = more if method or not more else ", " + more
                yield case(op, "dtype", text.format(behind), (*PLAIN, *ENDS), x=f"a({t!r}, (n, 3))")
        for t in ("f8", "f4", "i4", "?", "c16", "f2"):
            for layout in LAYOUTS:
                for shape in SHAPES:
                    if t not in ("f8", "f4") and (method or shape not in ("(n, 3)", "n")):
                        continue
                    for more in ("", "axis=0", "axis=-1", "axis=1"):
                        behind = more if method or not more else ", " + more
                        yield case(
                            op,
                            "layout",
                            text.format(behind),
                            (*PLAIN, *ENDS),
                            x=f"a({t!r}, {shape}, {layout!r})",
                        )
        for t in ("f8", "f4", "i4", "c16"):
            for more in ("", "axis=0", "axis=1", "axis=1, keepdims=True"):
                if "keep" in more and name in RUNNING:
                    continue
                behind = more if method or not more else ", " + more
                yield case(
                    op,
                    "changing",
                    text.format(behind),
                    MANY,
                    x=f"a({t!r}, (n, 3), layouts[(k > 2) * k % 14])",
                )
                o = "a('f8' if k % 2 else 'f4', (3 if k % 5 else 4) if k > 2 else 3, layouts[(k > 2) * k % 14])"
                if "axis=0" in more and name not in ("average", "count_nonzero"):
                    yield case(
                        op, "changing", text.format(behind + ", out=o"), MANY, x=f"a({t!r}, (n, 3))", o=o
                    )
                    yield case(
                        op,
                        "changing",
                        text.format(behind + ", out=o"),
                        MANY,
                        x=f"a({t!r}, (3, 3))",
                        o="x[0] if k > 2 else x[0].copy()",
                    )
        for t in ("f8", "f4", "i4", "?", "c16"):
            array = f"a({t!r}, (n, 3))"
            for more, others in _keywords(name, array):
                group = next(
                    (
                        word
                        for word in ("where", "initial", "out", "dtype", "keepdims", "ddof")
                        if f"{word}=" in more
                    ),
                    "axis",
                )
                behind = more if method else ", " + more
                yield case(op, f"{group}=", text.format(behind), (*PLAIN, *ENDS), x=array, **others)


def reduce_cases(op: str) -> Iterator[Case]:
    """sum and its like, and what is made of them."""
    yield from _cases(op, (*SUMS, *SPREADS, *RUNNING), METHODS[:-2])
    for name in UFUNCS:
        for t in ("f8", "f4", "i4", "?", "c16", "u1"):
            for layout in LAYOUTS:
                for more in ("", ", axis=1", ", axis=None"):
                    yield case(
                        op,
                        "ufunc",
                        f"np.{name}.reduce(x{more})",
                        (*PLAIN, *ENDS),
                        x=f"a({t!r}, (n, 3), {layout!r})",
                    )
    for name in (*SUMS, "var", "std", "cumsum"):
        for s in (
            "2.5",
            "3",
            "True",
            "[1.0] * n",
            "np.float64(2)",
            "np.float32(2)",
            "np.int32(5)",
            "np.bool_(True)",
            "[[1, 2], [3]]",
            "'abc'",
            "None",
            "[None]",
        ):
            yield case(op, "number", f"np.{name}(s)", s=s)
            if s.startswith("np."):
                yield case(op, "number", f"s.{name}()", s=s)


def arg_reduce_cases(op: str) -> Iterator[Case]:
    """argmax and argmin."""
    yield from _cases(op, ARGUMENTS, METHODS[-2:])
