"""What is bound behind a loop whose exception handler lies behind that again is not a variable of the loop.

Found by Python 3.13.0, NumPy 2.4.6: call 0: log: stator: internal error in region f@7, its loop stays with
Python: b12, instruction 1 (add!), exit x5: %73 does not dominate its use
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a, b, k):
    w2 = 0
    while w2 < 3:
        w2 += 1
        try:
            for w3, w4 in zip(b, a):
                pass
        except (IndexError, ArithmeticError, ValueError) as e:
            pass
    k = 4
"""

CALLS = [
    [
        Array(dtype="f8", shape=(1,), layout="C", values="tame"),
        Array(dtype="f8", shape=(1, 1), layout="C", values="tame"),
        Scalar(dtype="float", value=1.0),
    ],
]
KEYWORDS = []


def test_bound_behind_the_loop():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
