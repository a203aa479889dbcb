"""The cases of a universal function: dtypes, layouts, ranks, outputs, masks, keywords, methods, errors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np

from .case import ENDS, GROWN, LARGE, MANY, PLAIN, SPECIAL, Case, Round, case
from .data import DATES, DTYPES, LAYOUTS, LONG

FLOATS = ("f2", "f4", "f8", "g")
DATE_PAIRS = (
    ("M8[s]", "m8[s]"), ("m8[s]", "M8[s]"), ("m8[s]", "i8"), ("i8", "m8[s]"), ("m8[s]", "f8"), ("f8", "m8[s]"), ("m8[s]", "m8[ms]"),
    ("M8[s]", "M8[D]"), ("M8[s]", "i4"), ("m8[s]", "?"),
)  # fmt: skip
SIX = ("f8", "f4", "i4", "c16", "?", "f2")
MIXED = ("?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16", "g")
OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "**",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>", "matmul": "@",
}  # fmt: skip
UNARY = {"negative": "-x", "positive": "+x", "invert": "~x", "absolute": "abs(x)"}
NUMBERS = (
    "2",
    "2.5",
    "1j",
    "True",
    "-1",
    "300",
    "0",
    "0.0",
    "-0.0",
    "float('nan')",
    "1e300",
    "2**40",
    "2**70",
    "None",
    "'a'",
)
SCALARS = (
    "np.float32(2)", "np.float64(2.5)", "np.float16(2)", "np.int8(3)", "np.int64(3)", "np.uint64(3)", "np.bool_(True)",
    "np.complex64(1j)", "np.longdouble(2)", "a('f8')", "a('f4')", "a('i8')", "[1.0] * n", "(2,)", "2", "2.5", "1j", "True", "-1",
    "2**70", "np.ma.array(a('f8', n))", "np.array(['a'] * n)", "np.array([None] * n)",
)  # fmt: skip

# Where zero is outside of a function's domain.
_NOT_ZERO = ("divide", "floor_divide", "remainder", "divmod", "fmod", "reciprocal", "log", "log2", "log10")


def operand(name: str, dtype: str, shape: str, layout: str = "C", seed: int = 0) -> str:
    """The expression of an operand of ufunc `name`, inside of its domain: a warning ends a trace."""
    text = (
        f"a({dtype!r}, {shape}"
        + (f", {layout!r}" if layout != "C" or seed else "")
        + (f", {seed}" if seed else "")
        + ")"
    )
    exact = np.dtype(dtype).kind in "biu"
    if name in ("arccos", "arcsin", "arctanh") and exact:
        return f"{text} * np.{np.dtype(dtype).type.__name__}(special)"
    if name in _NOT_ZERO and dtype == "?":
        return f"{text} | np.bool_(not special)"
    if name == "arccosh" and np.dtype(dtype).kind not in "mM":
        return f"{text} + np.{np.dtype(dtype).type.__name__}(not special)"
    return text


_EUCLID = ("gcd", "lcm")  # whose algorithm NumPy 2.0 never ends over Python's NaNs


class Maker:
    """The cases of one ufunc."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.u = ufunc
        self.name = ufunc.__name__
        self.f = f"np.{self.name}"
        self.operands = ("x", "y", "z")[: ufunc.nin]
        self.inside = ", ".join(self.operands)
        self.call = f"{self.f}({self.inside})"
        # A dtype with which the function works in each kind of test, floats before ints.
        chars = [types.split("->")[0] for types in ufunc.types]
        self.main = next((c for c in "dl?m" if c * ufunc.nin in chars), "d")

    def types_of_numbers(self) -> list[str]:
        return [t for t in self.u.types if not (self.name in _EUCLID and "O" in t)]

    def arguments(
        self, dtypes: tuple[str, ...], shapes: tuple[str, ...], layouts: tuple[str, ...] = ()
    ) -> dict[str, str]:
        """The operands by name; short tuples repeat their last item."""

        def item(of: tuple[str, ...], i: int) -> str:
            return of[min(i, len(of) - 1)]

        if self.name == "ldexp" and dtypes[0] in FLOATS:
            dtypes = (dtypes[0], "i4")  # there is no ldexp of floats alone
        return {
            name: operand(self.name, item(dtypes, i), item(shapes, i), item(layouts or ("C",), i), i)
            for i, name in enumerate(self.operands)
        }

    def case(self, group: str, text: str, rounds: tuple[Round, ...] = PLAIN, **arguments: str) -> Case:
        return case(self.name, group, text, rounds, **arguments)

    def dtypes(self) -> Iterator[Case]:
        for t in (*DTYPES, *LONG, *DATES, "S3", "U3", "O"):
            if t in ("S3", "U3", "O"):
                made = {name: f"a('i8', n, 'C', {i}).astype({t!r})" for i, name in enumerate(self.operands)}
                yield self.case("dtype", self.call, PLAIN, **made)
                continue
            yield self.case("dtype", self.call, (*PLAIN, *ENDS, *SPECIAL), **self.arguments((t,), ("n",)))
        if self.u.nin > 1:
            for pair in itertools.product(MIXED, MIXED):
                if pair[0] != pair[1]:
                    yield self.case("mixed", self.call, (*PLAIN, *SPECIAL), **self.arguments(pair, ("n",)))
            for pair in DATE_PAIRS:
                yield self.case("mixed", self.call, (*PLAIN, *SPECIAL), **self.arguments(pair, ("n",)))

    def scalars(self) -> Iterator[Case]:
        alone = self.u.nin == 1
        rounds = (*PLAIN, Round(300, True), Round(5))
        for s in SCALARS:
            yield self.case("scalar", f"{self.f}({', '.join('s' * self.u.nin)})", PLAIN, s=s)
        if alone:
            return
        for t in ("f8", "f4", "f2", "i8", "i1", "u1", "?", "c16", "c8"):
            x = operand(self.name, t, "n")
            for s in NUMBERS:
                yield self.case("number", f"{self.f}(x, {s})", rounds, x=x)
                yield self.case("number", f"{self.f}({s}, x)", rounds, x=x)
            for s in SCALARS:
                yield self.case("scalar", f"{self.f}(x, s)", rounds, x=x, s=s)
                yield self.case("scalar", f"{self.f}(s, x)", rounds, x=x, s=s)

    def layouts(self) -> Iterator[Case]:
        rounds = (*PLAIN, Round(1), Round(0), Round(33, True))
        for t in SIX:
            for layout in LAYOUTS[1:]:
                for shape in ("n", "(n, 3)", "(3, n)", "(2, n, 3)", "(2, 2, n, 3)"):
                    if t != self.main_dtype() and shape in ("(3, n)", "(2, 2, n, 3)"):
                        continue
                    yield self.case("layout", self.call, rounds, **self.arguments((t,), (shape,), (layout,)))
                    if self.u.nin > 1 and shape in ("n", "(n, 3)"):
                        yield self.case(
                            "layout", self.call, rounds, **self.arguments((t,), (shape,), (layout, "C"))
                        )

    def changing(self) -> Iterator[Case]:
        """Arguments that are not what they were when the trace was recorded."""
        for t, shape in itertools.product(
            (self.main_dtype(), "f4", "i4", "c16"), ("n", "(n, 3)", "(2, n, 3)")
        ):
            layouts = [f"layouts[(k > 2) * (k + {i}) % 14]" for i in range(2)]
            x = {
                name: f"a({t!r}, {shape}, {layouts[min(i, 1)]}, {i})" for i, name in enumerate(self.operands)
            }
            o = f"a({self.result_dtype(t)!r}, {shape}, layouts[(k > 2) * (k + 2) % 14])"
            y = {**x, "y": "x"} if self.u.nin > 1 else x
            yield self.case("changing", self.call, MANY, **x)
            yield self.case("changing", self.call, MANY, **y)
            yield self.case("changing", f"{self.f}({self.inside}, out=o)", MANY, **x, o=o)
            yield self.case(
                "changing", f"{self.f}({self.inside}, out=o)", MANY, **x, o="x" + f" if k in (4, 9) else {o}"
            )
            yield self.case(
                "changing", f"{self.f}({self.inside}, out=o)", MANY, **x, o=f"x[::-1] if k % 2 else {o}"
            )
            m = f"a('?', {shape}, layouts[(k > 2) * (k + 5) % 14])"
            yield self.case("changing", f"{self.f}({self.inside}, out=o, where=m)", MANY, **x, o=o, m=m)
            yield self.case(
                "changing", self.call, MANY, **{**x, "x": f"a(dtypes[k % 14] if k > 2 else {t!r}, {shape})"}
            )
            yield self.case(
                "changing", self.call, MANY, **{**x, "x": f"a({t!r}, {shape})[..., : -1 if k % 3 else None]"}
            )
            ranks = f"a({t!r}, ((n,), (n,), (n,), (2, n), (), (1, n), (n, 1), (2, 2, n))[k % 8])"
            yield self.case("changing", self.call, MANY, **{**x, "x": ranks})
            if self.u.nin > 1:
                other = f"(2, 2.5, True, np.float32(2), np.float64(3), 2, a({t!r}, n), 1j, -1, 0, 2**40)[(k > 2) * k % 11]"
                yield self.case("changing", self.call, MANY, **{**x, "y": other})
                sign = OPERATORS.get(self.name)
                if (
                    sign
                    and (sign[-1] not in "<>=" or sign in ("<<", ">>"))
                    and not (self.name == "power" and t == "i4")
                ):
                    yield self.case("changing", f"x {sign}= y\nreturn x", MANY, **x)
                    yield self.case(
                        "changing", f"x {sign}= y\nreturn x", MANY, **{**x, "y": "x[::-1] if k % 2 else x"}
                    )
                    yield self.case("changing", f"x {sign}= y\nreturn x", MANY, **{**x, "y": other})

    def grown(self) -> Iterator[Case]:
        """Traces recorded with nothing, with one element, with special values; large arrays; one array twice."""
        main, o = self.main_dtype(), f"a({self.result_dtype(self.main_dtype())!r}, n)"
        for t, rounds in itertools.product((main, "f4", "i4", "c16", "f2", "?"), GROWN):
            yield self.case("grown", self.call, rounds, **self.arguments((t,), ("n",)))
            yield self.case("grown", self.call, rounds, **self.arguments((t,), ("(n, 3)", "3")))
            yield self.case("grown", self.call, rounds, **self.arguments((t,), ("(3, n)",), ("transposed",)))
        for rounds in GROWN:
            into = f"{self.f}({self.inside}, out=o)"
            yield self.case("grown", into, rounds, **self.arguments((main,), ("n",)), o=o)
        for t in (main, "f4", "i4", "c16", "f2"):
            yield self.case("large", self.call, LARGE, **self.arguments((t,), ("n",)))
            yield self.case("large", self.call, LARGE, **self.arguments((t,), ("(n, 3)",), ("gaps",)))
            yield self.case("large", self.call, LARGE, **self.arguments((t,), ("(3, n)",), ("F", "C")))
            yield self.case("large", self.call, LARGE, **self.arguments((t,), ("(n, 2)", "2")))
            made = (
                f"o = np.zeros(x.shape, {self.result_dtype(t)!r})\n{self.f}({self.inside}, out=o)\nreturn o"
            )
            yield self.case("large", made, LARGE, **self.arguments((t,), ("n",)))
            same = f"{self.f}({', '.join('x' * self.u.nin)}"
            x = operand(self.name, t, "(n, 3)")
            yield self.case("same", f"{same})", (*PLAIN, *ENDS, *SPECIAL), x=x)
            yield self.case("same", f"{same}, out=x)", (*PLAIN, *ENDS, *SPECIAL), x=x)
            yield self.case("same", f"{same}, out=x[::-1])", (*PLAIN, *ENDS, *SPECIAL), x=x)
            yield self.case("same", f"{same}, out=...)", (*PLAIN, *ENDS, *SPECIAL), x=x)

    def several_outputs(self) -> Iterator[Case]:
        """Functions with two results."""
        if self.u.nout != 2:
            return
        for t, layout in itertools.product(("f8", "f4", "i4"), ("C", "F", "gaps", "reversed", "swapped")):
            x = self.arguments((t,), ("(n, 3)",))
            one = np.ones(1, t)
            found = [r.dtype.str[1:] for r in self.u(*[one] * self.u.nin)]
            o, p = (f"a({r!r}, (n, 3), {layout!r})" for r in found)
            for out in ("(o, p)", "(o, None)", "(None, p)", "(o, o)", "(x, p)", "(None, None)", "o"):
                used = {k: v for k, v in (("o", o), ("p", p)) if re.search(rf"\b{k}\b", out)}
                yield self.case("outs", f"{self.f}({self.inside}, out={out})", (*PLAIN, *ENDS), **x, **used)
            yield self.case("outs", f"{self.f}({self.inside}, o, p)", (*PLAIN, *ENDS), **x, o=o, p=p)
            yield self.case("outs", f"{self.f}({self.inside}, o)", (*PLAIN, *ENDS), **x, o=o)
            masked = f"{self.f}({self.inside}, out=(o, p), where=m)"
            yield self.case("outs", masked, (*PLAIN, *ENDS), **x, o=o, p=p, m="a('?', (n, 3))")

    def main_dtype(self) -> str:
        return {"d": "f8", "l": "i8", "?": "?", "m": "m8[s]"}[self.main]

    def ranks(self) -> Iterator[Case]:
        rounds = (*PLAIN, *ENDS)
        for t in (self.main_dtype(), "f4", "i4"):
            for shape in (
                "()",
                "(n, 2)",
                "(2, n, 2)",
                "(2, 1, n, 2)",
                "(1,) * 8 + (n,)",
                "(n,) + (1,) * 9",
                "(n, 0)",
                "(1, 1)",
            ):
                yield self.case("rank", self.call, rounds, **self.arguments((t,), (shape,)))
            if self.u.nin < 2:
                continue
            pairs = (
                ("(n, 1)", "3"), ("1", "n"), ("n", "1"), ("()", "n"), ("n", "()"), ("(2, 1, n)", "(3, 1)"), ("(n, n)", "n"),
                ("(1, 1)", "n"), ("(n, 1)", "(1, n)"), ("(n, 1)", "(1, 0)"), ("(n, 3)", "(n + (k == 3), 3)"), ("n", "n + (k > 2)"),
                ("(1,) * 8 + (n,)", "n"), ("(n, 3)", "(n, 4)"),
            )  # fmt: skip
            for pair in pairs:
                yield self.case("broadcast", self.call, (*rounds, Round(5)), **self.arguments((t,), pair))

    def outputs(self) -> Iterator[Case]:
        rounds = (*PLAIN, Round(33, True), Round(1), Round(0), Round(5))
        types = ("f8", "f4", "i8", "i4", "?", "c16", "f2", "g")
        for t in ("f8", "f4", "i4", "c16"):
            x = self.arguments((t,), ("(n, 3)",))
            v = self.arguments((t,), ("n",))
            for to in types:
                yield self.case("out", f"{self.f}({self.inside}, out=o)", rounds, **x, o=f"a({to!r}, (n, 3))")
            shapes = ("(n, 3), 'F'", "(n, 3), 'gaps'", "(n, 3), 'columns'", "(n, 3), 'reversed'", "(n, 3), 'unaligned'", "(n, 3), 'swapped'",
                      "(n, 3), 'read-only'", "(n, 3), 'subclass'", "(n, 3), 'broadcast'", "(2, n, 3)", "(n, 4)", "3", "(n, 1)")  # fmt: skip
            for shape in shapes:
                for to in (t, self.result_dtype(t)) if self.result_dtype(t) != t else (t,):
                    yield self.case(
                        "out", f"{self.f}({self.inside}, out=o)", rounds, **x, o=f"a({to!r}, {shape})"
                    )
            for o in ("x", "x[::-1]", "x.T", "y[::-1]", "y"):
                if o[0] in self.operands and o != "x.T":
                    yield self.case("overlap", f"{self.f}({self.inside}, out=o)", rounds, **x, o=o)
                    yield self.case("overlap", f"{self.f}({self.inside}, out=o)", rounds, **v, o=o)
            whole = f"a({t!r}, n + 2)"
            rest = {name: value for name, value in v.items() if name != "x"}
            for source, target in (
                ("w[:-2]", "w[2:]"),
                ("w[2:]", "w[:-2]"),
                ("w[1:-1]", "w[1:-1]"),
                ("w[1:-1][::-1]", "w[1:-1]"),
            ):
                yield self.case(
                    "overlap", f"{self.f}({self.inside}, out=o)", rounds, w=whole, x=source, **rest, o=target
                )
            positional = f"{self.f}({self.inside}, o)"
            yield self.case("out", positional, rounds, **x, o=f"a({self.result_dtype(t)!r}, (n, 3))")
            yield self.case(
                "out",
                f"{self.f}({self.inside}, out=(o,))",
                rounds,
                **x,
                o=f"a({self.result_dtype(t)!r}, (n, 3))",
            )
            yield self.case("out", f"{self.f}({self.inside}, out=None)", rounds, **x)
            made = (
                f"o = np.empty(x.shape, {self.result_dtype(t)!r})\n{self.f}({self.inside}, out=o)\nreturn o"
            )
            yield self.case("out", made, rounds, **x)
            yield self.case("out", f"{self.f}({self.inside}, out=[1.0])", rounds, **x)

    def result_dtype(self, t: str) -> str:
        try:
            one = [np.ones(1, t)] * self.u.nin if self.name != "ldexp" else [np.ones(1, t), np.ones(1, "i4")]
            with np.errstate(all="ignore"):
                found = self.u(*one)
        except TypeError:
            return t
        return (found[0] if isinstance(found, tuple) else found).dtype.str[1:].replace("b1", "?")

    def masks(self) -> Iterator[Case]:
        rounds = (*PLAIN, Round(33, True), Round(0), Round(5))
        for t in ("f8", "f4", "i8", "c16", "?", "f2"):
            x = self.arguments((t,), ("(n, 3)",))
            to = self.result_dtype(t)
            for m in ("a('?', (n, 3))", "a('?', 3)", "a('?', (n, 1))", "a('?', (n, 3), 'F')", "np.True_", "a('?')", "a('i8', (n, 3))",
                      "[True, False, True]", "a('?', (2, n, 3))", "a('?', (n, 4))"):  # fmt: skip
                into = f"{self.f}({self.inside}, out=o, where=m)"
                yield self.case("where, out", into, rounds, **x, o=f"a({to!r}, (n, 3))", m=m)
                if self.u.nout == 1:
                    picked = f"{self.f}({self.inside}, where=m)[np.broadcast_to(m, x.shape)]"
                    yield self.case("where", picked, rounds, **x, m=m)
            for zeros in (
                "np.zeros_like(x)",
                "np.zeros(x.shape)",
                "np.full(x.shape, 7.0)",
                "np.ones(x.shape, '?')",
            ):
                yield self.case(
                    "where, out",
                    f"{self.f}({self.inside}, out={zeros}, where=m)",
                    rounds,
                    **x,
                    m="a('?', (n, 3))",
                )
            yield self.case(
                "where, out",
                f"{self.f}({self.inside}, out=o, where={self.operands[-1]} != 0)",
                rounds,
                **x,
                o=f"a({to!r}, (n, 3))",
            )
            yield self.case(
                "where, out", f"{self.f}({self.inside}, out=x, where=m)", rounds, **x, m="a('?', (n, 3))"
            )
            yield self.case("where", f"{self.f}({self.inside}, where=True)", rounds, **x)

    def keywords(self) -> Iterator[Case]:
        rounds = (*PLAIN, Round(33, True), Round(5))
        for t in ("f8", "f4", "i4", "c16"):
            x = self.arguments((t,), ("(n, 3)",))
            for dtype in (
                "'f8'",
                "'f4'",
                "np.float32",
                "float",
                "'i8'",
                "'i4'",
                "bool",
                "complex",
                "'f2'",
                "object",
                "'nonsense'",
                "None",
            ):
                if dtype == "object" and self.name in _EUCLID:
                    continue
                yield self.case("dtype=", f"{self.f}({self.inside}, dtype={dtype})", rounds, **x)
                for casting in (
                    ("no", "equiv", "safe", "same_kind", "unsafe")
                    if dtype in ("'f8'", "'f4'", "'i4'")
                    else ()
                ):
                    yield self.case(
                        "casting=",
                        f"{self.f}({self.inside}, dtype={dtype}, casting={casting!r})",
                        rounds,
                        **x,
                    )
            for more in ("casting='unsafe'", "casting='no'", "casting='odd'", "order='C'", "order='F'", "order='K'", "subok=False", "subok=True",
                         f"signature={self.u.types[0]!r}", f"signature={self.types_of_numbers()[-1]!r}", "signature='->'", "nonsense=1", "extobj=1"):  # fmt: skip
                yield self.case("keyword", f"{self.f}({self.inside}, {more})", rounds, **x)
                if "order" in more:
                    yield self.case(
                        "keyword",
                        f"{self.f}({self.inside}, {more})",
                        rounds,
                        **self.arguments((t,), ("(n, 3)",), ("F",)),
                    )
            yield self.case(
                "keyword",
                f"{self.f}({self.inside}, subok=False)",
                rounds,
                **self.arguments((t,), ("(n, 3)",), ("subclass",)),
            )
        yield self.case("error", f"{self.f}()")
        yield self.case(
            "error",
            f"{self.f}({self.inside}, {self.inside}, {self.inside})",
            **self.arguments(("f8",), ("n",)),
        )
        yield self.case(
            "error",
            f"{self.f}({self.inside}, out=o)",
            **self.arguments(("f8",), ("n",)),
            o="(a('f8', n), a('f8', n), a('f8', n))",
        )

    def methods(self) -> Iterator[Case]:
        rounds = (*PLAIN, Round(40, True), Round(1), Round(0), Round(5))
        for t in ("f8", "f4", "i4", "u1", "?", "c16", "f2", "g"):
            x, f = f"a({t!r}, (n, 4))", self.f
            calls = [f"{f}.{method}(x)" for method in ("reduce", "accumulate")]
            calls += [f"{f}.reduce(x, {more})" for more in ("axis=1", "axis=None", "axis=(0, 1)", "axis=-1, keepdims=True", "axis=0, initial=2", "axis=2",
                                                            "axis=0, dtype='f8'", "axis=0, where=x != 1", "axis=0, where=x != 1, initial=1", "axis=0, out=o")]  # fmt: skip
            calls += [
                f"{f}.accumulate(x, {more})"
                for more in ("axis=1", "axis=-3", "axis=0, dtype='f8'", "0, None, o4")
            ]
            calls += [f"{f}.{method}" for method in ("reduce(x, 0, None, o)", "reduce(x, 0, None, None, True)", "accumulate(x.T, 1)", "reduceat(x, i, 0, None, o4)", "reduceat(x, [3, 1], 1)", "outer(x, x)",
                                                     "outer(2, y)", "outer(y, y, out=yy)", "at(x, (i, 0), 1)", "at(x, (slice(None), 1), 2)", "at(x, y == 1, 3)", "at(x, ..., x)", "reduce(x, axis=(1, 0), keepdims=True)",
                                                     "reduce(y)", "reduce(y, keepdims=True)", "reduce([1, 2])", "reduce(2)", "reduce(x[0, 0])", "reduce(x[None], axis=(0, 2))", "accumulate(y[::-1])", "accumulate(2)",
                                                     "reduce(x, axis=0, dtype='f4', out=o)", "reduce(y, initial=None)", "reduce(y, out=o[:1].reshape(()))", "accumulate(x, out=x)", "at(x, i, x[:1])", "reduceat(x, i, axis=0, out=o4)")]  # fmt: skip
            calls += [f"{f}.reduceat(x, {more})" for more in ("[0, 2, 1]", "[0, 3], axis=1", "i", "[0, 99]")]
            calls += [
                f"{f}.outer(x, y)",
                f"{f}.outer(y, 2)",
                f"{f}.at(y, i, 1)",
                f"{f}.at(y, [0, 0, 1], y[:3].copy())",
                f"{f}.at(y, i)",
                f"{f}.at(y, 99, 1)",
            ]
            for text in calls:
                made = {
                    "x": x,
                    "y": f"a({t!r}, n, 'C', 1)",
                    "i": "np.arange(n) // 2",
                    "o": f"a({t!r}, 4)",
                    "o4": f"a({t!r}, (n, 4))",
                    "yy": f"a({self.result_dtype(t)!r}, (n, n))",
                }
                inner = text.split("(", 1)[1]
                used = {k: v for k, v in made.items() if re.search(rf"(?<![\w.]){k}(?![\w=])", inner)}
                yield self.case("method", text, rounds, **used)
            for layout in ("F", "gaps", "reversed", "swapped", "unaligned", "subclass", "broadcast"):
                x = f"a({t!r}, (n, 4), {layout!r})"
                for text in ("reduce(x, axis=0)", "reduce(x, axis=1)", "reduce(x, axis=None)", "accumulate(x, axis=1)", "reduceat(x, [0, 2], axis=1)",
                             "outer(x[0], x[1:2])", "at(x, ([0, 1], [1, 1]), 2)", "reduce(x, axis=0, out=x[0])"):  # fmt: skip
                    yield self.case("method", f"{f}.{text}", rounds, x=x)

    def operators(self) -> Iterator[Case]:
        for made in self._operators():
            # What a power of ints that raises has written by then depends on NumPy's buffers.
            kept = self.name != "power" or made.group != "in place"
            yield made if kept else made._replace(rounds=tuple(r for r in made.rounds if not r.special))

    def _operators(self) -> Iterator[Case]:
        rounds = (*PLAIN, Round(200, True), Round(1), Round(0), Round(5))
        if self.name in UNARY:
            for t in (*DTYPES, *LONG):
                yield self.case("operator", UNARY[self.name], rounds, x=f"a({t!r}, n)")
        sign = OPERATORS.get(self.name)
        if not sign or self.u.signature:
            return
        for t, other in itertools.product((*DTYPES, "g"), ("same", "f8", "i8", "u1", "?", "c8")):
            y = (
                f"a({t if other == 'same' else other!r}, n, 'C', 1)"
                if other != "same"
                else f"a({t!r}, n, 'C', 1)"
            )
            yield self.case("operator", f"x {sign} y", rounds, x=f"a({t!r}, n)", y=y)
            if sign[-1] not in "<>=" or sign in ("<<", ">>"):
                yield self.case("in place", f"x {sign}= y\nreturn x", rounds, x=f"a({t!r}, n)", y=y)
                yield self.case("in place", f"x[1:] {sign}= y[:-1]\nreturn x", rounds, x=f"a({t!r}, n)", y=y)
        for t in ("f8", "f4", "i8", "u1", "c16", "?"):
            for number in ("2", "2.5", "1j", "True", "-1", "300", "0", "None", "'a'", "2**70"):
                yield self.case("operator", f"x {sign} {number}", rounds, x=f"a({t!r}, n)")
                yield self.case("operator", f"{number} {sign} x", rounds, x=f"a({t!r}, n)")
                if sign[-1] not in "<>=" or sign in ("<<", ">>"):
                    yield self.case("in place", f"x {sign}= {number}\nreturn x", rounds, x=f"a({t!r}, n)")
        for layout in ("swapped", "unaligned", "read-only", "broadcast", "gaps", "subclass"):
            if sign[-1] not in "<>=" or sign in ("<<", ">>"):
                yield self.case(
                    "in place",
                    f"x {sign}= y\nreturn x",
                    rounds,
                    x=f"a('i4', (n, 3), {layout!r})",
                    y="a('i4', (n, 3), 'C', 1)",
                )
                yield self.case(
                    "in place",
                    f"x {sign}= y\nreturn x",
                    rounds,
                    x=f"a('f8', (n, 3), {layout!r})",
                    y="a('f8', 3, 'C', 1)",
                )
                yield self.case(
                    "in place", f"x {sign}= x.T\nreturn x", rounds, x=f"a('f8', (n, n), {layout!r})"
                )

    def error_states(self) -> Iterator[Case]:
        for state, t in itertools.product(
            ("all='raise'", "all='ignore'", "divide='raise', over='ignore'", "under='warn'"),
            ("f8", "f4", "i4", "c16", "f2"),
        ):
            text = f"with np.errstate({state}):\n    r = {self.call}\nreturn r"
            yield self.case(
                "errstate", text, (*PLAIN, Round(40, True), Round(5)), **self.arguments((t,), ("n",))
            )

    def generalized(self) -> Iterator[Case]:
        shapes = {"matmul": (("(n, 4)", "(4, n)"), ("(2, n, 4)", "(4, 3)"), ("4", "(4, n)"), ("(n, 4)", "(5, n)"), ("()", "n")),
                  "matvec": (("(n, 4)", "4"), ("(2, n, 4)", "(2, 4)"), ("(n, 4)", "5")),
                  "vecmat": (("4", "(4, n)"), ("(2, 4)", "(2, 4, n)"), ("5", "(4, n)")),
                  "vecdot": (("n", "n"), ("(2, n)", "n"), ("(n, 4)", "3"))}[self.name]  # fmt: skip
        rounds = (*PLAIN, Round(1), Round(0), Round(21, True), Round(5))
        for pair in shapes:
            for t in (*DTYPES, *LONG):
                yield self.case("dtype", self.call, rounds, **self.arguments((t,), pair))
            for layout in LAYOUTS[1:]:
                for t in ("f8", "f4", "i4", "c16"):
                    yield self.case("layout", self.call, rounds, **self.arguments((t,), pair, (layout,)))
                    yield self.case("layout", self.call, rounds, **self.arguments((t,), pair, ("C", layout)))
            for more in (
                "dtype='f4'",
                "axes=[(0, 1), (0, 1), (0, 1)]",
                "axis=0",
                "keepdims=True",
                "out=o",
                "casting='unsafe', dtype='i4'",
                "order='F'",
            ):
                yield self.case(
                    "keyword",
                    f"{self.f}(x, y, {more})",
                    rounds,
                    **self.arguments(("f8",), pair),
                    **({"o": "a('f8', (n, n))"} if "out" in more else {}),
                )
        if self.name == "matmul":
            for t in ("f8", "i4", "c16"):
                yield self.case("operator", "x @ y", rounds, **self.arguments((t,), ("(n, 4)", "(4, n)")))
                yield self.case(
                    "in place", "x @= y\nreturn x", rounds, **self.arguments((t,), ("(n, 4)", "(4, 4)"))
                )


def cases_of(ufunc: np.ufunc) -> Iterator[Case]:
    """All cases of a ufunc."""
    make = Maker(ufunc)
    if ufunc.signature:
        yield from make.generalized()
        yield from make.scalars()
        return
    for group in (make.dtypes, make.scalars, make.layouts, make.changing, make.grown, make.ranks, make.outputs,
                  make.several_outputs, make.masks, make.keywords, make.methods, make.operators, make.error_states):  # fmt: skip
        yield from group()
