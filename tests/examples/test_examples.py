"""The programs of examples/: with stator and without they give the same bits, in the first call and in the second, and each draws
its picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the examples' data come with matplotlib")
EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(p.stem for p in EXAMPLES.glob("*.py") if p.stem != "run")


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "run.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_example(name, tmp_path):
    done = run(name, "--calls", "2", "--pictures", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[1].startswith(name) and done.stdout.rstrip().endswith("identical")
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_a_wrong_name_is_one_clear_line():
    done = run("nothing")
    assert done.returncode == 2
    assert "there is no example 'nothing'" in done.stderr.splitlines()[-1]


def test_differences_are_found():
    import numpy as np

    sys.path.insert(0, str(EXAMPLES))
    try:
        from run import differing
    finally:
        sys.path.remove(str(EXAMPLES))
    a = {"x": np.array([0.0, 1.0]), "y": np.arange(3)}
    assert differing(a, {"x": np.array([-0.0, 1.0]), "y": np.arange(3)}) == ["x"]
    assert differing(a, {"x": np.array([0.0, 1.0]), "y": np.arange(3.0)}) == ["y"]
    assert differing(a, a) == []


def test_all_are_in_the_readme():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"[{name}]({name}.py)" not in text] == []
