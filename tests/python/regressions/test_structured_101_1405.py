"""Found by the fuzzer as structured-101-1405.

Found by Python 3.11.7, NumPy 2.4.6: call 0: arguments[2][7].values: 7 of 288 bytes differ, first at 56:
expected …cb8758dcbcfef43f, found …bb33a093a621e03f
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a, b, x):
    m = a.shape[1]
    n = x.shape[0]
    for j0 in range(m - 1, -1, -1):
        b[j0 % n] = b[:, n]
"""

CALLS = [
    [
        Array(dtype="f8", shape=(1, 3), layout="C", values="tame"),
        Array(dtype="f8", shape=(6, 6), layout="C", values="tame"),
        Array(dtype="f8", shape=(2,), layout="C", values="tame"),
    ],
]
KEYWORDS = []


def test_structured_101_1405():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
