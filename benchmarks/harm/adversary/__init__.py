"""Random programs that are built to lose: what stator spends on each must stay within a bound.

Each program comes from a seed. Several of them share a process, as the functions of a program do, each in a namespace of
its own; some have a process to themselves. Plain and the other modes take turns, program by program. What is timed is
the whole program, its functions' making included.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from typing import Any

from .. import processes, report
from .generator import KINDS, program

WORKER = f"{__package__}.worker"
SUSPECT_MS = 20.0  # a program so far beyond plain is measured again, and the least counts
ALONE = 10  # one batch of so many has one program only


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--count", type=int, default=1000, help="how many programs")
    p.add_argument("--seed", type=int, default=0, help="the first program's seed")
    p.add_argument("--batch", type=int, default=20, help="programs in a process")
    p.add_argument("--kinds", default=",".join(KINDS), help="comma-separated")
    p.add_argument("--show", action="store_true", help="print the programs instead")
    p.add_argument("--worst", type=int, default=15, help="how many of the worst to name")


def batches(options: Any) -> list[list[int]]:
    """Seeds, as they share processes."""
    wanted = set(options.kinds.split(","))
    seeds, seed = [], options.seed
    while len(seeds) < options.count:
        if program(seed)[0] in wanted:
            seeds.append(seed)
        seed += 1
    out, dice = [], random.Random(options.seed)
    while seeds:
        size = 1 if dice.randrange(ALONE) == 0 else options.batch
        out.append(seeds[:size])
        seeds = seeds[size:]
    return out


def measure_batch(seeds: list[int], options: Any) -> list[dict[str, Any]]:
    """A row for each program: ns of each mode, and what went wrong. After a crash the rest goes on in new processes."""
    rows: list[dict[str, Any]] = []
    while len(rows) < len(seeds):
        rest = seeds[len(rows) :]
        modes = ["plain", *options.modes]
        workers = {m: processes.Worker(WORKER, {"seeds": rest}, m, options.python) for m in modes}
        try:
            for seed in rest:
                row = _one_turn(seed, workers, options.timeout)
                rows.append(row)
                if row["crashed"]:
                    break
        finally:
            for worker in workers.values():
                worker.close()
    return rows


def _one_turn(seed: int, workers: dict[str, processes.Worker], timeout: float) -> dict[str, Any]:
    row: dict[str, Any] = {"seed": seed, "kind": program(seed)[0], "problem": "", "crashed": False}
    plain = ""
    for mode, worker in workers.items():
        line = worker.turn(timeout)
        if line is None:
            row |= {"problem": f"{mode}: {worker.failure or 'ended early'}", "crashed": True}
            return row
        row |= {f"{mode}_cpu": line["cpu"], f"{mode}_wall": line["wall"]}
        plain = plain or line["results"]
        if line["results"] != plain:
            row["problem"] = f"{mode}: other results"
    return row


def worst_excess(row: dict[str, Any], modes: list[str]) -> float:
    return max(
        (report.excess_ms(row["plain_cpu"], row[f"{m}_cpu"]) for m in modes if f"{m}_cpu" in row), default=0.0
    )


def measure_again(rows: list[dict[str, Any]], seeds: list[int], options: Any) -> None:
    """The least of several runs for the modes; the least of plain's, too, since noise only adds."""
    for _ in range(options.processes - 1):
        if all(worst_excess(r, options.modes) < SUSPECT_MS for r in rows if "plain_cpu" in r):
            return
        for row, other in zip(rows, measure_batch(seeds, options)):
            for key in row.keys() & other.keys():
                if key.endswith(("_cpu", "_wall")):
                    row[key] = min(row[key], other[key])
            row["problem"] = row["problem"] or other["problem"]


def run(options: Any) -> int:
    rows: list[dict[str, Any]] = []
    if options.show:
        for seed in range(options.seed, options.seed + options.count):
            name, text = program(seed)
            print(f"# {seed}: {name}\n{text}")
        return 0
    for k, seeds in enumerate(batches(options)):
        some = measure_batch(seeds, options)
        measure_again(some, seeds, options)
        rows += some
        for r in some:
            if r["problem"]:
                print(f"seed {r['seed']} ({r['kind']}): {r['problem']}", flush=True)
        if k % 10 == 9:
            print(f"{len(rows)} programs: {_totals(rows, options.modes)}", flush=True)
            report.write(options.json, "adversary", rows)
    bad = show(rows, options)
    report.write(options.json, "adversary", rows)
    return 1 if bad else 0


def _totals(rows: list[dict[str, Any]], modes: list[str]) -> str:
    parts = []
    for mode in modes:
        both = [r for r in rows if f"{mode}_cpu" in r]
        plain, other = sum(r["plain_cpu"] for r in both), sum(r[f"{mode}_cpu"] for r in both)
        over = sum(report.excess_ms(r["plain_cpu"], r[f"{mode}_cpu"]) > report.GRACE_MS for r in both)
        parts.append(f"{mode} {other / max(plain, 1):.2f} times plain's time, {over} beyond the bar")
    return "; ".join(parts)


def show(rows: list[dict[str, Any]], options: Any) -> int:
    """Tables by kind and of the worst; how many programs miss the bar, differ or crash."""
    by_kind = defaultdict(list)
    for r in rows:
        by_kind[r["kind"]].append(r)
    for mode in options.modes:
        cells = []
        for kind, of_kind in by_kind.items():
            done = [r for r in of_kind if f"{mode}_cpu" in r]
            if not done:
                continue
            plain, other = sum(r["plain_cpu"] for r in done), sum(r[f"{mode}_cpu"] for r in done)
            worst = max(done, key=lambda r: r[f"{mode}_cpu"] - report.FACTOR * r["plain_cpu"])
            excess = report.excess_ms(worst["plain_cpu"], worst[f"{mode}_cpu"])
            cells.append(
                [kind, len(done), plain / 1e6 / len(done), report.ratio(plain, other), excess, worst["seed"]]
            )
        cells.sort(key=lambda c: c[3])
        columns = ["kind", "programs", "plain ms each", "plain / stator", "worst, ms beyond", "its seed"]
        print(report.table(f"{mode}, CPU time, by kind", columns, cells))
        done = [r for r in rows if f"{mode}_cpu" in r]
        cells = [
            [r["seed"], r["kind"], plain / 1e6, other / 1e6, report.excess_ms(plain, other)]
            for r in done
            for plain, other in [(r["plain_cpu"], r[f"{mode}_cpu"])]
        ]
        cells.sort(key=lambda c: -c[4])
        title = f"{mode}: the worst (python -m benchmarks.harm adversary --count 1 --show --seed SEED)"
        columns = ["seed", "kind", "plain ms", f"{mode} ms", "ms beyond"]
        print(report.table(title, columns, cells[: options.worst]))
    over = sum(worst_excess(r, options.modes) > report.GRACE_MS for r in rows if "plain_cpu" in r)
    wrong = [r for r in rows if r["problem"]]
    print(f"{len(rows)} programs: {_totals(rows, options.modes)}")
    print(f"{over} beyond {report.FACTOR} x plain + {report.GRACE_MS:.0f} ms; {len(wrong)} differ or crash")
    for r in wrong[:30]:
        print(f"  seed {r['seed']} ({r['kind']}): {r['problem']}")
    return over + len(wrong)
