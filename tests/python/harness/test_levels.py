"""NumPy's loops of lesser processors, and narrower vectors than there are: each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests import levels  # noqa: E402

PAIRS = [("native", "128"), ("avx2", "256"), ("sse", "512"), ("sse", "128")]

PROGRAM = """
import numpy as np
import stator

def zeros(x):
    return np.max(x), np.min(x), x.max(axis=0), x.min(axis=1), np.max(-x), np.maximum.reduce(x * 1.0, axis=1)

def product(a, b):
    return a * (b + 1), a * b, (a * b).sum(), np.square(a), np.abs(a), a[::-1] * b

def squares(a, b):
    for i in range(len(a)):
        a[i] = a[i] * (b[i] + 1) + abs(b[i])
        a[i, ::2] **= 2
    return a

def functions(x):
    return np.exp(x), np.log(x), np.sin(x), np.cos(x), np.tanh(x), x ** 1.5, np.sqrt(x), x.sum(), x.mean(axis=0), x @ x.T

def halves(x):
    h = x.astype(np.float16)
    return h * h + h / (h + 1), np.exp(h), h.sum(), np.rint(x * 7), np.floor(x)

rng = np.random.default_rng(0)
def bits(r):
    return [np.asarray(v).tobytes() for v in r] if isinstance(r, tuple) else r.tobytes()

for dtype in (np.float32, np.float64):
    for shape in ((3, 5), (7, 33), (5, 257), (40, 1100)):
        x = rng.choice(np.array([0.0, -0.0]), shape).astype(dtype)
        x[rng.random(shape) < 0.7] = 0.0
        y = np.where(rng.random(shape) < 0.2, x, dtype(-1))
        u = (rng.random(shape) + 0.5).astype(dtype)
        c = (u + 1j * rng.normal(size=shape)).astype(np.result_type(dtype, np.complex64))
        d = (u - 1j * rng.normal(size=shape)).astype(c.dtype)
        for plain, makes in ((zeros, lambda: (x,)), (zeros, lambda: (y,)), (zeros, lambda: (-y,)), (product, lambda: (c, d)),
                             (squares, lambda: (c.copy(), d.copy())), (functions, lambda: (u,)), (halves, lambda: (u,))):
            compiled = stator.compile(plain)
            with np.errstate(all="ignore"):
                for _ in range(3):
                    assert bits(compiled(*makes())) == bits(plain(*makes())), (plain.__name__, dtype, shape)
                    stator.wait()
"""


def run(level: str, width: str, *command: str) -> subprocess.CompletedProcess:
    env = {**os.environ, **levels.environment(level, width)}
    return subprocess.run(
        [sys.executable, *command], env=env, cwd=ROOT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(("level", "width"), PAIRS)
def test_what_loops_choose_by_the_processor(level, width):
    done = run(level, width, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("kind", "level", "width"),
    [
        ("straight", "sse", "128"),
        ("structured", "sse", "256"),
        ("orders", "avx2", "128"),
        ("straight", "native", "256"),
    ],
)
def test_random_programs_at_another_level(kind, level, width):
    done = run(level, width, "-m", "tests.python.fuzz", "--kind", kind, "--count", "20", "--seed", "11")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def test_a_level_is_what_numpy_then_has():
    names = levels.disabled("sse")
    text = (
        f"from numpy._core._multiarray_umath import __cpu_features__ as f; print(any(f[n] for n in {names}))"
    )
    assert run("sse", "512", "-c", text).stdout.split() == ["False"]
