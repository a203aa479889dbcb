"""Arrays that are computed for nothing: their warnings are not."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import function_of

STATEMENTS = (
    "a * b", "(a * b)[0]", "(a * b) > 0", "-(a * b)", "(a * b).T", "(a * b)[::2]", "a * b; b * c; c * a", "np.multiply(a, b)", "a[1:] * b[1:] + c[1:]", "a[a > 0] * b[a > 0]", "(a * b)[a > b]",
    "k = len(a * b)", "k = (a * b).shape[0]", "k = (a * b).size", "k = (a * b).ndim", "k = int(len(a[1:] * b[1:]))", "assert len(a * b)", "k = np.zeros((len(a * b),))[0]", "k = len(a[a > 0] * b[a > 0])",
    "k = (a * b, 1)[1]", "k = [a * b, 2][1]", "k, _ = 3, a * b", "_ = a * b; _ = 1", "k = ignore(a * b)", "k = ignore(a, a * b)", "k = 1 if k or len(a * b) else 2", "np.zeros_like(a * b)", "k = np.ones_like(a * b)[0]",
    "a[:] = np.where(a < 0, a * b, b)", "c[1] = (a * b)[2]", "a[3] * a[3]", "a[3] * b[3] > 0", "k = a[3] * b[3]; k = 1", "np.dot(a, b)", "a @ b", "(a * b).sum()", "np.sqrt(a - 10.0)", "a / (a - a)",
)  # fmt: skip
TEXT = """
def ignore(*args):
    return 1

def f(a, b, c, n):
    k = 0
    for i in range(n):
        c[0] += 1.0
        {}
    return k
"""


def _arguments(large: float) -> list:
    a, c = np.ones(9), np.ones(9)
    a[3] = c[5] = large
    return [a, a.copy(), c, 3]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_dropped_warns(statement, monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)
    eager, compiled = (function_of(TEXT.format(statement)) for _ in range(2))
    compiled = stator.compile(compiled)
    for large in (1.0, 1.0, 1e200, np.inf, 1.0):
        expected, found = observe(eager, _arguments(large)), observe(compiled, _arguments(large))
        assert found == expected, f"{large}: {report(expected, found)}"
    assert stator.stats(compiled)["regions"] >= 1
