"""What a region was built for is looked at when it is entered, also where no code reads it any more."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import function_of


def case(name, text, *calls):
    return pytest.param(text, calls, id=name)


CASES = [
    case(
        "an extent of 1",
        "def f(y, n):\n    k = 0\n    for i in range(n):\n        for j in range(len(y), 1, -1):\n            k += j\n    return k\n",
        *[(np.ones(m), 9) for m in (1, 1, 4, 1)],
    ),
    case(
        "a test for None",
        "def f(a, mask, n):\n    for i in range(n):\n        if mask is None:\n            a[i] = 1.0\n        else:\n            a[i] = 2.0\n    return a\n",
        *[(np.zeros(9), m, 9) for m in (np.ones(3), np.ones(3), None, np.ones(3), 5, None)],
    ),
    case(
        "how many axes",
        "def f(a, x, n):\n    for i in range(n):\n        a[i] = x.ndim\n    return a\n",
        *[(np.zeros(9), x, 9) for x in (np.ones(3), np.ones(3), np.ones((2, 2)), np.ones(3))],
    ),
    case(
        "an array of one row",
        "def f(a):\n    k = 0\n    for row in a:\n        k += 1\n    return k\n",
        *[(np.ones((m, 2)),) for m in (1, 1, 1, 5, 1)],
    ),
    case(
        "the type of a number",
        "def f(a, p, n):\n    for i in range(n):\n        q = p is None\n        p = i\n        a[i] = 1.0 if q else 2.0\n    return a\n",
        *[(np.zeros(9), p, 9) for p in (1.0, 1.0, None, 2, None)],
    ),
]


@pytest.mark.parametrize("text, calls", CASES)
def test_another_kind(text, calls):
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for round in range(2):
        for k, arguments in enumerate(calls):
            copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2)]
            expected, found = observe(eager, copies[0]), observe(compiled, copies[1])
            assert found == expected, f"round {round}, call {k}: {report(expected, found)}"
            stator.wait()
    assert stator.stats(compiled)["regions"] >= 1


@pytest.mark.parametrize(
    "loop", ["for i in range(n)", "i = -1\n    while (i := i + 1) < n"], ids=["for", "while"]
)
def test_loops_that_end_with_what_does_not_fit(loop):
    """At the end the variable is too large for a region: the loop is entered in the next call all the same."""
    text = f"def f(a, n):\n    k = 1\n    {loop}:\n        a[i % 5] = k\n        k = k * 3 % 1003 if i < n - 1 else k * 2**62 * 4\n    return k\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for _ in range(12):
        expected, found = observe(eager, [np.zeros(5), 400]), observe(compiled, [np.zeros(5), 400])
        assert found == expected, report(expected, found)
        stator.wait()
    assert sum(r.entries for r in compiled.regions) >= 10
