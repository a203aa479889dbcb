"""Found by the fuzzer as structured-11402-1721.

Found by Python 3.11.7, NumPy 2.4.6: call 2: result.int: expected 'int', found 'NoneType' stator raised
OverflowError: absolute value too large
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a, x):
    n = x.shape[0]
    for l0 in range(n, 1, -1):
        for l2 in range(n):
            u = a[l0, l2] ** (-4)
            z1 = complex(a[l2, 1], 2.0)
            s2 = abs(z1)
    w13 = 0
    return w13
"""

CALLS = [
    [
        Array(dtype="f8", shape=(), layout="C", values="tame"),
        Array(dtype="f8", shape=(), layout="C", values="tame"),
    ],
    [
        Array(dtype="f8", shape=(), layout="C", values="tame"),
        Array(dtype="f8", shape=(), layout="C", values="tame"),
    ],
    [
        Array(dtype="f8", shape=(6, 6), layout="C", values="wild"),
        Array(dtype="f8", shape=(5,), layout="C", values="tame"),
    ],
]
KEYWORDS = []


def test_structured_11402_1721():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
