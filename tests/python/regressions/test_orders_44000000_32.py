"""Found by the fuzzer as orders-44000000-32.

Found by Python 3.11.7, NumPy 2.4.6: call 1: result[4].strides[0]: expected 2240, found 16
"""

from fuzz.arguments import Array
from fuzz.check import run_source

SOURCE = """\
import numpy as np

def twice(a):
    return a * 2.0

def f(x, y):
    h = y * 1.0
    r0 = h * x.astype(np.float32)
    return r0
"""

CALLS = [
    [
        Array(dtype="c16", shape=(2, 2), layout="C", values="tame"),
        Array(dtype="c16", shape=(2, 2), layout="F", values="tame"),
    ],
    [
        Array(dtype="c16", shape=(300, 140), layout="C", values="tame"),
        Array(dtype="c16", shape=(300, 140), layout="F", values="tame"),
    ],
]
KEYWORDS = []


def test_orders_44000000_32():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
