"""What gives back its operand for the numbers of a recording need not do so for others: small ints are objects that exist once,
so `n.imag` of 0 is `n` itself, and `n.denominator` of 1."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

NUMBERS = {
    "an argument": "n = a",
    "an item": "n = int(x[0])",
    "item()": "n = x[0].item()",
    "NumPy's": "n = x[0]",
    "a bool": "n = bool(x[0] > 0)",
    "NumPy's bool": "n = x[0] > 0",
    "a float": "n = float(x[0])",
    "NumPy's float": "n = np.float64(x[0])",
    "a length": "n = len(x) - 3",
    "an extent": "n = x.shape[0] - 3",
    "a loop's": "for n in range(a, a + 1): pass",
}
EXPRESSIONS = """
-n; +n; abs(n); int(n); round(n); round(n, 0); n.real; n.imag; n.numerator; n.denominator; n.conjugate(); n + 0; n * 1; n * 0; n // 1
n ** 1; n | 0; n & 1; n >> 1; max(n, 0); min(n, 1); max(0, n); divmod(n, 2); pow(n, 1); n and 1; n or 1; n if n else 0; bool(n)
sum([n, 0]); (n, 0)[0]; math.floor(n); math.trunc(n); np.abs(n); np.real(n); np.imag(n); np.sign(n); np.square(n); np.conj(n)
n.__abs__(); n.__index__(); operator.pos(n); n.as_integer_ratio()[1]; n.item(); n.T; n.size; n.conj(); n.round(); n.max(); n.copy()
np.maximum(n, 0); np.clip(n, 0, 1); np.floor(n); n.squeeze(); n.all(); n.any(); n.prod()
""".replace("\n", ";").split(";")
EXPRESSIONS = [e.strip() for e in EXPRESSIONS if e.strip()]


def functions(text):
    both = []
    for _ in range(2):
        namespace = {"np": np, "math": math, "operator": operator}
        exec(text, namespace)
        both.append(namespace["f"])
    return both[0], stator.compile(both[1])


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.filterwarnings("ignore")
def test_other_numbers_than_those_recorded(number):
    for expression in EXPRESSIONS:
        text = f"def f(x, a):\n    y = x * 2\n    {NUMBERS[number]}\n    r = {expression}\n    return r, y\n"
        for first in (0, 1, 2):
            eager, compiled = functions(text)
            for a in (first, first, 5, -3, 300, 0, 1):
                expected, found = (
                    observe(f, [np.arange(a, a + max(3, 3 + a)), a]) for f in (eager, compiled)
                )
                assert found == expected, f"{expression}, {first} then {a}: {report(expected, found)}"
