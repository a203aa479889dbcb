"""An array that is broadcast to no points at all is computed nevertheless.

Found by Python 3.11.7, NumPy 2.4.6: call 0: events: expected (('warning', 'RuntimeWarning', 'overflow
encountered in multiply', '<structured-8200-39>', 8),), found ()
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a, b):
    m = 1
    n = b.shape[0]
    for i0 in range(n):
        a[i0 + 1:, 1:-1] = (a[i0, 2:] + a[i0, m]) * np.sum(a[i0] + a[i0], axis=0)
"""

CALLS = [
    [
        Array(dtype="f8", shape=(8, 6), layout="C", values="tame"),
        Array(dtype="f8", shape=(8,), layout="C", values="tame"),
    ],
]
KEYWORDS = []


def test_broadcast_to_nothing():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
