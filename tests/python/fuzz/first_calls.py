"""``python -m tests.python.fuzz.first_calls``: what random programs cost when they are called for the first time.

For each program: the first call's time beyond plain Python's on the caller's thread, and what other threads did for it (compiling),
both in processor time, so that what else the machine does counts little. The worst are named; no bound is asserted.

python -m tests.python.fuzz.first_calls --kind rebinding --count 1000
python -m tests.python.fuzz.first_calls --kind rebinding --start 17 --count 1 --reasons
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .campaign import KINDS, ROOT, generate

BATCH = 50


def _timed(function: Callable, args: Sequence[Any]) -> tuple[float, float]:
    """Processor time of this thread and wall time of one call, ms."""
    wall, own = time.perf_counter(), time.thread_time()
    with contextlib.suppress(Exception):
        function(*args)
    return (time.thread_time() - own) * 1e3, (time.perf_counter() - wall) * 1e3


def measure(kind: str, seed: int, number: int) -> dict[str, Any]:
    """One program's figures, ms; see the module."""
    import stator

    from .arguments import build

    program = generate(kind, seed, number)
    specs = program.calls[0]
    plain = program.load()
    before = min(_timed(plain, build(specs, 0)) for _ in range(3))
    compiled = stator.compile(program.load())
    others = time.process_time() - time.thread_time()
    first = _timed(compiled, build(specs, 0))
    stator.wait()
    compiling = (time.process_time() - time.thread_time() - others) * 1e3
    stats = compiled.stats()
    reasons = []
    if os.environ.get("STATOR_FUZZ_REASONS"):
        from stator import _stator

        reasons = sorted({f"{r.reason}: {r.message}" for r in _stator.remarks(compiled) if r.is_break})
    return {
        "number": number,
        "beyond": first[0] - before[0],
        "beyond_wall": first[1] - before[1],
        "compiling": compiling,
        "plain": before[0],
        "regions": stats.get("regions", 0),
        "reasons": reasons,
    }


def worker(kind: str, seed: int, numbers: range) -> None:
    """Prints a line for each program, preceded by its number."""
    warnings.simplefilter("ignore")
    measure("straight", 0, 0)  # what a process does once
    for number in numbers:
        print(number, flush=True)
        with contextlib.redirect_stdout(io.StringIO()):
            row = measure(kind, seed, number)
        print(json.dumps(row), flush=True)


def batch(kind: str, seed: int, numbers: range, timeout: float) -> list[dict[str, Any]]:
    """The figures of `numbers`; of a program that hangs or crashes, ``failed`` says so."""
    rows: list[dict[str, Any]] = []
    start = numbers.start
    with tempfile.TemporaryDirectory(prefix="stator-first-") as cache:
        env = {
            k: v for k, v in os.environ.items() if not k.startswith("STATOR") or k == "STATOR_FUZZ_REASONS"
        }
        env |= {"STATOR_CACHE_DIR": cache, "STATOR_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        while start < numbers.stop:
            command = [
                sys.executable,
                "-X",
                "faulthandler",
                "-m",
                "tests.python.fuzz.first_calls",
                "--kind",
                kind,
                "--seed",
                str(seed),
            ]
            command += ["--start", str(start), "--count", str(numbers.stop - start), "--worker"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env)
            current, done = start, True
            for line in _until(process, timeout):
                if line.startswith("{"):
                    rows.append(json.loads(line))
                    done = True
                elif line.strip().isdigit():
                    current, done = int(line), False
            status = process.wait()
            if status == 0:
                break
            rows.append({"number": current, "failed": f"status {status}" if status != -9 else "hung"})
            start = current + 1 if not done or current + 1 > start else start + 1
    return rows


def _until(process: subprocess.Popen, timeout: float):
    """Output lines; the process is killed when none comes for so long."""
    assert process.stdout is not None
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    for line in process.stdout:
        timer.cancel()
        yield line
        timer = threading.Timer(timeout, process.kill)
        timer.start()
    timer.cancel()


def text(rows: list[dict[str, Any]], worst: int) -> str:
    """Percentiles and the worst programs."""
    measured = [r for r in rows if "failed" not in r]
    out = [
        f"{len(rows)} programs, {len(rows) - len(measured)} failed, {sum(bool(r['regions']) for r in measured)} have a region"
    ]
    out += [f"  program {r['number']}: {r['failed']}" for r in rows if "failed" in r]
    for key, what in (
        ("beyond", "first call beyond plain, ms of the caller's thread"),
        ("beyond_wall", "the same by the clock"),
        ("compiling", "other threads, ms"),
    ):
        values = sorted(r[key] for r in measured)
        if not values:
            continue
        shares = " ".join(
            f"{p}%: {values[min(len(values) - 1, len(values) * p // 100)]:.1f}" for p in (50, 90, 99)
        )
        out.append(f"{what}: {shares} most: {values[-1]:.1f}")
        out += [
            f"  program {r['number']}: {r[key]:.1f} (plain {r['plain']:.2f}, regions {r['regions']})"
            for r in sorted(measured, key=lambda r: -r[key])[:worst]
        ]
    for r in measured:
        out += [f"  {r['number']}: {reason}" for reason in r["reasons"]]
    return "\n".join(out)


def main() -> int:
    p = argparse.ArgumentParser(
        prog="python -m tests.python.fuzz.first_calls", description=__doc__.split("\n")[0]
    )
    p.add_argument("--kind", choices=KINDS, default="rebinding")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--start", type=int, default=0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--worst", type=int, default=5, help="how many programs to name")
    p.add_argument("--timeout", type=float, default=60, help="of one program, seconds")
    p.add_argument("--reasons", action="store_true", help="say what was left to Python, and why")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    o = p.parse_args()
    numbers = range(o.start, o.start + o.count)
    if o.worker:
        worker(o.kind, o.seed, numbers)
        return 0
    if o.reasons:
        os.environ["STATOR_FUZZ_REASONS"] = "1"
    rows: list[dict[str, Any]] = []
    for start in range(numbers.start, numbers.stop, BATCH):
        rows += batch(o.kind, o.seed, range(start, min(start + BATCH, numbers.stop)), o.timeout)
        print(f"{len(rows)} done", file=sys.stderr, flush=True)
    print(text(rows, o.worst))
    return 1 if any("failed" in r for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
