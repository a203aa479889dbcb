"""Differences that a reading of the code found, each reduced."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report


def list_grows_by_a_list(x):
    made = []
    made += [x * 2]
    return made


def list_grows_by_factors(x):
    made = [x + 1]
    made *= 2
    return len(made), made[0] is made[1], made


def list_grows_in_a_loop(x):
    made = []
    for i in range(4):
        made += [x * i]
    return made


def mask_shares_the_target(x):
    m = x > -1
    m[1:] = False
    m[1:][m[:-1]] = True
    return m


def mask_is_the_target_backwards(x):
    m = x > 2
    m[m[::-1]] = False
    return m


def mask_is_the_target(x):
    m = x > 2
    m[m] = False
    return m


def values_share_the_target(x):
    m = np.array([True, False, True, True, False])
    y = x * 1.0
    y[m] = y[2::-1]
    return y


def values_share_the_target_in_a_loop(x):
    m = np.array([True, False, True, True, False])
    y = x * 1.0
    for _ in range(3):
        y[m] = y[2::-1]
    return y


def mask_shares_the_target_in_a_loop(x):
    m = x > 2
    for _ in range(3):
        m[1:][m[:-1]] = True
        m[m[::-1]] = False
    return m


def shape_of_an_empty_array(x):
    y = x[:0] * 2
    y.shape = (y.size, 1)
    return y, y.strides


CASES = [v for v in list(globals().values()) if callable(v) and getattr(v, "__module__", "") == __name__]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_reviewed(f):
    compiled = stator.compile(f)
    for _ in range(6):
        expected, found = observe(f, [np.arange(5.0)]), observe(compiled, [np.arange(5.0)])
        assert found == expected, report(expected, found)
        stator.wait()


def test_lists_that_hold_themselves():
    def f(x, g):
        return x + len(g)

    def loop(x, g):
        s = 0.0
        for i in range(len(x)):
            s += x[i] + len(g)
        return s

    g = []
    g.append(g)
    nested = [1]
    for _ in range(60):
        nested = [nested, nested]
    for h in (f, loop):
        compiled = stator.compile(h)
        for _ in range(4):
            for items in (g, nested):
                assert np.all(compiled(np.ones(3), items) == h(np.ones(3), items))
                stator.wait()


@pytest.mark.parametrize("as_folder", [False, True])
def test_descriptors_of_others_are_left_alone(tmp_path, as_folder):
    """The program closes all descriptors, as daemons do, and gets their numbers."""
    program = tmp_path / "program.py"
    program.write_text(f"""
import os
import numpy as np
import stator

stator.compile(lambda x: x * 2 + 1)(np.ones(10))
stator.wait()
os.closerange(3, 200)
mine = {str(tmp_path / "mine")!r}
if {as_folder}:
    os.mkdir(mine)
    held = [os.open(mine, os.O_RDONLY) for _ in range(30)]
    kept = os.path.join(mine, ".profile")
    open(kept, "w").close()
    os.utime(kept, (0, 0))
else:
    held = [open(mine, "wb", buffering=0) for _ in range(30)]
f = stator.compile(lambda x, y: x * y - 1 / (y + 2) + y)
for _ in range(3):
    f(np.ones(10), np.ones(10))
    stator.wait()
if {as_folder}:
    assert os.listdir(mine) == [".profile"], os.listdir(mine)
    for fd in held:
        os.close(fd)
else:
    for file in held:
        file.write(b"x")
        file.close()
""")
    environment = {**os.environ, "STATOR_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, str(program)], env=environment, check=True, timeout=120)
