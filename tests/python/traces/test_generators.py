"""Generator expressions that are used up where they are made (frontend/cpython/generator_list.h)."""

import itertools
import sys
import traceback
import warnings

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
        a, b, c = (x[n:] * k for n in (0, 1, 2))
        return a[:-2] + b[:-1] + c

    captures_all(same(f, X, 2.0), X, 2.0)


def test_unpacked_with_closure_and_condition():
    def f(x, k):
        a, b = (x * n + k for n in (2, k) if n > 1)
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


def test_no_more_is_taken_than_unpacking_asks_for():
    seen = []

    def note(n):
        seen.append(n)
        return n

    def too_many(x):
        y = x * 2.0
        a, b = (note(n) for n in range(1000))
        return y + a + b

    def endless(x):
        y = x * 2.0
        a, b = (note(n) for n in itertools.count())
        return y + a + b

    def one_more(x):
        y = x * 2.0
        a, b = (note(n) for n in (0, 1, 2, 3))
        return y + a + b

    def loops(x):
        y = x * 2.0
        a, b = (note(n) for _ in (1, 2) for n in (0, 1, 2))
        return y + a + b

    def either(x):
        y = x * 2.0
        a, b = (note(n) for n in (range(9) if len(x) > 4 else (0, 1)))
        return y + a + b

    def as_many(x):
        y = x * 2.0
        a, b = (note(n) for n in (0, 1, x.ndim + 1) if n < 5)
        return y + a + b

    for function in (too_many, endless, one_more, loops, either, as_many):
        compiled = stator.compile(function)
        wanted = outcome(function, X)
        for _ in range(6):
            seen.clear()
            assert outcome(compiled, X) == wanted and wanted is not None
            assert seen == [0, 1, 2]


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


def test_lines_are_those_of_the_consumer():
    def line(y, k):
        return (sys._getframe(2).f_lineno, y * k)[0]

    def told(y, k):
        warnings.warn("of the caller's caller", stacklevel=3)
        return y[0] + k

    def item(x, i):
        y = x * 2.0
        return y + sum(
            sorted(
                (y[n] + y[0]
                 for n in (0, i)
                 ))[:1])  # fmt: skip

    def in_loop(x, i):
        y, s = x * 2.0, 0.0
        for k in range(60):
            a, b = tuple(
                (y[n] * k
                 for n in (0, i if k == 50 else 1)))  # fmt: skip
            s += a - b
        return s

    def unpacked(x, i):
        y = x * 2.0
        a, b = (
            (y[n] for n
             in (0, i)))  # fmt: skip
        return y + a + b

    def looking(x, i):
        y = x * 2.0
        return y + list(
            (line(y, k)
             for k in range(i)))  # fmt: skip

    def warning(x, i):
        y = x * 2.0
        return y + list(
            (told(y, k)
             for k in range(i)))[-1]  # fmt: skip

    for function, arguments in (
        (item, (3, 3, 3, 99, 3, 99, 3)),
        (in_loop, (3, 3, 3, 99, 3, 99, 3)),
        (unpacked, (3, 3, 3, 99, 3, 99, 3)),
        (looking, (9, 9, 9, 9)),
        (warning, (2, 2, 2, 2)),
    ):
        compiled = stator.compile(function)
        for i in arguments:
            seen = []
            for f in (function, compiled):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    if i == 99:
                        result = positions(f, X, i)
                        assert result is not None
                    else:
                        result = np.asarray(f(X, i)).tobytes()
                seen.append((result, [(str(w.message), w.filename, w.lineno) for w in caught]))
            assert seen[0] == seen[1]


def positions(call, *args):
    """What it raises, with the places in the lines."""
    try:
        call(*args)
    except Exception as error:
        entries, at = [], error.__traceback__.tb_next
        while at:
            code = at.tb_frame.f_code
            entries.append((code.co_name, at.tb_lineno, list(code.co_positions())[at.tb_lasti // 2]))
            at = at.tb_next
        return type(error), str(error), entries
    return None


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


def test_sums_add_each_item_before_the_next():
    buffer = np.empty_like(X)
    rng = np.random.default_rng(2)

    def one_buffer(x):
        return sum(np.multiply(x, k, out=buffer) for k in (1, 2, 3))

    def filled(x):
        y = x.copy()
        return sum((y.fill(k) or y) for k in (1, 2, 3))

    def drawn(x):
        return sum(rng.normal(size=s) for s in (2, 3, 4))

    def divided(x):
        return sum((x * 0 + 1.7e308) / (0 if k == 2 else k) for k in (1, 1, 2))

    for function in (one_buffer, filled):
        same(function, X)
    compiled = stator.compile(drawn)
    for _ in range(3):
        with pytest.raises(ValueError, match="broadcast"):
            compiled(X)
    found = rng.bit_generator.state
    rng = np.random.default_rng(2)
    for _ in range(3):
        with pytest.raises(ValueError, match="broadcast"):
            drawn(X)
    assert rng.bit_generator.state == found
    compiled = stator.compile(divided)
    for _ in range(3):
        told = []
        for f in (divided, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                f(X)
            told.append([str(w.message) for w in caught])
        assert told[0] == told[1]


def test_comprehensions_over_zip_of_lists():
    def mixture(x, weights, means):
        return sum([w * np.exp(-((x - m) ** 2)) for w, m in zip(weights, means)])

    def series(x, coefficients):
        return sum([c * x**k for k, c in enumerate(coefficients)]) + 1.0

    args = X, (0.2, 0.5, 0.3), [0.0, 1.0, 2.0]
    captures_all(same(mixture, *args), *args)
    compiled = same(series, X, [1.0, 2.0, 3.0])
    for n in (2, 3, 0, 8, 9, 40):
        coefficients = [1.0 / (k + 1) for k in range(n)]
        for _ in range(2):
            assert np.all(compiled(X, coefficients) == series(X, coefficients))


def test_sums_of_lists_warn_once():
    def f(x):
        return sum([x, x, x])

    a = np.full(3, 1.7e308)
    compiled = stator.compile(f)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert compiled(a).tobytes() == np.full(3, np.inf).tobytes()
        assert [str(w.message) for w in caught] == ["overflow encountered in add"]
