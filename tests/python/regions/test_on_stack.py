"""A loop that is running switches into compiled code: one long call profits."""

from __future__ import annotations

import time

import numpy as np
import pytest
import stator
from fuzz.compare import same


def nest(a, n):
    """A sweep of Gauss and Seidel."""
    m = a.shape[0]
    for _ in range(n):
        for i in range(1, m - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return a


def _sweep(a):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def in_a_helper(a, n):
    for _ in range(n):
        _sweep(a)
    return a


def one_call_of_a_helper(a, n):
    return nest(a, n) + 1.0


def that_prints(a, n):
    m = a.shape[0]
    count = 0
    for _ in range(n):
        for i in range(1, m - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
                count += 1
                if count % 1000 == 0:
                    print(count, a[i, j])
    return a


def while_loop(a, n):
    m, i, count = a.shape[0], 0, 0
    while count < n * m * m:
        i = (i * 5 + 3) % (m * m)
        a[i // m, i % m] = 0.5 * a[i // m, i % m] + 1.0
        count += 1
    return a


PROGRAMS = [nest, in_a_helper, one_call_of_a_helper, that_prints, while_loop]
SIDE, SWEEPS = 32, 1500  # some seconds in the evaluator


@pytest.mark.slow
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_the_first_call_is_fast(function, capsys):
    """In a tenth of what the evaluator takes, by its time for a fifteenth of the work, and half a second."""
    start = np.random.default_rng(0).random((SIDE, SIDE))
    begun = time.thread_time()
    function(start.copy(), SWEEPS // 15)
    eager = 15 * (time.thread_time() - begun)
    compiled = stator.compile(function)
    begun = time.thread_time()
    compiled(start.copy(), SWEEPS)
    assert time.thread_time() - begun < 0.5 + eager / 10, eager
    capsys.readouterr()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_the_first_call_is_right(function, capsys):
    start = np.random.default_rng(0).random((8, 8))
    expected = function(start.copy(), 60)
    printed = capsys.readouterr().out
    assert same(stator.compile(function)(start.copy(), 60), expected)
    assert capsys.readouterr().out == printed


def two_sweeps(a, n):
    b = np.zeros_like(a)
    for _ in range(n):
        for i in range(1, a.shape[0]):
            b[i] = a[i] + a[i - 1]
        b = b * 0.5
        for i in range(1, a.shape[0]):
            a[i] = b[i] - b[i - 1]
    return a


def converges(a, n):
    count, change = 0, 1.0
    while change > 1e-9 and count < n:
        for i in range(1, a.shape[0]):
            a[i] = 0.5 * (a[i] + a[i - 1])
        change = abs(a[-1] - a[0]).max()
        count += 1
    return a


@pytest.mark.parametrize("function", [two_sweeps, converges])
def test_no_traces_of_what_becomes_a_region(function, monkeypatch):
    """Also of a `while` loop's first iteration: once there is a region, a call enters it and nothing else."""
    monkeypatch.setattr(stator.options, "async", False)
    compiled = stator.compile(function)
    start = np.linspace(0, 1, 60).reshape(12, 5)
    for n in (3, 9):
        assert same(compiled(start.copy(), n), function(start.copy(), n))
    assert len(compiled.traces) <= 1  # what leads to the loop
    entries = sum(r.entries for r in compiled.regions)
    before = stator.stats(compiled)
    assert same(compiled(start.copy(), 9), function(start.copy(), 9))
    after = stator.stats(compiled)
    assert sum(r.entries for r in compiled.regions) == entries + 1
    assert after["exits"] == before["exits"]
    assert after["recordings"] == before["recordings"]
