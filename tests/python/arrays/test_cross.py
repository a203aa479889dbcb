"""np.cross is generated code: three stores of products' differences, and a view of what they are stored to."""

import numpy as np
import pytest
import stator
from replayed import outcome

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
def test_shapes(dtype):
    x = (RNG.normal(size=(4, 5, 3)) * 9).astype(dtype)
    some = [
        x,
        x[0],
        x[0, 0],
        x[:, :1],
        x[..., ::-1],
        x[1:, ::2],
        x[0, :, :2],
        np.asfortranarray(x),
        x[:0],
        x[0].T,
    ]
    some += [x.astype(np.float32), [1.0, 2.0, 3.0]]
    functions = [
        lambda a, b: np.cross(a, b),
        lambda a, b: np.cross(a, b, axis=0),
        lambda a, b: np.cross(a, b) * 2 + 1,
        lambda a, b: np.cross(a, b, axisc=0),
    ]
    for function in functions:
        compiled = stator.compile(function)
        for a in some:
            for b in some:
                wanted = outcome(function, a, b)
                for _ in range(2):
                    assert outcome(compiled, a, b) == wanted


def test_special_values():
    def f(a, b):
        return np.cross(a, b)

    compiled = stator.compile(f)
    for special in (np.inf, np.nan, 1e200, -0.0, 5e-324):
        a, b = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3))
        a[2, 1] = b[3, 0] = b[2, 2] = special
        for _ in range(2):
            assert outcome(compiled, a, b) == outcome(f, a, b)


def test_results_are_stored_to():
    def f(a, b):
        c = np.cross(a, b)
        c[0] = 7.0
        d = c.base
        c += a
        return c, d.sum(), c is d

    compiled = stator.compile(f)
    a, b = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3))
    for _ in range(4):
        (c, s, same), (e, t, other) = f(a, b), compiled(a, b)
        assert c.tobytes() == e.tobytes() and s == t and same == other


def test_spin():
    def f(w, inertia, n, dt):
        out = np.empty((n, 3))
        for k in range(n):
            w = w - dt * np.cross(w, inertia @ w)
            out[k] = w
        return out

    def g(positions, velocities, field):
        return (
            np.cross(velocities, field)
            + np.cross(field, positions) / np.linalg.norm(positions, axis=1)[:, None]
        )

    args = np.array([0.1, 1.0, 0.2]), np.diag([1.0, 2.0, 3.0]), 50, 0.01
    compiled = stator.compile(f)
    for _ in range(3):
        assert compiled(*args).tobytes() == f(*args).tobytes()
    compiled = stator.compile(g)
    for n in (5, 9, 40):
        args = RNG.normal(size=(n, 3)), RNG.normal(size=(n, 3)), np.array([0.0, 0.0, 2.0])
        for _ in range(2):
            assert compiled(*args).tobytes() == g(*args).tobytes()
    assert "library" not in str(compiled.graph())
