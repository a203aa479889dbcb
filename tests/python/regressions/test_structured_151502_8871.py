"""Found by the fuzzer as structured-151502-8871.

Found by Python 3.11.7, NumPy 2.4.6: call 0: events: expected (('warning', 'RuntimeWarning', 'overflow
encountered in cast', '<structured-151502-8871>', 14),), found (('warning', 'RuntimeWarning', 'overflow
encountered in cast', '<structured-151502-8871>', 14), ('warning', 'RuntimeWarning', 'overflow encountered in
cast', [...]
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(a):
    n = a.shape[0]
    for j0 in range(0, n, 1):
        try:
            s4 = 10.0 ** 100
        except Exception as e:
            try:
                s7 = [s4 for t6 in 13 if u]
            except (IndexError, ArithmeticError, ValueError) as e:
                pass
        s4 = max(s4, a[j0, j0, j0])
"""

CALLS = [
    [Array(dtype="f4", shape=(2, 1, 1), layout="C", values="tame")],
]
KEYWORDS = []


def test_structured_151502_8871():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
