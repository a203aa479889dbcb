"""Events of a function that is a part of somebody else's trace or loop (sys.monitoring, from Python 3.12 on)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import stator

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring")

X = np.ones(3)


def inner(x: Any) -> Any:
    y = x * 2
    return y + 1


def middle(x: Any) -> Any:
    return inner(x) * 0.5


class Scale:
    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return x * self.k


def calls(x: Any) -> Any:
    return inner(x) * 3


def calls_deeply(x: Any) -> Any:
    return middle(x) + middle(x + 1)


def loops(x: Any) -> Any:
    for _ in range(50):
        x = inner(x) * 0.25
    return x


def loops_over_numbers(x: Any) -> Any:
    total = 0.0
    for k in range(200):
        total = total + inner(k * 0.5)
    return x + total


def calls_object(x: Any) -> Any:
    return Scale(2.0)(x) + 1


@pytest.fixture
def lines() -> Iterator[Callable[..., list[tuple[str, int]]]]:
    """Counts the lines of functions that are run in a call."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009
    seen: list[tuple[str, int]] = []
    tool = monitoring.DEBUGGER_ID
    monitoring.use_tool_id(tool, "test")
    monitoring.register_callback(
        tool, monitoring.events.LINE, lambda code, line: seen.append((code.co_name, line))
    )

    def count(watched: list[Any], f: Any, x: Any) -> list[tuple[str, int]]:
        for function in watched:
            monitoring.set_local_events(tool, function.__code__, monitoring.events.LINE)
        try:
            seen.clear()
            f(x)
            return list(seen)
        finally:
            for function in watched:
                monitoring.set_local_events(tool, function.__code__, 0)

    yield count
    monitoring.free_tool_id(tool)


@pytest.mark.parametrize("recorded_before", [True, False])
@pytest.mark.parametrize(
    ("f", "watched"),
    [
        (calls, [inner]),
        (calls_deeply, [inner]),
        (calls_deeply, [middle]),
        (calls_deeply, [inner, middle]),
        (loops, [inner]),
        (loops_over_numbers, [inner]),
        (calls_object, [Scale.__init__]),
        (calls_object, [Scale.__call__]),
    ],
)
def test_lines_of_functions_that_are_parts(
    lines: Any, f: Any, watched: list[Any], recorded_before: bool
) -> None:
    expected = lines(watched, f, X)
    assert len(expected) >= len(watched)
    compiled = stator.compile(f)
    for _ in range(6 if recorded_before else 0):
        assert compiled(X).tobytes() == f(X).tobytes()
    stator.wait()
    for _ in range(3):
        assert lines(watched, compiled, X) == expected
    assert compiled(X).tobytes() == f(X).tobytes()


def test_what_was_recorded_serves_again_when_nobody_watches(lines: Any) -> None:
    compiled = stator.compile(calls)
    for _ in range(6):
        compiled(X)
    recordings = compiled.stats()["recordings"]
    for _ in range(6):
        assert len(lines([inner], compiled, X)) == 2
    replays = compiled.stats()["replays"]
    for _ in range(6):
        compiled(X)
    assert compiled.stats()["recordings"] == recordings
    assert compiled.stats()["replays"] == replays + 6
