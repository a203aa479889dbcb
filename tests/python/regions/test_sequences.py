"""Items of lists, tuples and strings by an index that changes: arrays to a region (frontend/regions/sequence.h)."""

from __future__ import annotations

import pytest
import stator

from .whole import check_same, check_whole, function_of

# Bodies of f(v, k, pair, s, t, out): lists of floats and of ints, a tuple, two strings, a matrix.
WHOLE = {
    "a list of floats": "total = 0.0\nfor i in range(len(v)):\n    total += v[i] * v[-1 - i]\nreturn total",
    "a list of ints": "for i in range(1, len(k)):\n    out[0, i] = k[i] - k[i - 1] + k[i] // 3\nreturn out",
    "an item of a list is an index": "for i in range(len(k)):\n    out[1, k[i] % len(v)] += v[i]\nreturn out",
    "a tuple": "for i in range(len(s)):\n    out[0, i] += pair[i % 3] * 2\nreturn out",
    "a tuple of the function's": "for i in range(len(s)):\n    w = (0.5, 1.5, 2.5)[i % 3]\n    out[0, i] += w\nreturn out, w",
    "which of a few": "for i in range(len(s)):\n    few = [i, 7, i + 1]\n    few[1] = few[i * i % 3] + 1\n    out[0, i] = few[1]\nreturn few, out",
    "a NumPy integer": "for i in np.arange(len(v)):\n    out[0, i] = v[i]\nreturn out",
    "characters beside each other": "for i in range(len(s)):\n    for j in range(len(t)):\n        out[i + 1, j + 1] = out[i, j] + 1 if s[i] == t[j] else max(out[i, j + 1], out[i + 1, j])\nreturn out",
    "edit distance": "m, n = len(s), len(t)\nfor i in range(m + 1):\n    out[i, 0] = i\nfor j in range(n + 1):\n    out[0, j] = j\nfor i in range(1, m + 1):\n    for j in range(1, n + 1):\n        cost = 0 if s[i - 1] == t[j - 1] else 1\n        out[i, j] = min(out[i - 1, j] + 1, out[i, j - 1] + 1, out[i - 1, j - 1] + cost)\nreturn out[m, n], out",
    "characters beside strings": "a = b = c = 0\nfor i in range(len(s)):\n    if s[i] in 'GC':\n        a += 1\n    elif s[i] != 'A' and 'T' == s[i]:\n        b += 1\n    elif s[i] < 'b' and s[i] == 'ab':\n        c += 1\nreturn a, b, c",
    "codes of characters": "h = 5381\nfor i in range(len(s)):\n    h = (h * 33 + ord(s[i])) % 4294967291\nreturn h",
    "a character that is left over": "for i in range(len(s)):\n    c = s[i]\n    if c and c == t[0]:\n        out[0, i] = 1\nreturn c, out",
    "while": "i = j = n = 0\nwhile i < len(s) and j < len(t):\n    if s[i] == t[j]:\n        n += 1\n        j += 1\n    i += 1\nreturn i, j, n",
    "over a list": "total = 0.0\nfor w in v:\n    total += w * w\nfor w in k:\n    total -= w\nreturn total, w",
    "over a string": "n = 0\nfor c in s:\n    if c == 'A':\n        n += 1\n    for d in t:\n        n += c == d\nreturn n, c, d",
    "enumerate and zip": "for i, w in enumerate(v):\n    out[0, i] = w\n    for a, b in zip(s, t):\n        out[1, i] += a == b\n    for a, (b, c) in zip(k, enumerate(v)):\n        out[2, b] += a * c\nreturn out, a, b, c",
    "a loop that ends early": "n = 0\nfor c in s:\n    for w in v:\n        if w > 2 or c == 'T':\n            break\n        n += 1\n    else:\n        n += 100\nreturn n, c, w",
    "appending to another list": "got = []\nfor i in range(len(v)):\n    if s[i] != 'T':\n        got.append(v[i] * 2)\nreturn got",
    "appending what a loop is over": "got, words = [], []\nfor i, w in enumerate(v):\n    got.append((i, w))\n    words.append(k[i])\nreturn got, words",
    "other letters": "u = s + 'é'\nw = t + '中'\nn = 0\nfor i in range(len(u)):\n    for j in range(len(w)):\n        n += u[i] != w[j]\nreturn n, u[i], w[j]",
}  # fmt: skip

# What leaves, raises, or is not for a region: the results are eager's.
OTHERS = {
    "an index out of range": "total = 0.0\nfor i in range(len(v) + 1):\n    total += v[i]\n    out[0, 0] = total\nreturn total",
    "a character out of range": "n = 0\nfor i in range(len(s) + 1):\n    n += s[i] == 'A'\n    out[0, 0] = n\nreturn n",
    "several kinds": "mixed = [1, 2.5, 3] * 4\nn = 0\nfor i in range(len(mixed)):\n    n += mixed[i]\nreturn n, type(n)",
    "beyond 64 bits": "big = [2**70 + i for i in range(12)]\nn = 0\nfor i in range(12):\n    n += big[i] % 7\nreturn n",
    "truths": "flags = [True, False] * 6\nn = 0\nfor i in range(12):\n    n += flags[i] * 2\nreturn n",
    "a list that grows": "w = list(v)\nfor i in range(30):\n    w.append(w[i] + 1)\nreturn w",
    "a list that is stored to": "w = list(v)\nfor i in range(1, len(w)):\n    w[i] = w[i - 1] + w[i]\nreturn w",
    "the same object": "w = list(v)\nfor i in range(len(w)):\n    c = w[i]\n    if c > 3:\n        break\nreturn c, i",
    "nothing in it": "w = []\nn = 0\nfor i in range(len(w)):\n    n += w[i]\nreturn n",
    "a list of strings": "words = s.split('A') + [t] * 12\nn = 0\nfor i in range(len(words)):\n    n += len(words[i])\nreturn n",
    "the string is also a name": "n = 0\nfor i in range(len(s)):\n    if s != 'GATTACA':\n        n += s[i] == 'A'\nreturn n",
    "leaving among its items": "n = 0\nfor i, c in enumerate(s):\n    for w in v:\n        if i == 3 and w > 0.5:\n            n += out[100, 0]\n        n += w\n    out[0, 0] = n\nreturn n",
    "an iterator with a name": "it = iter(v)\nn = 0\nfor w in it:\n    n += w\n    if w > 1:\n        break\nreturn n, list(it)",
    "a list of arrays": "rows = [out[i] for i in range(len(s))]\nn = 0\nfor r in rows:\n    r += 1\n    n += r[0]\nreturn n, out",
    "a list that grows while it is looked over": "w = list(v)\nn = 0\nfor c in w:\n    n += c\n    if len(w) < 40:\n        w.append(c + 1)\nreturn n, w",
    "two names of one list": "w = list(v)\ngot = w if len(w) == 12 else []\nn = 0\nfor i in range(30):\n    n += w[i % len(w)]\n    got.append(n)\nreturn got, n",
    "two names the other way": "w = list(v)\ngot = [] if len(w) == 7 else w\nn = 0\nfor i in range(30):\n    got.append(n)\n    n += w[i % len(w)]\nreturn got, n",
    "an error in a string": "n = 0\nfor i in range(len(s)):\n    n += s[i] < i\nreturn n",
}  # fmt: skip


def _text(body):
    return "def f(v, k, pair, s, t, out):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _arguments(n):
    import numpy as np

    v = [0.5 * i - 1 for i in range(n)]
    k = [3 * i - n for i in range(n)]
    s, t = "".join("GATTACA"[i % 7] for i in range(n)), "".join("TAGC"[i * i % 4] for i in range(n + 3))
    return [v, k, (1, 5, 7), s, t, np.zeros((n + 5, n + 5))]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("sizes", [(7, 11, 7), (12, 30, 15)], ids=["few", "many"])
def test_whole(name, sizes):
    check_whole(_text(WHOLE[name]), _arguments, sizes)


@pytest.mark.parametrize("name", OTHERS)
def test_other(name):
    check_same(_text(OTHERS[name]), _arguments)


def test_another_sequence():
    """What is guarded: kinds of items, not the objects. A list that changed is read anew."""
    text = "def f(v):\n    n = 0\n    for i in range(len(v)):\n        n += v[i] * 2\n    return n\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))
    floats = [0.5] * 20
    cases = [
        floats,
        floats,
        floats,
        [1] * 20,
        [1] * 20,
        tuple(floats),
        [2.5] * 9,
        [1, 2.5] * 10,
        [1.5, 1] * 10,
    ]
    for v in cases * 2:
        assert (compiled(v), type(compiled(v))) == (eager(v), type(eager(v)))
        stator.wait()
        floats[3] += 1.0
    assert stator.stats(compiled)["regions"] <= 4


def test_copies_that_do_not_pay():
    """A loop over a long list that is left every few iterations is not entered a thousand times."""
    text = "def f(w, seen):\n    n = 0.0\n    for i in range(len(w)):\n        if i % 100 == 99:\n            seen.add(i)\n        n += w[i]\n    return n\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))
    w = [0.001 * i for i in range(100_000)]
    for _ in range(3):
        found, expected = set(), set()
        assert compiled(w, found) == eager(w, expected)
        assert found == expected
        stator.wait()
    assert sum(r.entries for r in compiled.regions) < 1000
