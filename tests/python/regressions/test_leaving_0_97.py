"""Found by the fuzzer as leaving-0-97.

Two statements in one pass over the rows: what the first reads lay where the second stores, because the variable had been
given that memory an iteration earlier and no longer held it between the two. The last, overlapping vector of a row then
read what it had stored. Every kind of loop that works on arrays can meet that from a vector's length on.
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\
import numpy as np


def f(large, wide, a, m):
    n = len(a)
    s = 0.0
    for i in range(n):
        large = large + wide
        pair = (s,)
        large = large + 0.5
        try:
            s = m.max()
        except (ArithmeticError, IndexError):
            pass
    return large
"""

CALLS = [
    [
        Array(dtype="f8", shape=(1,), layout="C", values="tame"),
        Array(dtype="f8", shape=(1, 257), layout="C", values="tame"),
        Array(dtype="f8", shape=(2,), layout="C", values="tame"),
        Array(dtype="f8", shape=(1,), layout="C", values="tame"),
    ],
]
KEYWORDS = []


def test_leaving_0_97():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
