"""What became of each op for each kind of dtype: the second table of docs/coverage.md, written and read back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from .case import KINDS, PLAIN, Case, case, run
from .cases import operations
from .table import ROOT, rows, ufuncs
from .ufuncs import Maker

PATH = ROOT / "docs" / "coverage.md"
TITLE = "# The op table, row by row"
HEAD = f"""
{TITLE}

What became of the plain call of each op for each kind of dtype, in contiguous vectors, and of some forms of it for doubles (or ints, where
there is no function of doubles). First the rows of `graph/ops.def`, then NumPy's other ufuncs. It is what traces of the cases of `tests/matrix` held when
`python -m tests.api --write` wrote this page, the worst of several calls.

| | |
| --- | --- |
| native | generated code, a view, or nothing at all |
| loop | NumPy's inner loop, called on chunks between generated code |
| library | NumPy's own call on whole operands, made by the trace |
| opaque | a step of Python's, in front of which the trace ends |
| – | NumPy raises |

| op | bool | int | uint | f16 | f32, f64 | complex | long double | gaps | `out=` | `where=` with `out=` | `reduce` |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

KINDS_OF_DTYPES = {
    "bool": ("?",), "int": ("i1", "i2", "i4", "i8"), "uint": ("u1", "u2", "u4", "u8"), "f16": ("f2",), "float": ("f4", "f8"),
    "complex": ("c8", "c16"), "long double": ("g", "G"),
}  # fmt: skip
FORMS = ("gaps", "out", "where", "reduce")

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
    """All lines of the table."""
    return list(operations())


def _row_cases(name: str) -> Iterator[tuple[str, Case]]:
    made = {"x": "a({0!r}, n)", "y": "a({0!r}, n, 'C', 1)", "m": "a('?', n)"}
    for column, dtypes in KINDS_OF_DTYPES.items():
        for t in dtypes:
            for text in CALLS[name]:
                used = {
                    k: v.format(t)
                    for k, v in made.items()
                    if k == "x"
                    or f"{k})" in text
                    or f"{k}," in text
                    or f"{k}[" in text
                    or f" {k}" in text
                    or f"({k}" in text
                }
                yield column, case(name, "served", text, **used)
    for text in CALLS[name]:
        used = {k: v.format("f8") for k, v in made.items() if k in text and k != "x"}
        yield "gaps", case(name, "served", text, x="a('f8', n, 'gaps')", **used)
    if name in ("reduce", "argreduce"):
        yield (
            "out",
            case(
                name,
                "served",
                "np.sum(x, axis=0, out=o)" if name == "reduce" else "np.argmax(x, axis=0, out=o)",
                x="a('f8', (n, 3))",
                o=f"a({'f8' if name == 'reduce' else 'i8'!r}, 3)",
            ),
        )
    if name == "reduce":
        yield "where", case(name, "served", "np.sum(x, where=m)", x="a('f8', n)", m="a('?', n)")
        yield "reduce", case(name, "served", "np.add.reduce(x)", x="a('f8', n)")


def _ufunc_cases(name: str) -> Iterator[tuple[str, Case]]:
    make = Maker(ufuncs()[name])
    t = make.main_dtype()
    if make.u.signature:
        for made in make.generalized():
            shape = {value for key, value in made.arguments}
            column = next(
                (
                    c
                    for c, dtypes in KINDS_OF_DTYPES.items()
                    if any(f"a({d!r}" in v for d in dtypes for v in shape)
                ),
                None,
            )
            if made.group == "dtype" and column:
                yield column, made._replace(rounds=PLAIN)
        return
    for column, dtypes in KINDS_OF_DTYPES.items():
        for d in dtypes:
            yield column, make.case("served", make.call, **make.arguments((d,), ("n",)))
    plain = make.arguments((t,), ("n",))
    yield "gaps", make.case("served", make.call, **make.arguments((t,), ("n",), ("gaps",)))
    if make.u.nout == 1:
        out = f"a({make.result_dtype(t)!r}, n)"
        yield "out", make.case("served", f"{make.f}({make.inside}, out=o)", **plain, o=out)
        yield (
            "where",
            make.case("served", f"{make.f}({make.inside}, out=o, where=m)", **plain, o=out, m="a('?', n)"),
        )
    if make.u.nin == 2 and make.u.nout == 1:
        yield "reduce", make.case("served", f"{make.f}.reduce(x)", x=plain["x"])


def of_op(name: str) -> dict[str, str]:
    """The kind in each column."""
    texts = {row.text for row in rows()} & CALLS.keys()
    found: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for column, made in _row_cases(name) if name in texts else _ufunc_cases(name):
            kind = run(made).kind
            found[column] = max(found.get(column, kind), kind, key=KINDS.index)
    return {
        column: "" if column not in found else "–" if found[column] == "raises" else found[column]
        for column in (*KINDS_OF_DTYPES, *FORMS)
    }


def section() -> str:
    """The second part of the page."""
    lines = [f"| `{name}` | {' | '.join(of_op(name).values())} |\n" for name in names()]
    return HEAD + "".join(lines)


def page() -> dict[str, dict[str, str]]:
    """What the page says of each op."""
    text = PATH.read_text().partition(TITLE)[2]
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 1 + len(KINDS_OF_DTYPES) + len(FORMS) and cells[0].startswith("`"):
            found[cells[0].strip("`")] = dict(zip((*KINDS_OF_DTYPES, *FORMS), cells[1:]))
    return found


def worse(said: dict[str, str], found: dict[str, str]) -> dict[str, str]:
    """The columns in which what was found is worse than what was said."""
    order = ("", "–", *KINDS[1:])
    return {column: kind for column, kind in found.items() if order.index(kind) > order.index(said[column])}
