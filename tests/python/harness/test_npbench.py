"""The adapter for NPBench and pyhpc-benchmarks, on small checkouts written here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stator

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
from benchmarks.npbench import rewrite  # noqa: E402

INFO = {
    "benchmark": {
        "name": "Sweep",
        "short_name": "sweep",
        "relative_path": "toys/sweep",
        "module_name": "sweep",
        "func_name": "kernel",
        "parameters": {"S": {"N": 6, "TSTEPS": 3}},
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["A"]},
        "input_args": ["TSTEPS", "A"],
        "array_args": ["A"],
        "output_args": ["A"],
    }
}
NUMPY = """
import numpy as np


def kernel(TSTEPS, A):
    for t in range(TSTEPS):
        A[1:-1] = 0.5 * (A[:-2] + A[2:])
    return A.sum()
"""
FILES = {
    "bench_info/sweep.json": json.dumps(INFO),
    "npbench/__init__.py": "",
    "npbench/benchmarks/toys/sweep/sweep.py": "import numpy as np\n\n\ndef initialize(N):\n    return np.arange(N) ** 2.0\n",
    "npbench/benchmarks/toys/sweep/sweep_numpy.py": NUMPY,
    "npbench/benchmarks/toys/sweep/sweep_numba_n.py": NUMPY.replace("0.5 *", "0.25 *"),
    "npbench/benchmarks/toys/sweep/sweep_numba_o.py": "raise RuntimeError('cannot be loaded')\n",
}
HPC = {
    "benchmarks/drift/__init__.py": "import numpy as np\n\n\ndef generate_inputs(size):\n    return np.ones(size), np.arange(size) * 1.0\n",
    "benchmarks/drift/drift_numpy.py": "def run(x, y, device='cpu'):\n    for _ in range(3):\n        y += 0.5 * x\n    return x * y\n",
}


def _checkout(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """What the adapter wrote about both checkouts, by program and peer."""
    monkeypatch.setenv("NPBENCH_DIR", str(_checkout(tmp_path / "npbench", FILES)))
    monkeypatch.setenv("PYHPC_DIR", str(_checkout(tmp_path / "hpc", HPC)))
    monkeypatch.setenv("PYTHONPATH", str(Path(stator.__file__).parents[1]))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "benchmarks.npbench", "--presets", "S", "--programs", "all", "--seconds", "0.01", "--rounds", "2", "--out", str(out), "--peers", "numpy,stator,cached"]  # fmt: skip
    if _has_numba():
        command[-1] += ",numba"
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "sweep" in done.stdout and "drift" in done.stdout
    rows = json.loads((out / "npbench.json").read_text())
    return {row["program"]: row["lines"] for row in rows}


def _has_numba() -> bool:
    import importlib.util

    return importlib.util.find_spec("numba") is not None


def test_what_is_measured(lines):
    assert set(lines) == {"sweep", "drift"}
    for peers in lines.values():
        for peer in ("numpy", "stator", "cached"):
            assert 0 < peers[peer]["best"] <= peers[peer]["median"], peers[peer]
            assert peers[peer]["first"] > 0
        for peer in ("stator", "cached"):
            assert peers[peer]["bits"] == ["same"] * 4  # of two rounds
            assert peers[peer]["stats"]["eager_calls"] >= 0
            assert set(peers[peer]["steady_exits"]) == {"exits", "opaque_steps", "eager_calls"}


def test_results_that_differ_are_found(tmp_path):
    """A variant of another peer, run by the worker itself: here plain Python with another factor."""
    folder = _checkout(tmp_path, FILES)
    environment = os.environ | {"PYTHONPATH": str(Path(stator.__file__).parents[1])}

    def line(variant):
        command = [sys.executable, "-m", "benchmarks.npbench.worker", "npbench", str(folder), "sweep", "S", variant, "0.01", str(tmp_path / "reference")]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, env=environment)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    assert line("numpy.numpy")["stats"] == {}
    assert all(x.startswith("off by") for x in line("numba.numba_n")["bits"])
    assert "cannot be loaded" in line("numba.numba_o")


def test_no_checkout():
    environment = {k: v for k, v in os.environ.items() if k not in ("NPBENCH_DIR", "PYHPC_DIR")}
    command = [sys.executable, "-m", "benchmarks.npbench"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, env=environment)
    assert done.returncode == 1 and "NPBENCH_DIR" in done.stdout


WRITTEN = """
import numpy as np

def smoothed(a, k):
    b = np.zeros_like(a)
    e = k
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            b[i, j] = a[i - 1, j] + 2.0 * a[i, j]
    for _ in range(k):
        c = np.ones(a.shape)
        d = b * 0.25
        b[1:-1] = (a[2:] + a[:-2]) * 0.5 + c[1:-1] * d[1:-1]
        b[0] = b[0] + np.sum(a[1:] * d[:-1])
    return b
"""


def _run(source):
    space = {}
    exec(source, space)
    return space["smoothed"](np.linspace(-1.0, 2.0, 42).reshape(7, 6), 5)


@pytest.mark.parametrize("idiom", [*rewrite.IDIOMS, "all"])
def test_programs_written_differently(idiom):
    """Every idiom changes the text, and no bit of the result."""
    if idiom == "long":
        source = rewrite.rewritten(WRITTEN, "smoothed", ("short",))
    else:
        source = WRITTEN
    other = rewrite.rewritten(source, "smoothed", () if idiom == "all" else (idiom,))
    assert other != rewrite.rewritten(source, "smoothed", ("none",))
    assert _run(other).tobytes() == _run(WRITTEN).tobytes()
