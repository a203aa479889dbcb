"""Functions and cells inside traces: results, side effects and identities as eager has them."""

from __future__ import annotations

import gc
import inspect
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
import stator
from fuzz.compare import same
from replayed import CALLS, X, Y, assert_stays_in_one_trace


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
]


@pytest.mark.parametrize("function", STAY, ids=lambda f: f.__name__)
def test_stays_in_the_trace(function):
    assert_stays_in_one_trace(function)


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
        assert any(c is cells["bias"] for c in get.__closure__) and any(
            c is cells["k"] for c in get.__closure__
        )
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


def test_a_number_in_a_cell_is_the_one_returned():
    def make():
        last = 0.0

        def function(x):
            nonlocal last
            last = float(x.sum()) * 1.5
            return last

        return function, lambda: last

    function, get = make()
    compiled = stator.compile(function)
    for i in range(CALLS):
        assert compiled(X + i) is get()


def test_closures_that_are_gone_let_go_of_what_they_hold():
    """STATOR=all: a closure made anew takes the place of the one before, and nothing holds that one's arrays."""
    program = """
import weakref
import numpy as np
held = []
def make(k):
    a = np.full(10, k)
    held.append(weakref.ref(a))
    return lambda x: x * a + k
results = []
for k in range(5):
    f = make(k + 0.5)
    results += [f(np.ones(10)).tolist() for _ in range(4)]
print(results == [[2 * k + 1.0] * 10 for k in range(5) for _ in range(4)], [r() is None for r in held])
"""
    environment = os.environ | {"STATOR": "all", "STATOR_ALL_AFTER": "0", "STATOR_ASYNC": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True [True, True, True, True, False]\n", "")
