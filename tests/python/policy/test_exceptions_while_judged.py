"""What stator does about a call that ends with an exception (measuring it, giving the function back) leaves that alone."""

from __future__ import annotations

import textwrap

import pytest

from tests.python.process import run_program

# Functions whose calls raise: all of them, every second one, one in ten.
PROGRAM = """
import sys
import numpy as np
import stator

WAY, OFTEN = sys.argv[1], int(sys.argv[2])
compiled = stator.compile if WAY == "decorated" else lambda f: f


class Wrong(Exception):
    pass


@compiled
def short(a, bad):
    if bad:
        raise Wrong(a)
    return a + 1


@compiled
def fused(a, bad):
    b = a * 2.0 + 1.0
    c = np.sqrt(b * b + a) - b
    if bad:
        raise Wrong(c[0])
    return c


@compiled
def loop(a, bad):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * i
        if bad and i == 20:
            raise Wrong(total)
    return total


@compiled
def outside(a, bad):
    return a[5_000 if bad else 5]


@compiled
def nested(a, bad):
    return fused(a, bad) + short(a, bad)


@compiled
def caught(a, bad):
    try:
        return fused(a, bad)
    except Wrong:
        return None


def made_anew(a, bad):
    space = {"compiled": compiled, "np": np, "Wrong": Wrong}
    exec("@compiled\\ndef f(a, bad):\\n    b = a * 2.0\\n    if bad: raise Wrong(b)\\n    return b\\n", space)
    return space["f"](a, bad)


for f in (short, fused, loop, outside, nested, caught, made_anew):
    raised = 0
    for k in range(1200):
        a = np.linspace(0.0, 1.0, 40 if k % 7 else 4000)
        bad = k % OFTEN == 0
        try:
            f(a, bad)
        except (Wrong, IndexError):
            raised += 1
    assert raised == (0 if f is caught else -(-1200 // OFTEN)), (f, raised)
"""


@pytest.mark.parametrize("often", [1, 2, 10])
@pytest.mark.parametrize("way", ["decorated", "all"])
def test_the_programs_exception_comes(tmp_path, way, often):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    environment = {"STATOR_RETIRE": "1", **({"STATOR": "all"} if way == "all" else {})}
    done = run_program("", str(program), way, str(often), **environment)
    assert done.returncode == 0, done.stderr
