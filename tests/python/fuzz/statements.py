"""The table of statements that straight-line programs are made of.

Each row is a function of the `Scope` that returns the text of a statement (or None when nothing fits). A row need not
make sure that the statement is valid: the builder runs it and drops what raises.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .choices import Choices, Weighted

BINARY = Weighted(
    (10, "+"), (10, "-"), (10, "*"), (5, "/"), (2, "//"), (2, "%"), (2, "**"), (2, "<"), (1, "<="), (2, ">"), (1, ">="),
    (1, "=="), (1, "!="), (1, "&"), (1, "|"), (1, "^"), (1, "<<"), (1, ">>"),
)  # fmt: skip
IN_PLACE = Weighted(
    (5, "+"), (4, "-"), (5, "*"), (2, "/"), (1, "//"), (1, "%"), (1, "**"), (1, "&"), (1, "|"), (1, "<<")
)
UNARY_UFUNCS = Weighted(
    (6, "sqrt"), (6, "exp"), (4, "log"), (5, "sin"), (4, "cos"), (3, "tanh"), (5, "abs"), (3, "square"), (3, "negative"),
    (2, "floor"), (2, "ceil"), (2, "trunc"), (2, "rint"), (2, "sign"), (2, "isnan"), (2, "isfinite"), (1, "isinf"),
    (1, "signbit"), (2, "reciprocal"), (1, "tan"), (1, "arctan"), (1, "arcsin"), (1, "sinh"), (1, "cosh"), (1, "expm1"),
    (1, "log1p"), (1, "log2"), (1, "log10"), (1, "exp2"), (1, "cbrt"), (1, "logical_not"), (1, "invert"), (1, "conjugate"),
    (1, "positive"), (1, "fabs"), (1, "deg2rad"), (1, "spacing"),
)  # fmt: skip
BINARY_UFUNCS = Weighted(
    (5, "maximum"), (5, "minimum"), (4, "add"), (3, "multiply"), (3, "subtract"), (3, "divide"), (3, "power"), (2, "hypot"),
    (2, "arctan2"), (2, "fmax"), (2, "fmin"), (2, "copysign"), (1, "fmod"), (1, "remainder"), (1, "floor_divide"),
    (1, "logaddexp"), (1, "logical_and"), (1, "logical_or"), (1, "logical_xor"), (1, "greater"), (1, "less"), (1, "equal"),
    (1, "not_equal"), (1, "bitwise_and"), (1, "bitwise_xor"), (1, "left_shift"), (1, "nextafter"), (1, "heaviside"),
    (1, "float_power"), (1, "gcd"),
)  # fmt: skip
REDUCTIONS = Weighted(
    (8, "sum"), (4, "mean"), (4, "max"), (4, "min"), (2, "prod"), (2, "any"), (2, "all"), (2, "argmax"), (2, "argmin"), (2, "std"),
    (2, "var"),
)  # fmt: skip
WIDE_UNARY = ("real", "imag", "angle", "round", "sort", "cumsum", "unique", "nan_to_num", "isreal")
WIDE_REDUCTIONS = ("std", "var", "ptp", "cumsum", "median", "count_nonzero")
CAST_TYPES = Weighted(
    (6, "np.float64"), (6, "np.float32"), (4, "np.int64"), (3, "np.int32"), (3, "bool"), (3, "float"), (2, "int"), (2, "np.uint8"),
    (2, "np.int8"), (2, "np.int16"), (1, "np.uint16"), (1, "np.uint32"), (1, "np.uint64"), (2, "np.float16"), (2, "complex"),
    (1, "np.complex64"), (1, "'f4'"), (1, "'<i2'"), (1, "np.dtype('f8')"),
)  # fmt: skip


class Scope:
    """The names a program has so far, with the values they have in the generator's own run.

    `wide` programs also use functions that nobody expects to be compiled.
    """

    def __init__(self, c: Choices, values: dict[str, Any], wide: bool = False) -> None:
        self.c = c
        self.values = values
        self.wide = wide

    def new(self) -> str:
        """A fresh name, or now and then one that is in use."""
        used = [n for n in self.values if n.startswith("v")]
        if used and self.c.chance(0.12):
            return self.c.pick(used)
        return f"v{len(self.values)}"

    def arrays(self) -> list[str]:
        return [n for n, v in self.values.items() if isinstance(v, np.ndarray)]

    def array(self) -> str:
        """An array, recent ones more often."""
        names = self.arrays()
        if not names:
            return next(iter(self.values))
        return names[-1 - min(self.c.integer(0, len(names) - 1), self.c.integer(0, len(names) - 1))]

    def writeable(self) -> str | None:
        names = [n for n in self.arrays() if self.values[n].flags.writeable]
        return self.c.pick(names) if names else None

    def ints(self) -> list[str]:
        return [n for n, v in self.values.items() if type(v) is int and 0 <= v < 1000]

    def partner(self, name: str) -> str:
        """An operand that goes with the array `name`: an array that broadcasts with it, a scalar name or a literal."""
        c = self.c
        shape = np.shape(self.values.get(name))
        if c.chance(0.4):
            return self.literal(name)
        fitting = [
            n for n, v in self.values.items() if not isinstance(v, str) and _broadcasts(shape, np.shape(v))
        ]
        return c.pick(fitting) if fitting else self.literal(name)

    def literal(self, name: str) -> str:
        """A scalar constant that suits the dtype of `name`."""
        c = self.c
        kind = getattr(getattr(self.values.get(name), "dtype", None), "kind", "f")
        if c.chance(0.06):
            return c.pick(
                (
                    "np.float64(1.5)",
                    "np.float32(0.3)",
                    "np.int64(3)",
                    "np.uint8(7)",
                    "np.int16(-2)",
                    "True",
                    "2j",
                )
            )
        if kind in "iub" and c.chance(0.75):
            return c.pick(("1", "2", "3", "5", "7", "0", "10", "-1", "100", "300"))
        return c.pick(("2.0", "0.5", "1", "3.0", "-1.5", "2", "0.1", "1e-3", "0", "-2", "1e10"))

    def expression(self, depth: int = 2, around: str | None = None) -> str:
        """A nested arithmetic expression of arrays that broadcast with `around`."""
        c = self.c
        around = around or self.array()
        shape = np.shape(self.values[around])
        fitting = [n for n in self.arrays() if _broadcasts(shape, self.values[n].shape, 20_000)] or [around]
        name = c.pick(fitting)
        if depth == 0 or c.chance(0.15):
            return name
        if c.chance(0.15):
            return f"np.{c.weighted(UNARY_UFUNCS)}({self.expression(depth - 1, around)})"
        left = self.expression(depth - 1, around)
        right = self.partner(around) if c.chance(0.6) else self.expression(depth - 1, around)
        if c.chance(0.15):
            left, right = right, left
        return f"({left} {c.weighted(BINARY)} {right})"

    def index(self, name: str) -> str:
        """A basic index for the array `name`."""
        c = self.c
        x = self.values[name]
        if x.ndim == 0:
            return c.pick(("...", "()", "None"))
        parts = []
        for n in x.shape[: c.integer(1, x.ndim)]:
            parts.append(self._axis_index(n))
        if c.chance(0.1):
            parts.insert(c.integer(0, len(parts)), "None")
        if c.chance(0.1):
            parts.insert(c.integer(0, len(parts)), "...")
        return ", ".join(parts)

    def _axis_index(self, n: int) -> str:
        c = self.c
        if c.chance(0.15):
            return str(c.integer(-n, max(0, n - 1)))
        if c.chance(0.1) and self.ints():
            k = c.pick(self.ints())
            return c.pick((f":{k}", f"{k}:", f"-{k}:", f"{k} // 2:", f":{k} - 1", f"{k}"))
        return c.pick(
            (
                ":",
                "1:",
                ":-1",
                "1:-1",
                "::-1",
                "::2",
                "2:",
                ":-2",
                "1::2",
                "::-2",
                ":3",
                "-3:",
                "-2::-1",
                "5:1:-1",
                "0:0",
                "1:2",
            )
        )


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...], most: int = 100_000) -> bool:
    """Whether the shapes broadcast, to at most `most` elements."""
    joint = list(b[: len(b) - len(a)] or a[: len(a) - len(b)])
    for m, n in zip(reversed(a), reversed(b)):
        if m != n and m != 1 and n != 1:
            return False
        joint.append(max(m, n))
    return math.prod(joint) <= most


# --- rows -----------------------------------------------------------------------------------------------------------


def arithmetic(s: Scope) -> str:
    a = s.array()
    b = s.partner(a)
    if s.c.chance(0.2):
        a, b = b, a
    return f"{s.new()} = {a} {s.c.weighted(BINARY)} {b}"


def nested(s: Scope) -> str:
    return f"{s.new()} = {s.expression(s.c.integer(1, 3))}"


def unary_operator(s: Scope) -> str:
    return f"{s.new()} = {s.c.pick(('-', '+', '~', 'abs'))}({s.array()})"


def unary_ufunc(s: Scope) -> str:
    if s.wide and s.c.chance(0.3):
        return f"{s.new()} = np.{s.c.pick(WIDE_UNARY)}({s.array()})"
    return f"{s.new()} = np.{s.c.weighted(UNARY_UFUNCS)}({s.array()})"


def binary_ufunc(s: Scope) -> str:
    a = s.array()
    return f"{s.new()} = np.{s.c.weighted(BINARY_UFUNCS)}({a}, {s.partner(a)})"


def ufunc_keyword(s: Scope) -> str | None:
    a, out = s.array(), s.writeable()
    if out is None:
        return None
    b = s.partner(a)
    ufunc = s.c.weighted(BINARY_UFUNCS)
    masks = [n for n in s.arrays() if s.values[n].dtype == bool]
    if masks and s.c.chance(0.3):
        return f"np.{ufunc}({a}, {b}, out={out}, where={s.c.pick(masks)})"
    if s.c.chance(0.2):
        return f"{s.new()} = np.{ufunc}({a}, {b}, dtype={s.c.weighted(CAST_TYPES)}, casting='unsafe')"
    form = s.c.pick((f"out={out}", f"{out}", f"out=({out},)"))
    prefix = f"{s.new()} = " if s.c.chance(0.4) else ""
    if s.c.chance(0.3):
        return f"{prefix}np.{s.c.weighted(UNARY_UFUNCS)}({a}, {form})"
    return f"{prefix}np.{ufunc}({a}, {b}, {form})"


def where(s: Scope) -> str:
    a = s.array()
    condition = f"{a} {s.c.pick(('>', '<', '>=', '!='))} {s.partner(a)}"
    if s.c.chance(0.3) and (masks := [n for n in s.arrays() if s.values[n].dtype == bool]):
        condition = s.c.pick(masks)
    return f"{s.new()} = np.where({condition}, {s.partner(a)}, {s.partner(a)})"


def clip(s: Scope) -> str:
    a = s.array()
    low, high = s.c.pick(
        (("0", "2"), ("-1.0", "1.0"), ("1", "None"), ("None", "3"), ("0.5", "1.5"), (s.partner(a), "5"))
    )
    return f"{s.new()} = " + s.c.pick((f"np.clip({a}, {low}, {high})", f"{a}.clip({low}, {high})"))


def cast(s: Scope) -> str:
    a, t = s.array(), s.c.weighted(CAST_TYPES)
    return f"{s.new()} = " + s.c.pick(
        (
            f"{a}.astype({t})",
            f"{a}.astype({t})",
            f"{a}.astype({t}, copy=False)",
            f"np.asarray({a}, dtype={t})",
            f"np.array({a}, {t})",
        )
    )


def reduction(s: Scope) -> str:
    a, name = s.array(), s.c.weighted(REDUCTIONS)
    if s.wide and s.c.chance(0.3):
        name = s.c.pick(WIDE_REDUCTIONS)
    rank = np.ndim(s.values[a])
    axis = ""
    if rank and s.c.chance(0.55):
        one = str(s.c.integer(-rank, rank - 1))
        axis = (
            f"axis={one}"
            if rank < 2 or s.c.chance(0.8)
            else f"axis=({s.c.integer(0, rank - 1)}, {s.c.integer(-rank, -1)})"
        )
        if s.c.chance(0.25):
            axis += ", keepdims=True"
    if name in ("sum", "prod", "mean") and s.c.chance(0.1):
        axis = ", ".join(filter(None, (axis, f"dtype={s.c.weighted(CAST_TYPES)}")))
    if name in ("median", "count_nonzero", "ptp") or s.c.chance(0.5):
        return f"{s.new()} = np.{name}({', '.join(filter(None, (a, axis)))})"
    return f"{s.new()} = {a}.{name}({axis})"


def compound(s: Scope) -> str | None:
    """Functions that NumPy makes of reductions and elementwise steps."""
    c, a = s.c, s.array()
    rank = np.ndim(s.values[a])
    if not rank:
        return None
    axis = c.integer(-rank, rank - 1)
    other = s.partner(a)
    return f"{s.new()} = " + c.pick(
        (f"np.linalg.norm({a}, axis={axis})", f"np.linalg.norm({a}, axis={axis}, keepdims=True)", f"np.linalg.norm({a})",
         f"np.ptp({a}, axis={axis})", f"{a}.std({axis}, ddof={c.integer(0, 2)})", f"np.var({a}, {axis}, ddof=1, keepdims=True)",
         f"np.outer(np.ravel({a})[:40], np.ravel({other})[:9])", f"int(np.allclose({a}, {other}))", f"np.allclose({a}, 0.5, atol=0.4)",
         f"np.array_equal({a}, {other})", f"np.cross(np.ravel({a})[:3], np.ravel({other})[-3:])", f"np.cross({a}, {other})",
         f"sum([{a} * k for k in (1, 2.0, -1)])", f"sum(np.roll({a}, k) for k in range(3) if k)")
    )  # fmt: skip


def ufunc_method(s: Scope) -> str | None:
    a = s.array()
    if not s.wide:
        return None
    return f"{s.new()} = " + s.c.pick(
        (
            f"np.add.reduce({a})",
            f"np.maximum.reduce({a}, axis=-1)",
            f"np.multiply.accumulate({a})",
            f"np.add.reduce({a}, axis=None)",
        )
    )


def view(s: Scope) -> str | None:
    a = s.array()
    x = s.values[a]
    if not isinstance(x, np.ndarray):
        return None
    if s.c.chance(0.6):
        return f"{s.new()} = {a}[{s.index(a)}]"
    rank, c = x.ndim, s.c
    axes = list(range(rank))
    for i in range(rank - 1, 0, -1):
        j = c.integer(0, i)
        axes[i], axes[j] = axes[j], axes[i]
    forms = [f"{a}.T", f"{a}.reshape(-1)", f"{a}.ravel()", f"{a}[None]", f"{a}[..., None]", f"np.expand_dims({a}, 0)",
             f"np.broadcast_to({a}, (2,) + {a}.shape)", f"{a}.transpose({axes})", f"np.atleast_2d({a})", f"{a}.real",
             f"np.squeeze({a})", f"{a}.reshape({a}.shape + (1,))", f"np.ravel({a})", f"{a}.copy()", f"{a}.flatten()",
             f"np.flip({a})", f"np.reshape({a}, (-1, 1))", f"np.ascontiguousarray({a})", f"{a}.view()", f"{a}.imag"]  # fmt: skip
    if rank > 1:
        forms += [
            f"np.swapaxes({a}, 0, {rank - 1})",
            f"np.transpose({a})",
            f"np.moveaxis({a}, 0, -1)",
            f"{a}[::-1].T",
            f"{a}.reshape({a}.shape[0], -1)",
        ]
    return f"{s.new()} = {c.pick(forms)}"


def in_place(s: Scope) -> str | None:
    a = s.writeable()
    if a is None:
        return None
    target = f"{a}[{s.index(a)}]" if s.c.chance(0.45) else a
    value = s.partner(a) if target == a or s.c.chance(0.5) else s.c.pick((target, s.literal(a)))
    return f"{target} {s.c.weighted(IN_PLACE)}= {value}"


def store(s: Scope) -> str | None:
    a = s.writeable()
    if a is None:
        return None
    target = f"{a}[{s.index(a)}]"
    kind = s.c.integer(0, 3)
    if kind == 0:
        return f"{target} = {s.literal(a)}"
    if kind == 1:
        return f"{a}[...] = {s.partner(a)}"
    if kind == 2:  # source and destination may overlap
        return f"{target} = {target[: target.index('[')]}[{s.index(a)}]"
    return f"{target} = {target} {s.c.pick('+-*')} {s.literal(a)}"


def overlap(s: Scope) -> str | None:
    a = s.writeable()
    if a is None or not np.ndim(s.values[a]):
        return None
    one, other = s.c.pick(
        (("1:", ":-1"), (":-1", "1:"), ("::-1", ":"), (":", "::-1"), ("2:", ":-2"), ("...", "::-1"))
    )
    op = s.c.pick(("=", "+=", "-=", "*="))
    return f"{a}[{one}] {op} {a}[{other}]"


def fancy(s: Scope) -> str | None:
    a = s.array()
    if not s.wide or not np.ndim(s.values[a]):
        return None
    return s.c.pick(
        (
            f"{s.new()} = {a}[{a} > 0]",
            f"{s.new()} = {a}[[0, -1]]",
            f"{a}[{a} > 1] = {s.literal(a)}",
            f"{s.new()} = np.take({a}, 0, axis=0)",
        )
    )


def join(s: Scope) -> str:
    c, a = s.c, s.array()
    shape = np.shape(s.values[a])
    alike = [n for n in s.arrays() if s.values[n].ndim == len(shape)] or [a]
    parts = ", ".join([a, *(c.pick(alike) for _ in range(c.integer(1, 2)))])
    axis = c.integer(-len(shape), len(shape) - 1) if shape else 0
    return f"{s.new()} = " + c.pick(
        (f"np.concatenate(({parts}), axis={axis})", f"np.stack(({parts}), axis={axis})", f"np.concatenate([{parts}])",
         f"np.stack([{parts}])", f"np.hstack(({parts}))", f"np.vstack([{parts}])")
        + ((f"np.tile({a}, 2)", f"np.repeat({a}, 2)") if s.wide else ())
    )  # fmt: skip


def shift(s: Scope) -> str:
    c, a = s.c, s.array()
    rank = np.ndim(s.values[a])
    axis = c.integer(-rank, rank - 1) if rank else 0
    return f"{s.new()} = " + c.pick(
        (f"np.roll({a}, {c.integer(-3, 3)})", f"np.roll({a}, {c.integer(-2, 2)}, axis={axis})", f"np.diff({a})", f"np.diff({a}, axis={axis})",
         f"np.pad({a}, 1)", f"np.pad({a}, {c.integer(0, 2)}, mode='edge')", f"np.pad({a}, (1, 2), mode='wrap')", f"np.gradient({a}, axis={axis})",
         f"np.pad({a}, 1, constant_values={s.literal(a)})", f"np.diff({a}, n=2)", f"np.gradient({a}, 2.0, axis={axis})", f"np.pad({a}, 1, mode='reflect')")
    )  # fmt: skip


def create(s: Scope) -> str:
    c, a = s.c, s.array()
    v = s.new()
    n = c.pick(s.ints()) if s.ints() and c.chance(0.5) else str(c.integer(0, 9))
    return c.pick(
        (f"{v} = np.zeros_like({a})", f"{v} = np.ones_like({a})", f"{v} = np.full({a}.shape, {s.literal(a)})", f"{v} = np.zeros({a}.shape)",
         f"{v} = np.empty_like({a}); {v}[...] = {s.literal(a)}", f"{v} = np.arange({n})", f"{v} = np.ones(({n}, 3), dtype=np.float32)",
         f"{v} = np.arange(1.0, 4.0, 0.5)", f"{v} = np.full_like({a}, 2)", f"{v} = np.empty({a}.shape, {a}.dtype); {v}.fill(3)",
         f"{v} = np.zeros({n}, dtype={c.weighted(CAST_TYPES)})", f"{v} = np.arange({n}, dtype={c.weighted(CAST_TYPES)})")
        + ((f"{v} = np.linspace(0.0, 1.0, {n})", f"{v} = np.array([1.0, 2.0, 3.0])", f"{v} = np.eye(3)") if s.wide else ())
    )  # fmt: skip


def python_scalar(s: Scope) -> str | None:
    c, a = s.c, s.array()
    x = s.values[a]
    scalars = [n for n, v in s.values.items() if isinstance(v, int | float) and not isinstance(v, bool)]
    forms = [f"{a}.ndim", f"{a}.size"]
    if isinstance(x, np.ndarray) and x.ndim:
        forms += [f"{a}.shape[{c.integer(0, x.ndim - 1)}]"] * 4 + [
            f"len({a})",
            f"{a}.shape[-1] // 2",
            f"{a}.shape[0] - 1",
        ]
        forms += [f"{a}[{', '.join(str(c.integer(-n, max(n - 1, 0))) for n in x.shape)}]"] * 3
    if scalars:
        k = c.pick(scalars)
        forms += [
            f"{k} * 2 + 1",
            f"{k} - 0.5",
            f"-{k}",
            f"{k} % 7 + 1",
            f"min({k}, 3)",
            f"abs({k})",
            f"float({k})",
            f"{k} / 4",
        ]
    return f"{s.new()} = {c.pick(forms)}"


def linear_algebra(s: Scope) -> str | None:
    a = s.array()
    if not s.wide:
        return None
    return f"{s.new()} = " + s.c.pick(
        (
            f"{a} @ {a}.T",
            f"np.dot({a}, {s.partner(a)})",
            f"np.outer(np.ravel({a})[:300], {s.partner(a)})",  # what NumPy itself has the memory for
            f"np.sort({a})",
            f"np.cumsum({a})",
        )
    )


ROWS = Weighted(
    (16, arithmetic), (10, nested), (2, unary_operator), (8, unary_ufunc), (6, binary_ufunc), (4, ufunc_keyword), (4, where),
    (2, clip), (5, cast), (6, reduction), (3, compound), (3, ufunc_method), (10, view), (6, in_place), (5, store), (2, overlap), (4, fancy),
    (4, join), (5, shift), (4, create), (5, python_scalar), (3, linear_algebra),
)  # fmt: skip
