"""Found by the fuzzer as straight-7001-2046.

Found by Python 3.11.7, NumPy 2.4.6: call 0: result[5][4].strides[2]: expected 277408, found 8
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a):
    v1 = np.array_equal(a, 2.0)
    v2 = np.expm1(a)
    v3 = a[..., None]
    v4 = np.arange(7, dtype=int)
    v6 = np.floor_divide(v4, v1, dtype=np.float32, casting='unsafe')
    v7 = ((v3 >> v3) + ((v3 / 2) ** 5))
    return v2, v3, v4, v6, v7
"""

CALLS = [
    [Array(dtype="i2", shape=(2, 17338), layout="F", values="tame")],
]
KEYWORDS = []


def test_straight_7001_2046():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
