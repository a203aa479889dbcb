"""A case: a program of one call, made eagerly and compiled on equal arguments, round by round.

The first round is recorded, the next ones are replayed: with the same extents, with others, and with whatever the case
is about. The round in which the kind is looked at is the third; rounds behind it may leave the trace, because a
warning or an error has to be NumPy's own.
"""

from __future__ import annotations

import builtins
import contextlib
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import stator

from .data import DTYPES, LAYOUTS, Sub, maker
from .table import ROOT, Row, rows

sys.path.insert(0, str(ROOT / "tests" / "python"))
from fuzz.compare import Variables, observe, report  # noqa: E402

KINDS = ("raises", "compiled", "loop", "library", "opaque")


class Round(NamedTuple):
    """`n` is the extent, `k` the number of the round."""

    n: int
    special: bool = False


PLAIN = (Round(5), Round(5), Round(8))
SERVED_AFTER = len(PLAIN)
ENDS = (Round(1), Round(0), Round(5))
SPECIAL = (Round(300, True), Round(5))
GROWN = (
    (*[Round(0)] * 3, Round(5), Round(1), Round(8)),
    (*[Round(1)] * 3, Round(5), Round(0), Round(8)),
    (*[Round(40, True)] * 3, Round(5), Round(37, True)),
)  # what is recorded is the odd thing, and the ordinary comes behind it
LARGE = (*PLAIN, Round(1023), Round(10007), Round(70001), Round(4096, True))
MANY = (
    *PLAIN,
    *(Round(5 + k % 3, k % 5 == 4) for k in range(14)),
    Round(1),
    Round(0),
    Round(5),
)  # for what changes with k


class Case(NamedTuple):
    """`arguments` are names and the expressions that make them; `text` is the call, or statements that end in `return`."""

    op: str
    group: str
    text: str
    arguments: tuple[tuple[str, str], ...]
    rounds: tuple[Round, ...] = PLAIN

    def name(self) -> str:
        """Short, and the same in every run."""
        return f"{self.op} {self.group}: {self.text.replace(chr(10), '; ')}, {dict(self.arguments)}"

    def program(self) -> str:
        """The function."""
        body = self.text if "return " in self.text else f"return {self.text}"
        # A function without work on arrays is left to Python.
        body = re.sub(r"return (.*)$", r"found = \1\nreturn found, extra * 2.0 + 1.0", body)
        head = f"def f({', '.join([name for name, _ in self.arguments] + ['extra'])}):\n"
        return head + textwrap.indent(body, "    ") + "\n"


def case(op: str, group: str, text: str, rounds: tuple[Round, ...] = PLAIN, **arguments: str) -> Case:
    """A case whose arguments are given by name."""
    return Case(op, group, text, tuple(arguments.items()), rounds)


class Outcome(NamedTuple):
    """What became of a case: its kind, what was said where it is opaque, where it differs from NumPy."""

    case: Case
    kind: str
    why: str = ""
    differs: str = ""


@cache
def _code(program: str) -> CodeType:
    scope: dict[str, Any] = {}
    exec(compile(program, "<case>", "exec"), scope)
    return scope["f"].__code__


@cache
def _expression(text: str) -> CodeType:
    return compile(text, "<argument>", "eval")


def arguments(case: Case, number: int) -> tuple:
    """The arguments of a round, made afresh."""
    n, special = case.rounds[number]
    scope: dict[str, Any] = {
        "layouts": LAYOUTS,
        "dtypes": DTYPES,
        "np": np,
        "Sub": Sub,
        "a": maker(special),
        "n": n,
        "k": number,
        "special": special,
    }
    for name, text in case.arguments:
        scope[name] = eval(_expression(text), scope)
    return (*(scope[name] for name, _ in case.arguments), np.arange(4.0))


def run(case: Case) -> Outcome:
    """Makes the case's calls; the first difference ends it."""
    code = _code(case.program())
    scope = {"np": np, "__builtins__": builtins}
    plain, to_compile = FunctionType(code, dict(scope)), FunctionType(code.replace(), dict(scope))
    compiled = stator.compile(to_compile)
    kind, why, failed = "", "", False
    for number, (n, special) in enumerate(case.rounds):
        expected = _observe(plain, arguments(case, number))
        args = arguments(case, number)
        found = _observe(compiled, args)
        if found != expected:
            where = f"round {number}, n = {n}{', special values' * special}"
            return Outcome(case, kind, why, f"{where}: {report(expected, found)}")
        stator.wait()
        failed = failed or expected.exception is not None
        if number + 1 == SERVED_AFTER:
            kind, why = ("raises", "") if failed else _kind(compiled, args)
    return Outcome(case, kind, why)


def _observe(function: Any, args: tuple) -> Any:
    """Without the variables of frames: some are arrays that nothing has been written to yet."""
    seen = observe(function, args)
    return seen._replace(locals=Variables())


@cache
def _table() -> dict[str, Row]:
    return {row.text: row for row in rows()}


_NODE = re.compile(r"^\s*(%\d+) = (\w+)(.*?) : (\w+)", re.M)
_KIND = {"b1": "b", "bf16": "x"}


def _nodes(text: str) -> Iterator[str]:
    """The kind of each node of a trace."""
    dtypes: dict[str, str] = {}
    for name, op, operands, dtype in _NODE.findall(text):
        dtypes[name] = dtype
        row = _table().get(op)
        if op == "library":
            yield "library"
        elif op == "loop" or (row and row.cls == "Pointwise"):
            read = [dtypes[v] for v in re.findall(r"%\d+", operands.split("{")[0]) if v in dtypes]
            used = dtype if op in ("where", "cast") or not read else read[0]
            yield "compiled" if row and _KIND.get(used, used[0]) in row.native else "loop"


def _kind(compiled: Any, sample: tuple) -> tuple[str, str]:
    stats = stator.stats(compiled)
    if stats["opaque_steps"] or stats["exits"] or stats["replays"] < SERVED_AFTER - 1:
        reasons = _reasons(compiled, sample)
        return "opaque", reasons[0] if reasons else str({k: v for k, v in stats.items() if v})
    kinds = [kind for t in compiled.traces for kind in _nodes(t.recorded_text)]
    return max(kinds, key=KINDS.index, default="compiled"), ""


def _reasons(compiled: Any, sample: tuple) -> list[str]:
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        return [r.message for r in stator.explain(compiled)(*sample).reasons]
    return []
