"""A few random programs under device="cuda"; `python -m tests.gpu.fuzz` runs more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu import machine


@pytest.mark.parametrize(("kind", "seed"), [("straight", 1), ("straight", 2), ("structured", 1)])
def test_random_programs(kind, seed):
    machine.environment()  # skips where there is none
    command = [sys.executable, "-m", "tests.gpu.fuzz", "--count", "20", "--seed", str(seed), "--kind", kind]
    done = subprocess.run(
        command,
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ,
    )
    assert done.returncode == 0, done.stdout + done.stderr
