"""Lists that a loop stores to: arrays to its region, which gives them new objects where it is left."""

from __future__ import annotations

import pytest
import stator
from fuzz.compare import observe, report
from process import alarm, on_alarm

from .whole import check_same, check_whole, function_of

# Bodies of f(v, k, b, out): lists of floats, of ints and of bools, a matrix.
WHOLE = {
    "running sums": "for i in range(1, len(v)):\n    v[i] = v[i - 1] + v[i]\nreturn v",
    "a knapsack": "best = [0] * 40\nfor w, x in zip(k, range(len(k))):\n    w = abs(w) + 1\n    for c in range(39, w - 1, -1):\n        best[c] = max(best[c], best[c - w] + x)\nreturn best",
    "a sieve": "s = [True] * 50\ns[0] = s[1] = False\nfor i in range(2, 50):\n    if s[i]:\n        for j in range(i * i, 50, i):\n            s[j] = False\nreturn s",
    "in place": "for i in range(len(k)):\n    k[i] += i\n    k[-1] -= k[i] // 2\nreturn k",
    "a histogram": "n = [0] * 9\nfor i in range(len(k)):\n    n[k[i] % 9] += 1\n    out[0, i] = n[i % 9]\nreturn n, out",
    "while it is looked over": "for i, w in enumerate(v):\n    v[(i + 1) % len(v)] = w * 0.5 + v[i]\nreturn v, w",
    "two tables": "for i in range(len(v)):\n    v[i] = v[-i] * 2\n    b[i] = v[i] > 0 and not b[i - 1]\n    k[i] = k[i - 1] ^ k[i]\nreturn v, k, b",
    "swapped items": "i, j = 0, len(k) - 1\nwhile i < j:\n    k[i], k[j] = k[j], k[i]\n    i += 1\n    j -= 1\nreturn k",
    "sorted by insertion": "for i in range(1, len(v)):\n    x = v[i]\n    j = i - 1\n    while j >= 0 and v[j] < x:\n        v[j + 1] = v[j]\n        j -= 1\n    v[j + 1] = x\nreturn v",
    "items by number": "few = [0.5, 1.5, 2.5]\nfor i in range(len(v)):\n    few[0], few[1], few[2] = few[1], few[2], few[0] + v[i]\nreturn few",
    "of an object": "state = type('State', (), {})()\nstate.items = [0.0] * 12\nfor i in range(len(v)):\n    state.items[i % 12] += v[i]\nreturn state.items",
    "beside one that grows": "got = []\nfor i in range(len(k)):\n    k[i] += 1\n    got.append(k[i])\nreturn got, k",
    "shortest paths": "d = [float('inf')] * len(v)\nd[0] = 0.0\nfor _ in range(len(v)):\n    for i in range(len(v)):\n        for j in (i // 2, i - 1, i + 3):\n            if 0 <= j < len(v) and d[i] + abs(v[j]) < d[j]:\n                d[j] = d[i] + abs(v[j])\nreturn d",
    "zeros and NaNs": "for i in range(len(v)):\n    v[i] = 0.0 * v[i] if i % 3 else v[i] * float('inf')\nreturn v",
}  # fmt: skip

# What leaves, raises, or is not for a region: the results are eager's.
OTHERS = {
    "an index out of range": "for i in range(len(v) + 1):\n    k[0] += 1\n    v[i] = 2.0 * k[0]\nreturn v",
    "an index far below": "for i in range(len(v)):\n    v[-i - 2] = 1.0\nreturn v",
    "items of another kind": "for i in range(len(k)):\n    k[i] = k[i] * 0.5\nreturn k",
    "kinds that change": "for i in range(len(k)):\n    k[i] = k[i] // 2 if k[i] < 5 else k[i] / 2\nreturn k",
    "bools among ints": "for i in range(len(k)):\n    k[i] = k[i] > 3\nreturn k",
    "ints among bools": "for i in range(len(b)):\n    b[i] = b[i - 1] + 0\nreturn b",
    "NumPy's numbers": "for i in range(len(v)):\n    v[i] = out[0, i] + 1\nreturn v, [type(x) for x in v]",
    "beyond 64 bits": "for i in range(1, len(k)):\n    k[i] = k[i - 1] * 1000003 + 1\nreturn k",
    "a slice": "for i in range(3, len(v)):\n    v[i - 3 : i] = [1.0, v[i], v[0]]\nreturn v",
    "no number": "for i in range(len(v)):\n    v['0'] = 1.0\nreturn v",
    "two names of one list": "w = v if len(k) == 12 else list(v)\nfor i in range(len(v)):\n    v[i] += 1\n    w[i] += v[-1]\nreturn v, w",
    "two names, one is read": "w = v if len(k) == 12 else list(v)\nn = 0\nfor i in range(len(v)):\n    v[i] += 1\n    n += w[-1] + w[i]\nreturn v, w, n",
    "two names, one grows": "w = v if len(k) == 12 else []\nfor i in range(len(v)):\n    v[i] += 1\n    w.append(v[-1])\nreturn v, w",
    "it is made shorter": "n = 0\nfor i in range(30):\n    v[i % len(v)] += 1\n    if i % 8 == 7:\n        v.pop()\nreturn v",
    "an item that is an array": "w = [out[0], out[1], out[2]]\nfor i in range(len(v)):\n    w[i % 3] = w[i % 3] * 0.5\nreturn w",
    "something else sees it": "seen = []\nfor i in range(len(v)):\n    v[i] += i\n    if i % 5 == 4:\n        seen.append(str(v))\nreturn seen, v",
    "it raises": "for i in range(len(k)):\n    k[i] = 100 // (k[i] - 2)\n    v[i] = 1.0 / (i - 9)\nreturn k",
    "a tuple": "t = (1, 2, 3) * 4\nfor i in range(12):\n    t[i] = k[i] + 1\nreturn t",
}  # fmt: skip


def _text(body):
    return "def f(v, k, b, out):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _arguments(n):
    import numpy as np

    v, k = [0.5 * i - 1 for i in range(n)], [3 * i - n for i in range(n)]
    return [v, k, [i % 3 == 1 for i in range(n)], np.zeros((n + 5, n + 5))]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("sizes", [(7, 11, 7), (12, 30, 15)], ids=["few", "many"])
def test_whole(name, sizes):
    check_whole(_text(WHOLE[name]), _arguments, sizes)


@pytest.mark.parametrize("name", OTHERS)
def test_other(name):
    check_same(_text(OTHERS[name]), _arguments)


def test_what_is_not_stored_stays_the_same_object():
    text = "def f(v):\n    for i in range(0, len(v), 2):\n        v[i] = v[i] * 0.5\n    return v\n"
    compiled = stator.compile(function_of(text))
    for _ in range(4):
        v = [1000.5 + i for i in range(20)]
        before = list(v)
        compiled(v)
        stator.wait()
        assert all(x is y for x, y in zip(v[1::2], before[1::2], strict=True))
    assert stator.stats(compiled)["regions"] == 1


def test_a_tuple_in_the_place_of_a_list():
    text = "def f(v, n):\n    for i in range(n):\n        v[i % 3] += 1.0\n    return v\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for kind in (list, list, list, tuple, list):
        expected, found = (observe(f, [kind([0.5, 1.5, 2.5] * 4), 20]) for f in (eager, compiled))
        assert found == expected, report(expected, found)
        stator.wait()


def test_an_interrupt_shows_what_was_stored():
    """Where a signal's handler runs, the list is as far as the loop is."""
    text = "def f(v, n):\n    for i in range(n):\n        v[i % 5] = i\n    return v\n"
    compiled = stator.compile(function_of(text))
    v = [0] * 5
    for _ in range(3):
        compiled(v, 100)
        stator.wait()
    seen = []
    with on_alarm(lambda *_: seen.append(list(v))):
        alarm(0.05)
        while not seen:
            compiled(v, 50_000_000)
    (items,) = seen[:1]
    assert max(items) - min(items) == 4 and max(items) > 100
