"""Lists of lists (`dp[i][j]`, `for row in grid`): one array to a region, which gives rows that are stored to new objects."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report
from process import alarm, on_alarm

from .whole import check_same, check_whole, function_of

# Bodies of f(g, h, r, s, t, n): a list of lists of ints and one of floats, lists of ints that are not equally long,
# two strings, how many.
WHOLE = {
    "items": "total = 0\nfor i in range(len(g)):\n    for j in range(len(g[0])):\n        total += g[i][j] * g[-1 - i][-j]\nreturn total",
    "a row with a name": "total = 0.0\nfor i in range(n):\n    row = h[i]\n    for j in range(len(row)):\n        total += row[j]\nreturn total, row",
    "over rows": "total = 0\nfor row in g:\n    for x in row:\n        total = total * 3 % 1000003 + x\nreturn total",
    "over numbered rows": "best = -1\nfor i, row in enumerate(g):\n    for j, x in enumerate(row):\n        if x > best:\n            best, at = x, (i, j)\nreturn best, at",
    "rows beside each other": "total = 0.0\nfor a, b in zip(g, h):\n    for x, y in zip(a, b):\n        total += x * y\nreturn total",
    "rows of other lengths": "total = 0\nfor row in r:\n    for x in row:\n        total += x\nfor i in range(len(r)):\n    for j in range(len(r[i])):\n        total += r[i][j] * r[i][-1]\nreturn total",
    "neighbours": "d = [n] * n\nd[0] = 0\nfor _ in range(n):\n    for u in range(n):\n        for v in r[u]:\n            if d[u] + 1 < d[v]:\n                d[v] = d[u] + 1\nreturn d",
    "rows of other lengths that change": "for i in range(1, len(r)):\n    for j in range(len(r[i])):\n        r[i][j] += r[i][j - 1] if j else 7\n    if r[i]:\n        r[i][-1] -= 1\nreturn r",
    "edit distance": "d = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]\nfor i in range(len(s) + 1):\n    d[i][0] = i\nfor j in range(len(t) + 1):\n    d[0][j] = j\nfor i in range(1, len(s) + 1):\n    for j in range(1, len(t) + 1):\n        if s[i - 1] == t[j - 1]:\n            d[i][j] = d[i - 1][j - 1]\n        else:\n            d[i][j] = 1 + min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1])\nreturn d",
    "shortest paths": "for k in range(n):\n    for i in range(n):\n        for j in range(n):\n            if h[i][k] + h[k][j] < h[i][j]:\n                h[i][j] = h[i][k] + h[k][j]\nreturn h",
    "a product": "c = [[0] * n for _ in range(n)]\nfor i in range(n):\n    for j in range(n):\n        for k in range(n):\n            c[i][j] += g[i][k] * g[k][j]\nreturn c",
    "rows with names that are stored to": "for i in range(1, n):\n    above, row = h[i - 1], h[i]\n    for j in range(n):\n        row[j] = row[j] * 0.5 + above[j]\nreturn h",
    "swapped items": "for i in range(n):\n    for j in range(i):\n        g[i][j], g[j][i] = g[j][i], g[i][j]\nreturn g",
    "the game of life": "new = [[0] * n for _ in range(n)]\nfor i in range(n):\n    for j in range(n):\n        alive = 0\n        for a in (-1, 0, 1):\n            for b in (-1, 0, 1):\n                if (a or b) and 0 <= i + a < n and 0 <= j + b < n:\n                    alive += g[i + a][j + b] & 1\n        new[i][j] = 1 if alive == 3 or (g[i][j] & 1 and alive == 2) else 0\nreturn new",
    "bools": "seen = [[False] * n for _ in range(n)]\nk = 0\nfor i in range(200):\n    a, b = i * i % n, i * 7 % n\n    if not seen[a][b]:\n        seen[a][b] = True\n        k += 1\nreturn seen, k",
    "pairs": "pairs = [(i, i * i % 7) for i in range(n + 3)]\nx = 0\nfor _ in range(3):\n    for a, b in pairs:\n        x += a * b\n    for i in range(len(pairs)):\n        x -= pairs[i][1]\n        (c, d) = pairs[i - 1]\n        x += c - d\nreturn x",
    "characters": "grid = [s, t, s] if len(s) == len(t) else [s, s + 'A', t]\nk = 0\nfor _ in range(4):\n    for i in range(len(grid)):\n        for j in range(len(grid[i])):\n            k += grid[i][j] == 'A'\n    for line in grid:\n        for c in line:\n            k -= c < 'G'\nreturn k",
    "of an object": "state = type('State', (), {})()\nstate.rows = h\nfor i in range(n):\n    state.rows[i][i] += state.rows[0][i] + len(state.rows)\nreturn state.rows",
    "a row that is left over": "for i in range(n):\n    row = g[i]\n    if row[0] % 5 == 4:\n        break\nreturn row is g[i], i",
    "beside one that grows": "got = []\nfor i in range(n):\n    g[i][i] += 1\n    got.append(g[i][0])\nreturn got, g",
    "one row": "one = [[1, 2, 3, 4]]\nfor i in range(n):\n    one[0][i % 4] += one[0][i % 3] + len(one[0])\nreturn one",
}  # fmt: skip

# What leaves, raises, or is not for a region: the results are eager's.
OTHERS = {
    "an index out of range": "for i in range(n + 1):\n    for j in range(n):\n        g[i][j] += 1\nreturn g",
    "an index out of a row": "for i in range(n):\n    for j in range(n + 1):\n        g[i][j] += 1\nreturn g",
    "an index far below": "total = 0\nfor i in range(n + 2):\n    total += g[-i][0]\n    g[0][-i] = total\nreturn g",
    "an index out of a shorter row": "total = 0\nfor i in range(len(r)):\n    total += r[i][1]\n    r[i][0] = total\nreturn total",
    "one row several times": "w = [[0] * n] * n\nfor i in range(n):\n    for j in range(n):\n        w[i][j] += i\nreturn w",
    "one row twice, later": "w = [list(x) for x in g]\nif n == 12:\n    w[3] = w[5]\nfor i in range(n):\n    for j in range(n):\n        w[i][j] += w[j][i]\nreturn w",
    "a row with another name": "w = g[1] if n == 12 else [1] * n\ntotal = 0\nfor i in range(n):\n    for j in range(n):\n        g[i][j] += 1\n        total += w[j]\nreturn g, total",
    "a row with another name that changes": "w = g[1] if n == 12 else [1] * n\ntotal = 0\nfor i in range(n):\n    w[i] += 1\n    total += g[1][i]\nreturn g, total",
    "a row that grows": "w = g[1] if n == 12 else []\ntotal = 0\nfor i in range(n):\n    w.append(i)\n    total += len(g[1]) + g[1][-1]\nreturn g, total",
    "two lists with one row": "w = [list(x) for x in g]\nif n == 12:\n    w[3] = g[2]\nfor i in range(n):\n    for j in range(n):\n        w[i][j] += g[i][j] + g[2][j]\nreturn w, g",
    "two names": "w = g if n == 12 else [list(x) for x in g]\nfor i in range(n):\n    w[i][i] += 1\n    g[i][0] += w[0][i]\nreturn w, g",
    "kinds of items": "w = [[1, 2], [0.5, 1.5]] * 6\nx = 0\nfor i in range(12):\n    x += w[i][1]\nreturn x",
    "items of another kind": "for i in range(n):\n    g[i][i] = 0.5\nreturn g",
    "beyond 64 bits": "for i in range(1, n):\n    g[i][0] = g[i - 1][0] * 1000003 + 99999999999\nreturn g",
    "rows are replaced": "for i in range(n):\n    g[i] = [i] * n\n    g[i][0] = 7\nreturn g",
    "rows are swapped": "for i in range(1, n):\n    g[i], g[i - 1] = g[i - 1], g[i]\n    g[i][0] += i\nreturn g",
    "rows grow": "total = 0\nfor i in range(n):\n    r[i].append(i)\n    for x in r[i]:\n        total += x\nreturn r, total",
    "the list grows": "w = [[1, 1]]\nfor i in range(n):\n    w.append([w[i][0] + 1, w[i][1]])\nreturn w",
    "a row that is looked at": "got = []\nfor i in range(n):\n    g[i][0] += 1\n    if i % 4 == 3:\n        got.append(list(g[i - 1]))\nreturn got",
    "a row that is handed on": "got = []\nfor row in g:\n    row[0] += 1\n    got.append(row)\nreturn got, all(a is b for a, b in zip(got, g))",
    "tuples cannot change": "w = [(1, 2)] * 12\nfor i in range(n):\n    w[i][0] = 3\nreturn w",
    "pairs that are none": "w = [[1, 2]] * 11 + [[1, 2, 3]]\nx = 0\nfor a, b in w:\n    x += a * b\nreturn x",
    "an iterator with a name": "it = iter(g)\nx = 0\nfor row in it:\n    for c in row:\n        x += c\n    if x % 3 == 1:\n        break\nreturn x, list(it)",
    "no rows": "w = [[] for _ in range(n)]\nx = 0\nfor row in w:\n    for c in row:\n        x += c\nreturn x",
    "an exception in the middle": "for i in range(n):\n    for j in range(n):\n        g[i][j] = 100 // (g[i][j] - 20)\nreturn g",
    "a slice of a row": "for i in range(n):\n    g[i][1:3] = [i, g[i][0]]\nreturn g, g[0][1:]",
}  # fmt: skip


def _text(body):
    return "def f(g, h, r, s, t, n):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _arguments(n):
    ints = [[(i * 7 + j * 3) % 23 for j in range(n)] for i in range(n)]
    floats = [[(i * 5 + j * 11) % 13 + 0.25 for j in range(n)] for i in range(n)]
    ragged = [[(i * j + 1) % n for j in range(i % 4)] for i in range(n)]
    return [ints, floats, ragged, "GATTACA"[: n % 7 + 3], "TAGACCAT"[: n % 5 + 4], n]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("sizes", [(7, 11, 7), (12, 30, 15)], ids=["few", "many"])
def test_whole(name, sizes):
    check_whole(_text(WHOLE[name]), _arguments, sizes)


@pytest.mark.parametrize("name", OTHERS)
def test_other(name):
    check_same(_text(OTHERS[name]), _arguments)


def test_what_is_not_stored_stays_the_same_object():
    text = "def f(g):\n    for i in range(0, len(g), 2):\n        g[i][1] = g[i][0] * 0.5\n    return g\n"
    compiled = stator.compile(function_of(text))
    for _ in range(4):
        g = [[1000.5 + i, 2000.5 + i, 3000.5] for i in range(20)]
        rows, items = list(g), [list(row) for row in g]
        compiled(g)
        stator.wait()
        assert all(x is y for x, y in zip(g, rows, strict=True))
        assert all(
            (x is y) == (i % 2 == 1 or j != 1)
            for i, row in enumerate(g)
            for j, (x, y) in enumerate(zip(row, items[i], strict=True))
        )
    assert stator.stats(compiled)["regions"] == 1


# Which list a variable holds where the loop is left, and behind it: f(g, k) of a list of lists.
ROWS = {
    "left by break": "for i in range(len(g)):\n    row = g[i]\n    row[0] += 1\n    if i == k:\n        break\nreturn [row]",
    "left at its end": "for row in g:\n    for x in row:\n        k += x\nreturn [row]",
    "from behind": "for i in range(len(g)):\n    row = g[-1 - i]\n    k += row[0]\nreturn [row]",
    "of the iteration before": "last = row = g[0]\nfor i in range(1, len(g)):\n    last = row\n    row = g[i]\n    k += row[0] - last[0]\nreturn [last, row]",
    "the best one": "best = g[0]\nfor row in g:\n    if row[0] > best[0]:\n        best = row\nreturn [best, row]",
    "in a tuple": "for i in range(1, len(g)):\n    pair = g[i - 1], g[i]\n    k += pair[0][0] - pair[1][1]\nreturn list(pair)",
    "of one of two lists": "h = [list(r) for r in g]\nfor i in range(len(g)):\n    row = g[i] if g[i][0] % 2 else h[i]\n    k += row[1]\nreturn [row]",
    "with an exception": "try:\n    for row in g:\n        for i in range(len(row)):\n            k += 100 // (row[i] - 40)\nexcept ZeroDivisionError:\n    pass\nreturn [row]",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("count", [5, 12], ids=["few", "many"])
def test_rows_are_the_lists_that_they_are(name, count):
    text = "def f(g, k):\n" + "".join(f"    {line}\n" for line in ROWS[name].split("\n"))
    eager, compiled = function_of(text), stator.compile(function_of(text))

    def places(function, k):
        g = [[(i * 7 + j * 3) % 43 for j in range(4)] for i in range(count)]
        g[-1][2] = 40
        found = function(g, k)
        return [[i for i, row in enumerate(g) if row is r] for r in found], g

    for k in (3, 2, 4, 1):
        assert places(compiled, k) == places(eager, k)
        stator.wait()
    assert stator.stats(compiled)["regions"] >= 1


@pytest.mark.parametrize("store", ["pass", "row[j] += 1"])
def test_nothing_holds_the_rows_behind_the_loop(store):
    text = f"def f(g):\n    t = 0\n    for row in g:\n        for j in range(len(row)):\n            t += row[j]\n            {store}\n    return t\n"
    compiled = stator.compile(function_of(text))
    g = [[1000 + i + j for j in range(5)] for i in range(10)]
    before = sys.getrefcount(g), [sys.getrefcount(row) for row in g]
    for _ in range(5):
        compiled(g)
        stator.wait()
        assert (sys.getrefcount(g), [sys.getrefcount(row) for row in g]) == before
    assert stator.stats(compiled)["regions"] >= 1


# Rows and items that look like those the region was built for, and are none.
class Row(list):
    def __getitem__(self, i):
        return 7


class Number(int):
    def __add__(self, other):
        return 1000


class Real(float):
    pass


def _with(row, column, item):
    g = [[i + j for j in range(4)] for i in range(10)]
    g[row][column] = item
    return g


def _shared():
    g = _with(0, 0, 0)
    g[4] = g[7]
    return g


def _of_itself():
    g: list = _with(0, 0, 0)
    g[3] = g
    return g


KINDS = {
    "ints": lambda: _with(0, 0, 0),
    "a bool": lambda: _with(9, 3, True),
    "a float": lambda: _with(5, 1, 0.5),
    "None": lambda: _with(5, 1, None),
    "beyond 64 bits": lambda: _with(9, 3, 2**63),
    "the last of 64 bits": lambda: _with(0, 0, 2**63 - 1),
    "the first of 64 bits": lambda: _with(9, 3, -(2**63)),
    "an int of a class of its own": lambda: _with(2, 2, Number(5)),
    "floats": lambda: [[i + 0.5 + j for j in range(4)] for i in range(10)],
    "floats of a class of their own": lambda: [[Real(i + j) for j in range(4)] for i in range(10)],
    "bools": lambda: [[(i + j) % 3 == 0 for j in range(4)] for i in range(10)],
    "a list of a class of its own": lambda: [
        Row(row) if i == 3 else row for i, row in enumerate(_with(0, 0, 0))
    ],
    "all in a list of a class of its own": lambda: Row(_with(0, 0, 0)),
    "a tuple": lambda: [tuple(row) if i == 3 else row for i, row in enumerate(_with(0, 0, 0))],
    "tuples": lambda: [tuple(row) for row in _with(0, 0, 0)],
    "all in a tuple": lambda: tuple(_with(0, 0, 0)),
    "a row of other length": lambda: [row[:3] if i == 4 else row for i, row in enumerate(_with(0, 0, 0))],
    "no items": lambda: [[] for _ in range(10)],
    "no rows": list,
    "one row": lambda: [[3, 4, 5, 6]],
    "rows of one item": lambda: [[i] for i in range(10)],
    "a row twice": _shared,
    "one row all along": lambda: [[1, 2, 3, 4]] * 10,
    "itself": _of_itself,
    "strings": lambda: ["abcd", "efgh"] * 5,
    "a string among lists": lambda: _with(0, 0, 0)[:9] + ["abcd"],
    "arrays": lambda: [np.arange(4) + i for i in range(10)],
    "an array": lambda: np.arange(40).reshape(10, 4),
}
LOOPS = {
    "read": "for i in range(n):\n    for j in range(4):\n        t += g[i][j]\nreturn t",
    "over rows": "for row in g:\n    for x in row:\n        t += x\nreturn t",
    "stored to": "for i in range(n):\n    for j in range(1, 4):\n        g[i][j] += g[i][j - 1]\nreturn g",
    "given a name": "for i in range(n):\n    row = g[i]\n    row[0] = row[3]\n    row[1] = i\nreturn row is g[n - 1]",
    "unpacked": "for a, b, c, d in g:\n    t += a * b - c * d\nreturn t",
    "by a function": "def put(rows, i, x):\n    rows[i][i % 4] = x\nfor i in range(n):\n    put(g, i, i * 3)\nreturn g",
    "from a generator": "def each():\n    for row in g:\n        z = 0\n        for x in row:\n            z += x\n        yield z\nreturn list(each())",
    "of another scope": "def inner():\n    nonlocal t\n    z = 0\n    for i in range(n):\n        g[i][1] -= g[i][0]\n        z += g[i][1]\n    t = z\ninner()\nreturn t",
}  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("first", ["ints", "floats", "tuples", "strings", "a row of other length"])
def test_another_kind_of_rows(loop, first):
    text = "def f(g, n):\n    t = 0\n" + "".join(f"    {line}\n" for line in LOOPS[loop].split("\n"))
    eager, compiled = function_of(text), stator.compile(function_of(text))

    def seen(function, kind):
        g = KINDS[kind]()
        out = observe(function, [g, 10])
        plain = isinstance(g, np.ndarray)
        rows = [] if plain else [[type(x) for x in row] for row in g if isinstance(row, list | tuple)]
        return out, rows

    for kind in (first, first, *KINDS, first):
        expected, found = seen(eager, kind), seen(compiled, kind)
        assert found == expected, f"{kind}: {report(expected[0], found[0])}"
        stator.wait()


def test_a_list_of_few_lists_is_looked_into():
    """As long as it is known which row it is: sums and the like of rows stay the region's."""
    body = "for i in range(n):\n    x = sum(m[0]) + max(m[1]) * x\n    for dx, dy in m[2:] if False else m:\n        x += dx - dy\nreturn x"
    text = "def f(m, n):\n    x = 0\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    text = text.replace("m[2:] if False else m", "m")
    check_whole(text, lambda n: [[[0, 1], [1, 0], [0, -1], [-1, 0]], n])


def test_an_interrupt_shows_what_was_stored():
    text = "def f(g, n):\n    for i in range(n):\n        g[i % 3][i % 5] = i\n    return g\n"
    compiled = stator.compile(function_of(text))
    g = [[0] * 5 for _ in range(3)]
    for _ in range(3):
        compiled(g, 100)
        stator.wait()
    seen: list = []

    def handler(*_):
        seen.append([list(row) for row in g])
        raise KeyboardInterrupt

    with on_alarm(handler):
        with pytest.raises(KeyboardInterrupt):
            alarm(0.05)
            while True:
                compiled(g, 50_000_000)
    assert seen == [g]
    items = sorted(x for row in g for x in row)
    assert items == list(range(items[0], items[0] + 15)) and items[-1] > 100


def test_no_memory_for_the_items():
    """Where objects cannot be made, no list changes half."""
    testcapi = pytest.importorskip("_testcapi")
    if not hasattr(testcapi, "set_nomemory"):
        pytest.skip("this CPython has no failing allocator")
    text = "def f(g, n):\n    for i in range(n):\n        g[i % 10][i % 4] = 1000 + i\n    return g\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))

    def rows():
        return [[-1] * 4 for _ in range(10)]

    states = [eager(rows(), n) for n in range(21)]
    for _ in range(3):
        compiled(rows(), 20)
        stator.wait()
    failed = 0
    for start in range(1, 60):
        g = rows()
        testcapi.set_nomemory(start, start + 1)
        try:
            compiled(g, 20)
        except MemoryError:
            failed += 1
        finally:
            testcapi.remove_mem_hooks()
        assert g in states
    assert failed > 0 or sys.version_info >= (3, 14)  # which keeps memory for ints at hand


def test_a_thread_that_changes_the_list_meanwhile():
    """Library routines let other threads run: rows are those of the entry, and nothing is stored past a list's end."""
    text = "def f(g, a, n):\n    t = 0.0\n    for i in range(n):\n        row = g[i % 12]\n        t += np.median(a) + row[0]\n        g[i % 12][i % 4] = t\n    return row\n"
    compiled = stator.compile(function_of(text))
    a = np.arange(50.0)

    def rows():
        return [[0.5] * 4 for _ in range(12)]

    for _ in range(3):
        compiled(rows(), a, 24)
        stator.wait()
    stop = threading.Event()
    lists: list = [rows()]

    def disturb():
        while not stop.is_set():
            g = lists[-1]
            last = g.pop()
            g[3], g[4] = g[4], [0.25] * 4
            del last[2:]
            g.append([0.75] * 4)

    other = threading.Thread(target=disturb)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    other.start()
    try:
        for _ in range(40):
            lists.append(rows())
            try:
                row = compiled(lists[-1], a, 24)
            except IndexError:
                continue
            assert isinstance(row, list) and all(isinstance(x, float) for x in row)
    finally:
        stop.set()
        other.join()
        sys.setswitchinterval(interval)


def test_copies_that_do_not_pay():
    """One item of many rows: the region is given up."""
    text = "def f(g, n):\n    t = 0\n    for i in range(n):\n        t += g[i][0]\n    return t\n"
    compiled = stator.compile(function_of(text))
    g = [[i] * 1000 for i in range(300)]
    for _ in range(40):
        assert compiled(g, 10) == 45
        stator.wait()
    assert sum(r.entries for r in compiled.regions) < 20
