"""See the package's docstring. Cases run in processes of their own, so that one that crashes is told of like others."""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

os.environ["STATOR_RETIRE"] = "0"
os.environ.setdefault("STATOR_CACHE_DIR", tempfile.mkdtemp())

from benchmarks.suite.without_core import without_core
from tests import levels

from . import served
from .case import Case, run
from .cases import operations


def chosen(name: str, every: int) -> list[Case]:
    """The cases of an op, or one of `every`."""
    return list(operations()[name]())[:: max(1, every)]


def worker(name: str, every: int, start: int) -> None:
    """Runs cases from `start` on and writes a line of JSON for each, its number in front of it."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for number, case in enumerate(chosen(name, every)[start:], start):
        print(number, file=out, flush=True)
        try:
            _, *what = run(case)
        except Exception as error:
            what = ["broken", "", f"the case itself fails: {error!r}"]
        print(json.dumps(what), file=out, flush=True)


def outcomes(name: str, every: int) -> list[tuple[Case, str, str, str]]:
    """Case, kind, reason and difference of each case of an op."""
    cases = chosen(name, every)
    found: list[tuple[Case, str, str, str]] = []
    while len(found) < len(cases):
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.matrix",
            "--worker",
            name,
            str(every),
            str(len(found)),
        ]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=1800
            )
            output, errors, status = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            output, errors, status = (late.stdout or b"").decode(), "", -1
        for line in output.splitlines():
            if line.startswith("["):
                found.append((cases[len(found)], *json.loads(line)))
        if len(found) < len(cases):
            found.append((cases[len(found)], "crash", "", f"ended with status {status}: {errors[-800:]}"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix")
    parser.add_argument("--ops", nargs="*", default=list(operations()), metavar="OP", help="only these ops")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one case of N")
    parser.add_argument("--show", nargs="*", metavar="OP", help="print the cases of these ops")
    parser.add_argument("--opaque", action="store_true", help="also print what was left to Python")
    parser.add_argument(
        "--tier0", action="store_true", help="without the compiler, by NumPy's loops on chunks"
    )
    parser.add_argument("--write", action="store_true", help="make the calls of docs/ops.md and write it")
    levels.add_options(parser)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker[0], int(options.worker[1]), int(options.worker[2]))
        return 0
    if (status := levels.run_each("tests.matrix", options)) is not None:
        return status
    if options.write:
        served.PATH.write_text(served.page())
        return 0
    if options.show is not None:
        for name in options.show:
            for case in chosen(name, options.every):
                print(f"# {case.group}\n{case.program()}# {dict(case.arguments)}\n# {case.rounds}\n")
        return 0
    if options.tier0:
        paths = (without_core(os.environ["STATOR_CACHE_DIR"]), os.environ.get("PYTHONPATH"))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    total: collections.Counter[str] = collections.Counter()
    for name in options.ops:
        count: collections.Counter[str] = collections.Counter()
        for case, kind, why, differs in outcomes(name, options.every):
            count["differs" if differs else kind] += 1
            if differs:
                print(f"DIFFERS {case.name()}\n    {differs}")
            elif kind == "opaque" and options.opaque:
                print(f"opaque  {case.name()}\n    {why}")
        print(
            f"{name:<16} {sum(count.values()):>6} cases: "
            + ", ".join(f"{n} {kind}" for kind, n in sorted(count.items())),
            flush=True,
        )
        total += count
    print(
        f"{sum(total.values())} cases of {len(options.ops)} ops: "
        + ", ".join(f"{n} {kind}" for kind, n in sorted(total.items()))
    )
    return 1 if total["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
