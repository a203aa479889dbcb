"""Found by the fuzzer as structured-77310000-13431.

Found by Python 3.15.2, NumPy 2.5.5: status -11
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a, b, x, y, z, k):
    n = x.shape[0]
    for w3, w4 in zip(a, z):
        for s5 in w3:
            try:
                w3[n + 3] = b[k % n][0]
            except (IndexError, ArithmeticError, ValueError) as e:
                tmp = y
                y = b
            t11 = 1.5 <= 0.25 or s5 > 0.5
"""

CALLS = [
    [
        Array(dtype="f8", shape=(1, 1), layout="C", values="tame"),
        Array(dtype="f8", shape=(1, 1), layout="C", values="tame"),
        Array(dtype="i8", shape=(4,), layout="C", values="plain"),
        Array(dtype="f4", shape=(4, 4), layout="C", values="plain"),
        Array(dtype="f4", shape=(4, 4), layout="C", values="plain"),
        Scalar(dtype="int", value=7),
    ],
]
KEYWORDS = []


def test_structured_77310000_13431():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
