"""Loops: what they run over is made inside a trace, and their bodies are traces of their own."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe


def over_range(x, n):
    y = x * 2
    for i in range(n):
        y = y + i * x
    return y


def over_bounds(x, n):
    y = x * 2
    for i in range(x.shape[0] - 1, n, -2):
        y = y + x[i]
    return y


def over_enumerate(x, n):
    rows = x * 2, x + 1, x
    for i, row in enumerate(rows, n):
        x = x + i * row
    return x


def over_zip(x, n):
    y = x * 2
    for a, b, i in zip(x, y[1:], range(n)):  # noqa: B905
        y = y + a * b * i
    return y


def over_reversed(x, n):
    y = x * 2
    for i, row in enumerate(reversed([x, y, x + n])):
        y = y * 0.5 + row * i
    return y


def over_argument(x, n):
    y = x + 1
    for k in n:
        y = y * 0.5 + k
    return y


def over_items(x, n):
    parts = {"a": x * 2, "b": x + n}
    for name in parts:
        x = x + parts[name]
    return x


def nested(x, n):
    y = x + 1
    for i in range(n):
        z = y * 0.5
        for j in range(i, n):
            z = z + j * x
        y = z - 1
    return y


def shared(x, n):
    y = x * 2
    it = iter([x, y, x + n, y - 1])
    for a in it:
        y = y + a
        for b in it:
            y = y - b * 0.5
            break
    return y


def kept(x, n):
    y = x * 2
    pairs = zip(x, range(n))  # noqa: B905
    print(type(pairs).__name__)
    for a, i in pairs:
        y = y + a * i
    return y, list(pairs), range(n), list(enumerate(range(n)))


def raises(x, n):
    y = x * 2
    try:
        for i in range(1, n + 9, n - 3):
            y = y + x[i]
    except (ValueError, IndexError) as problem:
        return y, str(problem)
    return y


def empty(x, n):
    y = x * 2
    for i in range(n, 0):
        y = y + i
    else:
        y = y - 1
    return y


FUNCTIONS = [
    over_range,
    over_bounds,
    over_enumerate,
    over_zip,
    over_reversed,
    over_items,
    nested,
    shared,
    kept,
    raises,
    empty,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_loop(function):
    compiled = stator.compile(function)
    for n in (2, 3, 5, 4, 0, 3, 7, 2):
        for length in (8, 9, 3):
            x = np.linspace(0.1, 1, length)
            assert observe(compiled, (x, n)) == observe(function, (x, n)), (n, length)
            stator.wait()


@pytest.mark.parametrize(
    "function", [over_range, over_bounds, nested, over_zip, over_reversed], ids=lambda f: f.__name__
)
def test_making_the_iterator_is_no_step_of_its_own(function):
    compiled = stator.compile(function)
    for n in (3, 5, 4, 6) * 2:  # a loop that becomes a region is first met as traces
        compiled(np.ones(9), n)
        stator.wait()
    before = compiled.stats()
    for n in range(3, 8):
        compiled(np.ones(n + 5), n)
    after = compiled.stats()
    assert after["opaque_steps"] == before["opaque_steps"] and after["traces"] == before["traces"]
    assert not any(reason.is_break for reason in stator.explain(compiled)(np.ones(9), 3).reasons)


def test_loops_over_arguments():
    compiled = stator.compile(over_argument)
    x = np.linspace(0.1, 1, 6)
    for _ in range(4):
        for n in (
            [1.0, 2.0],
            (1, 2, 3),
            [],
            {3: 1, 4: 2},
            range(3),
            np.arange(3.0),
            {5},
            "",
            iter([1.5, 2.5]),
        ):
            if hasattr(n, "__next__"):
                assert (
                    observe(compiled, (x, iter([1.5, 2.5]))).result
                    == observe(over_argument, (x, iter([1.5, 2.5]))).result
                )
            else:
                assert observe(compiled, (x, n)) == observe(over_argument, (x, n)), n


def ends_apart(x, n):
    y = np.zeros_like(x)
    for k in range(1):
        y[k] = x[k + 1] * 0.5 + x[k]
    for k in range(1, n - 1):
        y[k] = y[k - 1] + x[k] * x[k + 1]
    for k in range(n - 1, n):
        y[k] = x[k - 1] * 0.25 - y[k - 1]
    return y


def test_loops_of_one_round_are_traces():
    """Boundaries of stencils are written so. No native loop is to come of them, and nothing waits for one."""
    compiled = stator.compile(ends_apart)
    for n in (6, 8, 5, 2, 1, 7):
        x = np.linspace(0.1, 1, 8 * n).reshape(n, 8)
        assert observe(compiled, (x, n)) == observe(ends_apart, (x, n)), n
        stator.wait()
    before = compiled.stats()
    x = np.linspace(0.1, 1, 54).reshape(9, 6)
    assert compiled(x, 9).tobytes() == ends_apart(x, 9).tobytes()
    after = compiled.stats()
    assert after["recordings"] == before["recordings"] and after["regions"] == before["regions"] == 1
    assert (
        after["replays"] - before["replays"] == 1
        and after["kernels_launched"] - before["kernels_launched"] >= 3
    )
