"""Iterators that variables hold across loops: what is left to Python moves them on, and they stay the objects that they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stator

MAKE = {
    "list": lambda: iter([1, 2, 3, 4, 5]),
    "tuple": lambda: iter((1.0, 2.0, 3.0)),
    "string": lambda: iter("abcde"),
    "range": lambda: iter(range(5)),
    "array": lambda: iter(np.arange(5.0)),
    "enumerate": lambda: iter(enumerate(np.arange(5.0))),
    "zip": lambda: zip([1, 2, 3], np.arange(4.0), strict=False),
    "reversed": lambda: reversed([1, 2, 3, 4]),
}


def in_a_nest(make: Callable[[], Any], x: Any, n: int) -> Any:
    held, s, ended = make(), 0.0, 0
    for w in range(2):
        for i in range(n):
            s += x[i] * 0.5
            ended += next(held, None) is None
    return s, ended, list(held)


def around_a_loop(make: Callable[[], Any], x: Any, n: int) -> Any:
    held = make()
    before, s, taken = id(held), 0.0, []
    for i in range(n):
        for j in range(n):
            s += x[j] * 0.5
        taken.append(next(held, None))
    return s, taken, list(held), id(held) == before


def bound_in_a_loop(make: Callable[[], Any], x: Any, n: int) -> Any:
    held, s, rest = make(), 0.0, []
    for w in range(3):
        for i in range(n):
            s += x[i] * 0.5
        rest.append(next(held, None))
        rest.append(next(held, None))
        held = make() if w == 1 else held
    return s, rest, list(held)


@pytest.mark.parametrize("kind", list(MAKE))
@pytest.mark.parametrize("program", [in_a_nest, around_a_loop, bound_in_a_loop])
def test_they_are_where_python_has_them(program: Callable[..., Any], kind: str) -> None:
    f, x = stator.compile(program), np.arange(8.0)
    for n in (4, 2, 6, 3):
        assert repr(f(MAKE[kind], x, n)) == repr(program(MAKE[kind], x, n))
        stator.wait()
