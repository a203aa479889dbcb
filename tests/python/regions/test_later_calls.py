"""What a loop's code was made for, and what a later call brings: found by reading the builder beside NumPy's and CPython's sources."""

import math
import random
import warnings

import numpy as np
import pytest
import stator


def late(call):
    """A loop whose code is made before `call`, an expression of x, is reached for the first time."""
    space = {"np": np, "random": random, "math": math}
    exec(f"def f(x, s):\n own = None\n for k in range(400):\n  if s:\n   own = {call}\n return own", space)
    return space["f"]


def seen(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            r = function(*args)
        except Exception as error:
            return type(error), str(error), [str(w.message) for w in caught]
    if isinstance(r, np.ndarray):
        r = (r.dtype, r.shape, r.strides, r.tobytes())
    return type(r), repr(r), [str(w.message) for w in caught]


ARGUMENTS = [
    "np.sum(x, initial=None)",
    "x.sum(initial=None)",
    "np.sum(x, axis=0, initial=None)",
    "np.sum(x, keepdims=None)",
    "x.max(keepdims=None)",
    "np.max(x, where=None)",
    "np.any(x, where=None)",
    "np.all(x > 0, keepdims=None)",
    "np.zeros_like(x, subok=None)",
    "np.array([x[0], 2.0], ndmin=None)",
    "np.stack((x, x), casting=None)",
    "np.concatenate((x, x), casting=None)",
    "sum([x[0]], None)",
    "list(enumerate([1], None))",
    "np.linspace(0, 1, num=None)",
    "x[::-9223372036854775807]",
    "len(x[::9223372036854775806])",
]


@pytest.mark.parametrize("call", ARGUMENTS)
def test_arguments(call):
    function = late(call)
    compiled = stator.compile(function)
    x = np.array([-0.0, -0.0, -0.0])
    for s in (0, 0, 0, 1, 1):
        assert seen(compiled, x, s) == seen(function, x, s)
        stator.wait()


@pytest.mark.parametrize(
    "call", ["np.add(x, x, where=None)", "random.randint(1.0, 2)", "random.randrange(np.float64(2))"]
)
def test_what_is_tried_out_warns_nobody(call):
    compiled = stator.compile(late(call))
    for _ in range(3):
        assert seen(compiled, np.ones(3), 0) == (type(None), "None", [])
        stator.wait()


def exp(x, n):
    y = None
    for _ in range(n):
        y = np.exp(x)
    return y


def sigmoid(x, n):
    y = None
    for _ in range(n):
        y = 1 / (1 + np.exp(-x))
    return y


@pytest.mark.parametrize("function", [exp, sigmoid])
@pytest.mark.parametrize("size", [1, 2, 3, 6, 10, 37, 100])
@pytest.mark.parametrize("step", [1, 2])
def test_overflow_that_the_c_library_says(function, size, step):
    """By the x87 status word, as NumPy's float32 exp does, depending on length and stride."""
    calm = np.ones(size * step, "f4")[::step]
    over = calm.copy() * 1
    over[-1] = 120 if function is exp else -120
    compiled = stator.compile(function)
    for x in (calm, calm, calm, over, over, calm):
        assert seen(compiled, x, 60) == seen(function, x, 60)
        stator.wait()


@pytest.mark.parametrize(
    "call",
    [
        "a == b",
        "a < b",
        "np.less(b, a)",
        "np.equal(a, b)",
        "a[0] == b[0]",
        "np.less(b[0], a[0])",
        "a == b[0]",
    ],
)
def test_unsigned_and_signed(call):
    space = {"np": np}
    exec(f"def f(a, b, n):\n y = None\n for k in range(n):\n  y = {call}\n return y", space)
    function, compiled = space["f"], stator.compile(space["f"])
    a, b = np.array([2**53 + 1, 5], np.uint64), np.array([2**53, 5], np.int64)
    for _ in range(3):
        assert seen(compiled, a, b, 60) == seen(function, a, b, 60)
        stator.wait()


@pytest.mark.parametrize(
    "types", [("i8", "f4"), ("f4", "i8"), ("u8", "i8"), ("u4", "f4"), ("i4", "f4"), ("i8", "f8")]
)
def test_powers_of_numbers(types):
    def powers(a, b):
        t = []
        for i in range(len(a)):
            t.append(a[i] ** b[i])
        return t

    a, b = np.arange(1, 61).astype(types[0]), np.full(60, 1.5).astype(types[1])
    if types == ("u8", "i8"):
        b = np.full(60, -2)
    compiled = stator.compile(powers)
    for _ in range(3):
        assert seen(compiled, a, b) == seen(powers, a, b)
        stator.wait()


NAN = float("nan")


def missing(x, codes=(NAN, -1.0)):
    return x in codes


def count_missing(x, n):
    c = 0
    for _ in range(n):
        c += missing(x)
    return c


def test_a_nan_is_found_by_being_it():
    compiled = stator.compile(count_missing)
    for x in (1.5, 1.5, 1.5, NAN, float("nan"), -1.0, NAN):
        assert compiled(x, 300) == count_missing(x, 300)
        stator.wait()


class Shared:
    """Objects that have one dict."""

    held: dict = {}

    def __init__(self):
        self.__dict__ = self.held


class Own:
    def __init__(self):
        self.x = 1.0


def through_another(a, c, n):
    t = 0.0
    for _ in range(n):
        a.x += 1.0
        t += c.x
    return t


def through_its_dict(a, d, n):
    t = 0.0
    for _ in range(n):
        a.x += 1.0
        t += d["x"]
    return t


@pytest.mark.parametrize("apart_first", [False, True])
@pytest.mark.parametrize("function", [through_another, through_its_dict])
def test_attributes_that_are_reached_in_another_way(function, apart_first):
    def arguments(apart):
        a = Own() if apart or function is through_its_dict else Shared()
        a.x = 1.0
        other = Own() if apart else a if function is through_its_dict else Shared()
        return a, vars(other) if function is through_its_dict else other

    compiled = stator.compile(function)
    for apart in (apart_first, apart_first, apart_first, False, False, True):
        expected = function(*arguments(apart), 300)
        assert compiled(*arguments(apart), 300) == expected
        stator.wait()


def numbered(a, start):
    i = None
    for i, _x in enumerate(a, start):
        pass
    return i


def test_counts_beyond_64_bits():
    compiled = stator.compile(numbered)
    a = np.arange(400.0)
    for start in (0, 5, 0, 2**63 - 200, 2**62, -(2**63)):
        assert compiled(a, start) == numbered(a, start)
        stator.wait()


def zeros_of(a, n):
    y = None
    for _ in range(n):
        y = np.zeros_like(a)
    return y


def copy_of(a, n):
    y = None
    for _ in range(n):
        y = np.copy(a)
    return y


def flat_of(a, n):
    y = None
    for _ in range(n):
        y = (a + 1).ravel()
    return y


PARTS = {
    "new axis": lambda a: a[:, None],
    "new axis of steps": lambda a: a[:, ::2][:, None],
    "part": lambda a: a[1:3, 1:4],
    "turned": lambda a: a.T,
    "one column": lambda a: a[:, 2:3],
    "one row, turned": lambda a: a[:, :1].T[..., ::2],
    "nothing": lambda a: a[:0],
    "no columns": lambda a: a[:, :0],
}


@pytest.mark.parametrize("function", [zeros_of, copy_of, flat_of])
@pytest.mark.parametrize("part", PARTS)
def test_layouts_of_what_is_like_another(function, part):
    compiled = stator.compile(function)
    for a in (PARTS[part](np.ones((4, 6))), np.ones((4, 6)), PARTS[part](np.ones((5, 7)))) * 2:
        assert seen(compiled, a, 60) == seen(function, a, 60)
        stator.wait()


def test_full_like_of_one_column():
    def full(a):
        return np.full_like(a, 3)

    compiled = stator.compile(full)
    for a in [np.ones((4, 6))[:, ::7]] * 3 + [np.ones((4, 6))[:, 2:3]] * 3:
        assert seen(compiled, a) == seen(full, a)
        stator.wait()


def waits(lam, n):
    t = 0.0
    for _ in range(n):
        t += random.expovariate(lam)
    return t


def test_a_draw_that_fails_has_drawn_once():
    compiled = stator.compile(waits)
    for lam in (1.0, 1.0, 1.0, 0.0, 2.0):
        states = []
        for function in (compiled, waits):
            random.seed(1)
            states.append((seen(function, lam, 60), random.random()))
        assert states[0] == states[1]
        stator.wait()
