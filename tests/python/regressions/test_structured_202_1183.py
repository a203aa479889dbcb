"""Found by the fuzzer as structured-202-1183.

Found by Python 3.11.7, NumPy 2.4.6: call 0: events: expected (('warning', 'RuntimeWarning', 'divide by zero
encountered in scalar divide', '<structured-202-1183>', 17), ('warning', 'RuntimeWarning', 'overflow
encountered in cast', '<structured-202-1183>', 10), ('warning', 'RuntimeWarning', 'overflow encountered in
cast', [...]
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np

def f(a, b, x):
    s = 10.0 ** 100
    a[0, 0] = max(s, a[0, 0])
"""

CALLS = [
    [
        Array(dtype="f4", shape=(1, 3), layout="C", values="tame"),
        Array(dtype="f8", shape=(1, 1), layout="C", values="tame"),
        Array(dtype="f8", shape=(1,), layout="C", values="tame"),
    ],
]
KEYWORDS = []


def test_structured_202_1183():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
