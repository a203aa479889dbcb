"""Functions, cells and comprehensions inside traces: results, side effects, identities and tracebacks as eager has them."""

from __future__ import annotations

import gc
import inspect
import sys
import traceback
import weakref

import numpy as np
import pytest
import stator

X = np.linspace(0.0, 1.0, 7)
Y = np.linspace(1.0, 3.0, 7)
CALLS = 5


def same(found, expected):
    if isinstance(expected, np.ndarray):
        return type(found) is np.ndarray and found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(same(found[k], expected[k]) for k in expected)
    if isinstance(expected, list | tuple):
        return (
            type(found) is type(expected)
            and len(found) == len(expected)
            and all(same(f, e) for f, e in zip(found, expected, strict=True))
        )
    return type(found) is type(expected) and found == expected


def lambda_over_arguments(x, y):
    f = lambda z: z * 2.0 + x  # noqa: E731
    return f(y) - f(1.0)


def cell_set_after_the_function(x, y):
    k = 2.0

    def f(z):
        return z * k

    first = f(x)
    k = y
    return first + f(x)


def parameters_of_all_kinds(x, y):
    def f(a, /, b=y, *rest, w=x, **others):
        return a * b + w + sum_of(rest) + others.get("v", 0.0)

    return f(x) + f(x, 2.0, 3.0, w=y) + f(x, v=1.5)


def sum_of(values):
    if len(values) == 1:
        return values[0]
    return 0.0


def nonlocal_total(x, y):
    total = x * 0.0

    def add(z):
        nonlocal total
        total = total + z

    add(x)
    add(y)
    add(1.0)
    return total


def nonlocal_deleted(x, y):
    k = x

    def f(z):
        nonlocal k
        old = k
        del k
        k = z
        return old

    return f(y) - k


def counter_of_ints(x, y):
    n = 0

    def step(z):
        nonlocal n
        n += 1
        return z * n

    return step(x) + step(y), n


def nested_twice(x, y):
    def outer(a):
        def inner(b):
            return a * b + x

        return inner(a) + inner(y)

    return outer(y)


def passed_on(x, y):
    def twice(f, z):
        return f(f(z))

    return twice(lambda z: z * y + x, x)


def chosen(x, y):
    f = (lambda z: z + y) if x.ndim == 1 else None
    if f is None:
        return x
    return f(x)


def in_containers(x, y):
    table = {"a": lambda z: z + y, "b": lambda z: z * y}
    first, second = (lambda z: z - x), table["a"]
    return first(x) + second(x) + table.get("b")(x)


def recursive(x, y):
    def power(z, n):
        return y if n == 0 else z * power(z, n - 1)

    return power(x, 4)


def annotated(x, y):
    def f(z: float, *, k: int = 2) -> float:
        return z * k + y

    return f(x)


def decorated(x, y):
    def plus_one(f):
        def wrapper(*args, **kwargs):
            return f(*args, **kwargs) + 1.0

        return wrapper

    @plus_one
    def f(z, k=y):
        return z * k

    return f(x) + f(x, k=2.0)


def list_of_constants(x, y):
    a, b, c = [x * k + y for k in (1.0, 2.0, 3.0)]
    return a * b + c


def list_returned(x, y):
    return [x * k for k in range(4)]


def list_filtered(x, y):
    return [x * k + y for k in range(5) if k % 2 == 0]


def list_nested(x, y):
    return [[x * i + y * j for i in (1, 2)] for j in (3, 4)]


def list_of_two_loops(x, y):
    return [x * i + y * j for i in (1, 2) for j in range(i)]


def list_over_items(x, y):
    return [a + b for a, b in ((x, y), (y, x))]


def list_over_shape(x, y):
    return [x * n for n in x.shape]


def list_over_built_list(x, y):
    parts = [x, y, x + y]
    return [p * 2.0 for p in parts]


def list_empty(x, y):
    return [x for _ in ()], x + y


def list_calls_function(x, y):
    def f(z, n):
        return z * n + y

    return [f(x, n) for n in (1, 2)]


def list_variable_is_shared(x, y):
    fs = [lambda: x * k for k in (1.0, 2.0)]  # noqa: B023 (both see the last k)
    return fs[0]() + fs[1]() + y


def list_outer_variable_kept(x, y):
    k = y
    values = [k * 2.0 for k in (x, x + 1.0)]
    return values, k


def dict_comprehension(x, y):
    return {name: x * len(name) + y for name in ("a", "bb")}


def dict_overwritten(x, y):
    return {name: x * k for k, name in ((1, "a"), (2, "b"), (3, "a"))}


STAY = [
    lambda_over_arguments,
    cell_set_after_the_function,
    parameters_of_all_kinds,
    nonlocal_total,
    nonlocal_deleted,
    counter_of_ints,
    nested_twice,
    passed_on,
    chosen,
    in_containers,
    recursive,
    annotated,
    decorated,
    list_of_constants,
    list_returned,
    list_filtered,
    list_nested,
    list_of_two_loops,
    list_over_items,
    list_over_shape,
    list_over_built_list,
    list_empty,
    list_calls_function,
    list_variable_is_shared,
    list_outer_variable_kept,
    dict_comprehension,
    dict_overwritten,
]


@pytest.mark.parametrize("function", STAY, ids=lambda f: f.__name__)
def test_stays_in_the_trace(function):
    compiled = stator.compile(function)
    for i in range(CALLS):
        x, y = X + i, Y - i
        assert same(compiled(x, y), function(x, y))
    stats = stator.stats(compiled)
    assert stats["opaque_steps"] == 0 and stats["exits"] == 0 and stats["redone"] == 0, stats
    assert stats["replays"] == CALLS - 1, stats


@pytest.mark.parametrize("make", [tuple, list], ids=["tuple", "list"])
def test_comprehension_over_an_argument(make):
    compiled = stator.compile(lambda arrays: [a * 2.0 + 1.0 for a in arrays])
    for arrays in [[X, Y], [X, Y, X], [Y], [X, Y], [X, Y, X], []]:
        for _ in range(2):
            assert same(compiled(make(arrays)), [a * 2.0 + 1.0 for a in arrays])
    assert stator.stats(compiled)["opaque_steps"] == 0


def test_long_comprehensions_are_left_to_python():
    def function(x):
        return [x * k for k in range(30)]

    compiled = stator.compile(function)
    for i in range(CALLS):
        assert same(compiled(X + i), function(X + i))
    assert "range with more than 8 items" in str(stator.explain(compiled)(X))


def test_set_comprehensions_and_generators_are_left_to_python():
    def function(x):
        names = {n + "!" for n in ("a", "b")}
        return sum(x * k for k in (1.0, 2.0)), names

    compiled = stator.compile(function)
    for i in range(CALLS):
        assert same(compiled(X + i), function(X + i))


# What leaves the trace --------------------------------------------------------------------------------------


def closures_returned(x):
    k = x * 2.0
    bias = 1.0

    def f(y, z=k, *, w: float = 3.0) -> np.ndarray:
        """The documentation."""
        nonlocal bias
        bias += 1.0
        return y * k + z + w + bias

    return f, (lambda: (k, bias)), k


def test_returned_functions_are_as_eager_makes_them():
    compiled = stator.compile(closures_returned)
    seen = []
    for i in range(CALLS):
        (f, get, k), (g, get_eager, _) = compiled(X + i), closures_returned(X + i)
        assert f.__code__ is g.__code__ and f.__globals__ is g.__globals__
        assert (f.__name__, f.__qualname__, f.__module__, f.__doc__) == (
            g.__name__,
            g.__qualname__,
            g.__module__,
            g.__doc__,
        )
        assert f.__annotations__ == g.__annotations__ and f.__kwdefaults__ == g.__kwdefaults__
        assert f.__builtins__ is g.__builtins__ and f.__dict__ == {}
        assert inspect.signature(get) == inspect.signature(get_eager)
        assert f.__defaults__[0] is k and get()[0] is k
        cells = dict(zip(f.__code__.co_freevars, f.__closure__, strict=True))
        assert any(c is cells["bias"] for c in get.__closure__) and any(c is cells["k"] for c in get.__closure__)
        for _ in range(3):
            assert same(f(Y), g(Y)) and same(get(), get_eager())
        seen.append(f)
    assert len({id(f) for f in seen}) == CALLS
    stats = stator.stats(compiled)
    assert stats["replays"] == CALLS - 1 and stats["opaque_steps"] == 0, stats


def test_function_that_refers_to_itself():
    def function(x):
        k = x + 1.0

        def f(y, n):
            return y + k if n == 0 else f(y * x, n - 1)

        return f

    compiled = stator.compile(function)
    for i in range(CALLS):
        found = compiled(X + i)
        cells = dict(zip(found.__code__.co_freevars, found.__closure__, strict=True))
        assert cells["f"].cell_contents is found
        assert same(found(Y, 3), function(X + i)(Y, 3))


def test_empty_cell_is_empty_outside():
    def function(x):
        y = x * 2.0

        def f():
            return late

        if x is None:
            late = 1
        return f, y

    compiled = stator.compile(function)
    for _ in range(CALLS):
        f, y = compiled(X)
        assert same(y, X * 2.0)
        with pytest.raises(NameError, match="late"):
            f()


def test_returned_closure_keeps_nothing_else_alive():
    def function(x):
        k = x * 2.0

        def f(y):
            if y[0] > 5.0:
                return y * k
            return y + k

        return f(x), (lambda: k)

    compiled = stator.compile(function)
    for x in [X, X, X + 9.0, X + 9.0, X + 9.0, X, X + 9.0]:
        found, get = compiled(x)
        assert same(found, function(x)[0])
        gone = weakref.ref(get())
        del found, get
        gc.collect()
        assert gone() is None


def test_print_in_the_middle(capsys):
    def function(x):
        k = x + 1.0

        def f(y):
            return y * k

        print(f(2.0).tolist(), k[0])
        k = k * 2.0
        print(f(2.0).tolist(), [c.cell_contents is k for c in f.__closure__])
        return f(x), f

    compiled = stator.compile(function)
    for i in range(CALLS):
        found, f = compiled(X + i)
        left = capsys.readouterr().out
        expected, g = function(X + i)
        assert left == capsys.readouterr().out
        assert same(found, expected) and same(f(Y), g(Y))


def test_print_inside_the_inner_function(capsys):
    def function(x):
        total = 0.0

        def add(y):
            nonlocal total
            total = total + y
            print(total.sum())
            total = total + 1.0
            return total

        return add(x) + add(x * 2.0), total

    compiled = stator.compile(function)
    for i in range(CALLS):
        found = compiled(X + i)
        left = capsys.readouterr().out
        assert same(found, function(X + i))
        assert left == capsys.readouterr().out


def test_exit_with_live_cells_and_functions():
    def function(x):
        k = x * 2.0
        calls = []

        def f(y, scale=k):
            nonlocal k
            k = k + 1.0
            if y.sum() > 20.0:
                k = k * 3.0
                calls.append(k.sum())
                return y - scale
            return y + scale

        result = f(x) + f(x + 1.0)
        return result, k, calls, f

    compiled = stator.compile(function)
    for x in [X, X, X + 1.0, X + 1.0, X + 5.0, X + 5.0, X + 5.0, X, X + 1.0, X + 5.0]:
        *found, f = compiled(x)
        *expected, g = function(x)
        assert same(found, expected)
        assert same(f(X), g(X)) and same(compiled(x)[1], expected[1])


def test_exit_inside_a_comprehension():
    def function(x, limits):
        return [x * k if x.sum() > k else x - k for k in limits]

    compiled = stator.compile(function)
    for x in [X, X, X + 1.0, X + 2.0, X - 1.0, X, X + 1.0, X - 1.0, X + 2.0, X + 2.0]:
        limits = [1.0, 5.0, 12.0]
        assert same(compiled(x, limits), function(x, limits))
        assert same(compiled(x, (0.5, *limits)), function(x, (0.5, *limits)))


def test_exit_inside_a_comprehension_over_a_list_that_changes():
    def function(x):
        values = [1.0, 2.0, 3.0]

        def grown(k):
            if x.sum() > 5.0 and len(values) < 5:
                values.append(k * 2.0)
            return x * k

        return [grown(k) for k in values], values

    compiled = stator.compile(function)
    for x in [X, X, X + 1.0, X, X + 1.0, X + 1.0, X]:
        assert same(compiled(x), function(x))


def test_warning_goes_back_into_the_inner_function():
    def function(x):
        k = x - 1.0

        def f(y):
            nonlocal k
            k = k + 1.0
            return y / k

        return f(x), k

    compiled = stator.compile(function)
    with np.errstate(all="raise"):
        for x in [Y, Y, X, Y, X, X]:
            try:
                expected = function(x)
            except FloatingPointError as error:
                with pytest.raises(FloatingPointError, match=str(error)):
                    compiled(x)
            else:
                assert same(compiled(x), expected)


def lines_of(error):
    """The frames below the test's own."""
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)[1:]]


@pytest.mark.parametrize("kind", ["function", "lambda", "comprehension", "unbound"])
def test_exceptions_and_their_lines(kind):
    def failing_function(x, y):
        k = x * 2.0

        def f(z):
            w = z + k
            return w + y

        first = f(1.0)
        return first * x

    def failing_lambda(x, y):
        f = lambda z: z * x + y  # noqa: E731
        return f(2.0)

    def failing_comprehension(x, y):
        k = x + 1.0
        return [
            k * part
            for part in (
                1.0,
                y,
            )
        ]

    def unbound(x, y):
        def f(z):
            return z * late

        if y.shape == x.shape:
            late = y
        result = f(x)
        late = 2.0
        return result

    function = {
        "function": failing_function,
        "lambda": failing_lambda,
        "comprehension": failing_comprehension,
        "unbound": unbound,
    }[kind]
    compiled = stator.compile(function)
    bad = np.ones(3)
    for y in [Y, Y, bad, Y, bad, bad, bad, Y]:
        try:
            expected = function(X, y)
        except (ValueError, NameError) as error:
            with pytest.raises(type(error)) as found:
                compiled(X, y)
            assert str(found.value) == str(error)
            assert lines_of(found.value) == lines_of(error)
        else:
            assert same(compiled(X, y), expected)


# Cells that were there before the trace ---------------------------------------------------------------------


def make_counter():
    n = 0
    last = None

    def count(x):
        nonlocal n, last
        n += 1
        last = x * n
        return last + 1.0

    def peek():
        return n, last

    return count, peek


def test_writes_into_the_closure_of_the_compiled_function():
    (count, peek), (count_eager, peek_eager) = make_counter(), make_counter()
    compiled = stator.compile(count)
    for i in range(CALLS):
        assert same(compiled(X + i), count_eager(X + i))
        assert same(peek(), peek_eager())
    assert stator.stats(compiled)["opaque_steps"] == 0


def test_writes_into_cells_of_functions_called():
    (count, peek), (count_eager, peek_eager) = make_counter(), make_counter()

    def function(f, x):
        return f(x) + f(x * 2.0)

    compiled = stator.compile(function)
    for i in range(CALLS):
        assert same(compiled(count, X + i), function(count_eager, X + i))
        assert same(peek(), peek_eager())
    other, peek_other = make_counter()  # another closure of the same code
    other_eager, _ = make_counter()
    for i in range(CALLS):
        assert same(compiled(other, X + i), function(other_eager, X + i))
    assert peek_other()[0] == 2 * CALLS and same(peek(), peek_eager())
    assert stator.stats(compiled)["opaque_steps"] == 0


def make_pair(shared):
    def one():
        value = X

        def write(x):
            nonlocal value
            value = x

        def read():
            return value

        return write, read

    write, read = one()
    return (write, read) if shared else (write, one()[1])


def test_cells_are_the_same_or_not():
    def function(write, read, x):
        before = read() + 1.0
        write(x * 2.0)
        return before + read()

    compiled = stator.compile(function)
    pairs = {True: make_pair(True), False: make_pair(False)}
    eager = {True: make_pair(True), False: make_pair(False)}
    for i, shared in enumerate([True, True, False, False, True, False, True]):
        assert same(compiled(*pairs[shared], X + i), function(*eager[shared], X + i))
        assert same(pairs[shared][1](), eager[shared][1]())
    assert stator.stats(compiled)["opaque_steps"] == 0


def test_write_survives_an_exit_and_an_exception():
    def make():
        state = X

        def function(x, y):
            nonlocal state
            state = state + x
            if x.sum() > 5.0:
                state = state * 2.0
            result = state + y
            state = result
            return result

        return function, lambda: state

    (function, get), (eager, get_eager) = make(), make()
    compiled = stator.compile(function)
    bad = np.ones(3)
    for x, y in [(X, Y), (X, Y), (Y, Y), (Y, Y), (Y, bad), (X, bad), (X, Y), (Y, Y), (X, bad), (Y, bad)]:
        try:
            expected = eager(x, y)
        except ValueError as error:
            with pytest.raises(ValueError, match="could not be broadcast") as found:
                compiled(x, y)
            assert lines_of(found.value) == lines_of(error)
        else:
            assert same(compiled(x, y), expected)
        assert same(get(), get_eager())


def test_loop_that_writes_a_cell_of_its_frame():
    def function(x, n):
        k = x

        def f(y):
            return y * 0.5 + k

        seen = []
        for i in range(n):
            k = f(x) + i
            if i % 3 == 0:
                seen.append(k[1])
        return k, seen, f(x)

    compiled = stator.compile(function)
    for n in [12, 12, 0, 1, 30]:
        assert same(compiled(X, n), function(X, n))


def test_inner_function_with_a_loop():
    def function(x, n):
        total = x * 0.0

        def run(y):
            nonlocal total
            for i in range(n):
                total = total + y * i
            return total

        return run(x) + run(x + 1.0), total

    compiled = stator.compile(function)
    for n in [5, 5, 0, 17]:
        assert same(compiled(X, n), function(X, n))


def test_inner_function_looks_at_the_locals_of_its_caller():
    def function(x):
        unused = x * 3.0  # noqa: F841

        def f():
            return sorted(sys._getframe(1).f_locals)

        y = x + 1.0
        return f(), y

    compiled = stator.compile(function)
    for _ in range(CALLS):
        assert same(compiled(X), function(X))


def test_library_function_that_calls_back():
    def function(x):
        calls = 0

        def f(row):
            nonlocal calls
            calls += 1
            return row * 2.0 + calls

        return np.apply_along_axis(f, 0, np.stack((x, x))), calls

    compiled = stator.compile(function)
    for i in range(CALLS):
        assert same(compiled(X + i), function(X + i))
