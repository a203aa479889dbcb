"""Fresh processes: one mode of stator each, so that no mode profits or suffers from another.

A worker is ``python -m MODULE TASK LINES TURNS``: it reads a task (JSON) and writes one line of JSON to the pipe LINES for
each thing it has measured. What the measured programs print goes nowhere. A worker that crashes or hangs leaves the
lines it had written, so that the culprit is the one whose line is missing.

The time that the same work takes differs by a factor of two from one second to the next where other jobs share the
cores. Workers that are to be compared therefore take turns of about a millisecond (`Worker.turn`, `Results.wait`), all on
one core (`share_a_core`), and have their memory at the same addresses where the system can do that (`setarch`): two
plain processes then differ by a percent, else by up to a quarter.
"""

from __future__ import annotations

import functools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

# What STATOR is in each mode. In plain processes stator is not even imported; control is plain again, so that what differs
# between the two is noise. With the hook alone STATOR=all looks at frames, and may compile nothing of the program.
MODES = {"plain": "0", "control": "0", "decorated": "1", "all": "all", "hook": "all"}

# Functions that handle what the programs handle, and that make their arguments; under STATOR=all they would be compiled
# beside them, and what is gained outside of what is timed would pay for what is lost inside.
_OURS = "digest,digest_error,_feed,_feed_all,_slots,worker_*,make.<locals>.<lambda>"


@functools.cache
def _same_addresses() -> list[str]:
    """What a command is started with for its memory to lie at the same addresses each time; empty where that is refused."""
    start = ["setarch", "-R"]
    works = shutil.which("setarch") and subprocess.run([*start, "true"], capture_output=True).returncode == 0
    return start if works else []


def share_a_core(core: int) -> None:
    """Keep this process and those that it starts on one core, counted among those it may use; none where negative."""
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})


@dataclass
class Outcome:
    """What came of one worker: its lines, and how it ended ("" when it ended well)."""

    lines: list[dict[str, Any]]
    failure: str = ""


def environment(mode: str, cache: str) -> dict[str, str]:
    """Variables for a worker: the mode, an object cache of its own, and one thread for everybody."""
    out = {k: v for k, v in os.environ.items() if not k.startswith("STATOR")}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "STATOR_THREADS"):
        out[name] = "1"
    out |= {"STATOR": MODES[mode], "STATOR_CACHE_DIR": cache, "PYTHONHASHSEED": "0"}
    if mode == "all":  # decorating asks for the option, which others do not pay for
        out["STATOR_SKIP"] = _OURS
    if mode == "hook":
        out["STATOR_ONLY"] = "no_function_has_this_name"
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    out["PYTHONPATH"] = os.pathsep.join(paths)
    return out


class Worker:
    """A process at work, and the lines that come from it."""

    def __init__(self, module: str, task: dict[str, Any], mode: str, python: str = sys.executable) -> None:
        self.failure = ""
        self._folder = tempfile.TemporaryDirectory(prefix="harm-")
        self._said = tempfile.TemporaryFile()
        self._lines, lines = os.pipe()
        turns, self._turns = os.pipe()
        command = [
            *_same_addresses(),
            python,
            "-m",
            module,
            json.dumps(task | {"mode": mode}),
            str(lines),
            str(turns),
        ]
        self._process = subprocess.Popen(
            command,
            env=environment(mode, self._folder.name),
            cwd=self._folder.name,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            pass_fds=(lines, turns),
        )
        os.close(lines)
        os.close(turns)
        self._buffer = b""

    def line(self, timeout: float) -> dict[str, Any] | None:
        """The next line; None when there is none to come, and then `failure` says why unless all is well."""
        until = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._lines], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._lines, 1 << 16) if ready else b""
            if not part:
                self._end("" if ready else f"not done after {timeout:.0f} s")
                return None
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(text)

    def turn(self, timeout: float) -> dict[str, Any] | None:
        """Let it go on to its next line."""
        if self._process.poll() is None:
            os.write(self._turns, b".")
        return self.line(timeout)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for fd in (self._lines, self._turns):
            if fd >= 0:
                os.close(fd)
        self._lines = self._turns = -1
        self._said.close()
        self._folder.cleanup()

    def _end(self, failure: str) -> None:
        if failure:
            self._process.kill()
        code = self._process.wait()
        if code and not failure:
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip()
            failure = f"ended with {code}: {said.splitlines()[-1] if said else ''}"
        self.failure = failure


def run(
    module: str, task: dict[str, Any], mode: str, python: str = sys.executable, timeout: float = 120.0
) -> Outcome:
    """Run a worker on a task until it ends.

    Parameters
    ----------
    module : str
        The worker's module.
    task : dict
        What it is to do; ``task["mode"]`` is added.
    mode : str
        A key of `MODES`.
    python : str
        The interpreter.
    timeout : float
        Seconds between two lines after which it counts as hung.

    Returns
    -------
    Outcome
        What it measured, and how it ended.
    """
    worker = Worker(module, task, mode, python)
    try:
        lines = []
        while (line := worker.line(timeout)) is not None:
            lines.append(line)
        return Outcome(lines, worker.failure)
    finally:
        worker.close()


class Results:
    """A worker's end of it: the task, and where lines go."""

    def __init__(self, argv: list[str]) -> None:
        self.task: dict[str, Any] = json.loads(argv[1])
        self.mode: str = self.task["mode"]
        self._lines, self._turns = int(argv[2]), int(argv[3])

    def add(self, **line: Any) -> None:
        os.write(self._lines, json.dumps(line).encode() + b"\n")

    def wait(self) -> None:
        """Until it is this worker's turn; ends the process when nobody waits for it any more."""
        if not os.read(self._turns, 1):
            os._exit(0)


def decorator(mode: str) -> Any:
    """What a program's functions are decorated with in a mode; imports stator unless the mode is plain or control."""
    if MODES[mode] == "0":
        return _identity
    import stator

    return stator.compile if mode == "decorated" else _identity


def _identity(function: Any) -> Any:
    return function
