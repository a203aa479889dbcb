"""A program may end at any time: while kernels are being compiled, too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
import stator

def make(k):
    @stator.compile
    def f(x, y):
        z = x * y + k
        return np.where(z > x, np.sqrt(z) - x, y / z).sum(axis=0) + z[:, ::-1].max()
    return f

x = np.ones(({rows}, 7))
for k in range(12):
    f = make(k + 0.5)
    f(x, x)
    f(x, x)
{last}
"""


@pytest.mark.parametrize(
    "last", ["", "raise SystemExit(0)", "import threading; threading.Thread(target=f, args=(x, x)).start()"]
)
@pytest.mark.parametrize("rows", [3, 4, 5, 6])
def test_exit_while_compiling(rows, last, tmp_path):
    env = {"STATOR_CACHE_DIR": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PROGRAM.format(rows=rows, last=last)],
        env=os.environ | env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
