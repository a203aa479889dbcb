"""The cases of casts, copies and choices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .case import ENDS, PLAIN, SPECIAL, Case, Round, case
from .data import DTYPES, LAYOUTS, LONG

ROUNDS = (*PLAIN, *ENDS, *SPECIAL)
COPIES = ("x.copy()", "np.copy(x)", "np.array(x)", "+x", "np.ascontiguousarray(x)", "np.asfortranarray(x)", "np.asarray(x)", "np.asanyarray(x)", "x.copy('F')", "x.copy(order='K')",
          "np.array(x, order='F')", "np.array(x, copy=False)", "np.array(x, copy=None)", "np.array(x, ndmin=3)", "np.array(x, subok=True)", "np.array([x, x])", "np.asarray(x, order='F')", "np.array(x, order='odd')",
          "np.positive(x)", "np.copy(x, order='C')", "np.copy(x, subok=True)", "np.require(x, requirements='C')", "x.copy('odd')", "x.__copy__()", "np.concatenate([x, x])", "np.stack([x, x])", "np.pad(x, 1)",
          "np.roll(x, 1)", "np.tile(x, 2)", "np.repeat(x, 2)", "np.repeat(x, 2, axis=0)", "np.hstack((x, x))", "np.vstack((x, x))", "x.byteswap()", "x.tolist()", "x.tobytes()")  # fmt: skip


def cast_cases(op: str) -> Iterator[Case]:
    """Every pair of dtypes, and every way to ask."""
    every = (*DTYPES, *LONG)
    for source, to in itertools.product(every, every):
        yield case(op, "cast", f"x.astype({to!r})", ROUNDS, x=f"a({source!r}, n)")
        yield case(
            op, "store", f"r = np.zeros(x.shape, {to!r})\nr[...] = x\nreturn r", ROUNDS, x=f"a({source!r}, n)"
        )
        for casting in ("no", "equiv", "safe", "same_kind") if source[0] != to[0] or source == to else ():
            yield case(op, "casting=", f"x.astype({to!r}, casting={casting!r})", PLAIN, x=f"a({source!r}, n)")
    for source, to, layout in itertools.product(
        ("f8", "f4", "i4", "c16", "?"), ("f8", "f4", "i8", "u1", "c8", "?"), LAYOUTS[1:]
    ):
        yield case(
            op,
            "layout",
            f"x.astype({to!r})",
            (*PLAIN, *ENDS, Round(33, True)),
            x=f"a({source!r}, (n, 3), {layout!r})",
        )
    for source in ("f8", "f4", "i4", "c16", "?"):
        for text in ("x.astype(float)", "x.astype(np.float32)", "x.astype(int)", "x.astype(bool)", "x.astype('>f8')", "x.astype(object)", "x.astype('S5')", "x.astype('U3')", "x.astype('M8[s]')", "x.astype('odd')",
                     "x.astype(None)", "x.astype(x.dtype)", "x.astype(float, copy=False)", "x.astype('f4', order='F')", "x.astype('f4', order='C')", "x.astype('f4', subok=False)", "x.astype(dtype='f4')", "np.astype(x, np.float32)",
                     "np.asarray(x, dtype='f4')", "np.array(x, dtype=int)", "np.array(x, 'f8', copy=False)", "np.float32(x)", "np.float64(x)", "np.int64(x)", "np.complex128(x)", "np.bool_(x)", "np.uint8(x)", "np.asarray(x, float)",
                     "float(x[0])", "int(x[0])", "bool(x[0])", "complex(x[0])", "x[0].astype('f4')", "x.item(0)", "float(x)", "x.sum().astype('i4')", "np.ascontiguousarray(x, dtype='f4')", "np.asarray(x, dtype='f4', order='F')"):  # fmt: skip
            rounds = (*PLAIN, Round(33, True), Round(1), Round(0), Round(5))
            yield case(
                op,
                "way",
                text,
                rounds,
                x=f"a({source!r}, (n, 3))"
                if "[0]" not in text and text != "float(x)"
                else f"a({source!r}, n)",
            )
            yield case(op, "way", text, rounds, x=f"a({source!r}, n, 'gaps')")


def copy_cases(op: str) -> Iterator[Case]:
    """Fresh arrays with the same elements."""
    rounds = (*PLAIN, *ENDS, Round(33, True))
    for text in COPIES:
        for t in (*DTYPES, *LONG, "M8[s]") if "tobytes" not in text and "byteswap" not in text else DTYPES:
            yield case(op, "dtype", text, rounds, x=f"a({t!r}, (n, 3))")
        for layout, t in itertools.product(LAYOUTS[1:], ("f8", "i4", "c16")):
            yield case(op, "layout", text, rounds, x=f"a({t!r}, (n, 3), {layout!r})")
        for shape in ("()", "n", "(2, n, 3)", "(2, n, 1, 3)", "(1,) * 9 + (n,)"):
            yield case(op, "rank", text, rounds, x=f"a('f8', {shape})")


def where_cases(op: str) -> Iterator[Case]:
    """np.where, np.select, np.choose, np.clip of every dtype."""
    rounds = (*PLAIN, *ENDS, Round(33, True))
    every = (*DTYPES, *LONG)
    for t, s in itertools.product(every, every):
        yield case(
            op,
            "dtype",
            "np.where(m, x, y)",
            rounds,
            m="a('?', n)",
            x=f"a({t!r}, n)",
            y=f"a({s!r}, n, 'C', 1)",
        )
    for t in every:
        yield case(
            op,
            "condition",
            "np.where(m, x, y)",
            rounds,
            m=f"a({t!r}, n)",
            x="a('f8', n)",
            y="a('f8', n, 'C', 1)",
        )
        yield case(op, "condition", "np.where(m)", rounds, m=f"a({t!r}, (n, 3))")
        for s in (
            "0",
            "0.5",
            "1j",
            "True",
            "-1",
            "300",
            "np.nan",
            "np.float32(2)",
            "None",
            "'a'",
            "2**70",
            "[1, 2, 3]",
            "x[0]",
        ):
            yield case(
                op, "number", f"np.where(m, x, {s})", rounds, m="a('?', (n, 3))", x=f"a({t!r}, (n, 3))"
            )
            yield case(op, "number", f"np.where(x > 1, {s}, x)", rounds, x=f"a({t!r}, (n, 3))")
        yield case(op, "number", "np.where(m, 1, 2)", rounds, m=f"a({t!r}, n)")
        for text in ("np.clip(x, 1, 5)", "np.clip(x, None, 3)", "np.clip(x, y, None)", "x.clip(min=2)", "x.clip(0, 1.5)", "np.clip(x, 5, 1)", "np.clip(x, 1, 5, out=x)", "np.clip(x)", "np.clip(x, None, None)", "np.clip(x, -1, 300)",
                     "np.select([x > 1, x < 0], [x, y], 0)", "np.choose(y != x, [x, y])", "np.extract(x > 1, x)", "np.compress(x > 1, x)", "np.nan_to_num(x)", "np.clip(x, 1, 5, dtype='f4')", "np.clip(x, np.nan, 1)", "np.maximum(x, 1).clip(y, 3)"):  # fmt: skip
            used = (
                {"y": f"a({t!r}, n, 'C', 1)"} if "y" in text.replace("copy", "").replace("dtype", "") else {}
            )
            yield case(op, "choice", text, rounds, x=f"a({t!r}, n)", **used)
    for layout, t in itertools.product(LAYOUTS[1:], ("f8", "i4", "c16", "?")):
        for m in ("a('?', (n, 3))", f"a('?', (n, 3), {layout!r})", "a('?', 3)", "a('?', (n, 1))"):
            yield case(
                op,
                "layout",
                "np.where(m, x, y)",
                rounds,
                m=m,
                x=f"a({t!r}, (n, 3), {layout!r})",
                y=f"a({t!r}, (n, 3), 'C', 1)",
            )
            yield case(op, "layout", "np.where(m, x, 0)", rounds, m=m, x=f"a({t!r}, (n, 3), {layout!r})")
    for m, x, y in (
        ("(n, 1)", "3", "()"),
        ("()", "n", "n"),
        ("(2, n, 1)", "3", "(n, 3)"),
        ("n", "(3, 1)", "()"),
        ("n", "(n + (k > 2),)", "n"),
        ("(n, 4)", "(n, 3)", "3"),
        ("()", "()", "()"),
    ):
        yield case(
            op,
            "broadcast",
            "np.where(m, x, y)",
            rounds,
            m=f"a('?', {m})",
            x=f"a('f8', {x})",
            y=f"a('f4', {y})",
        )
