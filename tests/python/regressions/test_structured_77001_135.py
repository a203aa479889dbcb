"""Found by the fuzzer as structured-77001-135.

Found by Python 3.11.7, NumPy 2.4.6: call 1: events: expected (), found (('warning', 'RuntimeWarning',
'Degrees of freedom <= 0 for slice', '_methods.py', 219),)
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a):
    n = 0
    for l0 in range(n):
        y[:l0] = np.std(a[:l0, 2:, l0], axis=1)
"""

CALLS = [
    [Array(dtype="f8", shape=(), layout="C", values="tame")],
    [Array(dtype="f8", shape=(1, 1, 1), layout="C", values="tame")],
]
KEYWORDS = []


def test_structured_77001_135():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
