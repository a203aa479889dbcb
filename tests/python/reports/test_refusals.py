"""Why a loop's native code was not entered is said in Python's terms: by `stator.explain` and by `Region.why_refused`."""

import numpy as np
import pytest
import stator


def passes(a, b, n):
    for k in range(n):
        a[k] = a[k - 1] * b[k] + k
    return a


def uses_a_global(a, n):
    for k in range(n):
        a[k] = a[k] * SCALE + k
    return a


SCALE = 2.0


class Tank:
    def __init__(self, rate):
        self.rate, self.level = rate, 1.0

    def fill(self, n):
        for _ in range(n):
            self.level += self.rate * self.level
        return self.level


def warm(f, make):
    for _ in range(5):
        f(*make())
        stator.wait()


def refusals(f):
    return [r.why_refused for r in f.regions if r.refused]


def x(dtype=float):
    return np.linspace(0, 1, 50).astype(dtype)


@pytest.mark.parametrize(
    "other, expected",
    [
        (
            lambda: (x("f4"), x(), 50),
            "expected a to be an ndarray of float64, shape (any,), C-contiguous, writeable, "
            "found an ndarray of float32, shape (50,)",
        ),
        (
            lambda: (x(), list(x()), 50),
            "expected b to be an ndarray of float64, shape (any,), C-contiguous, "
            "found an object of type list",
        ),
        (
            lambda: (a := x(), a, 50),
            "expected an array that it writes to share no memory, found that it does",
        ),
    ],
)
def test_inputs_of_another_kind(other, expected):
    f = stator.compile(passes)
    warm(f, lambda: (x(), x(), 50))
    assert not refusals(f)
    before = passes(*other())
    assert f(*other()).tobytes() == before.tobytes()
    assert expected in refusals(f)
    assert expected in str(stator.explain(f)(*other()))


def test_globals_that_were_bound_anew(monkeypatch):
    f = stator.compile(uses_a_global)
    warm(f, lambda: (x(), 50))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    f(x(), 50)
    assert any("SCALE" in why for why in refusals(f)), refusals(f)


def test_attributes():
    f = stator.compile(Tank.fill)
    warm(f, lambda: (Tank(0.01), 50))
    f(Tank(1), 50)
    assert any("expected self.rate to be a float, found 1" in why for why in refusals(f)), refusals(f)


def first_item(a, n):
    s = 0.0
    for _ in range(n):
        s += a[0]
    return s


def test_what_was_found_is_told_in_few_words():
    f = stator.compile(first_item)
    warm(f, lambda: (x(), 50))
    wide, deep = (1.0,), (1.0,)
    for _ in range(9):
        wide = (2.0, *[wide] * 8)
    for _ in range(60_000):
        deep = (2.0, deep)
    for other in (wide, deep):
        assert f(other, 50) == 100.0
    assert all(len(why) < 2000 for why in refusals(f)), refusals(f)
    while len(deep) == 2:  # its end would be a recursion, too
        deep = deep[1]


def test_arrays_that_differ_in_layout():
    f = stator.compile(first_item)
    warm(f, lambda: (x(), 50))
    f(x()[::-1], 50)
    assert any("not C-contiguous" in why for why in refusals(f)), refusals(f)
