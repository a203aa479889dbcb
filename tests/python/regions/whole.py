"""Whether a program's loop is one region that nothing leaves once it is warm, and gives eager's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stator
from fuzz.compare import observe, report

LEAVING = ("exits", "eager_calls", "redone")


def function_of(text: str, name: str = "f") -> Callable:
    """`name` of a module of this source, with NumPy as np."""
    namespace: dict[str, Any] = {"np": __import__("numpy"), "math": __import__("math"), "__name__": "program"}
    exec(compile(text, "<program>", "exec"), namespace)
    return namespace[name]


def check_whole(
    text: str, arguments: Callable[[int], list[Any]], sizes: tuple[int, ...] = (7, 11, 7)
) -> None:
    """Two calls for each size; then one more, during which no region may be left for Python."""
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for size in sizes:
        for _ in range(2):
            expected, found = observe(eager, arguments(size)), observe(compiled, arguments(size))
            assert found == expected, f"size {size}: {report(expected, found)}"
            stator.wait()
    warm = stator.stats(compiled)
    assert warm["regions"] >= 1, stator.explain(compiled)(*arguments(sizes[-1]))
    expected, found = observe(eager, arguments(sizes[-1])), observe(compiled, arguments(sizes[-1]))
    assert found == expected, report(expected, found)
    after = stator.stats(compiled)
    assert {c: after[c] - warm[c] for c in LEAVING} == dict.fromkeys(LEAVING, 0), stator.explain(compiled)(
        *arguments(sizes[-1])
    )


def check_same(
    text: str, arguments: Callable[[int], list[Any]], sizes: tuple[int, ...] = (7, 12, 13, 7)
) -> None:
    """Two calls for each size, whatever becomes of them."""
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for size in sizes:
        for _ in range(2):
            expected, found = observe(eager, arguments(size)), observe(compiled, arguments(size))
            assert found == expected, f"size {size}: {report(expected, found)}"
            stator.wait()
