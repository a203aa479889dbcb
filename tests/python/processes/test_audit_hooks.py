"""Audit hooks hear of what the program does, and of nothing that stator does for itself."""

import pytest
from process import run_program

PROGRAM = """
import collections, functools, math, random, sys, warnings
import numpy as np
{imports}
events, listening = [], False

def hook(event, arguments):
    if listening:
        events.append(event)

Pair = collections.namedtuple("Pair", "u v")

class Held:
    def __init__(self, a):
        self.a = a
    @property
    def twice(self):
        return self.a * 2.0
    def __add__(self, other):
        return Held(self.a + other.a)

def objects(x):
    p = Pair(x * 2.0, x)
    q = p._replace(v=x + 1.0)
    h = Held(q.v) + Held(p.u)
    return h.twice + functools.partial(np.multiply, 2.0)(p.u)

def generators(x):
    a, b = (x * k for k in (2.0, 3.0))
    return tuple(a + k for k in range(3))[1] + sum([a, b]) + max(x[0], 2.0)

def sums(x):
    y = sum([x * 2.0, x * 3.0]) + sum(x * k for k in range(3))
    return y + functools.reduce(np.add, [x * 1.0, x * 2.0])

def powers(x):
    y = x ** 2 + x ** 0.5 + x ** -1
    y **= 2
    return (x * 2.0 + x) * (x - 1.0) + np.float64(2.0) * (y + x)

def loop(x, rng=np.random.default_rng(1), draws=random.Random(2)):
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i]) * rng.random() + draws.random()
        if s > 1e9:
            s = [s, i]
    return x * s

def raising(x):
    try:
        return x[99]
    except IndexError as e:
        with warnings.catch_warnings(record=True):
            warnings.warn("told")
            x = x / 0.0
        return x + len(str(e))

{more}
functions = [objects, generators, sums, powers, loop, raising] + more
x = np.linspace(1.0, 2.0, 64)
with warnings.catch_warnings(record=True):
    warnings.warn("what the first warning imports")
sys.addaudithook(hook)
for f in functions:
    for k in range(60):
        listening = True
        f(x)
        listening = False
print(collections.Counter(events))
"""
TORCH = """
def tensors(x):
    t = torch.from_numpy(x)
    return (t * 2.0 + t).numpy()
more = [tensors]
"""


@pytest.mark.parametrize("sync", [(), ("STATOR_ASYNC=0",)])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_nothing_is_heard_of(tmp_path, library, sync):
    if library == "torch":
        pytest.importorskip("torch")
    imports, more = ("import torch", TORCH) if library == "torch" else ("", "more = []")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(imports=imports, more=more))
    plain = run_program("", str(program), STATOR="0")
    under = run_program("", "-m", "stator", "run", str(program), **dict(s.split("=") for s in sync))
    assert (under.stdout, under.stderr) == (plain.stdout, plain.stderr)
