"""The programs of pyperformance, decorated at their benchmarked function, and under STATOR=all.

They are run from where pip has put them; ``--python`` names an interpreter that has pyperformance, NumPy and what stator
needs. Programs that need other packages or the network are left out and named.
"""

from __future__ import annotations

import argparse
from typing import Any

from . import long_programs, processes, report

WORKER = f"{__package__}.pyperformance_worker"

# Processes and sockets of their own: what they measure is not the calling thread.
LEFT_OUT = ("asyncio_tcp", "asyncio_websockets", "concurrent_imap", "python_startup", "2to3", "hg_startup")


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--programs", default="", help="only programs whose name begins with one of these")
    p.add_argument("--seconds", type=float, default=0.6, help="plain's time for the warm calls")
    p.set_defaults(processes=2)


def run(options: Any) -> int:
    listed = processes.run(WORKER, {"list": True}, "plain", options.python, options.timeout)
    if listed.failure:
        raise SystemExit(f"pyperformance cannot be listed: {listed.failure}")
    rows: list[dict[str, Any]] = []
    for line in listed.lines:
        if line["name"].startswith(LEFT_OUT):
            continue
        if options.programs and not line["name"].startswith(tuple(options.programs.split(","))):
            continue
        names = processes.run(WORKER, {**line, "names": True}, "plain", options.python, options.timeout)
        if names.failure:
            print(f"left out: {line['name']}: {names.failure}", flush=True)
            continue
        for found in names.lines:
            rows.append(
                long_programs.measure(found["name"], WORKER, {**line, "only": found["name"]}, options)
            )
            print(long_programs.brief(rows[-1], options), flush=True)
            report.write(options.json, "pyperformance", rows) if len(rows) % 10 == 0 else None
    misses = long_programs.show(rows, options)
    report.write(options.json, "pyperformance", rows)
    return 1 if misses else 0
