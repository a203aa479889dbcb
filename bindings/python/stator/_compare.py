"""`python -m stator run --compare`: how much faster a program is as a whole, measured by running it.

Three processes: plain Python; stator with nothing compiled yet; and once more, with what that one has compiled on disk. The
program's standard input is empty in all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

# Below this most of a run is Python's own start, s.
SHORT = 0.5
# What STATOR may say so.
OFF = ("0", "off", "false", "no")


class Run(NamedTuple):
    """One run of the program: seconds by the clock and of the CPU, exit status, standard output."""

    wall: float
    cpu: float
    status: int
    printed: bytes


def main(program: list[str], mode: str | None) -> int:
    """Run it, and print the comparison to standard error.

    Parameters
    ----------
    program : list of str
        The script and its arguments, or ``-m``, a module and its arguments.
    mode : str or None
        What is compiled: as `STATOR` says it. None: what `STATOR` says, else all functions.

    Returns
    -------
    int
        The exit status of the plain run.
    """
    python = [sys.executable, *subprocess._args_from_interpreter_flags()]  # type: ignore[attr-defined]
    if program[0] == "-":
        raise ValueError(
            "--compare runs the program three times: give it as a file, not on the standard input"
        )
    mode = mode or os.environ.get("STATOR") or "all"
    if mode.lower() in OFF:
        raise ValueError(
            f"STATOR={mode} switches stator off: --compare would compare plain Python with itself"
        )
    with tempfile.TemporaryDirectory(prefix="stator-compare-") as cache:
        plain = _run([*python, *program], {"STATOR": "0"}, echo=True)
        if plain.status:
            _say(f"stator: plain Python ends with exit status {plain.status}: nothing is compared")
            return plain.status
        compiled = [*python, "-m", "stator", "run", *program]
        environment = {"STATOR": mode, "STATOR_CACHE_DIR": cache}
        runs = [_run(compiled, environment, echo=False) for _ in range(2)]
    _say("\n".join(_table(plain, runs)))
    return 0


def _run(command: list[str], environment: dict[str, str], echo: bool) -> Run:
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if echo else subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        printed = []
        while piece := process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
            printed.append(piece)
            if echo:
                os.write(1, piece)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    return Run(wall, used.ru_utime + used.ru_stime, process.returncode, b"".join(printed))


def _table(plain: Run, runs: list[Run]) -> list[str]:
    first, again = runs
    lines = [
        f"{'':28}{'by the clock':>14}{'CPU':>10}",
        _row("plain Python", plain, None),
        _row("stator, compiling", first, plain),
        _row("stator, with code on disk", again, plain),
    ]
    lines.append(
        "what the three runs printed is the same" if _same(plain, runs) else _difference(plain, runs)
    )
    if plain.wall < SHORT:
        lines.append("most of a run so short is Python's start and imports: give it more to do")
    return lines


def _row(title: str, run: Run, plain: Run | None) -> str:
    gain = f"   {plain.wall / run.wall:.2f} times as fast" if plain else ""
    return f"{title:28}{run.wall:>12.2f} s{run.cpu:>8.2f} s{gain}"


def _same(plain: Run, runs: list[Run]) -> bool:
    return all((run.status, run.printed) == (plain.status, plain.printed) for run in runs)


def _difference(plain: Run, runs: list[Run]) -> str:
    """Where the first one that differs does. Times, dates and random numbers without a seed differ by themselves."""
    run = next(r for r in runs if (r.status, r.printed) != (plain.status, plain.printed))
    if run.status != plain.status:
        return f"the exit status differs: {plain.status}, with stator {run.status}"
    expected, found = plain.printed.splitlines(), run.printed.splitlines()
    at = next((n for n, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        return f"what it printed differs: {len(expected)} lines, with stator {len(found)}"
    here, there = (line[at].decode(errors="replace") for line in (expected, found))
    return (
        f"what it printed differs in line {at + 1}: {here!r}, with stator {there!r}\n"
        "(as it does without stator where it prints times, or random numbers without a seed)"
    )


def _say(text: str) -> None:
    print(text, file=sys.__stderr__)
