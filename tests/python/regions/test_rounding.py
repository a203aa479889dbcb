"""Numbers to ints: what NumPy's scalars lack of Python's floats."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import function_of

TEXT = """
def f(a, n):
    k = 0
    for i in range(n):
        k += {}
    return k
"""


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize(
    "call",
    [
        "math.trunc(a[i])",
        "math.floor(a[i])",
        "math.ceil(a[i])",
        "int(a[i])",
        "round(a[i])",
        "math.trunc(float(a[i]))",
    ],
)
def test_to_int(call, dtype, monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)
    eager, compiled = function_of(TEXT.format(call)), stator.compile(function_of(TEXT.format(call)))
    for _ in range(3):
        for values in (
            [1.5, -2.5, 7.0],
            [-0.5, 1e6, 3.0],
            [1.0, float("nan"), 2.0] if dtype[0] == "f" else [1, 2, 3],
        ):
            arguments = [np.array(values).astype(dtype), 3]
            expected, found = observe(eager, arguments), observe(compiled, arguments)
            assert found == expected, report(expected, found)
