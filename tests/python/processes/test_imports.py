"""The program's own ``builtins.__import__`` hears of the program's imports, and of no other."""

import pytest
from process import run_program

PROGRAM = """
import builtins, collections, sys
import numpy as np
if {mode!r} != "plain":
    import stator
C = stator.compile if {mode!r} == "decorated" else lambda f: f
P = collections.namedtuple("P", "a b")

@C
def f(x):
    y = x + 1
    z = y[1:3] * y.T[0]
    a = np.asarray(x, dtype=float)
    s = sum(v for v in y[:3])
    p = P(y, z)._replace(a=1)
    d = y[0].item() + 1
    y += 1
    w = np.dot(x, x)
    return y.sum() * np.sin(x), s, d, np.astype(x, np.float32), a, w, p.a

@C
def g(x):
    s = 0.0
    for i in range(len(x)):
        s += np.sqrt(x[i]) + x[max(i - 2, 0):i + 1].sum()
    return s

X, Y = np.arange(6.0), np.arange(400.0)
log, own = collections.Counter(), builtins.__import__
def heard(name, *rest, **keywords):
    log[name] += 1
    return own(name, *rest, **keywords)
builtins.__import__ = heard
for i in range(60):
    f(X), g(Y)
print(sorted(log))
"""


@pytest.mark.parametrize("mode", ["decorated", "all"])
def test_what_an_import_hook_hears(mode):
    environment = {"STATOR_ASYNC": "0"} | ({"STATOR": "all"} if mode == "all" else {})
    plain = run_program(PROGRAM.format(mode="plain")).stdout
    assert run_program(PROGRAM.format(mode=mode), **environment).stdout == plain
