"""Many programs, in worker processes: a crash costs one program, and memory stays bounded.

A worker prints one JSON line per program. The parent starts the next worker behind a program that crashed or hung.
Mode ``cached`` runs each batch twice over one cache folder; only the second run, which must find its code there, is
compared.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.suite.without_core import without_core

from .check import check, implementation
from .choices import Choices
from .features import histogram
from .programs import Program, straight_line

MODES = {
    "eager": {},
    "tier0": {},
    "compiled": {"STATOR_ASYNC": "0"},
    "cached": {"STATOR_ASYNC": "0"},
    "async": {},
    "all": {"STATOR": "all", "STATOR_ASYNC": "0"},
    "verified": {"STATOR_ASYNC": "0", "STATOR_VERIFY": "1"},
    "judged": {"STATOR_RETIRE": "1"},
    # Nothing is compiled but NumPy's functions, at once.
    "hosted": {
        "STATOR_ASYNC": "0",
        "STATOR_TUNE": "host_call_hot=0,host_call_compiled=0,host_call_cases=100000,host_call_backoff=0",
    },
    # Loops go from their region to traces and back at each opportunity.
    "duel": {
        "STATOR_RETIRE": "1",
        "STATOR_ASYNC": "0",
        "STATOR_TUNE": "duel_least=0,duel_instruction=0,duel_runs=1,duel_few=1000000,duel_growth=1,duel_reopened=1000000,duel_window=2,duel_iterations=5",
    },
}
KINDS = (
    "straight",
    "branching",
    "closures",
    "structured",
    "leaving",
    "attributes",
    "effects",
    "orders",
    "objects",
    "rebinding",
    "numbers",
)
REWRITTEN = ("closures", "attributes", "effects")  # programs of other kinds, changed
NEVER_ENLARGED = (*REWRITTEN, "numbers")
BATCH = 250
ROOT = Path(__file__).resolve().parents[3]


def generate(kind: str, seed: int, number: int) -> Program:
    """Program `number` of the given kind (one of `KINDS`); one in ten works on large arrays, too."""
    program = _generate(kind, seed, number)
    if kind in NEVER_ENLARGED or number % 10 != 7:
        return program
    from .enlarged import enlarged

    return enlarged(Choices.seeded(seed, number, 1), program)


def _generate(kind: str, seed: int, number: int) -> Program:
    name = f"{kind}-{seed}-{number}"
    if kind == "closures":
        from .closures import captured

        program = generate("straight" if number % 2 else "branching", seed, number)
        program.name = name
        return captured(Choices.seeded(seed, number), program)
    if kind == "attributes":
        from .attributes import attributed

        program = generate(("straight", "structured", "branching")[number % 3], seed, number)
        program.name = name
        return attributed(Choices.seeded(seed, number), program)
    if kind == "effects":
        from .effects import effectful

        program = generate(("straight", "structured", "branching")[number % 3], seed, number)
        program.name = name
        return effectful(Choices.seeded(seed, number), program)
    if kind == "straight":
        return straight_line(Choices.seeded(seed, number), name)
    if kind == "leaving":
        from .leaving import leaving

        return leaving(Choices.seeded(seed, number), name)
    if kind == "orders":
        from .orders import orders

        return orders(Choices.seeded(seed, number), name)
    if kind == "objects":
        from .objects import objects

        return objects(Choices.seeded(seed, number), name)
    if kind == "rebinding":
        from .rebinding import rebinding

        return rebinding(Choices.seeded(seed, number), name)
    if kind == "numbers":
        from .numbers import numbers

        return numbers(Choices.seeded(seed, number), name)
    if kind == "structured":
        from .structured import structured

        return structured(Choices.seeded(seed, number), name)
    from .branching import branching

    return branching(Choices.seeded(seed, number), name)


def worker(kind: str, mode: str, seed: int, numbers: range) -> None:
    """Runs programs and prints a line for each, preceded by its number (so that a crash can be placed)."""
    module = implementation(mode)
    for number in numbers:
        print(number, flush=True)
        verdict = check(generate(kind, seed, number), module)
        line = asdict(verdict)
        if number % 50 == 49:
            module.reset()
        print(json.dumps(line), flush=True)


@dataclass
class Summary:
    """Totals of a campaign."""

    programs: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)
    statements: int = 0
    replayed: float = 0
    raised: int = 0
    warned: int = 0
    counters: dict[str, float] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    with_regions: int = 0

    def add(self, number: int, line: dict) -> None:
        self.programs += 1
        if line["failure"]:
            self.failures.append((number, line["failure"]))
        self.statements += line["statements"]
        self.replayed += line["replayed"]
        self.raised += line["raised"]
        self.warned += line["warned"]
        self.reasons.update(line.get("reasons") or ())
        self.features.update(line.get("features") or ())
        self.with_regions += bool(line.get("regions"))
        for key, value in (line["counters"] or {}).items():
            if isinstance(value, int | float):
                self.counters[key] = self.counters.get(key, 0) + value

    def text(self) -> str:
        clean = self.programs - len(self.failures)
        share = f"{100 * self.replayed / self.statements:.1f}%" if self.statements else "none"
        counters = ", ".join(f"{k} {v:g}" for k, v in self.counters.items())
        return (
            f"{self.programs} programs: {clean} agree, {len(self.failures)} differ; {self.raised} raise, {self.warned} warn\n"
            f"statements of quiet programs replayed inside segments: {self.replayed:.0f} of {self.statements} ({share})\n"
            + (f"counters: {counters}" if counters else "no counters")
            + "".join(f"\n{count:6} programs  {reason}" for reason, count in self.reasons.most_common(25))
            + f"\n{self.with_regions} programs have a region\nfeatures, in programs:\n{histogram(self.features, self.programs)}"
        )


def environment(mode: str, cache: str) -> dict[str, str]:
    """The environment of a worker."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("STATOR")
        or k
        in (
            "STATOR_LOG",
            "STATOR_THREADS",
            "STATOR_TEST_WINDOW",
            "STATOR_TEST_FIRST_CODE",
            "STATOR_TEST_VECTORS",
            "STATOR_TEST_ALL_VARIABLES",
        )
    }
    if mode == "tier0":
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [without_core(cache), env.get("PYTHONPATH")]))
    return env | {"STATOR_RETIRE": "0"} | MODES[mode] | {"STATOR_CACHE_DIR": cache}


def _ready(pid: int) -> float:
    """For how many seconds a thread of the process was ready to run and had no processor; 0 where that is not told."""
    waited = [0.0]
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            waited.append(int(task.read_text().split()[1]) / 1e9)
    return max(waited)


def _lines(process: subprocess.Popen, timeout: float) -> Iterator[str | None]:
    """Output lines as they come; None when nothing came for `timeout` seconds, of which a busy machine's do not count."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def pump() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put("")

    threading.Thread(target=pump, daemon=True).start()
    patience, ready = timeout, _ready(process.pid)
    while True:
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            # What it had no processor for it gets again.
            now = _ready(process.pid)
            patience, ready = now - ready, now
            if patience > timeout / 10:
                continue
            yield None
            return
        if not line:
            return
        yield line
        patience, ready = timeout, _ready(process.pid)


def batch(
    kind: str, mode: str, seed: int, numbers: range, cache: str, timeout: float = 60
) -> Iterator[tuple[int, dict]]:
    """Runs `numbers` in as many processes as crashes make necessary; yields (number, verdict as a dict)."""
    start, crashes = numbers.start, 0
    while start < numbers.stop:
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "tests.python.fuzz",
            "--worker",
            kind,
            mode,
            str(seed),
            str(start),
            str(numbers.stop),
        ]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env=environment(mode, cache),
            )
            current, done = start, True
            for line in _lines(process, timeout):
                if line is None:
                    process.kill()
                    break
                if line.startswith("{"):
                    yield current, json.loads(line)
                    done = True
                elif line.strip().isdigit():
                    current, done = int(line), False
            status = process.wait()
            if status == 0:
                return
            errors.seek(0)
            tail = errors.read()[-3000:]
        if done:
            current += 1
            if current >= numbers.stop:
                return
        what = "hung" if status == -9 else f"ended the process with status {status}"
        yield current, asdict_failure(f"{what}\n{tail}")
        crashes = crashes + 1 if current == start else 0
        if crashes >= 10:
            raise RuntimeError(f"ten programs in a row ended their process, the last one saying\n{tail}")
        start = current + 1


def asdict_failure(text: str) -> dict:
    """The line of a program whose worker died."""
    return {
        "failure": text,
        "statements": 0,
        "replayed": 0,
        "raised": False,
        "warned": False,
        "counters": None,
    }


def campaign(kind: str, mode: str, seed: int, numbers: range, progress: bool = True) -> Summary:
    """Runs the programs `numbers` and sums up; prints each failure as it is found."""
    summary, begun = Summary(), time.monotonic()
    for start in range(numbers.start, numbers.stop, BATCH):
        part = range(start, min(start + BATCH, numbers.stop))
        with tempfile.TemporaryDirectory(prefix="stator-fuzz-") as cache:
            if mode == "cached":
                for _ in batch(kind, mode, seed, part, cache):
                    pass
            for number, line in batch(kind, mode, seed, part, cache):
                summary.add(number, line)
                if line["failure"] and progress:
                    print(f"--- {kind} {seed} {number}: {line['failure']}", flush=True)
        if progress:
            rate = summary.programs / (time.monotonic() - begun)
            print(
                f"{summary.programs} done, {len(summary.failures)} differ, {rate:.0f}/s",
                file=sys.stderr,
                flush=True,
            )
    return summary
