"""Exceptions out of loops and array statements, caught inside and outside of what is decorated."""

import numpy as np

from . import whole


def make(jit):
    @jit
    def copy_into(a, out):
        for i in range(len(a)):
            out[i] = a[i]
        return out

    @whole
    def overflow(a, out):
        try:
            return copy_into(a, out)
        except (OverflowError, ValueError) as error:
            return str(error)

    @jit
    def shifted(a, n):
        total = 0.0
        for i in range(n):
            total += a[i + 1] - a[i]
        return total

    @whole
    def past_the_end(a, n):
        try:
            return shifted(a, n)
        except IndexError:
            return -1.0

    @jit
    def combine(a, b):
        a += b
        return a

    @whole
    def shapes(a, b):
        try:
            return combine(a, b)
        except ValueError as error:
            return str(error)

    def parse(words):
        """Exceptions as control flow in a loop."""
        good, bad = 0.0, 0
        for w in words:
            try:
                good += float(w)
            except ValueError:
                bad += 1
        return good, bad

    def lookups(table, keys):
        total = 0
        for k in keys:
            try:
                total += table[k]
            except KeyError:
                total -= 1
        return total

    def until_stop(values):
        it, total = iter(values), 0
        while True:
            try:
                total += next(it)
            except StopIteration:
                return total

    def array_tries(a, rows):
        """Every third row has another shape."""
        bad = 0
        for r in rows:
            try:
                a = a + r
            except ValueError:
                bad += 1
        return a, bad

    @jit
    def strict(a):
        if a.min() < 0:
            raise ValueError("negative")
        return np.sqrt(a)

    @whole
    def validated(a):
        try:
            return strict(a)
        except ValueError:
            return None

    a = np.linspace(0, 1, 40)
    rows = [np.ones(3 if k % 3 else 4) for k in range(30)]
    words = [("x" if k % 4 == 0 else "") + str(k / 3) for k in range(120)]
    table = {k: k for k in range(0, 200, 2)}
    return [
        ("raise_value", overflow, lambda k: (np.array([1.0, 300.5, np.nan, 2.0]), np.zeros(4, np.int32))),
        ("raise_index", past_the_end, lambda k: (a, 40)),
        ("raise_shapes", shapes, lambda k: (np.ones(3), np.ones(2))),
        ("raise_parse", parse, lambda k: (words,)),
        ("raise_keys", lookups, lambda k: (table, range(200))),
        ("raise_stop", until_stop, lambda k: (range(300),)),
        ("raise_arrays", array_tries, lambda k: (np.ones(3), rows)),
        ("raise_validate", validated, lambda k: (a - (k % 2),)),
    ]
