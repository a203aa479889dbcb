"""Statements and values from which the programs are put together, each a line or a few of Python.

In a loop there are: the index `i`, the item `x`, a number `s`, an array `a`, a list `out`, a dict `d`, and `helper(p, q)`.
A statement may raise: programs catch what gets out.
"""

from __future__ import annotations

import random

# What cannot be native, or leaves native code.
HOSTILE = (
    "out.append(x)",
    "out.append((i, s))",
    "d[i % 5] = d.get(i % 5, 0) + 1",
    "d.setdefault(str(i % 3), []).append(i)",
    "print(i, s)",
    "s = helper(s, x)",
    "s = helper(x, i) if i % 3 else s",
    "text = f'{i}:{s}'",
    "t = [y for y in (i, x, s)]",
    "t = (i, x); u, v = t",
    "if isinstance(x, float): s = s + x",
    "if x is None: continue",
    "try:\n    s = s + x\nexcept TypeError:\n    s = 0",
    "try:\n    s = d[i]\nexcept KeyError:\n    d[i] = i",
    "try:\n    s = a[i]\nexcept IndexError:\n    s = 1.5",
    "try:\n    int('x')\nexcept ValueError as error:\n    s = len(str(error))",
    "s = (lambda p: p + i)(1)",
    "s = sum(y for y in range(i % 4))",
    "s = len(sorted([i, 3, 1]))",
    "s = random.Random(i).random()",
    "a = a[:-1] if a.size > 3 else np.arange(7.0)",
    "a = a.astype(DTYPES[i % len(DTYPES)])",
    "a = np.append(a, i) if a.size < 9 else a[1:]",
    "a = a.reshape(1, -1) if a.ndim == 1 else a.reshape(-1)",
    "a = [] if i % 7 == 6 else np.ones(i % 5 + 1)",
    "s = a if i % 5 == 4 else 0",
    "s = [s, 0.5, np.float64(2), 3, 1j][i % 5]",
    "s = np.sort(a)[0]",
    "globals()['shared'] = i",
    "s = shared + 1",
    "BOX.value = i if i % 2 else float(i); s = BOX.value",
    "BOX.__dict__['k%d' % (i % 6)] = x",
    "BOX.step(s)",
    "del out[:]",
    "assert i >= 0, 'never'",
    "with np.errstate(all='ignore'):\n    s = np.float64(i) / 0.0",
    "s = np.float32(3.4e38) * 10",
    "a = np.log(a - 3)",
    "s = np.int8(100) + np.int8(100)",
    "s = 1 / (i % 4) if i % 9 == 8 else 1",
)

# Those whose values do not grow with each iteration, for loops of many thousand.
LASTING = tuple(s for s in HOSTILE if "helper" not in s and "print" not in s and "append(" not in s)

# What can be native.
FRIENDLY = (
    "s = s + 1.5",
    "s += i",
    "s = s * 0.5 + i",
    "s = i - s",
    "s = s + a[i % a.size]",
    "a[i % a.size] = i",
    "a = a + 1",
    "a = a * 0.5 + np.abs(a)",
    "s = a.sum()",
    "s = max(s, i)",
    "if i % 2: s = s + 1",
    "s = math.sqrt(i)",
    "a = np.where(a > 1, a, 0.0)",
    "s = s + x",
    "s = abs(s) % 100",
    "b = a[::2]; s = b.size",
)

LEAVING = (
    "if i % 3 == 2: break",
    "if i > 0: break",
    "if s > 3: return s",
    "if i % 5 == 4: raise ValueError(i)",
    "if x is not None and i % 4 == 3: return a",
    "if i % 2: continue",
)

VALUES = (
    "1", "-7", "True", "2**70", "10**30", "3.5", "float('nan')", "1e300", "2j", "'text'", "None", "np.float64(2.5)", "np.float32(0.1)",
    "np.int64(5)", "np.int8(-3)", "np.uint32(7)", "np.complex128(1+2j)", "np.bool_(True)", "[1, 2.0, 3]", "(4, 5)", "range(3)",
    "np.arange(4)", "np.ones(5)", "np.ones((2, 3))", "np.zeros(0)", "np.array(2.0)", "np.ones(4, np.float32)", "np.ones(3, complex)",
    "np.ones((3, 1), np.int8)", "np.arange(6.0)[::2]", "np.asfortranarray(np.ones((3, 4)))", "np.array([None, 1], object)",
    "np.array(['a', 'b'])", "Pair(1, 2.0)", "BOX", "Fraction(1, 3)", "Decimal('1.5')", "np.ma.ones(3)",
)  # fmt: skip

NUMBERS = ("1", "-7", "True", "2**70", "3.5", "1e300", "2j", "np.float64(2.5)", "np.float32(0.1)", "np.int64(5)", "np.int8(-3)", "np.uint32(7)")  # fmt: skip
ARRAYS = tuple(
    v for v in VALUES if v.startswith("np.") and "object" not in v and "'a'" not in v and v not in NUMBERS
)

EXPRESSIONS = (
    "p + q", "p * q", "p - q", "p == q", "p if q else q", "(p, q)", "[p, q]", "p + 1", "q * 2.0", "np.add(p, q)", "np.sum(p)",
    "len(p)", "p[0]", "str(p)", "-p", "abs(q)", "p % 99 ** 2", "p < q", "np.maximum(p, q)", "np.asarray(p).shape", "float(p)", "q or p",
)  # fmt: skip

PREAMBLE = """\
import collections, math, random
from decimal import Decimal
from fractions import Fraction
import numpy as np

DTYPES = (np.float64, np.int64, np.float32, np.complex128, np.int8, np.bool_)
Pair = collections.namedtuple("Pair", "left right")
shared = 1


class Box:
    value = 0

    def step(self, s):
        self.value = self.value + 1
        return s


BOX = Box()


def helper(p, q):
    return EXPRESSION


def attempt(results, f, *args):
    try:
        results.append(f(*args))
    except Exception as error:
        results.append(f"{type(error).__name__}: {error}")

"""


def indented(text: str, depth: int) -> str:
    return "".join(f"{' ' * 4 * depth}{line}\n" for line in text.split("\n"))


def body(
    r: random.Random, hostile: int, friendly: int, leaving: int, depth: int, pool: tuple[str, ...] = HOSTILE
) -> str:
    """Statements in random order."""
    some = [r.choice(pool) for _ in range(hostile)]
    some += [r.choice(FRIENDLY) for _ in range(friendly)]
    some += [r.choice(LEAVING) for _ in range(leaving)]
    r.shuffle(some)
    return "".join(indented(s, depth) for s in some) or indented("pass", depth)


def values(r: random.Random, pool: tuple[str, ...], count: int) -> str:
    """A tuple of different values, as text."""
    return "(" + ", ".join(r.sample(pool, min(count, len(pool)))) + ",)"


def preamble(r: random.Random) -> str:
    return PREAMBLE.replace("EXPRESSION", r.choice(EXPRESSIONS))
