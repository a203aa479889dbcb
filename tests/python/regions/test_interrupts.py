"""Ctrl-C during a long loop: soon, and with the state that eager could have."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest
import stator
from process import alarm, now, on_alarm

# Of CPU time. What is promised is 50 ms; a busy machine takes longer to deliver the signal.
LIMIT = 0.5
FOREVER = 10**9


def scalar_loop(a, b, n):
    s = 0.0
    i = -1
    for i in range(n):
        a[i % 8] += 1.0
        s = s * 0.5 + a[i % 8]
        b[i % 8] += 1.0
    return s


def nest(a, b, n):
    i = -1
    for i in range(n):
        for j in range(8):
            a[j] += 1.0
        for j in range(8):
            b[j] += 1.0
    return a


def array_statements(a, b, n):
    i = -1
    for i in range(n):
        a[:] = a + 1.0
        b += 1.0
    return a


def until_convergence(a, b, n):
    i = 0
    while a[0] >= 0.0 and i < n:
        a[i % 8] += 1.0
        i += 1
        b[(i - 1) % 8] += 1.0
    return i


def ping_pong(a, b, n):
    i = -1
    for i in range(n):
        b[:] = a + 1.0
        a, b = b, a
    return a


def _called(x, k):
    x[k % 8] += 1.0
    return k


def in_a_helper(a, b, n):
    i = -1
    for i in range(n):
        _called(a, i)
        b[i % 8] += 1.0
    return a


class Interrupted(Exception):
    pass


def _interrupt(function, seconds):
    """The variables of the function's frame when a signal that came after `seconds` raised, and how late that was."""
    due = 0.0

    def handler(*_):
        raise Interrupted

    a, b = np.zeros(8), np.zeros(8)
    with on_alarm(handler):
        try:
            due = now() + seconds
            alarm(seconds)
            function(a, b, FOREVER)
        except Interrupted as error:
            late = now() - due
            trace = error.__traceback__
            assert trace is not None
            frames = []
            while trace is not None:
                frames.append((trace.tb_frame.f_code.co_name, dict(trace.tb_frame.f_locals)))
                trace = trace.tb_next
            return a, b, frames, late
    raise AssertionError("the loop ended")


def statements_and_a_dot(a, b, n):
    """Few elements are stored, but an iteration takes long."""
    x = np.ones(400_000)
    i = -1
    for i in range(n):
        a += 1.0
        b[:] = a * 1.0
        np.dot(x, x)
    return a


PROGRAMS = [scalar_loop, nest, array_statements, until_convergence, ping_pong, in_a_helper]


def _warm(function):
    compiled = stator.compile(function)
    for _ in range(3):
        compiled(np.zeros(8), np.zeros(8), 2000)
    stator.wait()
    return compiled


def _ran(function, iterations):
    """a and b after so many iterations."""
    a, b = np.zeros(8), np.zeros(8)
    function(a, b, iterations)
    return a, b


@pytest.mark.parametrize("seconds", [0.02, 0.11, 0.3])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_signal_ends_a_loop(function, seconds):
    compiled = _warm(function)
    a, b, frames, late = _interrupt(compiled, seconds)
    assert late < LIMIT
    i = next(variables["i"] for name, variables in frames if name == function.__name__)
    # Somewhere in iteration i, or at its end: no statement twice, none left out.
    lower = _counts(function, max(i - (function is until_convergence), 0))  # which counts before it is done
    upper = _counts(function, i + 1)
    for found, least, most in zip((a, b), lower, upper, strict=True):
        assert (found >= least).all() and (found <= most).all(), (i, found, least, most)
    assert a.sum() >= b.sum() or function is ping_pong, "a is written first"


def _counts(function, i):
    """What a and b hold after i iterations, each of which adds 1 to some of their elements."""
    wheel = np.array([(i - k + 7) // 8 for k in range(8)], float)
    if function in (nest, array_statements):
        return np.full(8, float(i)), np.full(8, float(i))
    if function is ping_pong:
        even = i % 2 == 0
        return (
            np.full(8, float(i if even else max(i - 1, 0))),
            np.full(8, float(max(i - 1, 0) if even else i)),
        )
    return wheel, wheel


def test_counts():
    for function in PROGRAMS:
        for i in (0, 1, 2, 5, 8, 13):
            for found, expected in zip(_ran(function, i), _counts(function, i), strict=True):
                if i or function is not ping_pong:
                    assert (found == expected).all(), (function, i)


def test_keyboard_interrupt():
    compiled = _warm(scalar_loop)
    with on_alarm(signal.default_int_handler):
        with pytest.raises(KeyboardInterrupt):
            alarm(0.05)
            compiled(np.zeros(8), np.zeros(8), FOREVER)
    assert np.isfinite(compiled(np.zeros(8), np.zeros(8), 1000))


def test_other_threads_run_during_a_loop():
    """The loop lets go of the interpreter lock, as Python's loops do."""
    compiled = _warm(scalar_loop)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.process_time())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        _interrupt(compiled, 0.4)
    finally:
        done.set()
        thread.join()
    assert np.diff(ticks).max() < LIMIT


def test_a_signal_ends_a_round_between_checkpoints():
    """Rounds double; after a second one would last half a second more."""
    compiled = _warm_with(statements_and_a_dot, 3)
    a, b, frames, late = _interrupt(compiled, 1.2)
    assert any("undisturbed" in region.artifacts().loop_ir for region in compiled.regions)
    iterations = next(variables["i"] for name, variables in frames if name == "statements_and_a_dot")
    assert iterations <= a[0] <= iterations + 1 and b[0] in (a[0], a[0] - 1.0)
    assert late < LIMIT


def _warm_with(function, iterations):
    compiled = stator.compile(function)
    for _ in range(3):
        compiled(np.zeros(8), np.zeros(8), iterations)
    stator.wait()
    return compiled
