"""Leaving a trace while cells and functions that it made are alive: prints, branches, faults, exceptions, loops."""

from __future__ import annotations

import sys
import traceback

import numpy as np
import pytest
import stator
from fuzz.compare import same
from replayed import CALLS, X, Y


def test_print_in_the_middle(capsys):
    def function(x):
        k = x + 1.0

        def f(y):
            return y * k

        print(f(2.0).tolist(), k[0])
        k = k * 2.0
        print(f(2.0).tolist(), [c.cell_contents is k for c in f.__closure__])
        return f(x), f

    compiled = stator.compile(function)
    for i in range(CALLS):
        found, f = compiled(X + i)
        left = capsys.readouterr().out
        expected, g = function(X + i)
        assert left == capsys.readouterr().out
        assert same(found, expected) and same(f(Y), g(Y))


def test_print_inside_the_inner_function(capsys):
    def function(x):
        total = 0.0

        def add(y):
            nonlocal total
            total = total + y
            print(total.sum())
            total = total + 1.0
            return total

        return add(x) + add(x * 2.0), total

    compiled = stator.compile(function)
    for i in range(CALLS):
        found = compiled(X + i)
        left = capsys.readouterr().out
        assert same(found, function(X + i))
        assert left == capsys.readouterr().out


def test_exit_with_live_cells_and_functions():
    def function(x):
        k = x * 2.0
        calls = []

        def f(y, scale=k):
            nonlocal k
            k = k + 1.0
            if y.sum() > 20.0:
                k = k * 3.0
                calls.append(k.sum())
                return y - scale
            return y + scale

        result = f(x) + f(x + 1.0)
        return result, k, calls, f

    compiled = stator.compile(function)
    for x in [X, X, X + 1.0, X + 1.0, X + 5.0, X + 5.0, X + 5.0, X, X + 1.0, X + 5.0]:
        *found, f = compiled(x)
        *expected, g = function(x)
        assert same(found, expected)
        assert same(f(X), g(X)) and same(compiled(x)[1], expected[1])


def test_warning_goes_back_into_the_inner_function():
    def function(x):
        k = x - 1.0

        def f(y):
            nonlocal k
            k = k + 1.0
            return y / k

        return f(x), k

    compiled = stator.compile(function)
    with np.errstate(all="raise"):
        for x in [Y, Y, X, Y, X, X]:
            try:
                expected = function(x)
            except FloatingPointError as error:
                with pytest.raises(FloatingPointError, match=str(error)):
                    compiled(x)
            else:
                assert same(compiled(x), expected)


def lines_of(error):
    """The frames below the test's own."""
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)[1:]]


@pytest.mark.parametrize("kind", ["function", "lambda", "comprehension", "unbound"])
def test_exceptions_and_their_lines(kind):
    def failing_function(x, y):
        k = x * 2.0

        def f(z):
            w = z + k
            return w + y

        first = f(1.0)
        return first * x

    def failing_lambda(x, y):
        f = lambda z: z * x + y  # noqa: E731
        return f(2.0)

    def failing_comprehension(x, y):
        k = x + 1.0
        return [
            k * part
            for part in (
                1.0,
                y,
            )
        ]

    def unbound(x, y):
        def f(z):
            return z * late

        if y.shape == x.shape:
            late = y
        result = f(x)
        late = 2.0
        return result

    function = {
        "function": failing_function,
        "lambda": failing_lambda,
        "comprehension": failing_comprehension,
        "unbound": unbound,
    }[kind]
    compiled = stator.compile(function)
    bad = np.ones(3)
    for y in [Y, Y, bad, Y, bad, bad, bad, Y]:
        try:
            expected = function(X, y)
        except (ValueError, NameError) as error:
            with pytest.raises(type(error)) as found:
                compiled(X, y)
            assert str(found.value) == str(error)
            assert lines_of(found.value) == lines_of(error)
        else:
            assert same(compiled(X, y), expected)


# Cells that were there before the trace ---------------------------------------------------------------------


def test_write_survives_an_exit_and_an_exception():
    def make():
        state = X

        def function(x, y):
            nonlocal state
            state = state + x
            if x.sum() > 5.0:
                state = state * 2.0
            result = state + y
            state = result
            return result

        return function, lambda: state

    (function, get), (eager, get_eager) = make(), make()
    compiled = stator.compile(function)
    bad = np.ones(3)
    for x, y in [(X, Y), (X, Y), (Y, Y), (Y, Y), (Y, bad), (X, bad), (X, Y), (Y, Y), (X, bad), (Y, bad)]:
        try:
            expected = eager(x, y)
        except ValueError as error:
            with pytest.raises(ValueError, match="could not be broadcast") as found:
                compiled(x, y)
            assert lines_of(found.value) == lines_of(error)
        else:
            assert same(compiled(x, y), expected)
        assert same(get(), get_eager())


def test_loop_that_writes_a_cell_of_its_frame():
    def function(x, n):
        k = x

        def f(y):
            return y * 0.5 + k

        seen = []
        for i in range(n):
            k = f(x) + i
            if i % 3 == 0:
                seen.append(k[1])
        return k, seen, f(x)

    compiled = stator.compile(function)
    for n in [12, 12, 0, 1, 30]:
        assert same(compiled(X, n), function(X, n))


def test_inner_function_with_a_loop():
    def function(x, n):
        total = x * 0.0

        def run(y):
            nonlocal total
            for i in range(n):
                total = total + y * i
            return total

        return run(x) + run(x + 1.0), total

    compiled = stator.compile(function)
    for n in [5, 5, 0, 17]:
        assert same(compiled(X, n), function(X, n))


def test_inner_function_looks_at_the_locals_of_its_caller():
    def function(x):
        unused = x * 3.0  # noqa: F841

        def f():
            return sorted(sys._getframe(1).f_locals)

        y = x + 1.0
        return f(), y

    compiled = stator.compile(function)
    for _ in range(CALLS):
        assert same(compiled(X), function(X))


def test_library_function_that_calls_back():
    def function(x):
        calls = 0

        def f(row):
            nonlocal calls
            calls += 1
            return row * 2.0 + calls

        return np.apply_along_axis(f, 0, np.stack((x, x))), calls

    compiled = stator.compile(function)
    for i in range(CALLS):
        assert same(compiled(X + i), function(X + i))


def test_library_function_that_calls_what_reads_a_cell():
    fill = 1.0

    def padded(vector, widths, axis, options):
        vector[: widths[0]] = fill
        vector[-widths[1] :] = fill * 2.0

    def function(x, mode):
        nonlocal fill
        fill = fill + 1.0
        return np.pad(x, 1, mode=mode) * 2.0

    compiled = stator.compile(function)
    for i in range(CALLS):
        fill = float(i)
        found = compiled(X, padded)
        fill = float(i)
        assert same(found, function(X, padded))
