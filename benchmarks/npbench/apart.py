"""Scripts that look at each program in a process of its own: their options, and the loop over programs."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from . import checkouts
from .__main__ import ROOT, environment


def run(
    module: str,
    doc: str,
    programs: str,
    measure: Callable[[str, str, str, str], dict[str, Any]],
    found: Callable[[str, str, dict[str, Any]], None],
    extra: dict[str, str] | None = None,
    argv: Sequence[str] | None = None,
) -> bool:
    """Calls ``measure(suite, folder, program, preset)`` in processes of their own, with `extra` variables, and
    ``found(program, preset, result)`` here. `programs` are those taken by default. False when one failed, or no
    checkout was there."""
    p = argparse.ArgumentParser(prog=f"python -m {module}", description=doc.split("\n")[0])
    p.add_argument("--presets", default="S", help="comma-separated: S, M, L")
    p.add_argument(
        "--programs",
        default=programs,
        help=f"comma-separated, or 'loops', or 'all' ('{programs}' by default)",
    )
    p.add_argument("--one", nargs=4, metavar=("SUITE", "FOLDER", "PROGRAM", "PRESET"), help=argparse.SUPPRESS)
    options = p.parse_args(argv)
    if options.one:
        print(json.dumps(measure(*options.one)))
        sys.exit(0)
    suites = checkouts.found()
    failed = 0
    for preset in options.presets.split(","):
        for name, suite in suites.items():
            known = suite.programs("loops" if options.programs == "loops" else "all")
            for program in known if options.programs in ("loops", "all") else options.programs.split(","):
                if program not in known:
                    continue
                result = _in_a_process([module, "--one", name, str(suite.folder), program, preset], extra)
                if isinstance(result, str):
                    failed += 1
                    print(f"{program:<26}{preset:>3}  failed: {result}", flush=True)
                else:
                    found(program, preset, result)
    return bool(suites) and not failed


def _in_a_process(command: list[str], extra: dict[str, str] | None) -> dict[str, Any] | str:
    """What it printed, or its last words."""
    with tempfile.TemporaryDirectory(prefix="stator-npbench-") as cache:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment("stator", 1, cache) | (extra or {}),
            check=False,
        )
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1])
