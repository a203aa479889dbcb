"""Functions that are made anew each time share what was recorded; what they captured stays their own."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import stator

from tests.python.process import run_program

X = np.linspace(0.0, 1.0, 9)


def scaled(k: Any) -> Any:
    def f(x: Any) -> Any:
        return x * 2 + k

    return stator.compile(f)


@pytest.mark.parametrize(
    "captured", [lambda i: float(i), lambda i: i, lambda i: np.full(9, i), lambda i: np.float32(i)]
)
def test_each_has_its_own_cells(captured: Any) -> None:
    for i in range(12):
        k = captured(i)
        f = scaled(k)
        for _ in range(2):
            expected = X * 2 + k
            found = f(X)
            assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
        stator.wait()


def test_they_are_recorded_once() -> None:
    kept = [scaled(float(i)) for i in range(30)]
    for i, f in enumerate(kept):
        assert f(X).tobytes() == (X * 2 + i).tobytes()
    assert kept[0].stats()["recordings"] <= 2
    assert kept[-1].stats()["replays"] >= 28


def test_code_that_is_compiled_again_and_again_stays_known() -> None:
    stats = {}
    for i in range(30):
        f = scaled(float(i))
        assert f(X).tobytes() == (X * 2 + i).tobytes()
        stats = f.stats()
        del f
    assert stats["replays"] >= 20


def test_two_that_live_side_by_side() -> None:
    f, g = scaled(1.0), scaled(2.0)
    for _ in range(5):
        assert f(X).tobytes() == (X * 2 + 1.0).tobytes()
        assert g(X).tobytes() == (X * 2 + 2.0).tobytes()


def test_compiling_one_function_twice_makes_two() -> None:
    def f(x: Any) -> Any:
        return x + 1

    g, h = stator.compile(f), stator.compile(f)
    g(X), g(X)
    assert (g.stats()["calls"], h.stats()["calls"]) == (2, 0)


def test_cells_that_are_written() -> None:
    def counter(start: float) -> Any:
        total = start

        def add(x: Any) -> Any:
            nonlocal total
            total = total + 1.0
            return x * total

        return stator.compile(add), lambda: total

    made = [counter(float(10 * i)) for i in range(6)]
    for _ in range(3):
        for add, _total in made:
            add(X)
    assert [total() for _add, total in made] == [10.0 * i + 3 for i in range(6)]


def test_defaults_are_each_functions_own() -> None:
    def make(k: float) -> Any:
        def f(x: Any, a: float = k, *, b: float = -k) -> Any:
            return x * a + b

        return stator.compile(f)

    for i in range(8):
        f = make(float(i))
        assert f(X).tobytes() == (X * i - i).tobytes()
        assert f(X, b=1.0).tobytes() == (X * i + 1.0).tobytes()


def test_python_goes_on_with_the_right_cells() -> None:
    seen = []

    def make(k: float) -> Any:
        def f(x: Any) -> Any:
            y = x * k
            seen.append(k)  # a step of Python's
            for j in range(3):
                y = y + j * k
            return y - k

        return f

    for i in range(10):
        plain = make(float(i))
        f = stator.compile(plain)
        for _ in range(2):
            found = f(X)
            seen.clear()
            assert found.tobytes() == plain(X).tobytes() and seen == [float(i)]
        stator.wait()


def test_what_was_captured_goes_with_the_function() -> None:
    for i in range(10):
        k = np.full(9, float(i))
        f = scaled(k)
        f(X), f(X)
        stator.wait()
        last = weakref.ref(k)
        del f, k
    gc.collect()
    assert last() is None


def test_lambdas_and_methods() -> None:
    for i in range(8):
        f = stator.compile(lambda x: x * i + 1)  # noqa: B023
        assert f(X).tobytes() == (X * i + 1).tobytes()

        class C:
            k = float(i)

            @stator.compile
            def f(self, x: Any) -> Any:
                return x * self.k + i  # noqa: B023

        assert C().f(X).tobytes() == (X * float(i) + i).tobytes()


def test_without_being_asked_for() -> None:
    program = """
import numpy as np, stator
x = np.linspace(0, 1, 9)
def make(k):
    def f(x):
        return x * 2 + k
    return f
for i in range(100):
    f = make(float(i))
    assert f(x).tobytes() == (x * 2 + i).tobytes()
print(stator.stats()["replays"] > 50)
"""
    assert run_program(program, STATOR="all").stdout == "True\n"
