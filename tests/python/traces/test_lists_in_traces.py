"""Lists that a function makes and changes stay inside its trace (frontend/record/lists.cpp)."""

import numpy as np
import pytest
import stator

X = np.linspace(-1.0, 2.0, 7)


def flat(value):
    """Comparable: arrays as bytes, the rest with its types."""
    if isinstance(value, np.ndarray):
        return (value.dtype, value.shape, value.tobytes())
    if isinstance(value, list | tuple):
        return (type(value), [flat(v) for v in value])
    return (type(value), value)


def same(function, *args, whole=True):
    compiled = stator.compile(function)
    for _ in range(4):
        assert flat(compiled(*args)) == flat(function(*args))
    if whole:
        text = str(stator.explain(compiled)(*args))
        assert "stays in Python\n    nothing" in text, text
    return compiled


def test_appended():
    def f(x):
        parts = []
        parts.append(x * 2.0)
        parts.append(x - 1.0)
        return np.stack(parts).sum(axis=0), parts

    same(f, X)


def test_every_method():
    def f(x):
        a = [x, 1, 2.5]
        a.append(x + 1.0)
        a.extend((3, x * 3.0))
        a.extend([4])
        a.insert(0, x - 1.0)
        a.insert(-1, 5)
        a.insert(99, 6)
        last, first = a.pop(), a.pop(0)
        middle = a.pop(-2)
        b = a.copy()
        b.reverse()
        c = b.copy()
        c.clear()
        return a, b, c, last, first, middle, len(a)

    same(f, X)


def test_shapes():
    def f(x):
        shape = list(x.shape)
        shape[0] += 2
        shape[-1] = shape[-1] * 1
        out = np.zeros(shape)
        out[1:-1] = x
        return out * 2.0, shape

    compiled = same(f, X)
    for n in (3, 11):
        x = np.random.default_rng(n).random(n)
        assert flat(compiled(x)) == flat(f(x))


def test_two_names_for_one_list():
    def f(x):
        a = [x * 1.0]
        b = a
        b.append(x * 2.0)
        a[0] = x * 3.0
        return a, b, a is b

    same(f, X, whole=False)
    a, b, _ = stator.compile(f)(X)
    assert a is b


def test_nested():
    def f(x):
        inner = [x + 1.0]
        outer = [inner, (inner, 2)]
        inner.append(x + 2.0)
        outer[0][0] = x + 3.0
        return outer, inner

    compiled = same(f, X)
    outer, inner = compiled(X)
    assert outer[0] is inner and outer[1][0] is inner


def test_a_list_in_itself():
    def f(x):
        a = [x * 2.0]
        a.append(a)
        return a[0], len(a), a

    compiled = stator.compile(f)
    for _ in range(4):
        first, n, a = compiled(X)
        assert n == 2 and a[1] is a and first.tobytes() == (X * 2.0).tobytes()


def test_what_guards_leave_behind():
    def f(x, limit):
        seen = []
        y = x * 2.0
        seen.append(y)
        if y.sum() > limit:
            seen.append("large")
            return seen
        seen[0] = y + 1.0
        seen.append("small")
        return seen

    compiled = stator.compile(f)
    for limit in (0.0, 0.0, 1e9, 0.0, 1e9, 1e9, -5.0):
        for _ in range(3):
            assert flat(compiled(X, limit)) == flat(f(X, limit))


def test_effects_between():
    said = []

    def f(x):
        a = [x + 1.0]
        said.append(len(a))
        a.append(x * 2.0)
        said.append(len(a))
        a.pop(0)
        return a

    compiled = stator.compile(f)
    for _ in range(4):
        said.clear()
        assert flat(compiled(X)) == flat([X * 2.0]) and said == [1, 2]


class Log:
    def __init__(self):
        self.entries = None


def test_kept_in_an_attribute():
    def f(log, x, out):
        entries = [x * 1.5]
        log.entries = entries
        out[:] = x + 1.0
        entries.append(x * 2.5)
        entries[0] = entries[0] + 1.0
        return entries

    compiled = stator.compile(f)
    for _ in range(5):
        mine, plain, out = Log(), Log(), np.empty(7)
        entries = compiled(mine, X, out)
        f(plain, X, out)
        assert entries is mine.entries and flat(entries) == flat(plain.entries)


@pytest.mark.parametrize("i", [5, -5])
def test_errors(i):
    def f(x, i):
        a = [x * 2.0, x]
        a[i] = x + 1.0
        return a

    def g(x, i):
        a = [x * 2.0, x]
        return a.pop(i), a

    for function in (f, g):
        compiled = stator.compile(function)
        for index in (0, 0, 1, i, 0, i):
            try:
                wanted = flat(function(X, index))
            except IndexError as error:
                with pytest.raises(IndexError, match=str(error)):
                    compiled(X, index)
            else:
                assert flat(compiled(X, index)) == wanted


def test_a_division_that_warns_behind_a_change():
    def f(x):
        a = [x]
        a.append(x / x)
        a[0] = a[1] * 2.0
        return a

    x = np.array([1.0, 0.0, 2.0])
    compiled = stator.compile(f)
    for data in (X + 5.0, X + 5.0, x, X + 5.0, x):
        with np.errstate(invalid="ignore"):
            wanted = f(data)
        if (data == 0).any():
            with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
                found = compiled(data)
        else:
            found = compiled(data)
        assert flat(found) == flat(wanted)


def test_lists_that_come_from_outside():
    def f(x, kept):
        kept.append(x * 2.0)
        kept[0] = x + 1.0
        return kept[-1] + kept[0]

    compiled = stator.compile(f)
    mine, plain = [None], [None]
    for _ in range(4):
        assert flat(compiled(X, mine)) == flat(f(X, plain)) and flat(mine) == flat(plain)


def test_lists_that_were_there_are_changed_in_place():
    def f(log, more, x):
        log += more
        return log, x * 2.0

    def g(x, n):
        log = []
        items = sorted((3, 1, n))
        print(items)
        log += items
        return log, items, x * 2.0

    for function, arguments in ((f, lambda: ([], [1, 2], np.arange(3.0))), (g, lambda: (np.arange(3.0), 2))):
        compiled = stator.compile(function)
        for _ in range(4):
            assert flat(compiled(*arguments())) == flat(function(*arguments()))


def test_adding_to_a_tuple_of_a_class_depends_on_its_length():
    class Parts(tuple):
        pass

    def f(x, parts):
        return (1, 2) + parts, x * 2.0

    compiled = stator.compile(f)
    for parts in (Parts(()), Parts(()), Parts((3,)), Parts(())):
        assert flat(compiled(np.arange(3.0), parts)) == flat(f(np.arange(3.0), parts))
