"""Small programs of the kinds that people write, each in fresh processes: plain, decorated, and under STATOR=all.

Measured are the first call, the first ten together, and each call from the eleventh on, by CPU time of the calling
thread and by wall time. All modes make the same calls with the same arguments, and their results are compared.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import pkgutil
import statistics
from typing import Any

from . import processes, programs, report

FIRST = 10
BLOCK_NS = 1_000_000  # calls from the eleventh on are timed in blocks that last about so long, in turn with other modes'
FEWEST, MOST = 40, 2000  # blocks


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "files",
        nargs="*",
        help="modules or .py files with make(); all of benchmarks.harm.programs by default",
    )
    p.add_argument("--programs", default="", help="only programs whose name begins with one of these")
    p.add_argument(
        "--seconds", type=float, default=0.4, help="plain's time for the calls from the eleventh on"
    )
    p.add_argument(
        "--clock", choices=("cpu", "wall"), default="cpu", help="the clock that the bars are held against"
    )


def modules(files: list[str]) -> list[str]:
    """What to import: the modules of `programs`, unless files are named."""
    return files or [f"{programs.__name__}.{m.name}" for m in pkgutil.iter_modules(programs.__path__)]


def names(module: str, python: str, timeout: float) -> list[str]:
    outcome = processes.run(
        f"{__package__}.found_worker", {"module": module, "list": True}, "plain", python, timeout
    )
    if outcome.failure:
        raise SystemExit(f"{module}: {outcome.failure}")
    return [line["name"] for line in outcome.lines]


def measure_program(module: str, name: str, options: Any) -> dict[str, Any]:
    """All modes of one program; a row of figures."""
    task: dict[str, Any] = {"module": module, "name": name, "first": FIRST, "block": 1, "blocks": 12}
    trial, problem = in_turn(task, ["plain"], options)
    if problem:
        return {"program": name, "problem": problem}
    one = max(100.0, statistics.median(b["cpu"] for b in trial["plain"]["blocks"]))
    task["block"] = max(1, round(BLOCK_NS / one))
    task["blocks"] = int(min(MOST, max(FEWEST, options.seconds * 1e9 / (one * task["block"]))))
    modes = ["plain", *options.modes]
    row: dict[str, Any] = {"program": name, "calls": task["block"] * task["blocks"], "problem": ""}
    runs = []
    for _ in range(options.processes):
        found, row["problem"] = in_turn(task, modes, options)
        if row["problem"]:
            return row
        runs.append(found)
    for mode in options.modes:
        if any(r[mode]["results"] != r["plain"]["results"] for r in runs):
            row["problem"] = f"{mode}: other results"
        for clock in ("cpu", "wall"):
            row[f"{mode}_{clock}"] = figures(runs, mode, clock, task["block"])
    return row


def in_turn(task: dict[str, Any], modes: list[str], options: Any) -> tuple[dict[str, dict[str, Any]], str]:
    """One process for each mode, which take turns, block by block; what they measured, and what went wrong."""
    workers = {m: processes.Worker(f"{__package__}.found_worker", task, m, options.python) for m in modes}
    found: dict[str, dict[str, Any]] = {m: {"blocks": []} for m in modes}
    try:
        for k in range(task["blocks"] + 2):
            for mode, worker in workers.items():
                line = worker.turn(options.timeout)
                if line is None:
                    return found, f"{mode}: {worker.failure or 'ended early'}"
                if "block" in line:
                    found[mode]["blocks"].append(line["block"])
                else:
                    found[mode] |= line
        return found, ""
    finally:
        for worker in workers.values():
            worker.close()


def figures(runs: list[dict[str, Any]], mode: str, clock: str, block: int) -> dict[str, float]:
    """A mode against plain.

    Returns
    -------
    dict
        ``plain``: µs of a call. ``total``: plain's time over the mode's of all calls from the eleventh on, the median of the
        processes. ``half``: the same of the later half of the calls. ``median``: of the ratios of blocks in turn.
        ``ten``, ``first``: ms beyond the bar. ``luck``: the best process's ``median`` over the worst one's.
    """
    of_plain = [[b[clock] for b in r["plain"]["blocks"]] for r in runs]
    of_mode = [[b[clock] for b in r[mode]["blocks"]] for r in runs]
    totals = [report.ratio(sum(p), sum(m)) for p, m in zip(of_plain, of_mode)]
    halves = [report.ratio(sum(p[len(p) // 2 :]), sum(m[len(m) // 2 :])) for p, m in zip(of_plain, of_mode)]
    medians = [statistics.median(report.ratio(a, b) for a, b in zip(p, m)) for p, m in zip(of_plain, of_mode)]
    first = {
        k: [min(r[k][f"{what}_{clock}"] for r in runs) for what in ("first", "ten")] for k in ("plain", mode)
    }
    excess = [report.excess_ms(p, m) for p, m in zip(first["plain"], first[mode])]
    return {
        "plain": min(statistics.median(p) for p in of_plain) / block / 1e3,
        "total": statistics.median(totals),
        "half": statistics.median(halves),
        "median": statistics.median(medians),
        "first": excess[0],
        "ten": excess[1],
        "luck": max(medians) / min(medians),
    }


def missed(f: dict[str, float]) -> list[str]:
    """Which bars a row misses."""
    out = ["warm"] if min(f["total"], f["median"]) < report.WARM else []
    return [*out, "first"] if max(f["first"], f["ten"]) > report.GRACE_MS else out


COLUMNS = (
    "program",
    "mode",
    "plain µs",
    "from 11th",
    "later half",
    "median",
    "ten, ms beyond",
    "first",
    "luck",
    "",
)


def show(rows: list[dict[str, Any]], options: Any) -> int:
    """Print the table, worst first; how many bars were missed."""
    lines, misses = [], 0
    for row in rows:
        if f"{options.modes[0]}_cpu" not in row:
            lines.append((0.0, [row["program"], *[None] * 8, row["problem"]]))
            misses += 1
            continue
        for mode in options.modes:
            f = row[f"{mode}_{options.clock}"]
            remark = ", ".join([*missed(f), *([row["problem"]] if row["problem"].startswith(mode) else [])])
            misses += bool(remark)
            keys = ("plain", "total", "half", "median", "ten", "first", "luck")
            lines.append(
                (min(f["total"], f["median"]), [row["program"], mode, *(f[k] for k in keys), remark])
            )
    lines.sort(key=lambda pair: pair[0])
    print(
        report.table(
            f"plain / stator, {options.clock} time, worst first", COLUMNS, [line for _, line in lines]
        )
    )
    for mode in options.modes:
        ratios = [r[f"{mode}_{options.clock}"]["total"] for r in rows if f"{mode}_cpu" in r]
        print(
            f"{mode}: geometric mean from the 11th call on {report.geomean(ratios):.3f} of {len(ratios)} programs"
        )
    print(
        f"{misses} rows miss a bar (warm {report.WARM}; ten calls {report.FACTOR} x plain + {report.GRACE_MS:.0f} ms)"
    )
    return misses


def run(options: Any) -> int:
    rows: list[dict[str, Any]] = []
    for module in modules(options.files):
        for name in names(module, options.python, options.timeout):
            if options.programs and not name.startswith(tuple(options.programs.split(","))):
                continue
            rows.append(measure_program(module, name, options))
            print(_brief(rows[-1], options), flush=True)
            report.write(options.json, "found", rows) if len(rows) % 10 == 0 else None
    misses = show(rows, options)
    report.write(options.json, "found", rows)
    return 1 if misses else 0


def _brief(row: dict[str, Any], options: Any) -> str:
    parts = [f"{row['program']:24s}"]
    for mode in options.modes:
        if f := row.get(f"{mode}_{options.clock}"):
            parts.append(f"{mode} {f['total']:.2f} {f['half']:.2f} {f['median']:.2f} ten {f['ten']:+.0f} ms")
    return "  ".join([*parts, row["problem"]])


def calls_of(module: str, jit: Any) -> list[tuple]:
    """The programs of a module or file: (name, function, arguments(k))."""
    if module.endswith(".py"):
        spec = importlib.util.spec_from_file_location("program", module)
        assert spec and spec.loader
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    else:
        loaded = importlib.import_module(module)
    return loaded.make(jit)
