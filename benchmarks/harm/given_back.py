"""What a call costs, in ns: of a function that was given back, beside the same function undecorated.

Each case has two functions with the same code; one is decorated, the other (the twin) is not. Both are timed in turn in
one process, so that the difference is free of how processes differ; plain processes, in which neither is decorated, say how
much of a difference is noise. Under STATOR=all nothing is decorated, and the difference is to the plain processes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from . import processes, report
from .clocks import now, since

CALLS, ROUNDS, SETTLING = 2000, 60, 3000

# The bar: ns beyond the undecorated call, by version.
MOST_NS = 5.0 if sys.version_info >= (3, 12) else 45.0

# name: (body of a module that defines `make()`, which returns f or an object with it; the call; is it to be given back)
CASES: dict[str, tuple[str, str, bool]] = {
    "no argument": ("@jit\ndef f(): return 1\n", "f()", True),
    "one argument": ("@jit\ndef f(a): return a\n", "f(x)", True),
    "three arguments": ("@jit\ndef f(a, b, c): return a\n", "f(x, y, z)", True),
    "two keywords": ("@jit\ndef f(a, b=1): return a\n", "f(a=x, b=y)", True),
    "default left out": ("@jit\ndef f(a, b=1): return a\n", "f(x)", True),
    "star arguments": ("@jit\ndef f(*a, **k): return a\n", "f(x, y, k=z)", True),
    "method": ("class C:\n    @jit\n    def f(self, a): return a\nf = C()\n", "f.f(x)", True),
    "bound method": ("class C:\n    @jit\n    def f(self, a): return a\nf = C().f\n", "f(x)", True),
    "static method": (
        "class C:\n    @staticmethod\n    @jit\n    def f(a): return a\nf = C\n",
        "f.f(x)",
        True,
    ),
    "closure": (
        "def g():\n    k = 3\n    @jit\n    def f(a): return k\n    return f\nf = g()\n",
        "f(x)",
        True,
    ),
    "called from C": ("@jit\ndef f(a): return a\n", "list(map(f, few))", True),
    "dict loop": ("@jit\ndef f(d):\n    for k in d: d[k] = k\n", "f(table)", True),
    "float arithmetic": ("@jit\ndef f(a, b): return a * b + a\n", "f(1.5, 2.5)", True),
    "array of 1 passed on": ("@jit\ndef f(a): return a\n", "f(one)", True),
    "element of an array": ("@jit\ndef f(a): return a[0]\n", "f(one)", True),
    "served: x + 1": ("@jit\ndef f(a): return a + 1\n", "f(one)", False),
    "served: five operations": ("@jit\ndef f(a, b): return a * b + a * 2 - a / b\n", "f(one, one)", False),
}


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--cases", default="", help="only cases whose name contains this")
    p.set_defaults(processes=5)


def worker_pair(case: str, mode: str) -> tuple[Any, Any]:
    """Timing loops of the decorated function and of its twin."""
    import numpy as np

    body, call, _ = CASES[case]
    loops = []
    for jit in (processes.decorator(mode), lambda f: f):
        space = {
            "jit": jit,
            "x": 3,
            "y": 4,
            "z": 5,
            "one": np.ones(1) * 2,
            "table": {1: 1, 2: 2},
            "few": [1],
        }
        exec(body, space)
        exec(f"def worker_loop(n):\n    for _ in range(n):\n{8 * ' '}{call}\n", space)
        loops.append(space["worker_loop"])
    return loops[0], loops[1]


def worker_main(argv: list[str]) -> int:
    results = processes.Results(argv)
    for case in results.task["cases"]:
        pair = worker_pair(case, results.mode)
        for _ in range(3):
            for loop in pair:
                loop(SETTLING)
            if "stator" in sys.modules:
                sys.modules["stator"].wait()
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for loop, of_loop in zip(pair, times):
                begun = now()
                loop(CALLS)
                of_loop.append(since(begun).cpu / CALLS)
        results.add(
            case=case, decorated=min(times[0]), twin=min(times[1]), median=statistics.median(times[0])
        )
    return 0


def run(options: Any) -> int:
    cases = [c for c in CASES if options.cases in c]
    found: dict[tuple[str, str], list[dict]] = {}
    for _ in range(options.processes):
        for mode in ("plain", *options.modes):
            outcome = processes.run(
                f"{__package__}.given_back_worker", {"cases": cases}, mode, options.python, options.timeout
            )
            if outcome.failure:
                print(f"{mode}: {outcome.failure}")
            for line in outcome.lines:
                found.setdefault((line["case"], mode), []).append(line)
    rows = [_row(case, found, options.modes) for case in cases]
    columns = ["call", "plain ns", "noise", *(f"{mode}, ns more" for mode in options.modes), ""]
    cells = [[r["case"], r["plain"], r["noise"], *(r[m] for m in options.modes), r["missed"]] for r in rows]
    print(report.table("CPU time of a call after it was given back, ns", columns, cells))
    print(
        f"bar: {MOST_NS:.0f} ns more than undecorated (all: no more than plain); 'served' calls are to be faster than plain"
    )
    report.write(options.json, "given_back", rows)
    return 1 if any(r["missed"] for r in rows) else 0


def _row(case: str, found: dict[tuple[str, str], list[dict]], modes: list[str]) -> dict[str, Any]:
    def beyond(mode: str) -> float:
        return statistics.median(r["decorated"] - r["twin"] for r in found[case, mode])

    plain = min(min(r["decorated"], r["twin"]) for r in found[case, "plain"])
    row: dict[str, Any] = {"case": case, "plain": plain, "noise": beyond("plain"), "missed": ""}
    for mode in modes:
        if (case, mode) not in found:
            row |= {mode: None, "missed": f"{mode} failed"}
        elif mode == "decorated":
            row[mode] = beyond(mode)
        else:
            row[mode] = min(min(r["decorated"], r["twin"]) for r in found[case, mode]) - plain
        most = MOST_NS if CASES[case][2] else 0.0
        if row[mode] is not None and row[mode] > most:
            row["missed"] = ", ".join(filter(None, [row["missed"], mode]))
    return row
