"""Test suites of pure-Python packages under STATOR=all: what is never compiled must cost nothing, and nothing may change.

``--install`` fetches source distributions and what their tests need with pip into ``--folder``; after that, ``--folder`` is all
that is needed. Tests are run by pytest in the main thread, whose CPU time counts, collection included.
"""

from __future__ import annotations

import argparse
import subprocess
import tarfile
import venv
from pathlib import Path
from typing import Any

from . import processes, report

WORKER = f"{__package__}.suites_worker"
MOST = 1.03  # times plain's time

# Package: where its tests are in the source distribution, and what else pip has to install for them.
SUITES: dict[str, tuple[str, tuple[str, ...]]] = {
    "more-itertools": ("tests", ()),
    "sortedcontainers": ("tests", ()),
    "toolz": (".", ()),
    "boltons": ("tests", ()),
    "packaging": ("tests", ("pretend",)),
    "sqlparse": ("tests", ()),
    "jmespath": ("tests", ()),
    "pyparsing": ("tests", ()),
    "attrs": ("tests", ("hypothesis",)),
    "tabulate": ("test", ()),
    "mistune": ("tests", ()),
    "cachetools": ("tests", ()),
    "idna": ("tests", ()),
    "networkx": ("networkx/algorithms/tests", ()),
    "markdown": ("tests", ("pyyaml",)),
}


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--folder", type=Path, default=Path("/tmp/stator-suites"), help="sources and environment")
    p.add_argument("--install", action="store_true", help="fetch what is missing there first")
    p.add_argument("--programs", default="", help="only packages whose name begins with one of these")
    p.set_defaults(modes="all", processes=3, timeout=600.0)


def install(folder: Path, names: list[str]) -> Path:
    """Sources and an environment that has pytest, NumPy and the packages; the interpreter's path."""
    python = folder / "env" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "env", with_pip=True)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "pytest", "numpy", "setuptools", "wheel"], check=True)
    for name in names:
        if (folder / name).exists():
            continue
        extra = SUITES[name][1]
        got = subprocess.run([*pip, "install", name, *extra]).returncode == 0
        to = folder / f"{name}-sdist"
        fetch = [*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", str(to), name]
        if got and subprocess.run(fetch).returncode == 0:
            with tarfile.open(next(to.glob("*.tar.gz"))) as archive:
                # 3.11.2, which Debian 12 has, knows no filters yet.
                archive.extractall(
                    folder / name, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
                )
        else:
            print(f"left out: {name} cannot be fetched")
    return python


def measure_suite(name: str, source: Path, options: Any) -> dict[str, Any]:
    """Least CPU time of each mode over several processes, and whether the tests went the same way."""
    modes = ["plain", *options.modes]
    row: dict[str, Any] = {"program": name, "problem": ""}
    went: dict[str, str] = {}
    for _ in range(options.processes):
        for mode in modes:
            task = {"source": str(source), "tests": SUITES[name][0]}
            outcome = processes.run(WORKER, task, mode, options.python, options.timeout)
            if outcome.failure or not outcome.lines:
                return row | {"problem": f"{mode}: {outcome.failure}"}
            line = outcome.lines[-1]
            went.setdefault(mode, line["went"])
            for clock in ("cpu", "wall"):
                key = f"{mode}_{clock}"
                row[key] = min(row.get(key, float("inf")), line[clock])
    row["went"] = went["plain"]
    if "passed" not in went["plain"] or "not collected" in went["plain"]:
        return {"program": name, "problem": f"plain: tests do not run here: {went['plain']}"}
    for mode in options.modes:
        if went[mode] != went["plain"]:
            row["problem"] = f"{mode}: {went[mode]}"
    return row


def run(options: Any) -> int:
    names = [n for n in SUITES if not options.programs or n.startswith(tuple(options.programs.split(",")))]
    options.folder.mkdir(parents=True, exist_ok=True)
    python = install(options.folder, names) if options.install else options.folder / "env" / "bin" / "python"
    options.python = str(python)
    rows = []
    for name in names:
        sources = list((options.folder / name).glob("*/")) if (options.folder / name).exists() else []
        if not sources:
            print(f"left out: {name} is not in {options.folder}")
            continue
        rows.append(measure_suite(name, sources[0], options))
        times = {
            m: round(rows[-1].get(f"{m}_cpu", 0) / rows[-1].get("plain_cpu", 1), 3) for m in options.modes
        }
        print(f"{name}: {times} times plain's; {rows[-1]['problem'] or rows[-1]['went']}", flush=True)
        report.write(options.json, "suites", rows)
    cells, misses = [], 0
    for r in rows:
        for mode in options.modes:
            if f"{mode}_cpu" not in r:
                cells.append([r["program"], mode, None, None, r["problem"]])
                continue
            times = r[f"{mode}_cpu"] / r["plain_cpu"]
            bad = times > MOST or bool(r["problem"])
            misses += bad
            cells.append([r["program"], mode, r["plain_cpu"] / 1e6, times, r["problem"] or r["went"]])
    cells.sort(key=lambda c: -(c[3] or 0))
    print(
        report.table(
            f"test suites, CPU time; bar: {MOST} times plain's",
            ["package", "mode", "plain ms", "times plain", "tests"],
            cells,
        )
    )
    return 1 if misses else 0
