"""What is called as a function of NumPy's is, but is another: ufuncs of other libraries, functions put in its place."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
import stator


def element_by_element(function):
    def loop(x, out):
        for i in range(len(x)):
            out[i] = function(x[i])
        return out

    return loop


def again_and_again(function):
    def loop(x, out):
        for _ in range(5):
            x = function(x) * 0.5
        out[:] = x
        return out

    return loop


def into_place(function):
    def loop(x, out):
        for _ in range(5):
            function(x, out)
            x = out * 0.5
        return out

    return loop


def straight(function):
    def once(x, out):
        out[:] = function(x) * 0.5
        return out

    return once


@pytest.mark.parametrize("form", [element_by_element, again_and_again, into_place, straight])
@pytest.mark.parametrize("name", ["expm1", "log1p", "exp2", "cbrt", "exp10", "log_ndtr", "expit"])
def test_ufuncs_of_scipy(name, form):
    # Some have NumPy's names and round otherwise.
    function = getattr(scipy.special, name)
    x = np.linspace(0.01, 0.9, 300)
    eager, compiled = form(function), stator.compile(form(function))
    want = eager(x, np.zeros(300))
    for _ in range(4):
        assert compiled(x, np.zeros(300)).tobytes() == want.tobytes()
        stator.wait()


def sums_in_a_loop(x, n):
    s = 0.0
    for i in range(n):
        s += np.sum(x * i)
    return s


def sums(x, n):
    return np.sum(x * n) + 1.0


PATCHED = [
    "sum", "dot", "clip", "where", "concatenate", "zeros", "array", "transpose", "cumsum", "sqrt", "copy",
]  # fmt: skip


def uses(name):
    call = {
        "sum": "np.sum(x)", "dot": "np.dot(x, x)", "clip": "np.clip(x, 0.1, 0.2)", "where": "np.where(x > 0, x, 1.0)",
        "concatenate": "np.concatenate((x, x))", "zeros": "np.zeros(3)", "array": "np.array([1.0, t])",
        "transpose": "np.transpose(x)", "cumsum": "np.cumsum(x)", "sqrt": "np.sqrt(x)", "copy": "np.copy(x)",
    }[name]  # fmt: skip
    names: dict = {"np": np}
    exec(
        f"def loop(x, n):\n    r = 0.0\n    for t in range(n):\n        r = {call}\n    return r\n"
        f"def straight(x, t):\n    return {call} * 2\n",
        names,
    )
    return names["loop"], names["straight"]


@pytest.mark.parametrize("name", PATCHED)
def test_functions_put_in_place_of_numpys(name, monkeypatch):
    calls = []
    original = getattr(np, name)

    @functools.wraps(original)
    def traced(*args, **kwargs):
        calls.append(len(args))
        return original(*args, **kwargs)

    monkeypatch.setattr(np, name, traced)
    x = np.linspace(0.1, 0.9, 7)
    for function in uses(name):
        compiled = stator.compile(function)
        want = np.asarray(function(x, 9)).tobytes()
        wanted = len(calls)
        for _ in range(5):
            calls.clear()
            assert np.asarray(compiled(x, 9)).tobytes() == want
            assert len(calls) == wanted
            stator.wait()
        calls.clear()


BEFORE = """
import functools
import numpy as np
calls = []
def traced(original):
    @functools.wraps(original)
    def call(*args, **kwargs):
        calls.append(1)
        return original(*args, **kwargs)
    return call
for name in {names}:
    setattr(np, name, traced(getattr(np, name)))
import stator
from test_impostors import uses
x = np.linspace(0.1, 0.9, 7)
for name in {names}:
    for function in uses(name):
        compiled = stator.compile(function)
        calls.clear()
        want = np.asarray(function(x, 9)).tobytes()
        wanted = len(calls)
        for _ in range(5):
            calls.clear()
            assert np.asarray(compiled(x, 9)).tobytes() == want, name
            assert len(calls) == wanted, (name, function, len(calls), wanted)
            stator.wait()
"""


def test_functions_put_in_place_before_stator_is_imported():
    folder = os.path.dirname(__file__)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([folder, *sys.path])}
    program = BEFORE.format(names=PATCHED)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
