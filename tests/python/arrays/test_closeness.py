"""np.isclose, np.allclose and np.array_equal are generated code (frontend/hosts/numpy/closeness.cpp)."""

import itertools

import numpy as np
import pytest
import stator
from replayed import outcome

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    1.0 + 1e-5,
    1.0 + 1.1e-5,
    1e-8,
    1.1e-8,
    np.inf,
    -np.inf,
    np.nan,
    1e308,
    -1e308,
    5e-324,
]


def agrees(function, argument_lists):
    compiled = stator.compile(function)
    for args in argument_lists:
        wanted = outcome(function, *args)
        for _ in range(2):
            assert outcome(compiled, *args) == wanted, args
    return compiled


FUNCTIONS = [
    lambda x, y: np.allclose(x, y),
    lambda x, y: np.allclose(x, y, rtol=0, atol=1e-5),
    lambda x, y: np.allclose(x, y, 1e-3, 0.0),
    lambda x, y: np.allclose(x, y, equal_nan=True),
    lambda x, y: np.allclose(x, y, rtol=np.inf),
    lambda x, y: np.allclose(x, y, atol=x),
    lambda x, y: np.isclose(x, y),
    lambda x, y: np.isclose(x, y, 1e-3, 0.0)[..., 0] | True,
    lambda x, y: np.isclose(x, y).base is None,
    lambda x, y: np.array_equal(x, y),
    lambda x, y: np.array_equal(x, y, equal_nan=True),
    lambda x, y: "near" if np.allclose(x, y) else "far",
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_special_values(function):
    pairs = [(np.array([a, 1.0]), np.array([b, 1.0])) for a, b in itertools.product(SPECIAL, repeat=2)]
    agrees(function, pairs)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_kinds_of_operands(function):
    x = np.linspace(0, 1, 12).reshape(3, 4)
    some = [
        x,
        x + 1e-9,
        x.T,
        x[:, ::2],
        x[0],
        x[:0],
        x[:1],
        x.astype(np.float32),
        x.astype(int),
        x > 0.5,
        x + 0j,
    ]
    some += [
        0.0,
        1,
        np.float64(0.5),
        np.float32(0.5),
        np.array(0.5),
        [0.5, 0.5, 0.5, 0.5],
        x.astype(object),
        None,
    ]
    agrees(function, itertools.product(some, repeat=2))


def test_lengths_share_a_trace():
    def f(x, y):
        return np.allclose(x, y) and not np.array_equal(x, y)

    compiled = stator.compile(f)
    for n in range(2, 70):
        x = np.linspace(0.1, 1, n)
        y = x.copy()
        y[n // 2] += 1e-7
        assert compiled(x, y) is f(x, y) is True
        y[n - 1] += 1.0
        assert compiled(x, y) is f(x, y) is False
    assert "library" not in str(compiled.graph())


def test_iterations_that_converge():
    def f(a, b):
        x = np.zeros_like(b)
        for k in range(200):
            new = (b - (a @ x - np.diag(a) * x)) / np.diag(a)
            if np.allclose(new, x, rtol=1e-10):
                break
            x = new
        return x, k

    rng = np.random.default_rng(1)
    a, b = rng.random((6, 6)) + 9 * np.eye(6), rng.random(6)
    compiled = stator.compile(f)
    for _ in range(4):
        (x, k), (y, n) = f(a, b), compiled(a, b)
        assert x.tobytes() == y.tobytes() and k == n
