"""Packages from PyPI that are Python around NumPy, each driven as its users do.

A driver is a module of `drivers` with ``PACKAGE`` (what pip calls it), ``prepare()``, which returns arguments, and ``drive(*arguments)``,
which lasts some 20 to 200 ms of plain Python and returns results. ``drive`` is what is decorated; arguments are made anew
for each call. Packages that the interpreter (``--python``) does not have are left out and named.
"""

from __future__ import annotations

import argparse
import ast
import pkgutil
from pathlib import Path
from typing import Any

from .. import long_programs, processes, report
from . import drivers

WORKER = f"{__package__}.worker"
WARM = 0.98


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--programs", default="", help="only drivers whose name begins with one of these")
    p.add_argument("--seconds", type=float, default=1.5, help="plain's time for the warm calls")
    p.add_argument("--list", action="store_true", help="print what pip is to install instead")


def package_of(name: str) -> str:
    """What pip calls the package of a driver: read, because the driver's import needs the package."""
    for statement in ast.parse((Path(drivers.__path__[0]) / f"{name}.py").read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PACKAGE":
            return str(ast.literal_eval(statement.value))
    raise ValueError(f"drivers/{name}.py has no line PACKAGE = '...': add what pip calls its package")


def run(options: Any) -> int:
    rows: list[dict[str, Any]] = []
    for name in sorted(m.name for m in pkgutil.iter_modules(drivers.__path__)):
        if options.programs and not name.startswith(tuple(options.programs.split(","))):
            continue
        if options.list:
            print(package_of(name))
            continue
        about = processes.run(WORKER, {"name": name, "about": True}, "plain", options.python, options.timeout)
        if about.failure:
            print(f"left out: {name}: {about.failure}", flush=True)
            continue
        rows.append(long_programs.measure(name, WORKER, {"name": name}, options, WARM))
        print(long_programs.brief(rows[-1], options), flush=True)
        report.write(options.json, "packages", rows)
    if options.list:
        return 0
    misses = long_programs.show(rows, options)
    report.write(options.json, "packages", rows)
    return 1 if misses else 0
