"""Public programs' own tests under STATOR=all: ``python -m tests.upstream.programs [NAME…]``.

Each program of programs.txt is downloaded from PyPI, installed into an environment of its own with this NumPy, and its
tests are run eagerly and under STATOR=all with every function compiled in its first call. What passes must go on to pass.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .ways import PLUGIN, WAYS, counted, failures

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Program:
    name: str
    version: str
    tests: str
    needs: list[str]


def known() -> list[Program]:
    lines = (Path(__file__).with_name("programs.txt")).read_text().splitlines()
    rows = [line.split("#")[0].split() for line in lines]
    return [Program(name, version, tests, needs) for name, version, tests, *needs in filter(None, rows)]


def prepared(program: Program, folder: Path) -> tuple[Path, Path]:
    """Its environment's Python, and where its source is."""
    folder /= f"{program.name}-{program.version}"
    python, done = folder / "venv" / "bin" / "python", folder / "done"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        pip = [python, "-m", "pip", "-q", "--disable-pip-version-check"]
        wanted = f"{program.name}=={program.version}"
        subprocess.run(
            [*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", folder, wanted], check=True
        )
        archive = next(folder.glob("*.tar.gz"))
        with tarfile.open(archive) as f:
            f.extractall(folder / "source", filter="data")
        base = [f"numpy=={np.__version__}", "pytest<9", "pytest-timeout", *program.needs]
        subprocess.run([*pip, "install", *base], check=True)
        subprocess.run([*pip, "install", next((folder / "source").iterdir()), *base[:1]], check=True)
        done.touch()
    return python, next((folder / "source").iterdir())


def run(program: Program, way: str, folder: Path, options: argparse.Namespace) -> tuple[set[str], Counter]:
    python, source = prepared(program, folder)
    command = [
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "stator_again", "-rfE",
        # The programs' own settings ask for coverage, parallel runs and plugins' versions.
        "-o", "addopts=", "-o", "required_plugins=", "-o", "filterwarnings=", "--continue-on-collection-errors",
        f"--timeout={options.timeout}", "-k", options.k, source / program.tests,
    ]  # fmt: skip
    paths = [str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | WAYS[way] | {"PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "Agg"}
    if not options.again:
        environment["AGAIN_CALLS"] = "1"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=source)
    (folder / f"{program.name}-{way}.log").write_text(done.stdout + done.stderr)
    died = {f"died of signal {-done.returncode}"} if done.returncode < 0 else set()
    return failures(done.stdout) | died, counted(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.upstream.programs", description=__doc__.split("\n")[0]
    )
    parser.add_argument("names", nargs="*", default=[p.name for p in known()])
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "programs")
    parser.add_argument("--timeout", type=int, default=100, help="seconds for one test")
    parser.add_argument("--again", action="store_true", help="call each test three times")
    parser.add_argument("-k", default="", help="pytest's -k")
    options = parser.parse_args()
    differ = 0
    for program in known():
        if program.name not in options.names:
            continue
        options.folder.mkdir(parents=True, exist_ok=True)
        eager, _ = run(program, "eager", options.folder, options)
        found, counts = run(program, "all", options.folder, options)
        only = sorted(found - eager)
        verdict = "DIFFERS" if only else "same" if counts["passed"] else "NONE RAN"
        print(
            f"{verdict:8} {program.name} {program.version}: "
            + ", ".join(f"{counts[k]} {re.sub('_', ' ', k)}" for k in counts),
            flush=True,
        )
        for test in only:
            print(f"         {test}", flush=True)
        differ += len(only) or (verdict != "same")
    print(f"{differ} tests fail under stator only, or are of programs of which none passed")
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main())
