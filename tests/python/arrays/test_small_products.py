"""Products of small matrices in replays call the loop of NumPy's matmul (frontend/hosts/numpy/small_products.cpp)."""

import itertools

import numpy as np
import pytest
import stator
from replayed import outcome

RNG = np.random.default_rng(8)

PRODUCTS = [
    lambda a, b: a @ b,
    lambda a, b: np.matmul(a, b),
    lambda a, b: np.dot(a, b),
    lambda a, b: a.dot(b),
    lambda a, b: a @ b @ a.T @ a + 1.0,
    lambda a, b: a.T @ a - b @ b.T,
]


def operands(dtype):
    x = RNG.normal(size=(9, 8)).astype(dtype)
    y = RNG.normal(size=(40, 40)).astype(dtype)
    return [
        x[:3, :3], np.ascontiguousarray(x[:3, :3]), x[:3, :3].T, x[:1, :3], x[:3, :1], x[0, :3], x[:3, 0], x[:6:2, :6:2],
        x[:3, 2::-1], x[2::-1, :3], x[:0, :3], x[:3, :0], x[:1, :1], x[0, :1], np.broadcast_to(x[0, :3], (3, 3)), y, y.T, y[:33],
        y[0], y[:, 0], y[:5], y[:, :5].copy(), RNG.normal(size=(2, 3, 3)).astype(dtype),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
def test_shapes_and_strides(dtype):
    for function in PRODUCTS:
        compiled = stator.compile(function)
        for a, b in itertools.product(operands(dtype), repeat=2):
            wanted = outcome(function, a, b)
            for _ in range(3):
                assert outcome(compiled, a, b) == wanted, (a.shape, a.strides, b.shape, b.strides)


def test_flags():
    def f(a, b):
        return a @ b

    compiled = stator.compile(f)
    for special in (np.inf, np.nan, 1e200, 5e-324, -0.0):
        a, b = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
        for k in range(3):
            a[0, k] = b[k, 1] = special
            b[k, 2] = 0.0
            wanted = outcome(f, a, b)
            for _ in range(2):
                assert outcome(compiled, a, b) == wanted
            with np.errstate(all="raise"):
                assert outcome(compiled, a, b) == outcome(f, a, b)
            with np.errstate(all="ignore"):
                assert outcome(compiled, a, b) == outcome(f, a, b)


def test_lengths_share_a_trace():
    def f(a, x):
        return a @ x + np.dot(x, a)

    compiled = stator.compile(f)
    for n in range(2, 60):
        a, x = RNG.normal(size=(n, n)), RNG.normal(size=n)
        assert compiled(a, x).tobytes() == f(a, x).tobytes()
    assert len(compiled.traces) == 1


def test_filter():
    def predict_and_update(x, p, f, h, q, r, z):
        x = f @ x
        p = f @ p @ f.T + q
        k = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
        return x + k @ (z - h @ x), (np.eye(len(x)) - k @ h) @ p

    compiled = stator.compile(predict_and_update)
    f, h = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    state = other = np.zeros(2), np.eye(2)
    for n in range(20):
        z = np.array([np.sin(n)])
        state = predict_and_update(*state, f, h, 0.01 * np.eye(2), np.eye(1), z)
        other = compiled(*other, f, h, 0.01 * np.eye(2), np.eye(1), z)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(state, other))


@pytest.mark.parametrize("function", PRODUCTS[:4])
def test_products_of_single_elements(function):
    """np.dot takes vectors of one element for numbers: a product that is -0.0 stays so, where a sum would be 0.0."""
    compiled = stator.compile(function)
    shapes = [(1,), (1, 1), (3, 1), (1, 3)]
    for shape, other, dtype in itertools.product(shapes, shapes, "fd"):
        a, b = np.full(shape, -2, dtype), np.zeros(other, dtype)
        wanted = outcome(function, a, b)
        for _ in range(3):
            assert outcome(compiled, a, b) == wanted, (shape, other, dtype)
