"""Stores into arguments: computed and stored in one pass where a fault can only be reported, and exact in all cases."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import stator


def scaled(b, a):
    b[...] = a * 1e300 + 1
    return b[0]


def whole(b, a):
    b[...] = a * 2 + 1 / a


def stencil(b, a):
    b[1:-1] = (a[2:] + a[:-2]) / a[1:-1]


def twice(b, a):
    b[...] = a / (a - 1)
    b[1:] = b[1:] * 2


def reads_old(b, a):
    b[...] = b * 2 + a / (a - 1)


def in_place(b, a):
    b += a * 1e300
    b *= 2


def both_ways(b, a):
    b[1:] = a[1:] / a[:-1]
    a[1:] = b[1:] + 1
    return b.sum()


def read_before_a_library_call(b, a):
    x = b * 2
    y = np.cumsum(x)
    b[...] = a / (a - 1)
    return x + y


def read_before_a_block(b, a):
    x = b * 2
    with np.errstate(over="ignore"):
        b[...] = a / (a - 1)
    return x


def known_to_an_exit(b, a):
    v = b * 3
    if v[0] > -1:
        v = v + 1
    x = v * 2
    y = np.sort(x)
    v[...] = a / (a - 1)
    return x + y + v


FUNCTIONS = [
    scaled, whole, stencil, twice, reads_old, in_place, both_ways, read_before_a_library_call, read_before_a_block,
    known_to_an_exit,
]  # fmt: skip
CLEAN, FAULTY = np.linspace(2, 3, 40), np.array([1.0, 0.0, 1e10, np.inf, 1.0] * 8)


def observe(function, a: np.ndarray, how: str) -> tuple:
    """Result, contents of both arguments, warnings and exception of one call."""
    a, b = a.copy(), np.arange(40.0)
    with (
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="raise" if how == "raise" else "warn"),
    ):
        warnings.simplefilter("error" if how == "error" else "always")
        try:
            result = function(b, a)
        except (FloatingPointError, RuntimeWarning) as error:
            result = repr(error)
        else:
            result = None if result is None else np.asarray(result).tobytes()
    return result, a.tobytes(), b.tobytes(), [(str(w.message), w.lineno) for w in caught]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("recorded", ["warn", "raise", "error"])
def test_faults_while_storing(function, recorded: str) -> None:
    compiled = stator.compile(function)
    for _ in range(3):
        assert observe(compiled, CLEAN, recorded) == observe(function, CLEAN, recorded)
        stator.wait()
    for how in ("warn", "raise", "error", "warn"):
        for a in (FAULTY, CLEAN, FAULTY):
            assert observe(compiled, a, how) == observe(function, a, how), (how, a is CLEAN)


def test_what_shows_warnings_may_look_at_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, b = stator.compile(scaled), np.zeros(40)
    seen = []
    for _ in range(3):
        compiled(b, CLEAN)
        stator.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *_: seen.append(b[0]))
        b[...] = 7
        compiled(b, FAULTY)
    assert seen == [7.0]


def test_stores_are_one_pass() -> None:
    compiled, b = stator.compile(whole), np.zeros(40)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for _ in range(3):
            compiled(b, CLEAN)
            stator.wait()
        before = compiled.stats()
        compiled(b, CLEAN)
    after = compiled.stats()
    assert after["kernels_launched"] == before["kernels_launched"] + 1
    assert after["replays"] == before["replays"] + 1


def behind_a_branch(a, k):
    v = a * 2
    if v[0] > k:
        v += 1
    v[1:] = v[:-1] / (a[1:] + 2)
    if v[1] > k:
        v *= v
    return v


def into_a_number(a, b):
    b += a.sum()
    b[...] = b * 2
    return a * b


@pytest.mark.parametrize(
    "function, args", [(behind_a_branch, (CLEAN, np.float64(-1.0))), (into_a_number, (CLEAN, np.array(2.0)))]
)
def test_stores_stay_inside_the_trace(function, args) -> None:
    compiled = stator.compile(function)
    for _ in range(3):
        expected = function(*map(copy.copy, args))
        assert compiled(*map(copy.copy, args)).tobytes() == expected.tobytes()
        stator.wait()
    before = compiled.stats()
    compiled(*map(copy.copy, args))
    after = compiled.stats()
    assert after["replays"] == before["replays"] + 1
    assert after["opaque_steps"] == before["opaque_steps"]
