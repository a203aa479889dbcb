"""Guards from the outside: whatever changes between two calls, the result is eager's, and what need not be recorded
again is not. What each guard accepts and says one by one is tested in tests/unit/guards."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import stator

X = np.arange(2.0, 14.0)


def same(a, b):
    """Equal in type and, for arrays, in every bit, dtype, shape and strides."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.strides, a.tobytes()) == (b.dtype, b.shape, b.strides, b.tobytes())
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check(f, *args):
    """One call compared with the function as it was written; arguments it changes included."""
    ours, theirs = (
        [a.copy("K") if isinstance(a, np.ndarray) and a.flags.owndata else a for a in args],
        list(args),
    )
    got = f(*ours)
    expected = f.__wrapped__(*theirs)
    assert same(got, expected)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, np.ndarray):
            assert same(a, b) or not a.flags.owndata
    return got


def recordings(f):
    return f.stats()["recordings"]


# --- arrays ---


def test_lengths_share_one_trace_and_extents_0_and_1_have_their_own():
    @stator.compile
    def f(u, v):
        return u * 2.0 + v

    for n in range(2, 22):
        check(f, np.arange(n) * 1.0, np.ones(n))
    assert recordings(f) == 1
    for n in (1, 0, 1, 0, 7):
        check(f, np.arange(n) * 1.0, np.ones(n))
    assert recordings(f) <= 3


def test_equal_lengths_are_not_assumed():
    f = stator.compile(lambda u, v: u + v)
    for a, b in [(5, 5), (6, 6), (5, 1), (1, 5), (1, 1), (4, 4)]:
        for _ in range(2):
            check(f, np.ones(a), np.ones(b))
    with pytest.raises(
        ValueError, match=r"operands could not be broadcast together with shapes \(5,\) \(6,\)"
    ):
        f(np.ones(5), np.ones(6))


@pytest.mark.parametrize("dtype", ["f4", "i8", "i4", "u1", "c16", "?", "f2", ">f8"])
def test_a_new_dtype_is_another_trace(dtype):
    f = stator.compile(lambda u: u * 2)
    check(f, X)
    check(f, X)
    for _ in range(3):
        check(f, X.astype(dtype))
        check(f, X)


LAYOUTS = [
    np.ones((4, 6)),
    np.ones((6, 4)).T,
    np.ones((4, 12))[:, ::2],
    np.ones((4, 8))[:, :6],
    np.ones((8, 6))[::-2],
    np.arange(24.0).reshape(4, 6)[::-1, ::-1],
    np.arange(24.0).reshape(6, 4).T[::-1],
    np.broadcast_to(np.arange(6.0), (4, 6)),
    np.broadcast_to(np.arange(4.0)[:, None], (4, 6)),
    np.arange(120.0).reshape(4, 5, 6)[:, 2],
    np.ones((4, 6), "c16,f8")["f1"],
    np.ones((4, 6), "i1,f8")["f1"],
    np.ones((4, 1)),
    np.ones((1, 6)),
    np.ones((0, 6)),
]


def test_layouts_in_any_order():
    f = stator.compile(lambda u: (u + 1.0) * u)
    for _ in range(3):
        for u in LAYOUTS:
            check(f, u)
    for u in reversed(LAYOUTS):
        check(f, u)


def test_subclasses_and_other_arrays_are_left_to_numpy():
    f = stator.compile(lambda u: u * 2.0 + 1.0)
    masked = np.ma.masked_less(X, 5.0)
    for _ in range(3):
        check(f, X)
        got = f(masked)
        assert type(got) is np.ma.MaskedArray and (got == f.__wrapped__(masked)).all()
        assert f(3.0) == 7.0 and type(f(3.0)) is float
        assert type(f(np.float32(3.0))) is np.float32
        assert type(f(np.array(3.0))) is np.float64


def test_written_arrays():
    @stator.compile
    def f(u, v):
        u += v
        u *= 2.0
        return u

    for _ in range(3):
        check(f, X, np.ones(12))
    buffer = np.arange(30.0)
    for _ in range(3):
        # overlapping, one and the same, interleaved, apart
        for a, b in [((0, 12), (4, 16)), ((4, 16), (0, 12)), ((0, 12), (0, 12)), ((0, 12), (12, 24))]:
            ours, theirs = buffer.copy(), buffer.copy()
            f(ours[slice(*a)], ours[slice(*b)])
            f.__wrapped__(theirs[slice(*a)], theirs[slice(*b)])
            assert same(ours, theirs)
    u, w = X.copy(), X.copy()
    assert f(u, u) is u
    f.__wrapped__(w, w)
    assert same(u, w)
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="output array is read-only"):
        f(frozen, X)


def test_two_names_of_one_array():
    @stator.compile
    def f(u, v):
        u[0] = 100.0
        return v + 1.0, u is v

    for pair in [(X.copy(), X.copy()), (X.copy(),) * 2, (X.copy(), X.copy()), (X.copy(),) * 2]:
        u, v = pair
        w = u.copy()
        expected = f.__wrapped__(w, w if u is v else v.copy())
        assert same(f(u, v), expected)


# --- scalars ---


def test_numbers_stay_symbolic():
    f = stator.compile(lambda u, k: u * k + k)
    for k in range(2, 22):
        check(f, X, k)
    assert recordings(f) == 1
    g = stator.compile(lambda u, k: u * k + k)
    for k in range(20):
        check(g, X, k * 0.37 - 2.0)
    assert recordings(g) == 1


@pytest.mark.parametrize(
    "k",
    [2, 2.0, True, 2 + 1j, np.float32(2), np.float64(2), np.int8(2), np.array(2.0), np.bool_(True)],
)
def test_scalar_types_promote_as_numpy_does(k):
    f = stator.compile(lambda u, k: u * k)
    for _ in range(3):
        for u in (X, X.astype("f4"), X.astype("i8")):
            check(f, u, 3)
            check(f, u, k)


def test_an_int_that_no_longer_fits():
    f = stator.compile(lambda u, k: u + k)
    u = np.arange(5, dtype="u1")
    for k in (3, 200, 255):
        check(f, u, k)
    for k in (256, -1, 2**70):
        with pytest.raises(OverflowError) as ours:
            f(u, k)
        with pytest.raises(OverflowError) as theirs:
            f.__wrapped__(u, k)
        assert str(ours.value) == str(theirs.value)
    check(f, u, 4)


def test_branches_on_numbers_guard_the_relation():
    @stator.compile
    def f(u, n):
        if n > 3:
            return u * 2.0
        return u + n

    for n in (5, 7, 9, 100):
        check(f, X, n)
    assert recordings(f) == 1
    for n in (1, 2, 3, 4, 0, -5):
        check(f, X, n)
    assert recordings(f) <= 3


def test_values_that_select_code():
    @stator.compile
    def f(u, axis, power, mode, part):
        return np.sum(u, axis=axis) ** power, np.pad(u[0], 1, mode=mode), u[part]

    u = np.arange(12.0).reshape(3, 4)
    for _ in range(2):
        for args in [
            (0, 2, "edge", slice(1, None)),
            (1, 2, "edge", slice(None, 2)),
            (0, 3, "wrap", slice(None, None, -1)),
            (None, 0.5, "reflect", 1),
            ((0, 1), 2, "edge", (0, slice(None))),
        ]:
            check(f, u, *args)


# --- names, attributes, functions ---

scale = 2.0
table = {"k": 3.0}


def helper(u, k=1.0):
    return u + k


@stator.compile
def uses_globals(u):
    return helper(u) * scale + table["k"]


def test_globals_are_watched(monkeypatch):
    def expected(u):
        return helper(u) * scale + table["k"]

    def agree():
        for _ in range(3):
            assert same(uses_globals(X), expected(X))

    agree()
    monkeypatch.setitem(globals(), "scale", 5.0)
    agree()
    monkeypatch.setitem(globals(), "scale", 5)
    agree()
    monkeypatch.setitem(globals(), "scale", np.ones(12))
    agree()
    monkeypatch.setitem(table, "k", 7.0)
    agree()
    monkeypatch.setitem(globals(), "helper", lambda u: u - 1.0)
    agree()
    monkeypatch.undo()
    agree()
    monkeypatch.setattr(helper, "__defaults__", (9.0,))
    agree()
    monkeypatch.setattr(helper, "__code__", (lambda u, k: u * k).__code__)
    agree()
    monkeypatch.undo()
    agree()


def test_a_missing_global_raises_as_it_does_in_python(monkeypatch):
    for _ in range(3):
        uses_globals(X)
    monkeypatch.delitem(globals(), "scale")
    with pytest.raises(NameError, match="name 'scale' is not defined"):
        uses_globals(X)


def test_numpys_own_functions_can_be_replaced(monkeypatch):
    f = stator.compile(lambda u: np.exp(u) + np.roll(u, 1))
    for _ in range(3):
        check(f, X)
    calls = []
    monkeypatch.setattr(np, "exp", lambda u: calls.append(1) or u)
    for _ in range(3):
        got = f(X)
    assert same(got, X + np.roll(X, 1)) and len(calls) == 3
    monkeypatch.undo()
    check(f, X)


def test_builtins_can_be_shadowed(monkeypatch):
    f = stator.compile(lambda u: u * float(len(u)))
    for _ in range(3):
        check(f, X)
    monkeypatch.setitem(globals(), "len", lambda u: 3)
    for _ in range(3):
        assert same(f(X), X * 3.0)


class Grid:
    spacing = 0.5

    def __init__(self, n):
        self.u = np.arange(n) * 1.0
        self.k = 2.0

    def factor(self):
        return self.k / self.spacing

    @property
    def computed(self):
        self.reads = self.__dict__.get("reads", 0) + 1
        return self.k

    @stator.compile
    def step(self):
        return self.u * self.factor() + self.spacing


class FineGrid(Grid):
    spacing = 0.25

    def factor(self):
        return self.k


def test_attributes_of_objects():
    def agree(g):
        for _ in range(2):
            assert same(g.step(), Grid.step.__wrapped__(g))

    a, b, c = Grid(5), Grid(9), FineGrid(6)
    for g in (a, b, c, a, b, c):
        agree(g)
    a.k = 7.0
    agree(a)
    a.u = a.u.astype("f4")
    agree(a)
    a.spacing = 4.0
    agree(a)
    a.factor = lambda: 100.0
    agree(a)
    del a.factor
    agree(a)
    a.__class__ = FineGrid
    agree(a)
    try:
        Grid.spacing = 8.0
        agree(b)
        old, Grid.factor = Grid.factor, lambda self: -1.0
        agree(b)
        Grid.factor = old
        agree(b)
        Grid.u = property(lambda self: np.full(4, 3.0))
        agree(b)
    finally:
        Grid.spacing = 0.5
        del Grid.u
    agree(b)
    del b.k
    with pytest.raises(AttributeError, match="has no attribute 'k'"):
        b.step()


def test_properties_run_once_per_call():
    @stator.compile
    def f(g, u):
        return u * g.computed

    g = Grid(4)
    for n in range(1, 5):
        f(g, X)
        assert g.reads == n


def test_getattr_hooks_run_as_often_as_in_python():
    class Lazy:
        def __init__(self):
            self.reads = []

        def __getattr__(self, name):
            self.reads.append(name)
            return 3.0

    f = stator.compile(lambda o, u: u * o.k)
    lazy = Lazy()
    for n in range(1, 5):
        assert same(f(lazy, X), X * 3.0)
        assert lazy.reads == ["k"] * n


def test_closures():
    def make(k):
        def f(u):
            return u * k

        def change(value):
            nonlocal k
            k = value

        return stator.compile(f), change

    f, change = make(2.0)
    for value in (2.0, 3.0, 4, np.ones(12), 5.0):
        change(value)
        for _ in range(2):
            check(f, X)
    g, _ = make(9.0)
    assert same(g(X), X * 9.0) and same(f(X), X * 5.0)


def test_functions_as_arguments():
    @stator.compile
    def apply(g, u):
        return g(u) + 1.0

    for _ in range(3):
        for k in (1.0, 2.0):
            check(apply, lambda u, k=k: u * k, X)
            check(apply, lambda u: u - k, X)
        check(apply, np.sqrt, X)
        check(apply, helper, X)


def test_containers():
    @stator.compile
    def f(items, options):
        total = items[0] * options["k"]
        for v in items[1:]:
            total = total + v
        return total

    for n in (1, 2, 3, 2, 1):
        for _ in range(2):
            check(f, [X] * n, {"k": 2.0})
            check(f, (X,) * n, {"k": 3.0, "other": 1})
    with pytest.raises(KeyError, match="'k'"):
        f([X], {})
    with pytest.raises(IndexError, match="list index out of range"):
        f([], {"k": 1.0})


def test_replaced_code_is_followed():
    @stator.compile
    def f(u):
        return u + 1.0

    for _ in range(3):
        f(X)
    f.__code__ = (lambda u: u * 10.0).__code__
    for _ in range(3):
        assert same(f(X), X * 10.0)


# --- what guards say ---


def test_guards_read_as_python():
    f = stator.compile(lambda u, k: np.exp(u) * k)
    f(X, 2.0)
    text = "\n".join(f.traces[0].guards)
    assert "u is an ndarray, float64[s0], contiguous in C order" in text
    assert "type(k) is float" in text
    assert "np.exp is ufunc exp" in text


def test_a_failed_guard_is_logged_with_what_was_expected_and_found():
    program = """
    import numpy as np, stator
    @stator.compile
    def f(u): return u + 1.0
    for _ in range(3): f(np.ones(5))
    f(np.ones(5, "f4"))
    f(np.ones((2, 3)))
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("STATOR")} | {"STATOR_LOG": "guards"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=env, timeout=300
    )
    assert "expected u.dtype to be float64, found an ndarray of float32, shape (5,)" in done.stderr
    assert "expected u.ndim == 1, found 2 (shape (2, 3))" in done.stderr


def test_masked_ints_want_no_traces_of_their_own():
    """`n & 255` is n modulo 256, also where n is negative or the mask stands first."""

    def f(x, n):
        y = x * 2
        return y[n & 7], 3 & n, y[(n + 1) & 1], n & 12, y * (n & 0)

    compiled = stator.compile(f)
    x = np.arange(8.0)
    for n in [5, 6, 9, 200, -1, -7, -300, 0, 2**40 + 3]:
        for found, expected in zip(compiled(x, n), f(x, n), strict=True):
            assert np.array_equal(found, expected) and type(found) is type(expected), n

    def g(x, n):
        y = x * 2
        return y[n & 7] + y[n & 3]

    compiled = stator.compile(g)
    for n in range(2, 60):
        assert compiled(x, n) == g(x, n)
    assert compiled.stats()["traces"] <= 3
