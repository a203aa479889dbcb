"""Functions that were called from a compiled one and that nobody has any more are forgotten."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import stator

LOOP = """
def g(x, extra=None):
    s = 0.0
    for v in x:
        s += v * {0}.0
    return s * x
"""


def apply(x, g):
    return g(x) + 1


def made(k: int) -> Any:
    names: dict[str, Any] = {}
    exec(LOOP.format(k), names)
    return names.pop("g")  # or the two would hold each other


def test_their_code_is_freed():
    compiled = stator.compile(apply)
    x = np.arange(4.0)
    codes = []
    for k in range(200):
        g = made(k)
        assert np.array_equal(compiled(x, g), apply(x, g))
        codes.append(weakref.ref(g.__code__))
        del g
        stator.wait()  # what is being compiled is held
    assert sum(code() is not None for code in codes) < 150


def test_those_that_somebody_has_stay_compiled():
    compiled = stator.compile(apply)
    x = np.arange(4.0)
    kept = made(1000)
    for _ in range(3):
        compiled(x, kept)
        stator.wait()
    for k in range(100):
        compiled(x, made(k))
    before = compiled.stats()["regions"]
    assert np.array_equal(compiled(x, kept), apply(x, kept))
    stator.wait()
    assert compiled.stats()["regions"] == before


class Last:
    """Calls the compiled function when it goes."""

    def __init__(self, run):
        self.run = run

    def __del__(self):
        self.run()


def test_finalizers_may_call_the_function():
    compiled = stator.compile(apply)
    x, done = np.arange(4.0), []
    for k in range(150):
        g = made(k)
        g.__defaults__ = (Last(lambda: done.append(compiled(x, made(-1)))),)
        assert np.array_equal(compiled(x, g), apply(x, g))
        del g
    gc.collect()
    assert done
    assert all(np.array_equal(y, apply(x, made(-1))) for y in done)
