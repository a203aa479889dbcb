"""Calls in all argument forms inside compiled functions are followed without leaving the trace."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import stator

X = np.linspace(0.0, 1.0, 7)


def scaled(a, b=2.0, *, gain=1.0, **rest):
    if rest:
        a = a + rest.get("offset", 0.0) * len(rest.get("name", "xy"))
    if "twice" in rest:
        a = a * rest["twice"]
    return a * b * gain


def gathered(*parts, **options):
    return scaled(*parts, **options)


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@logged
def wrapped(a, b, gain=3.0):
    return a - b * gain


class Layer:
    def __init__(self):
        self.args = (2.0, 3.0)
        self.options = {"gain": 0.5}

    def forward(self, x, first, second, gain=1.0):
        return x * first + second * gain

    def __call__(self, x):
        return self.forward(x, *self.args, **self.options)


def cut(x, k):
    inside, rest = slice(1, -1), slice(k)
    step = slice(k, None, 2)
    half = 0.5 * 3.0
    return x[inside].sum() + x[rest].sum() + x[step] ** -half


LAYER = Layer()

PROGRAMS = {
    "positional tuple": lambda x: scaled(*(x, 3.0)),
    "keywords of a literal": lambda x: scaled(x, **{"gain": 2.0, "b": 0.5}),
    "both": lambda x: scaled(*(x,), 4.0, **{"gain": 0.25}),
    "forwarded": lambda x: gathered(x, 5.0, gain=2.0),
    "keywords left over": lambda x: gathered(x, gain=2.0, offset=0.5, name="abc"),
    "keywords looked up": lambda x: gathered(x, twice=2.0),
    "decorated": lambda x: wrapped(x, x * 2) + wrapped(x, b=x, gain=0.5),
    "merged dicts": lambda x: scaled(x, **{"b": 1.5, **{"gain": 2.0, "b": 3.0}}),
    "a ufunc": lambda x: np.add(*(x, x * 2)) + np.multiply(*[x, 2.0]),
    "a library function": lambda x: np.stack(*((x, x + 1),), **{"axis": 1}),
    "attributes": lambda x: LAYER.forward(x, *LAYER.args, **LAYER.options),
    "slices and exponents in variables": lambda x: cut(x + 1.0, 2),
    "lambda default": lambda x, k=2.5: scaled(x, *(k,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_stays_in_the_trace(name):
    function = PROGRAMS[name]
    compiled = stator.compile(function)
    expected = function(X)
    for _ in range(4):
        found = compiled(X)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    stats = stator.stats(compiled)
    assert stats["opaque_steps"] == 0 and stats["replays"] == 3, stats


def test_options_that_change():
    compiled = stator.compile(lambda x, options: scaled(x, **options))
    for options in [
        {},
        {"gain": 2.0},
        {},
        {"gain": 3.0},
        {"offset": 1.0},
        {"gain": 2.0, "b": 1.0},
        {"gain": 4.0},
    ]:
        for _ in range(3):
            assert compiled(X, options).tobytes() == scaled(X, **options).tobytes()


def test_unknown_keyword_raises_as_ever():
    compiled = stator.compile(lambda x, name: np.sqrt(x) + wrapped(x, x, **{name: 1.0}))
    for name in ["gain", "gain", "gain", "volume", "gain"]:
        if name == "volume":
            with pytest.raises(TypeError, match="unexpected keyword argument 'volume'"):
                compiled(X, name)
        else:
            assert compiled(X, name).tobytes() == (np.sqrt(X) + (X - X * 1.0)).tobytes()


def test_exit_inside_a_spread_call_rebuilds_the_dict():
    def inner(x, **options):
        y = x + options["k"]
        if y[0] > 0:
            return y * 2, options
        return y, options

    def outer(x):
        z, options = inner(*(x - 1,), **{"k": 0.5, "name": "n"})
        return z + 1, options

    compiled = stator.compile(outer)
    for x in [X, X, X + 2, X + 3, X, X + 2, X + 2, X + 2]:
        (found, options), (expected, wanted) = compiled(x), outer(x)
        assert found.tobytes() == expected.tobytes()
        assert options == wanted and list(options) == list(wanted)
