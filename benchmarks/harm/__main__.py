"""``python -m benchmarks.harm PART``: is stator ever slower than plain Python, at any moment?

python -m benchmarks.harm found --programs heaps,big_ints
python -m benchmarks.harm adversary --count 1000
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from . import processes

PARTS = {
    "given_back": "what a call of a function that was given back costs beyond the undecorated one, in ns",
    "found": "small programs of the kinds that people write: first ten calls, and every call after them",
    "adversary": "random programs that are built to lose",
    "pyperformance": "the programs of PyPI's pyperformance, from an environment that has it",
    "suites": "test suites of pure-Python packages under STATOR=all",
}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m benchmarks.harm", description=__doc__.split("\n")[0])
    parts = p.add_subparsers(dest="part", required=True)
    for name, help_ in PARTS.items():
        q = parts.add_parser(name, help=help_, description=help_)
        q.add_argument(
            "--modes", default="decorated,all", help="compared with plain: decorated, all, hook, control"
        )
        q.add_argument("--processes", type=int, default=3, help="fresh processes for each program and mode")
        q.add_argument("--python", default=sys.executable, help="the interpreter that runs the programs")
        q.add_argument("--json", type=Path, help="file for what was measured")
        q.add_argument("--timeout", type=float, default=120, help="seconds after which a process has hung")
        q.add_argument(
            "--core", type=int, default=0, help="the core that all processes share; -1: none in particular"
        )
        importlib.import_module(f"{__package__}.{name}").add_options(q)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    options.modes = options.modes.split(",")
    processes.share_a_core(options.core)
    return importlib.import_module(f"{__package__}.{options.part}").run(options)


if __name__ == "__main__":
    sys.exit(main())
