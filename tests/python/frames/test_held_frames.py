"""Frames that somebody keeps, and looks at when they have ended."""

import sys

import numpy as np
import stator


def test_lines_and_variables_of_a_kept_frame():
    kept = []

    def keep():
        kept.append(sys._getframe(1))

    def f(x):
        a = 1.0
        keep()
        y = x * 2
        a = a + 1
        return y * a

    compiled = stator.compile(f)
    for _ in range(6):
        kept.clear()
        f(np.arange(2.0)), compiled(np.arange(2.0))
        stator.wait()
        plain, ours = ((k.f_lineno, {name: repr(v) for name, v in k.f_locals.items()}) for k in kept)
        assert ours == plain


def test_the_frame_of_a_caught_exception():
    def f(x, errors):
        y = x + 1
        try:
            y[10]
        except IndexError as error:
            errors.append(error)
        y = y * 2
        return y + 1

    compiled = stator.compile(f)
    for _ in range(6):
        errors = []
        f(np.arange(2.0), errors), compiled(np.arange(2.0), errors)
        stator.wait()
        frames = [e.__traceback__.tb_frame for e in errors]
        plain, ours = ((k.f_lineno, k.f_locals.get("y").tolist()) for k in frames)
        assert ours == plain


def test_a_result_that_nobody_wants_goes_away_at_once():
    class Last:
        def __init__(self, b):
            self.b = b

        def __del__(self):
            self.b[0] = 77

    def f(a, items):
        items.pop()
        return a + 1

    compiled = stator.compile(f)
    for _ in range(6):
        told = []
        for g in (f, compiled):
            x = np.ones(2)
            told.append(g(x, [Last(x)]).tolist())
        stator.wait()
        assert told[0] == told[1]
