"""``python -m benchmarks.wild``: what stator does for packages that nobody here chose for it.

A driver is a module of `drivers` or `kept_back` with ``PACKAGE`` (what pip calls it), ``prepare()``, which returns
arguments, and ``drive(*arguments)``, which lasts 5 ms to a second of plain Python and returns results. ``drive`` is
what is decorated; arguments are made anew for each call. Packages that the interpreter (``--python``) does not have
are left out and named.

    python -m benchmarks.wild --list | xargs pip install         # into an environment with NumPy
    python -m benchmarks.wild --python ENV/bin/python
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..harm import long_programs, processes, report

WORKER = f"{__package__}.worker"
WARM = 0.97
HALVES = ("drivers", "kept_back")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m benchmarks.wild", description=__doc__.split("\n")[0])
    p.add_argument(
        "--modes", default="all,decorated", help="compared with plain: decorated, all, hook, control"
    )
    p.add_argument("--halves", default=",".join(HALVES), help="folders of drivers")
    p.add_argument("--programs", default="", help="only drivers whose name begins with one of these")
    p.add_argument("--processes", type=int, default=1, help="fresh processes for each driver and mode")
    p.add_argument("--seconds", type=float, default=2.0, help="plain's time for the warm calls")
    p.add_argument("--python", default=sys.executable, help="the interpreter that runs the programs")
    p.add_argument("--json", type=Path, help="file for what was measured")
    p.add_argument("--timeout", type=float, default=120, help="seconds after which a process has hung")
    p.add_argument(
        "--core", type=int, default=0, help="the core that all processes share; -1: none in particular"
    )
    p.add_argument("--list", action="store_true", help="print what pip is to install instead")
    return p


def package_of(half: ModuleType, name: str) -> str:
    """What pip calls the package of a driver: read, because the driver's import needs the package."""
    file = Path(half.__path__[0]) / f"{name}.py"
    for statement in ast.parse(file.read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PACKAGE":
            return str(ast.literal_eval(statement.value))
    raise ValueError(f"{file} has no line PACKAGE = '...': add what pip calls its package")


def _drivers(options: Any) -> Iterator[tuple[ModuleType, str]]:
    for half_name in options.halves.split(","):
        half = importlib.import_module(f"{__package__}.{half_name}")
        for name in sorted(m.name for m in pkgutil.iter_modules(half.__path__)):
            if not options.programs or name.startswith(tuple(options.programs.split(","))):
                yield half, name


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    options.modes = options.modes.split(",")
    if options.list:
        print("\n".join(sorted({package_of(half, name) for half, name in _drivers(options)})))
        return 0
    processes.share_a_core(options.core)
    halves: dict[str, list[dict[str, Any]]] = {}
    for half, name in _drivers(options):
        task = {"half": half.__name__, "name": name}
        about = processes.run(WORKER, task | {"about": True}, "plain", options.python, options.timeout)
        if about.failure:
            print(f"left out: {name}: {about.failure}", flush=True)
            continue
        rows = halves.setdefault(half.__name__.rpartition(".")[2], [])
        rows.append(long_programs.measure(name, WORKER, task, options, WARM))
        print(long_programs.brief(rows[-1], options), flush=True)
        report.write(options.json, "wild", [r for rows in halves.values() for r in rows], silent=True)
    misses = 0
    for half_name, rows in halves.items():
        print(f"\n==== {half_name}")
        misses += long_programs.show(rows, options)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
