"""Makes the calls of calls.txt and beyond.txt eagerly and compiled: are they the same bit for bit, and what became of them?

A call is tried in a function of its own, in front of other array work, with arguments of two sizes and then with NaNs, infinities and zeros among
them. What the names in a call mean is said by `arguments`. The kinds:

* compiled: generated code, a view, or an answer that guards have settled; nothing of it is left to NumPy
* library: NumPy's own function, called by the trace on whole operands; the trace goes on behind it
* opaque: a step of Python's, in front of which the trace ends
* raises: the call fails, with and without stator

A function is as good as the worst of its calls.
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import stator

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "python"))
from fuzz.compare import observe, report  # noqa: E402

BEYOND = "beyond.txt"
SIZES = (6, 6, 9, 7)
KINDS = ("raises", "compiled", "library", "opaque")


def calls(file: str = "calls.txt") -> dict[str, list[str]]:
    """The calls of each entry of one file: of the ranking's functions, or of others (`beyond.txt`)."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (HERE / file).read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith(" "):
            lines.append(line.strip())
        else:
            lines = found.setdefault(line.strip(), [])
    return found


def _mixed(shape: tuple[int, ...], seed: int, special: bool) -> np.ndarray:
    """Floats of both signs, some of them alike; with the values in which things differ."""
    count = int(np.prod(shape))
    x = (np.arange(count) * (7 + 2 * seed) % 29 - 11 + seed) / 8
    if special:
        x[:: 3 + seed] = [np.nan, np.inf, -np.inf, -0.0, 0.0][seed % 5]
        x[1 :: 4 + seed] = [np.inf, -0.0, np.nan, 0.0, -np.inf][seed % 5]
    return x.reshape(shape)


def arguments(n: int, special: bool = False) -> dict[str, Any]:
    """What the names in calls.txt mean, for size `n`."""
    x = _mixed((n,), 0, special)
    grid = _mixed((n, n + 3), 1, special)
    square = _mixed((n, n), 2, False) + 4 * np.eye(n)
    holes = _mixed((n, n + 3), 0, special)
    holes[1::2, ::3] = np.nan
    ints = np.arange(n) * 5 % 7 - 2
    complexes = np.empty(n, complex)
    complexes.real, complexes.imag = x, x[::-1]
    return {
        "x": x,
        "y": np.abs(_mixed((n,), 3, special)) + 0.5,
        "xs": np.linspace(-1.0, 2.0, n),  # ascending
        "m": grid,
        "p": _mixed((n, n + 3), 2, special),
        "q": square,  # regular
        "g": _mixed((n, n + 3), 5, False),
        "sp": square @ square.T,  # symmetric, positive definite
        "v": _mixed((n, 3), 3, special),
        "a3": _mixed((n, 2, 3), 2, special),
        "t": _mixed((n + 3, n), 3, special).T,  # Fortran's order
        "d": _mixed((n, 2 * n), 1, special)[:, ::2],  # with gaps
        "nm": holes,
        "h": x.astype(np.float32),
        "c": complexes,
        "cm": square + 1j * square.T,
        "i": ints,
        "u": np.arange(n) * 2 % n,  # indices
        "im": (np.arange(3 * n) % 4 // 2).reshape(n, 3),
        "b": ints % 2 == 0,
        "bm": grid > 0,
        "by": bytes(range(8 * n)),
        "extra": np.arange(4.0),
        "k": n,
        "w": 0.75 if not special else np.inf,
    }


class Call(NamedTuple):
    """What became of one call."""

    text: str
    kind: str
    why: str = ""
    differs: str = ""


def function_of(text: str) -> tuple[Callable[..., Any], list[str]]:
    """A function that makes the call, and the names of its parameters."""
    body = text if "return " in text else f"return {text}"
    # A function without work on arrays is left to Python.
    body = re.sub(r"return (.*)$", r"found_ = \1; return found_, extra * 2.0 + 1.0", body)
    names = {node.id for node in ast.walk(ast.parse(f"def f():\n {body}")) if isinstance(node, ast.Name)}
    known = [name for name in arguments(3) if name in names]
    scope: dict[str, Any] = {"np": np, "io": io}
    exec(compile(f"def f({', '.join(known)}):\n    {body}", "<call>", "exec"), scope)
    return scope["f"], known


def _library_nodes(text: str) -> bool:
    return re.search(r"= library\b", text) is not None


def try_call(text: str, wait: bool = False) -> Call:
    """One call of calls.txt."""
    plain, names = function_of(text)
    compiled = stator.compile(plain)
    rounds = [(n, False) for n in SIZES] + [(SIZES[-1], True)] * 2
    kind, why = "compiled", ""
    for number, (n, special) in enumerate(rounds):
        before, after = (tuple(arguments(n, special)[name] for name in names) for _ in range(2))
        expected, found = observe(plain, before), observe(compiled, after)
        if found != expected:
            return Call(text, kind, why, f"n = {n}{', special values' * special}: {report(expected, found)}")
        if wait:
            stator.wait()
        if number + 1 == len(SIZES):
            kind, why = ("raises", "") if expected.exception else _kind(compiled, after)
    return Call(text, kind, why)


def _kind(compiled: Any, sample: tuple) -> tuple[str, str]:
    stats = stator.stats(compiled)
    if stats["opaque_steps"] or stats["exits"] or stats["replays"] < len(SIZES) - 2:
        reasons = [r.message for r in stator.explain(compiled)(*sample).reasons]
        return "opaque", reasons[0] if reasons else str(stats)
    if any(_library_nodes(t.recorded_text) for t in compiled.traces):
        return "library", ""
    return "compiled", ""


def probe(entries: list[str], wait: bool = False) -> dict[str, list[Call]]:
    """All calls of these entries."""
    table = {**calls(BEYOND), **calls()}
    os.environ.setdefault("STATOR_RETIRE", "0")
    return {entry: [try_call(text, wait) for text in table[entry]] for entry in entries}


def kind_of(tried: list[Call]) -> str:
    return max((call.kind for call in tried), key=KINDS.index)
