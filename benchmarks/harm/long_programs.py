"""Programs whose calls last milliseconds to seconds: each call is a turn. Shared by `pyperformance` and `benchmarks.wild`.

A worker (``python -m MODULE``) does one call a turn and writes ``{"call": {"cpu": ns, "wall": ns}, "results": text}`` for it. The
first call's bar is that of `report`; the warm figure compares the calls after `SETTLED` others.
"""

from __future__ import annotations

import statistics
from typing import Any

from . import processes, report

SETTLED = 2  # calls after which a program is warm, besides the first
FEWEST, MOST = 5, 40  # warm calls


def measure(
    name: str, worker: str, task: dict[str, Any], options: Any, warm: float = report.WARM
) -> dict[str, Any]:
    """A row for one program: all modes in turn, in several processes.

    Parameters
    ----------
    name : str
        What the row is called.
    worker : str
        The worker's module.
    task : dict
        What it is given, besides its mode.
    options : namespace
        ``modes``, ``processes``, ``python``, ``timeout`` and ``seconds`` (plain's time for the warm calls).
    warm : float
        The bar for the warm figure.
    """
    row: dict[str, Any] = {"program": name, "problem": "", "bar": warm}
    runs = []
    for _ in range(options.processes):
        calls, row["problem"] = _in_turn(worker, task, ["plain", *options.modes], options)
        if row["problem"]:
            return row
        runs.append(calls)
    for mode in options.modes:
        if any([c["results"] for c in r[mode]] != [c["results"] for c in r["plain"]] for r in runs):
            row["problem"] = f"{mode}: other results"
        for clock in ("cpu", "wall"):
            row[f"{mode}_{clock}"] = _figures(runs, mode, clock)
    return row


def _in_turn(worker: str, task: dict[str, Any], modes: list[str], options: Any) -> tuple[dict, str]:
    workers = {m: processes.Worker(worker, task, m, options.python) for m in modes}
    calls: dict[str, list[dict]] = {m: [] for m in modes}
    wanted = 1 + SETTLED + FEWEST
    try:
        while len(calls[modes[-1]]) < wanted:
            for mode, at_work in workers.items():
                line = at_work.turn(options.timeout)
                if line is None:
                    return calls, f"{mode}: {at_work.failure or 'ended early'}"
                calls[mode].append(line)
            if len(calls["plain"]) == SETTLED:
                one = min(c["call"]["wall"] for c in calls["plain"])
                wanted = 1 + SETTLED + int(min(MOST, max(FEWEST, options.seconds * 1e9 / max(one, 1))))
        return calls, ""
    finally:
        for at_work in workers.values():
            at_work.close()


def _figures(runs: list[dict[str, list[dict]]], mode: str, clock: str) -> dict[str, float]:
    def times(run: dict[str, list[dict]], of: str, begin: int, end: int | None = None) -> list[float]:
        return [c["call"][clock] for c in run[of][begin:end]]

    warm = [
        statistics.median(
            report.ratio(a, b) for a, b in zip(times(r, "plain", 1 + SETTLED), times(r, mode, 1 + SETTLED))
        )
        for r in runs
    ]
    least = {of: min(min(times(r, of, 1 + SETTLED)) for r in runs) for of in ("plain", mode)}
    first = {of: min(times(r, of, 0, 1)[0] for r in runs) for of in ("plain", mode)}
    return {
        "plain": least["plain"] / 1e6,
        "warm": statistics.median(warm),
        "least": report.ratio(least["plain"], least[mode]),
        "first": report.ratio(first["plain"], first[mode]),
        "excess": report.excess_ms(first["plain"], first[mode]),
        "luck": max(warm) / min(warm),
    }


def missed(row: dict[str, Any], figures: dict[str, float]) -> list[str]:
    # The least and the median of calls are noisy in different ways: a program is slower when both say so.
    out = ["warm"] if max(figures["warm"], figures["least"]) < row["bar"] else []
    return [*out, "first"] if figures["excess"] > report.GRACE_MS else out


def brief(row: dict[str, Any], options: Any) -> str:
    parts = [f"{row['program']:28s}"]
    for mode in options.modes:
        if f := row.get(f"{mode}_cpu"):
            parts.append(
                f"{mode} warm {f['warm']:.2f} least {f['least']:.2f} first {f['first']:.2f} ({f['excess']:+.0f} ms)"
            )
    return "  ".join([*parts, row["problem"]])


def show(rows: list[dict[str, Any]], options: Any) -> int:
    """Print the table, worst first; how many rows miss a bar."""
    lines, misses = [], 0
    for row in rows:
        for mode in options.modes:
            f = row.get(f"{mode}_cpu")
            if f is None:
                continue
            remark = ", ".join(
                [*missed(row, f), *([row["problem"]] if row["problem"].startswith(mode) else [])]
            )
            misses += bool(remark)
            keys = ("plain", "warm", "least", "first", "excess", "luck")
            lines.append((f["warm"], [row["program"], mode, *(f[k] for k in keys), remark]))
    lines.sort(key=lambda pair: pair[0])
    columns = ("program", "mode", "plain ms", "warm", "least", "first", "first, ms beyond", "luck", "")
    print(report.table("plain / stator, CPU time, worst first", columns, [line for _, line in lines]))
    for row in rows:
        if f"{options.modes[0]}_cpu" not in row:
            print(f"  {row['program']}: {row['problem']}")
            misses += not row["problem"].startswith("plain")
    for mode in options.modes:
        done = [row[f"{mode}_cpu"] for row in rows if f"{mode}_cpu" in row]
        print(
            f"{mode}: geometric means of {len(done)}: warm {report.geomean(f['warm'] for f in done):.3f}, "
            f"first {report.geomean(f['first'] for f in done):.3f}"
        )
    print(f"{misses} rows miss a bar")
    return misses
