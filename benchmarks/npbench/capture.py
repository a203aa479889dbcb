"""How much of the time that NumPy spends in a program is in compiled code: ``python -m benchmarks.npbench.capture``.

NPBENCH_DIR=~/npbench PYHPC_DIR=~/pyhpc python -m benchmarks.npbench.capture --presets S

Each program, in a process of its own, is run as plain Python under `stator.profile`, which gives the time of each of its
statements, and then compiled. A statement is captured when it is in a trace or in a loop that is native code, and nothing of
it was left to Python: so the share is of NumPy's time, not of the time that is left once most of it has gone. The columns:

captured   the share of plain NumPy's time in lines that are captured
generated, library, NumPy, Python, stator   what the compiled program's own time goes to

and behind them the lines that are not captured, with the reason that `explain` gives.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import apart, checkouts, variants

SECONDS, WARM = 1.5, 12
LEAST = 0.002  # share from which a line that is not captured is named
_REGION_LINE = re.compile(r"^  .* @(\d+)(?: in l\d+)?$")


def _profiled(call: Any, function: Callable[..., Any]) -> Any:
    """Calls for a while, with fresh arguments that the profile does not see being made."""
    import stator

    arguments = [call.fresh() for _ in range(3)]
    with stator.profile() as p:
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            for a in arguments:
                function(*a)
            arguments = [call.fresh() for _ in arguments]
    return p.report


class Statements:
    """First lines of statements: what one of them does may be told at any of its lines."""

    def __init__(self) -> None:
        self._first: dict[str, dict[int, int]] = {}

    def __call__(self, file: str, line: int) -> tuple[str, int]:
        if file not in self._first:
            first = self._first[file] = {}
            for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
                if isinstance(node, ast.stmt) and not hasattr(node, "body"):
                    first |= dict.fromkeys(
                        range(node.lineno, (node.end_lineno or node.lineno) + 1), node.lineno
                    )
        return file, self._first[file].get(line, line)


def _region_lines(region: Any) -> set[tuple[str, int]]:
    file, _, line = region.place.rpartition(":")
    found = (_REGION_LINE.match(text) for text in region.graph_text.splitlines())
    return {(file, int(line))} | {(file, int(m[1])) for m in found if m}


def _captured(at: Statements) -> tuple[set[tuple[str, int]], dict[tuple[str, int], str]]:
    """Statements in traces and native loops, without those of which something stays in Python; and reasons."""
    from stator import _stator

    inside: set[tuple[str, int]] = set()
    outside: set[tuple[str, int]] = set()
    reasons: dict[tuple[str, int], str] = {}
    for f in _stator.functions():
        inside |= {at(file, line) for file, _, line, _ in f["lines"]}
        for region in f["regions"]:
            if not region.entries:
                continue
            inside |= {at(*place) for place in _region_lines(region)}
            taken = {at(file, line) for file, line, why, count in region.exits if why == "check" and count}
            for file, line, _, what in region.left_out:
                if at(file, line) in taken:
                    outside.add(at(file, line))
                    reasons[at(file, line)] = f"no code for {what}"
        for r in f["remarks"]:
            if r.is_break:
                outside.add(at(r.file, r.line))
            if r.is_break or r.is_about_region:
                reasons.setdefault(at(r.file, r.line), r.message)
    return inside - outside, reasons


def _times(report: Any, file: str, at: Statements) -> dict[tuple[str, int], float]:
    """Seconds of NumPy and the interpreter by statement."""
    times: dict[tuple[str, int], float] = {}
    for f in report.functions:
        for n, spent in f.lines.items() if f.file == file else ():
            times[at(f.file, n)] = times.get(at(f.file, n), 0.0) + spent.lost
    return times


def measure(suite: str, folder: str, program: str, preset: str) -> dict[str, Any]:
    import stator
    from stator import _stator

    call = variants.load(checkouts.SUITES[suite](Path(folder)), program, preset, "stator.numpy")
    plain = _profiled(call, call.function.__wrapped__)
    for _ in range(WARM):
        call.function(*call.fresh())
        stator.wait()
    served = _profiled(call, call.function)
    at, file = Statements(), sys.modules[call.function.__module__].__file__ or ""
    inside, reasons = _captured(at)
    times = _times(plain, file, at)
    whole = sum(times.values()) or 1.0
    missed = {place: t for place, t in times.items() if place not in inside}
    own = [f for f in served.functions if f.file == file]
    parts = {name: sum(f.parts.get(name, 0.0) for f in own) for name in served.parts}
    spent = sum(s for name, s in parts.items() if name not in ("import", "waiting")) or 1.0
    return {
        "captured": 1 - sum(missed.values()) / whole,
        "retired": any(f["retired"] for f in _stator.functions()),
        "parts": {name: s / spent for name, s in parts.items()},
        "missed": [
            (place[1], t / whole, reasons.get(place, "in no trace and in no native loop"))
            for place, t in sorted(missed.items(), key=lambda m: -m[1])
            if t / whole >= LEAST
        ],
    }


COLUMNS = {
    "generated": "generated",
    "library": "library",
    "answered": "answered",
    "numpy": "NumPy",
    "python": "Python",
    "overhead": "stator",
}
HEAD = f"{'':<29}{'captured':>9}" + "".join(f"{title:>10}" for title in COLUMNS.values()) + "   %"


def line(program: str, preset: str, found: dict[str, Any]) -> str:
    shares = "".join(f"{100 * found['parts'][name]:>10.1f}" for name in COLUMNS)
    missed = "".join(
        f"\n{'':>31}{100 * share:5.1f}% line {n}: {why}" for n, share, why in found["missed"][:6]
    )
    back = "   given back: plain Python is as fast" if found["retired"] else ""
    return f"{program:<26}{preset:>3}{100 * found['captured']:>9.1f}{shares}{back}{missed}"


def main(argv: Sequence[str] | None = None) -> int:
    shares = []

    def found(program: str, preset: str, result: dict[str, Any]) -> None:
        if not shares:
            print(HEAD)
        shares.append(result["captured"])
        print(line(program, preset, result), flush=True)

    ok = apart.run("benchmarks.npbench.capture", __doc__, "all", measure, found, argv=argv)
    if shares:
        enough = sum(share >= 0.95 for share in shares)
        print(
            f"at least 95%: {enough} of {len(shares)} programs; mean {100 * sum(shares) / len(shares):.1f}%"
        )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
