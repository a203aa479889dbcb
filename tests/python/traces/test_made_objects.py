"""Objects that a trace makes and that are alive where a loop begins, of each type and before each kind of loop.

``python -m tests.python.fuzz --kind objects`` makes many more of them.
"""

import pytest
from fuzz.arguments import Array, Scalar
from fuzz.check import run_source

OPENING = """
import collections, dataclasses, functools, typing
import numpy as np

P = collections.namedtuple("P", "x y")

class T(typing.NamedTuple):
    x: float
    y: object = 0.5

@dataclasses.dataclass
class D:
    x: float
    y: object = 2.0

@dataclasses.dataclass(frozen=True, slots=True)
class F:
    x: float
    y: object

class O:
    def __init__(self, x):
        self.x = x
    def total(self):
        return self.x + 1.0

def add(p, q=0.5):
    return p + q

def walk(a, n, o):
    s = 0.0
    for i in range(n):
        s += a[i] * 0.5
        repr((o, i))
    return s, o
"""

MAKERS = {
    "named tuple": "P(0.5, u)",
    "named tuple of arrays": "P(a * 2.0, y=a)",
    "typing.NamedTuple": "T(u)",
    "replaced": "P(0.5, 1)._replace(y=u)",
    "nested": "(P(P(u, 1), [T(0.5)]), {'k': P(1, 2)})",
    "dataclass": "D(u, n)",
    "frozen": "F(u, (n, u))",
    "object": "O(P(u, n))",
    "function": "lambda z=P(1, 2): z.x + u",
    "slice": "slice(1, n)",
    "range": "range(1, n)",
    "iterator": "iter((u, P(1, u)))",
    "enumerate": "enumerate((u, 1.5))",
    "dict": "{'p': u, 'q': P(u, u)}",
    "view of a dict": "{'p': u, 'q': P(u, u)}.items()",
    "partial": "functools.partial(add, u)",
    "exception": "ValueError(P(u, 1))",
    "method of an object": "O(u).total",
    "method of an array": "a.sum",
}
LOOPS = {
    "native": "for i in range(n):\n        s += a[i % 3] * 0.5",
    "replayed": "for i in range(n):\n        repr((o, i))",
    "replayed, with arrays": "for i in range(n):\n        a = a * 0.5 + 1.0\n        kept = (o, i)\n        repr(kept)",
    "left": "try:\n        for i in range(n):\n            s += a[i + 100 * (i == at)]\n    except IndexError:\n        s = -s",
    "inlined": "s, o = walk(a, 3, o)",
    "comprehension": "kept = [repr((o, i)) for i in range(n)]",
    "while": "i = 0\n    while i < n:\n        i += 1\n        s += float(a.sum())\n        kept = [o, i]",
    "in a loop": "for j in range(2):\n        q = P(o, j)\n        for i in range(n):\n            repr((q, i))",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_made_in_front_of_a_loop(made, loop):
    source = f"{OPENING}\ndef f(a, u, n, at):\n    s = 0.0\n    kept = None\n    o = {made}\n    {loop}\n    return s, a, kept, o\n"
    calls = [
        [Array("f8", (7,), "C", "tame"), Scalar("float", 1.5), Scalar("int", n), Scalar("int", at)]
        for n, at in ((6, 99), (6, 2), (0, 99), (1, 0), (7, 99))
    ]
    diff = run_source(source, calls)
    assert diff is None, diff
