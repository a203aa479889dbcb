"""Which cases belong to which op. A row of ops.def that is no ufunc has a maker here, or is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import conversions, library, reductions, shapes
from .case import Case
from .table import Row, rows, ufuncs
from .ufuncs import cases_of

MAKERS: dict[str, Callable[[str], Iterator[Case]]] = {
    "input": shapes.input_cases,
    "const": shapes.const_cases,
    "sym": shapes.sym_cases,
    "empty": shapes.alloc_cases,
    "full": shapes.alloc_cases,
    "arange": shapes.alloc_cases,
    "cast": conversions.cast_cases,
    "copy": conversions.copy_cases,
    "where": conversions.where_cases,
    "view": shapes.view_cases,
    "reshape": shapes.reshape_cases,
    "store": shapes.store_cases,
    "reduce": reductions.reduce_cases,
    "argreduce": reductions.arg_reduce_cases,
    "library": library.library_cases,
    "guard": library.guard_cases,
    "symguard": library.guard_cases,
    "errorstate": library.error_state_cases,
    "checkpoint": library.checkpoint_cases,
}
ANY_UFUNC = "loop"  # the row of all ufuncs that have none of their own


class NoCases(LookupError):
    """A row of the op table that nothing here knows how to call."""


def cases_of_row(row: Row) -> Iterator[Case]:
    """The cases of a row of ops.def.

    Raises
    ------
    NoCases
        If the row names no ufunc of NumPy as its host and has no maker.
    """
    if row.text in MAKERS:
        return MAKERS[row.text](row.text)
    if row.host in ufuncs():
        return cases_of(ufuncs()[row.host])
    raise NoCases(
        f"graph/ops.def has the row {row.id} ({row.text}), whose host {row.host!r} is no ufunc of NumPy: how it is called "
        "has to be said by a function in tests/matrix that yields cases, and a line for it in MAKERS of tests/matrix/cases.py"
    )


def operations() -> dict[str, Callable[[], Iterator[Case]]]:
    """Every row of ops.def and every ufunc of NumPy, with what makes its cases."""
    found: dict[str, Callable[[], Iterator[Case]]] = {}
    for row in rows():
        if row.text != ANY_UFUNC:
            found[row.text] = lambda row=row: cases_of_row(row)
    for name, ufunc in ufuncs().items():
        found.setdefault(name, lambda ufunc=ufunc: cases_of(ufunc))
    return found


def sample(name: str, count: int) -> list[Case]:
    """`count` cases of an op, of all its groups, other ones for each op."""
    groups: dict[str, list[Case]] = {}
    for made in operations()[name]():
        groups.setdefault(made.group.split(" library")[0], []).append(made)
    start = sum(map(ord, name))
    chosen: list[Case] = []
    at = 0
    while len(chosen) < count and any(groups.values()):
        for of_group in groups.values():
            if of_group and len(chosen) < count:
                chosen.append(of_group.pop((start + 37 * at) % len(of_group)))
        at += 1
    return chosen
