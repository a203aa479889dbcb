"""Lists and tuples as operands of arrays are part of traces; objects with operators of their own are not."""

from __future__ import annotations

import numpy as np
import pytest
import stator


class Unit:
    """An object whose operators are Python's."""

    __array_ufunc__ = None

    def __init__(self) -> None:
        self.calls = 0

    def __rmatmul__(self, array: np.ndarray) -> np.ndarray:
        self.calls += 1
        return array * self.calls

    __rpow__ = __radd__ = __rmatmul__


UNIT = Unit()


@pytest.mark.parametrize("sign", ["@", "**", "+"])
def test_operators_of_objects_run_in_each_call(sign: str) -> None:
    scope = {"UNIT": UNIT}
    exec(f"def f(x):\n    return (x {sign} UNIT) * 2.0 + x", scope)
    compiled = stator.compile(scope["f"])
    x = np.arange(6.0)
    for _ in range(5):
        UNIT.calls = 0
        expected = scope["f"](x)
        UNIT.calls = 0
        assert np.array_equal(compiled(x), expected) and UNIT.calls == 1
        stator.wait()
    assert not any("library" in trace.recorded_text for trace in compiled.traces)


def test_items_are_those_of_the_call() -> None:
    def f(x: np.ndarray, a: float) -> np.ndarray:
        return [a, 2, a * 3] - x * (1, 2, 3)

    compiled = stator.compile(f)
    for a in (1.0, 2.5, 2.5, -4.0):
        x = np.arange(12.0).reshape(4, 3) + a
        assert np.array_equal(compiled(x, a), f(x, a))
        stator.wait()
    assert not stator.stats(compiled)["opaque_steps"]
