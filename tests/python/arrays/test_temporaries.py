"""Operands that nothing refers to but the stack: NumPy computes large results into them, which their strides show."""

from __future__ import annotations

import functools
import math
import operator
import sys
import traceback
import warnings
from collections import deque

import numpy as np
import pytest
import stator
from replayed import outcome

SMALL, LARGE = (30, 20), (300, 200)  # below and above 256 KiB of any dtype but bytes, as float64


def scaled(x, y):
    return y * 2.0 + x


def scaled_on_the_right(x, y):
    return x + y * 2.0


def subtracted_from(x, y):
    return x - y * 2.0


def divided(x, y):
    return (y * 2.0) / x


def two_temporaries(x, y):
    return (y + 1.0) * (x + 1.0)


def kept_by_a_name(x, y):
    t = y + 1.0
    return t + x, t


def same_operand_with_a_name_and_without(x, y):
    t = y + 1.0
    return t + x, (y + 1.0) + x


def named_within(x, y):
    return (t := y + 1.0) + x, t


def twice(x):
    return x * 2.0


def of_a_helper(x, y):
    return twice(y) + x


def named_in_a_helper(x, y):
    return added(y * 2.0, x)


def added(a, b):
    return a + b


def sum_in_memory_order(x, y):
    return (y / 3.0 + x).sum(), np.sum((y / 3.0 + x) * 1e-3), (y / 3.0 + x).ravel("K")


def in_a_tuple(x, y):
    return (y * 2.0, x)[0] + x


def behind_a_python_step(x, y):
    return y * 2.0 + identity(x)


def identity(x):
    return [x for _ in range(1)].pop()


def of_another_dtype(x, y):
    return (y * 2.0) + x.astype(np.float32), y.astype(np.float32) * np.float32(2) + x


def whole_numbers(x, y):
    a, b = (x * 99).astype(int), (y * 99).astype(int)
    return (
        (b + 1) & a,
        a | (b + 1),
        (b + 1) // (a + 1),
        (b + 1) << (a % 7),
        (b + 1) / (a + 1),
        (b + 1) % (a + 1),
    )


def left_is_no_array(x, y):
    s = 1.0
    s += y[..., None].astype(np.float32) / 3.0
    return s


def views_of_temporaries(x, y):
    return (y * 2.0)[:, ::1] + x, (y * 2.0).T + x.T


def called_by_name(x, y):
    return np.add(y * 2.0, x)


FUNCTIONS = [
    scaled,
    scaled_on_the_right,
    subtracted_from,
    divided,
    two_temporaries,
    kept_by_a_name,
    same_operand_with_a_name_and_without,
    named_within,
    of_a_helper,
    named_in_a_helper,
    sum_in_memory_order,
    in_a_tuple,
    behind_a_python_step,
    of_another_dtype,
    whole_numbers,
    left_is_no_array,
    views_of_temporaries,
    called_by_name,
]


def mixed(shape):
    x = np.random.default_rng(1).random(shape)
    return x, np.asfortranarray(x[::-1] + 1)


def as_eager(f, *calls):
    compiled = stator.compile(f)
    for _ in range(3):
        for args in calls:
            assert parts(compiled, args) == parts(f, args), [a.shape for a in args]
            stator.wait()
    return compiled


def parts(f, args):
    r, warned = outcome(lambda *a: everything(f(*a)), *args)
    return r[1] if r[0] is tuple else r, warned


def everything(r):
    return tuple(outcome(lambda v=v: v) for v in r) if isinstance(r, tuple) else r


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [SMALL, LARGE], ids=["small", "large"])
def test_results_have_eagers_strides(f, first):
    as_eager(f, mixed(first), mixed(LARGE), mixed(SMALL))


def test_such_operators_stay_in_traces():
    compiled = as_eager(scaled, mixed(SMALL), mixed(LARGE))
    stats = stator.stats(compiled)
    # Where NumPy cannot see that the evaluator calls (some builds of CPython 3.14) no size matters.
    reuses = scaled(*mixed(LARGE)).flags.f_contiguous
    assert (stats["recordings"], stats["opaque_steps"], stats["exits"]) == (1 + reuses, 0, 0), stats


def test_sizes_on_one_side_are_one_trace():
    compiled = as_eager(scaled, *[mixed((200 + i, 181 + i)) for i in range(4)])
    assert stator.stats(compiled)["recordings"] == 1


def test_at_the_very_size():
    as_eager(scaled, mixed((128, 256)), mixed((128, 255)), mixed((256, 128)), mixed((255, 128)))


# NumPy gives an axis of extent 1 other strides in a cast, where it walks with buffers, than in what follows.
UNARY = {
    "negative": lambda v: -(v / 2),
    "positive": lambda v: +(v / 2),
    "invert": lambda v: ~(v >> (v > 3)),
    "abs": lambda v: abs(v / 2),
    "square": lambda v: (v / 2) ** 2,
    "root": lambda v: (v / 2) ** 0.5,
    "reciprocal": lambda v: (v / 2) ** -1,
    "cube": lambda v: (v / 2) ** 3,
    "times a float": lambda v: (v / 2) * 3.0,
    "a float times": lambda v: 3.0 * (v / 2),
    "plus an int": lambda v: (v / 2) + 3,
    "a NumPy number times": lambda v: np.float64(3) * (v / 2),
    "an int times": lambda v: 3 * (v / 2),
    "times an array without axes": lambda v: (v / 2) * np.array(3.0),
    "narrow": lambda v: (v / np.float32(2)) * 3.0,
    "narrow, by a wide number": lambda v: (v / np.float32(2)) * np.float64(3),
    "absolute, by its name": lambda v: np.abs(v / 2),
    "two": lambda v: (v >> v) + ((v / 2) ** 5),
    "chain": lambda v: abs(-(v / 2) + 1) - 3.0,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("first", [20, 70_000])
def test_an_axis_of_extent_one(name, first):
    def column(n):
        return (np.asfortranarray(np.arange(1, 2 * n + 1, dtype=np.int16).reshape(2, n))[..., None],)

    with np.errstate(all="ignore"):
        as_eager(UNARY[name], column(first), column(20), column(70_000))


@pytest.mark.parametrize("first", [True, False])
def test_what_a_python_step_gives_may_be_held_elsewhere(first):
    """Whether it is a temporary is another matter in each call."""

    def f(queue, x):
        return queue.popleft() + x

    compiled = stator.compile(f)
    for shape in (LARGE, SMALL, LARGE, LARGE):
        for held in (first, not first, True, False):
            x, y = mixed(shape)
            keep = y if held else None
            results = []
            for function in (f, compiled):
                queue = deque([y if held else y.copy("F")])
                results.append(outcome(function, queue, x))
            assert results[0] == results[1], (shape, held, keep is None)


def plane(n, dtype, seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))).astype(dtype)


# NumPy computes `a * b` of a large temporary b as `b * a`, which fused products of complex numbers show.
PRODUCTS = {
    "a sum": lambda a, b: a * (b + 1),
    "a copy": lambda a, b: a * b.copy(),
    "two temporaries": lambda a, b: (a + 1) * (b + 1),
    "the left one": lambda a, b: (b + 1) * a,
    "nested": lambda a, b: a * (b * (a + 1)),
    "exp": lambda a, b: a * np.exp(b),
    "conj": lambda a, b: a * np.conj(b),
    "matrix product": lambda a, b: a * (b @ b),
    "transform": lambda a, b: a * np.fft.fft(b),
    "in Fortran order": lambda a, b: a * np.asfortranarray(b + 1),
    "transposed": lambda a, b: a.T * (b + 1),
    "backwards": lambda a, b: a[::-1] * (b[::-1] + 1),
    "rows": lambda a, b: a[::2] * (b[::2] + 1),
    "a column": lambda a, b: a[:, :1] * (b + 1),
    "a narrower one": lambda a, b: a.real.astype(np.float32) * (b + 1),
    "a float": lambda a, b: 0.1 * (b + 1),
    "a complex number": lambda a, b: (0.1 + 0.3j) * (b + 1),
    "a NumPy number": lambda a, b: np.complex64(0.1 + 0.3j) * (b + 1),
    "without axes": lambda a, b: np.array(0.1 + 0.3j, a.dtype) * (b + 1),
    "named": lambda a, b: (a * (t := b + 1), t),
    "by its name": lambda a, b: np.multiply(a, b + 1),
    "of a helper": lambda a, b: a * shifted(b),
    "square": lambda a, b: (b + 1) ** 2 * a,
    "a sum of products": lambda a, b: (a * (b + 1)).sum(),
    "behind a step": lambda a, b: identity(a) * (b + 1),
    "by the operator's name": lambda a, b: operator.mul(a, b + 1),
    "a sum by the operator's name": lambda a, b: operator.add(a.T, operator.neg(b + 1)),
    "of a step": lambda a, b: a * identity(b + 1),
}


def shifted(b):
    return b + 1


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_complex_temporaries(name, dtype):
    with np.errstate(all="ignore"):
        for sizes in ((64, 256), (256, 64)):
            as_eager(PRODUCTS[name], *((plane(n, dtype, 1), plane(n, dtype, 2)) for n in sizes))


def test_such_products_stay_in_traces():
    compiled = as_eager(PRODUCTS["a sum"], (plane(256, complex, 1), plane(256, complex, 2)))
    stats = stator.stats(compiled)
    assert (stats["recordings"], stats["opaque_steps"], stats["exits"]) == (1, 0, 0), stats


def in_place(a, b):
    a *= b + 1
    b[...] = a * (b + 1)
    np.multiply(a, b + 1, out=a)
    np.multiply(b, a, out=a)
    s = 0.5 + 0.25j
    s *= b + 1
    return a, b, s


def in_a_loop(a, b):
    for k in range(3):
        t = b + k
        a = a * (b * 0.5 + k) + a * t
        b = (a - 1) * (b + 1) * 0.125
    return a, b


def rows_in_a_loop(a, b):
    for i in range(a.shape[0]):
        a[i] = a[i] * (b[i] + 1)
        a[i, ::2] **= 2
        b[::-1, i] *= a[i, ::-1]
    return a, b


@pytest.mark.parametrize("f", [in_place, in_a_loop, rows_in_a_loop], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_stored_products(f, dtype):
    with np.errstate(all="ignore"):
        compiled = stator.compile(f)
        for n in (64, 128, 256, 64, 256):
            found, expected = (
                parts(g, (plane(n, dtype, 1) * 0.25, plane(n, dtype, 2) * 0.25)) for g in (compiled, f)
            )
            assert found == expected, n
            stator.wait()


def long_rows(a, b):
    for i in range(a.shape[0]):
        a[i] = a[i] * (b[i] + 1) + b[i]
    return a


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_rows_that_are_large(dtype):
    compiled = stator.compile(long_rows)
    for n in (100, 40_000, 100):
        a, b = (np.resize(plane(200, dtype, k), (4, n)) for k in (1, 2))
        for _ in range(3):
            assert compiled(a.copy(), b).tobytes() == long_rows(a.copy(), b).tobytes()
            stator.wait()


@pytest.mark.parametrize("name", ["add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_of_all_operators_that_are_exchanged_only_complex_products_show_it(name):
    """If this fails, NumPy has another loop of that kind: see `order_shows` in temporaries.cpp."""
    ufunc = getattr(np, name)
    for types in ufunc.types:
        left, right = types.split("->")[0]
        if left != right or left in "OmMgG":
            continue
        a, b = (plane(40, np.complex128, k) * 50 for k in (1, 2))
        with np.errstate(all="ignore"):
            if left not in "FD":
                a, b = a.real, b.real
            a, b = a.astype(left), b.astype(left)
            shows = ufunc(a, b).tobytes() != ufunc(b, a).tobytes()
        assert not shows or (name == "multiply" and left in "FD"), types


# The running total of `sum` is a temporary, and so is what a generator or a map gives.
SUMS = {
    "list": lambda x, y: sum([y, x, x]),
    "tuple": lambda x, y: sum((y, x, y, x)),
    "of temporaries": lambda x, y: sum([y * 2.0, x * 2.0, x]),
    "other order": lambda x, y: sum([x, y, x]),
    "start": lambda x, y: sum([x, x], y),
    "start by its name": lambda x, y: sum([y, x], start=x.T.T),
    "temporary start": lambda x, y: sum([x, x], y * 2.0),
    "number": lambda x, y: sum([y, 2.0, x], 1),
    "numbers first": lambda x, y: sum([1, 2.0, y, x]),
    "narrow": lambda x, y: sum([y.astype(np.float32), x.astype(np.float32), 1.0, y]),
    "wider ones": lambda x, y: sum([y.astype(np.float32), x, x.astype(np.float32)]),
    "complex": lambda x, y: sum([y * 1j, x, x * 2j]),
    "whole": lambda x, y: sum([(y * 9).astype(int), (x * 9).astype(int), True, x]),
    "broadcast": lambda x, y: sum([y[:1], y, x]),
    "of broadcast": lambda x, y: sum([y, x, x[0], x[:, :1]]),
    "values": lambda x, y: sum({"a": y, "b": x, "c": x}.values()),
    "column": lambda x, y: sum([y[..., None], x[..., None], x[..., None]]),
    "planes": lambda x, y: sum([y.T[None], x.T[None], y.T[None]]),
    "generator": lambda x, y: sum(v * 2.0 for v in (y, x, x)),
    "generator and start": lambda x, y: sum((v * 2.0 for v in (y, x)), x),
    "generator of names": lambda x, y: sum((v for v in (y, x, x)), 0),
    "comprehension": lambda x, y: sum([v * 2.0 for v in (y, x, x)]),
    "iterator": lambda x, y: sum(iter([y, x, x])),
    "map": lambda x, y: sum(map(operator.neg, [y, x, x])),
    "mapped operator": lambda x, y: tuple(map(operator.add, (v * 2.0 for v in [y, x]), [x, y])),
    "next of a map": lambda x, y: next(map(operator.sub, (v * 2.0 for v in [y]), [x])),
    "spread": lambda x, y: sum(*([y, x, x],)),
    "spread by names": lambda x, y: sum(*([y, x],), **{"start": y * 2.0}),
    "in use": lambda x, y: (sum([y, x, x]) * 1e-3).sum() + sum([y, x]).ravel("K")[1],
    "nested": lambda x, y: sum([sum([y, x]), sum([x, y]), y]),
    "reduce": lambda x, y: functools.reduce(operator.add, [y, x, x]),
    "reduce of temporaries": lambda x, y: functools.reduce(operator.mul, (v * 1j for v in (y, x, x))),
    "product": lambda x, y: math.prod([y, x, x]),
    "of helpers": lambda x, y: added(sum([y, x, x]), twice(x)),
    "over an axis that is not there": lambda x, y: sum([y, x], np.float64(3.0)),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("first", [SMALL, LARGE], ids=["small", "large"])
def test_totals_have_eagers_strides(name, first):
    as_eager(SUMS[name], mixed(first), mixed(LARGE), mixed(SMALL))


def test_totals_at_the_very_size():
    as_eager(SUMS["list"], mixed((128, 256)), mixed((128, 255)), mixed((256, 128)), mixed((255, 128)))


def test_totals_stay_in_traces():
    compiled = as_eager(SUMS["list"], mixed(SMALL), mixed(LARGE))
    stats = stator.stats(compiled)
    reuses = sum([*mixed(LARGE)[::-1], 1.0]).flags.f_contiguous
    assert (stats["recordings"], stats["opaque_steps"], stats["exits"]) == (1 + reuses, 0, 0), stats


def in_loops(x, y):
    total = 0.0
    out = []
    for k in range(4):
        s = sum([y, x, x])
        out.append(s)
        for i in range(3):
            total += float(s[i, k]) * sum((i, k))
        y = y + 1.0
    return out[0], out[-1], total


def test_totals_in_loops():
    as_eager(in_loops, mixed(SMALL), mixed(LARGE), mixed(SMALL))


class Odd:
    def __radd__(self, other):
        return [sys._getframe(depth).f_code.co_name for depth in range(2)]


class Loud:
    def __radd__(self, other):
        warnings.warn("loud", stacklevel=2)
        return 1

    def __add__(self, other):
        raise KeyError(other)


def asks_who_calls(odd):
    return sum([odd])


def asks_by_map(odd):
    return list(map(lambda v: sys._getframe(1).f_code.co_name, [odd]))


@pytest.mark.parametrize("f", [asks_who_calls, asks_by_map])
def test_nobody_sees_who_makes_such_calls(f):
    compiled = stator.compile(f)
    for _ in range(3):
        assert compiled(Odd()) == f(Odd())


def fails(values, log):
    try:
        return sum(values)
    except KeyError:
        log.append(traceback.format_exc())
        raise


def test_such_calls_fail_and_warn_where_they_stand():
    seen = []
    for function in (fails, stator.compile(fails)):
        for values in ([Loud()], [Loud(), 2], ["a"], 3):
            log = []
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    result = function(values, log)
                except (KeyError, TypeError) as e:
                    result = [line.name for line in traceback.extract_tb(e.__traceback__)], str(e)
            seen.append((result, log, [(w.filename, w.lineno, str(w.message)) for w in caught]))
    assert seen[:4] == seen[4:]
