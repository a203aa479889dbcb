"""Generator expressions that are used up where they are made (frontend/cpython/generator_list.h)."""

import sys
import traceback

import numpy as np
import pytest
import stator

X = np.linspace(0.5, 2.0, 9)


def same(function, *args, calls=4):
    """Calls it eagerly and compiled; returns the compiled function."""
    compiled = stator.compile(function)
    for _ in range(calls):
        wanted, found = function(*args), compiled(*args)
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
    return compiled


def captures_all(compiled, *args):
    if sys.version_info >= (3, 14):  # what is unpacked there stays a generator
        return
    text = str(stator.explain(compiled)(*args))
    assert "stays in Python\n    nothing" in text, text


def test_unpacked():
    def f(x, k):
        a, b, c = (x[n:] * k for n in range(3))
        return a[:-2] + b[:-1] + c

    captures_all(same(f, X, 2.0), X, 2.0)


def test_unpacked_with_closure_and_condition():
    def f(x, k):
        a, b = (x * n + k for n in range(4) if n % 2)
        return a * b - k

    captures_all(same(f, X, 3.0), X, 3.0)


@pytest.mark.parametrize("kind", [tuple, list])
def test_collected(kind):
    if kind is tuple:

        def f(x, k):
            t = tuple(x + n * k for n in range(4) if n != 2)
            return t[0] * t[1] - t[2]
    else:

        def f(x, k):
            t = list(x + n * k for n in range(4) if n != 2)
            t.append(x)
            return t[0] * t[1] - t[2] + t[3]

    compiled = same(f, X, 2.0)
    if kind is tuple:
        captures_all(compiled, X, 2.0)


def test_slices_of_all_axes():
    def f(x):
        inner = tuple(slice(1, -1) for _ in range(x.ndim))
        return x[inner] * 2.0

    compiled = same(f, np.ones((4, 5)))
    for shape in ((6,), (4, 5, 6), (9, 9)):
        x = np.random.default_rng(0).random(shape)
        assert compiled(x).tobytes() == f(x).tobytes()


def test_nested_loops():
    def f(x):
        a, b, c, d = (x * i + j for i in (1.0, 2.0) for j in (3.0, 4.0))
        return a * b - c * d

    same(f, X)


def test_iterables_of_a_comprehension_and_of_a_generator():
    def f(x):
        a, b = (y * 2.0 for y in [x + n for n in range(2)])
        c, d = (y * 2.0 for y in tuple(x - n for n in range(2)))
        return a * b + c * d

    same(f, X)


def test_sorted_and_join():
    def f(x):
        names = "".join(str(n) for n in range(3))
        order = sorted(-n for n in range(4))
        return x * order[0] + len(names)

    same(f, X)


def test_any_all_sum_max_stay_lazy():
    seen = []

    def note(n):
        seen.append(n)
        return n

    def f(x):
        a = any(note(n) > 1 for n in range(5))
        b = all(note(n) < 3 for n in range(5))
        c = sum(note(n) for n in range(3))
        return x * (a + b + c + max(note(n) for n in range(2)))

    f(X)
    wanted = seen.copy()
    compiled = stator.compile(f)
    for _ in range(4):
        seen.clear()
        assert compiled(X).tobytes() == (X * 5).tobytes()
        assert seen == wanted


def test_another_tuple():
    kept = []

    def f(x):
        g = tuple(x * n for n in range(3))
        return next(g) + x

    def generator(g):
        assert type(g).__name__ == "generator"
        kept.append(g)
        return g

    f.__globals__["tuple"] = generator
    try:
        for _ in range(4):
            assert stator.compile(f)(X).tobytes() == (X * 0 + X).tobytes()
        compiled = stator.compile(f)
        for _ in range(4):
            assert compiled(X).tobytes() == (X * 0 + X).tobytes()
    finally:
        del f.__globals__["tuple"]
    with pytest.raises(TypeError, match="'tuple' object is not an iterator"):
        compiled(X)


def outcome(call, *args):
    """What it raises, with the lines and names of the traceback behind this function."""
    try:
        call(*args)
    except Exception as error:
        return [
            (type(e), str(e), [(t.name, t.lineno) for t in traceback.extract_tb(e.__traceback__)][k:])
            for k, e in ((1, error), (0, error.__cause__))
            if e is not None
        ]
    return None


def too_many(x):
    a, b = (x * n for n in range(3))
    return a + b


def too_few(x):
    a, b = (x * n for n in range(1))
    return a + b


def raising(x):
    a, b = (x[n] for n in (2, 99))
    return a + b + x


def stopping(x):
    return tuple(next(iter(())) for n in range(3)) + (x + 1,)


def no_iterable(x):
    a, b = (n for n in 5)
    return a + b + x


@pytest.mark.parametrize("function", [too_many, too_few, raising, stopping, no_iterable])
def test_exceptions(function):
    wanted = outcome(function, X)
    compiled = stator.compile(function)
    for _ in range(4):
        assert outcome(compiled, X) == wanted
    assert wanted is not None


def test_raising_later():
    def f(x, i):
        a, b = (x[n] * 2.0 for n in (0, i))
        return a + b + x

    compiled = same(f, X, 3)
    wanted, found = outcome(f, X, 99), outcome(compiled, X, 99)
    assert found == wanted and wanted[0][0] is IndexError
    assert compiled(X, 4).tobytes() == f(X, 4).tobytes()


def test_effects_keep_their_order():
    seen = []

    def f(x):
        seen.append("before")
        a, b = ((seen.append(n), x * n)[1] for n in (1, 2))
        seen.append("behind")
        return a + b

    compiled = stator.compile(f)
    for _ in range(4):
        seen.clear()
        assert compiled(X).tobytes() == (X + X * 2).tobytes()
        assert seen == ["before", 1, 2, "behind"]


def test_a_generator_that_is_kept_is_one():
    def f(x):
        g = (x * n for n in range(3))
        next(g)
        return g, x + 1

    compiled = stator.compile(f)
    for _ in range(4):
        g, _ = compiled(X)
        assert type(g).__name__ == "generator" and [a.sum() for a in g] == [X.sum(), (X * 2).sum()]


def test_in_a_loop():
    def f(x):
        s = 0.0
        for k in range(50):
            a, b = (x[n] * k for n in range(2))
            s += a - b
        return s + x

    same(f, X)


def test_longer_than_what_is_unrolled():
    def f(x):
        t = tuple(x * n for n in range(40))
        return t[3] + t[39]

    same(f, X)


def test_sum_of_few_numbers():
    def neighbours(x):
        return sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in range(-1, 2) if i or j)

    def mixture(x, weights, means):
        return sum(w * np.exp(-((x - m) ** 2)) for w, m in zip(weights, means))

    def series(x, coefficients):
        return sum(c * x**k for k, c in enumerate(coefficients)) + 1.0

    def scalars(x):
        return sum(x[k] for k in range(3)) + x

    grid = np.arange(30).reshape(5, 6)
    compiled = same(series, X, [1.0, 2.0, 3.0])
    for n in (2, 3, 0, 8, 9, 40):
        coefficients = [1.0 / (k + 1) for k in range(n)]
        for _ in range(2):
            assert np.all(compiled(X, coefficients) == series(X, coefficients))
    for function, args in [
        (neighbours, (grid,)),
        (mixture, (X, (0.2, 0.5, 0.3), [0.0, 1.0, 2.0])),
        (series, (X, [1.0, -0.5, 0.25])),
        (scalars, (X,)),
    ]:
        captures_all(same(function, *args), *args)


def test_sum_keeps_the_order_of_what_runs_code():
    seen = []

    class Noted:
        def __init__(self, n):
            seen.append(n)
            self.n = n

        def __radd__(self, other):
            seen.append(("add", other, self.n))
            return other + self.n

    def made(x):
        return x + sum(Noted(n) for n in (1, 2))

    def given(x, items):
        return x + sum(item + 0 * len(seen.copy()) for item in items)

    def objects(x, items):
        return x + sum(item for item in items)

    noted = [Noted(5), Noted(6)]
    array = np.empty(2, object)
    array[:] = noted
    for function, args in [(made, (X,)), (objects, (X, noted)), (objects, (X, array)), (given, (X, [1, 2]))]:
        seen.clear()
        wanted, order = function(*args), seen.copy()
        compiled = stator.compile(function)
        for _ in range(4):
            seen.clear()
            assert compiled(*args).tobytes() == wanted.tobytes()
            assert seen == order


def test_sum_of_many_holds_one_at_a_time():
    alive = []

    def note(a):
        alive.append(sys.getrefcount(a))
        return a

    def f(x, n):
        return sum(np.abs(note(x * k)) for k in range(n))

    def g(x):
        return sum(x * k for k in range(100))

    same(f, X, 3)
    same(g, X)


def test_sum_by_another_name():
    def f(x, sum):
        return sum(x[k] for k in range(3))

    compiled = stator.compile(f)
    for _ in range(3):
        for other in (sum, list, max, lambda g: type(g).__name__):
            assert compiled(X, other) == f(X, other)
    shadowed = {"range": lambda n: iter([0, 1]), "np": np}
    exec("def h(x):\n    return sum(x[k] for k in range(3)) + x\n", shadowed)
    same(shadowed["h"], X)


def test_sum_that_raises():
    def shapes(x):
        return sum(x[k:] for k in (0, 1, 2))

    def index(x):
        return sum(x[k] for k in (0, 99))

    for function in (shapes, index):
        wanted = outcome(function, X)
        compiled = stator.compile(function)
        for _ in range(3):
            assert outcome(compiled, X) == wanted
        assert wanted is not None
