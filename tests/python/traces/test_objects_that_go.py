"""Classes, functions and modules that a trace or loop was made for go when the program has them no more."""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import stator

X = np.linspace(0.0, 1.0, 9)


@pytest.fixture(autouse=True)
def few_objects() -> Iterator[None]:
    """What there was before is not looked through: hundreds of collections would take minutes in a large process."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Held:
    pass


class Base:
    pass


def of_attribute(o: Any, x: Any) -> Any:
    return o.k * x


def of_method(o: Any, x: Any) -> Any:
    return o.go(x) + o.k * x


def of_loop(o: Any, x: Any) -> Any:
    for _ in range(60):
        x = o.go(x) * 0.5
    return x


def of_numbers(o: Any, x: Any) -> Any:
    total = 0.0
    for i in range(200):
        total += o.go(i * 0.5) * o.k
    return x + total


def of_call(f: Any, x: Any) -> Any:
    return f(x) + 1


def of_calls(f: Any, x: Any) -> Any:
    for _ in range(60):
        x = f(x) * 0.5
    return x


def of_exit(f: Any, x: Any) -> Any:
    y = f(x)
    if y[0] > 100:
        return y
    return y + 1


def of_class(c: Any, x: Any) -> Any:
    return x + 1 if c is Base else x * 2


def of_module(m: Any, x: Any) -> Any:
    return x * m.k


def instance(held: Held) -> Any:
    class Local(Base):
        k = 2.0
        kept = held

        def go(self, x: Any) -> Any:
            return x * 3

    return Local()


def klass(held: Held) -> Any:
    return type("Local", (Base,), {"held": held})


def default(held: Held) -> Any:
    def local(x: Any, kept: Any = held) -> Any:
        return x * 2

    return local


def keyword_default(held: Held) -> Any:
    def local(x: Any, *, kept: Any = held) -> Any:
        return x * 2

    return local


def made_by_exec(held: Held) -> Any:
    names: dict[str, Any] = {"held": held}
    exec("def local(x): return other(x) * 2\ndef other(x): return x + 1", names)
    return names["local"]


def calls_printer(held: Held) -> Any:
    def local(x: Any, kept: Any = held) -> Any:
        return np.array(x.tolist()) * 2  # an opaque step

    return local


def module(held: Held) -> Any:
    m: Any = types.ModuleType("local")
    m.k, m.held = 2.0, held
    return m


CASES = [
    (of_attribute, instance),
    (of_method, instance),
    (of_loop, instance),
    (of_numbers, instance),
    (of_call, default),
    (of_call, keyword_default),
    (of_call, made_by_exec),
    (of_call, calls_printer),
    (of_calls, default),
    (of_calls, made_by_exec),
    (of_exit, default),
    (of_exit, made_by_exec),
    (of_class, klass),
    (of_module, module),
]


@pytest.mark.parametrize(("f", "make"), CASES)
def test_what_a_function_was_given_goes(f: Any, make: Callable[[Held], Any]) -> None:
    compiled = stator.compile(f)
    for _ in range(3):
        held = Held()
        given = make(held)
        for _ in range(8):
            assert compiled(given, X).tobytes() == f(given, X).tobytes()
        stator.wait()
        assert compiled(given, X).tobytes() == f(given, X).tobytes()
        gone = weakref.ref(held)
        del held, given
        gc.collect()
        assert gone() is None
    assert compiled.stats()["recordings"] > 0
    assert Base.__subclasses__() == []


@pytest.mark.parametrize(("f", "make"), CASES)
def test_what_is_there_is_not_recorded_again(f: Any, make: Callable[[Held], Any]) -> None:
    compiled = stator.compile(f)
    given = make(Held())
    for _ in range(20):
        compiled(given, X)
        stator.wait()
    before = compiled.stats()
    for _ in range(3):
        gc.collect()
        assert compiled(given, X).tobytes() == f(given, X).tobytes()
    after = compiled.stats()
    assert after["recordings"] == before["recordings"] and after["regions"] == before["regions"]
    assert after["served"] == before["served"] + 3


def test_array_in_a_default() -> None:
    @stator.compile
    def call(f: Any, x: Any) -> Any:
        return f(x) + 1

    def run() -> Any:
        big = np.ones(9)

        def local(x: Any, b: Any = big) -> Any:
            return x * 2 + b[1]

        for _ in range(6):
            assert call(local, X).tobytes() == (X * 2 + 1 + 1).tobytes()
        return weakref.ref(big)

    for _ in range(3):
        gone = run()
        gc.collect()
        assert gone() is None


def test_garbage_is_collected_in_the_middle_of_a_call() -> None:
    class Collects:
        def __del__(self) -> None:
            gc.collect()

    def collect(x: Any) -> Any:
        gc.collect()
        return x

    @stator.compile
    def f(o: Any, x: Any) -> Any:
        y = o.go(x)
        y = collect(y)
        for _ in range(20):
            y = o.go(y) * 0.5
            y = collect(y)
        o.last = Collects()
        return y + o.k

    for _ in range(12):
        o = instance(Held())
        expected = X * 3
        for _ in range(20):
            expected = expected * 3 * 0.5
        for _ in range(3):
            assert f(o, X).tobytes() == (expected + 2.0).tobytes()
        del o
