"""Found by the fuzzer as structured-41000000-199.

Found by Python 3.11.7, NumPy 2.4.6: call 0: log: stator: internal error in region f@6, its loop stays with
Python: b56, instruction 13 (poll), exit x22: %744 does not dominate its use
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a, b, x, y, u):
    n = 0
    for l0 in range(0, x.shape[0], 2):
        for j1 in range(n, l0, 1):
            b = y
            k2, s3 = (j1, 0.001 if l0 else u)
            a[-n - 1] = min(s3, l0)
"""

CALLS = [
    [
        Array(dtype="f8", shape=(1,), layout="C", values="tame"),
        Array(dtype="f8", shape=(1,), layout="C", values="tame"),
        Array(dtype="f8", shape=(3,), layout="C", values="tame"),
        Array(dtype="f8", shape=(1,), layout="C", values="tame"),
        Scalar(dtype="float", value=1.0),
    ],
]
KEYWORDS = []


def test_structured_41000000_199():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
