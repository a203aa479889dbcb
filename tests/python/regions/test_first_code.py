"""Code in a hurry: large regions run unoptimized code until better code is there (jit/compiler.cpp, first_code)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def run(first_code: str, cache: Path, *command: str) -> str:
    env = {
        **os.environ,
        "STATOR_TEST_FIRST_CODE": first_code,
        "STATOR_TEST_KEEP_ENV": "1",
        "STATOR_LOG": "kernels",
        "STATOR_CACHE_DIR": str(cache),
    }
    done = subprocess.run(
        [sys.executable, *command],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=TESTS.parents[1],
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


@pytest.mark.parametrize("first_code", ["0,only", "0"])
def test_bits(first_code, tmp_path):
    """Of all programs, where no other code runs, and where it is replaced at some time."""
    programs = str(TESTS / "regions" / "test_programs.py")
    text = run(
        first_code,
        tmp_path,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        programs,
        "-k",
        "test_bits",
    )
    assert "compiled in a hurry, region" in text
    assert ("compiled, region" in text) == (first_code == "0")


LONG = """
import stator

def collatz(n):
    longest = 0
    for k in range(1, n):
        steps, x = 0, k
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        if steps > longest:
            longest = steps
    return longest

f = stator.compile(collatz)
print("longest", f(3_000_000), flush=True)  # seconds in unoptimized code
stator.wait()
entered = {r.name: r.entries for r in f.regions}
print("entered", entered)
assert max(entered.values()) == 2, entered
"""


def test_a_running_loop_goes_on_in_better_code(tmp_path):
    """It leaves at a header when that is there, and is entered again."""
    text = run("0,late", tmp_path, "-c", LONG)
    assert "longest 559" in text
    assert text.index("compiled in a hurry, region") < text.index("compiled, region") < text.index("longest")


NESTED = """
import numpy as np
import stator

def scaled_products(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])

f = stator.compile(scaled_products)
f(np.random.rand(1000, 1000), np.random.rand(1000, 300))
stator.wait()
print("regions", sorted(r.name.rpartition("@")[2] for r in f.regions))
"""


def test_an_inner_loop_waits_for_the_next_iteration_of_the_outer_one(tmp_path):
    """Where the outer loop's code came in the middle of an iteration, a region of the inner one's own is in vain."""
    assert "regions ['6']" in run("250", tmp_path, "-c", NESTED)
