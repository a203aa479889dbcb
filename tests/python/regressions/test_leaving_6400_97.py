"""Found by the fuzzer as leaving-6400-97.

Found by Python 3.11.7, NumPy 2.4.6: call 0: arguments[2][7].values: 8 of 32 bytes differ, first at 16:
expected …ba7d81851bbe0640, found …9cc6be8f7bf7e13f
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a, b):
    n = len(a)
    try:
        for i in range(n):
            b[1:-1] = b[:-2] + b[2:]
            b[1:-1] = b[:-2]
    except Exception as e:
        pass
"""

CALLS = [
    [
        Array(dtype="f8", shape=(2,), layout="C", values="tame"),
        Array(dtype="f8", shape=(4,), layout="C", values="tame"),
    ],
]
KEYWORDS = []


def test_leaving_6400_97():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
