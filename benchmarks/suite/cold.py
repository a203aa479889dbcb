"""From the first call to compiled code, each time in a fresh process; and what importing costs.

Every repetition compiles an expression that no process has seen before, then runs again in a second process with the
caches that the first one left.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import programs
from .report import Goal, Section, Table

BEGIN = """
import json, sys, time
import numpy as np
rng = np.random.default_rng(1)
x, y, z = (rng.random(1000) + 0.5 for _ in range(3))
"""
END = "\nprint(json.dumps({'seconds': seconds}))\n"
SCRIPTS = {
    # `first` is a call on other types, so that one-time set-up (loading LLVM) is not hidden: it counts.
    "stator": """
import stator
from expression import f
g = stator.compile(f)
begun = time.perf_counter()
for calls in range(1, 20):
    g(x, y, z)
    if g.stats()["replays"] >= 1:
        break
seconds = time.perf_counter() - begun
""",
    "numba": """
import numba
from expression import f
g = numba.njit(cache=True)(f)
begun = time.perf_counter()
g(x, y, z)
seconds = time.perf_counter() - begun
""",
    "jax": """
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", sys.argv[1] + "/jax")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
from expression import f
x, y, z = map(jax.device_put, (x, y, z))
g = jax.jit(f)
begun = time.perf_counter()
g(x, y, z).block_until_ready()
seconds = time.perf_counter() - begun
""",
    "torch": """
import torch
from expression import f
x, y, z = map(torch.from_numpy, (x, y, z))
g = torch.compile(f)
begun = time.perf_counter()
g(x, y, z)
seconds = time.perf_counter() - begun
""",
}


def run(options: Any) -> Section:
    section = Section("cold")
    names = [n for n in SCRIPTS if n in options.peers]
    repetitions = 2 if options.quick else 5
    empty: dict[str, list[float]] = {n: [] for n in names}
    filled: dict[str, list[float]] = {n: [] for n in names}
    for k in range(repetitions):
        for name in names:
            with tempfile.TemporaryDirectory(prefix="stator-bench-") as folder:
                text = programs.TEN_SOURCE.format(1.5 + 0.01 * k, 2.25 + 0.1 * k, 3.125)
                Path(folder, "expression.py").write_text(text)
                empty[name].append(_process(name, folder))
                filled[name].append(_process(name, folder))
    table = Table(
        f"first call to compiled code, 10 operations, ms: least (median) of {repetitions}",
        ["", "empty cache", "second process"],
    )
    for name in names:
        table.rows.append([name, _ms(empty[name]), _ms(filled[name])])
    section.tables.append(table)
    section.series["First call to compiled code"] = {"x": ["empty cache", "second process"]} | {
        n: [min(empty[n]), min(filled[n])] for n in names
    }
    if "stator" in names and "jax" in names:
        for what, times, wanted in (("empty cache", empty, 0.4), ("second process", filled, 0.25)):
            ratio = min(times["stator"]) / min(times["jax"])
            section.goals.append(
                Goal(f"{what}: stator / JAX", f"<= {wanted}", f"{ratio:.2f}", ratio <= wanted)
            )
    _imports(section, options)
    return section


def _ms(seconds: list[float]) -> str:
    return f"{1e3 * min(seconds):.1f} ({1e3 * statistics.median(seconds):.1f})"


def _environment(folder: str) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")])),
        "STATOR_CACHE_DIR": folder + "/stator",
        "STATOR_ASYNC": "0",
        "NUMBA_CACHE_DIR": folder + "/numba",
        "TORCHINDUCTOR_CACHE_DIR": folder + "/torch",
    }


def _process(name: str, folder: str) -> float:
    """Seconds that one fresh process reports."""
    script = BEGIN + SCRIPTS[name] + END
    done = subprocess.run(
        [sys.executable, "-c", script, folder], env=_environment(folder), capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


def _imports(section: Section, options: Any) -> None:
    names = [n for n in ("stator", "numba", "jax", "numexpr", "torch") if n in options.peers]
    times: dict[str, list[float]] = {n: [] for n in names}
    for _ in range(3 if options.quick else 9):
        for name in names:
            script = f"import numpy, time, json; t = time.perf_counter(); import {name}; print(json.dumps(time.perf_counter() - t))"
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
            times[name].append(json.loads(done.stdout))
    section.tables.append(
        Table("import after NumPy, ms: least (median)", ["", "ms"], [[n, _ms(times[n])] for n in names])
    )
    if "stator" in names and "numba" in names:
        ratio = min(times["stator"]) / min(times["numba"])
        section.goals.append(Goal("import: stator / Numba", "<= 0.3", f"{ratio:.2f}", ratio <= 0.3))
