"""What became of each op for each kind of dtype and each form of a call: docs/ops.md, written and read back."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import numpy as np

from .case import KINDS, PLAIN, Case, case, run
from .cases import operations
from .table import ROOT, ufuncs
from .ufuncs import Maker

PATH = ROOT / "docs" / "ops.md"
HEAD = """# The ops, one by one

What becomes of a call inside of a compiled function: first for each op of `graph/ops.def` and each other ufunc of NumPy by the dtype of the
operands, then by the form of the call. [coverage.md](coverage.md) has the functions that programs use most. `python -m tests.matrix --write` writes
this page from what traces held; `python -m tests.matrix` compares all of it, with special values, layouts, ranks and errors, with NumPy.

| | |
| --- | --- |
| compiled | generated code, a view, or nothing at all |
| loop | NumPy's own inner loop, called on chunks between generated code |
| library | NumPy's own call on whole operands, made by the trace |
| opaque | a step of Python's, in front of which the trace ends |
| – | NumPy raises |
| (nothing) | there is no such call |

A cell is the worst of its calls. All results have NumPy's bits, whatever the cell says.

"""
BY_DTYPE = """## By dtype

Contiguous vectors. Int and uint are of 8 to 64 bits, complex is of 64 and 128, long double real and complex.

"""
BY_FORM = """
## By form

Vectors of doubles, or of what the ufunc takes instead. `gaps`: every other element of an array. `scalars`: NumPy's numbers. `where=` has `out=`
beside it. `dtype=` asks for another loop than the operands would. The others are methods of the ufunc.

"""

KINDS_OF_DTYPES = {
    "bool": ("?",), "int": ("i1", "i2", "i4", "i8"), "uint": ("u1", "u2", "u4", "u8"), "f16": ("f2",), "f32, f64": ("f4", "f8"),
    "complex": ("c8", "c16"), "long double": ("g", "G"),
}  # fmt: skip
FORMS = (
    "gaps",
    "scalars",
    "`out=`",
    "`where=`",
    "`dtype=`",
    "reduce",
    "accumulate",
    "reduceat",
    "outer",
    "at",
)

# The calls that stand for the rows that are no ufuncs.
CALLS = {
    "input": ("x",), "const": ("np.where(m, x, 1)",), "sym": ("np.full(x.shape, x.shape[0], x.dtype)",), "empty": ("r = np.empty_like(x)\nr[...] = x\nreturn r",),
    "full": ("np.zeros_like(x)", "np.ones(x.shape, x.dtype)"), "arange": ("np.arange(3, dtype=x.dtype) if x.dtype.kind != 'b' else 0",),
    "cast": ("x.astype('f8')", "x.astype('f4')", "x.astype('i4')", "x.astype('?')", "x.astype('c16')"), "copy": ("x.copy()", "np.array(x)"),
    "where": ("np.where(m, x, y)",), "view": ("x[1:]", "x[::-1]", "x[:, None]", "x.T"), "reshape": ("x.reshape(-1, 1)", "x[:4].reshape(2, 2)"),
    "store": ("x[...] = y\nreturn x", "x[1:] = y[:-1]\nreturn x", "x[m] = y[m]\nreturn x"),
    "reduce": ("x.sum()", "x.max()", "np.min(x, axis=0)", "np.any(x)", "np.prod(x)"), "argreduce": ("np.argmax(x)", "x.argmin()"),
    "library": ("np.sort(x)", "np.cumsum(x)", "np.argsort(x)", "np.dot(x, y)"), "guard": ("x + 1 if x[0] > 0 else x",), "symguard": ("x if len(x) > 3 else x + 1",),
    "errorstate": ("with np.errstate(all='ignore'):\n    r = x * y\nreturn r",), "checkpoint": ("x[0] = y[0]\nr = x[1] * y\nreturn r, x",),
}  # fmt: skip


def names() -> list[str]:
    """All ops, in the order of the page."""
    return list(operations())


_MADE = {"x": "a({0!r}, n)", "y": "a({0!r}, n, 'C', 1)", "m": "a('?', n)"}


def _arguments(text: str, dtype: str) -> dict[str, str]:
    """What the names in a call's text stand for."""
    return {k: v.format(dtype) for k, v in _MADE.items() if re.search(rf"(?<![\w.]){k}\b", text)}


def _row_cases(name: str) -> Iterator[tuple[str, Case]]:
    for column, dtypes in KINDS_OF_DTYPES.items():
        for t in dtypes:
            for text in CALLS[name]:
                yield column, case(name, "served", text, **_arguments(text, t))
    for text in CALLS[name]:
        used = {**_arguments(text, "f8"), "x": "a('f8', n, 'gaps')"}
        yield "gaps", case(name, "served", text, **used)
    if name == "reduce":
        x, o, m = "a('f8', (n, 3))", "a('f8', 3)", "a('?', (n, 3))"
        for f in ("sum", "prod", "max", "mean"):
            yield "`out=`", case(name, "served", f"np.{f}(x, axis=0, out=o)", x=x, o=o)
        yield "`where=`", case(name, "served", "np.sum(x, axis=0, out=o, where=m)", x=x, o=o, m=m)
        yield "`dtype=`", case(name, "served", "np.sum(x, dtype='f4')", x=x)
    if name == "argreduce":
        text = "np.argmax(x, axis=0, out=o)"
        yield "`out=`", case(name, "served", text, x="a('f8', (n, 3))", o="a('i8', 3)")


def _other_dtype(make: Maker) -> str | None:
    """A dtype that can be asked for, and is not what comes anyway."""
    one = [np.ones(1, make.main_dtype())] * make.u.nin if make.name != "ldexp" else [np.ones(1), 1]
    for t in ("f4", "f2", "i8", "?", "c16"):
        if t == make.result_dtype(make.main_dtype()):
            continue
        try:
            make.u(*one, dtype=t)
            return t
        except TypeError:
            continue
    return None


def _form_cases(make: Maker) -> Iterator[tuple[str, Case]]:
    t, f, u = make.main_dtype(), make.f, make.u
    plain = make.arguments((t,), ("n",))
    x, i = plain["x"], "np.arange(n) // 2"
    yield "gaps", make.case("served", make.call, **make.arguments((t,), ("n",), ("gaps",)))
    yield "scalars", make.case("served", make.call, **make.arguments((t,), ("n",), ("element",)))
    if u.nout == 1:
        o = f"a({make.result_dtype(t)!r}, n)"
        yield "`out=`", make.case("served", f"{f}({make.inside}, out=o)", **plain, o=o)
        masked = f"{f}({make.inside}, out=o, where=m)"
        yield "`where=`", make.case("served", masked, **plain, o=o, m="a('?', n)")
        if (other := _other_dtype(make)) is not None:
            yield "`dtype=`", make.case("served", f"{f}({make.inside}, dtype={other!r})", **plain)
    if u.nin == 2 and u.nout == 1:
        for method in ("reduce", "accumulate"):
            yield method, make.case("served", f"{f}.{method}(x)", x=x)
        yield "reduceat", make.case("served", f"{f}.reduceat(x, i)", x=x, i=i)
        yield "outer", make.case("served", f"{f}.outer(x, y)", **plain)
        at = make.case("served", f"{f}.at(x, i, y)\nreturn x", i=i, **plain)
        yield "at", at
    elif u.nin == 1 and u.nout == 1:
        yield "at", make.case("served", f"{f}.at(x, i)\nreturn x", x=x, i="np.arange(n)[::2]")


def _generalized_cases(make: Maker) -> Iterator[tuple[str, Case]]:
    for made in make.generalized():
        texts = [value for _, value in made.arguments]
        for column, dtypes in KINDS_OF_DTYPES.items():
            if made.group == "dtype" and any(f"a({d!r}" in text for d in dtypes for text in texts):
                yield column, made._replace(rounds=PLAIN)
        if made.group == "keyword" and "out=" in made.text:
            yield "`out=`", made._replace(rounds=PLAIN)


def _ufunc_cases(name: str) -> Iterator[tuple[str, Case]]:
    make = Maker(ufuncs()[name])
    if make.u.signature:
        yield from _generalized_cases(make)
        return
    for column, dtypes in KINDS_OF_DTYPES.items():
        for d in dtypes:
            yield column, make.case("served", make.call, **make.arguments((d,), ("n",)))
    yield from _form_cases(make)


def of_op(name: str) -> dict[str, str]:
    """The kind in each column: the worst of the calls, or a dash where NumPy raises in all of them."""
    found: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for column, made in _row_cases(name) if name in CALLS else _ufunc_cases(name):
            kind = run(made).kind
            found[column] = max(found.get(column, kind), kind, key=KINDS.index)
    return {c: found.get(c, "").replace("raises", "–") for c in (*KINDS_OF_DTYPES, *FORMS)}


def _table(title: str, columns: tuple[str, ...], found: dict[str, dict[str, str]]) -> Iterator[str]:
    yield title
    yield f"| op | {' | '.join(columns)} |\n|{' --- |' * (1 + len(columns))}\n"
    for name, kinds in found.items():
        cells = [kinds[column] for column in columns]
        if any(cells):
            yield f"| `{name}` | {' | '.join(cells)} |\n"


def page() -> str:
    """The page, from calls made now."""
    found = {name: of_op(name) for name in names()}
    by_dtype, by_form = _table(BY_DTYPE, (*KINDS_OF_DTYPES,), found), _table(BY_FORM, FORMS, found)
    return HEAD + "".join((*by_dtype, *by_form))


def said() -> dict[str, dict[str, str]]:
    """What the page that is there says of each op."""
    found: dict[str, dict[str, str]] = {}
    columns: list[str] = []
    for line in PATH.read_text().splitlines():
        cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        if cells[0] == "op":
            columns = cells[1:]
        elif len(cells) == 1 + len(columns) and cells[0].startswith("`"):
            found.setdefault(cells[0].strip("`"), {}).update(zip(columns, cells[1:]))
    return found


def worse(said: dict[str, str], found: dict[str, str]) -> dict[str, str]:
    """The columns in which what was found is worse than what was said."""
    order = ("", "–", *KINDS[1:])
    return {c: kind for c, kind in found.items() if order.index(kind) > order.index(said.get(c, ""))}
