"""Matrix products, reductions along axes, shapes and NumPy's functions of arrays inside regions."""

from __future__ import annotations

import numpy as np
import pytest

from .whole import check_whole

# Bodies of f(a, v, t, n): a square matrix, a vector and a stack of matrices (2, n, n + 1), floats of one dtype.
PRODUCTS = {
    "matrix times matrix": "for i in range(n):\n    a = a @ a * 0.1\nreturn a",
    "of a transposed matrix": "for i in range(n):\n    a[:] = a @ a.T * 0.1\nreturn a",
    "of two transposed": "for i in range(n):\n    a[:] = (a.T @ a.T) * 0.1\nreturn a",
    "matrix times vector": "for i in range(n):\n    v[:] = a @ v\n    v *= 0.1\nreturn v",
    "vector times matrix": "for i in range(n):\n    v = (v @ a) * 0.1\nreturn v",
    "a transposed matrix times a vector": "for i in range(n):\n    v[:] = a.T @ v * 0.1\nreturn v",
    "of parts": "s = 0.0\nfor i in range(1, n):\n    s += (a[:i, i:] @ a[i:, :i]).sum() + (a[:i] @ v)[0]\nreturn s",
    "of every second row": "s = 0.0\nfor i in range(1, n):\n    s += np.sum(a[::2] @ a[:, ::2])\nreturn s",
    "of reversed rows": "s = 0.0\nfor i in range(1, n):\n    s += np.sum(a[::-1] @ a) + np.sum(v[::-1] @ a)\nreturn s",
    "a row and a column": "s = 0.0\nfor i in range(n):\n    s += (a[i:i + 1] @ a[:, i:i + 1])[0, 0]\nreturn s",
    "a column and a row": "s = 0.0\nfor i in range(n):\n    s += np.sum(a[:, i:i + 1] @ a[i:i + 1])\nreturn s",
    "stacks": "s = 0.0\nfor i in range(n):\n    s += (t.transpose(0, 2, 1) @ t).sum() + (a @ t)[1, 0, 0] + (v @ t)[0, 1]\nreturn s",
    "of expressions": "s = 0.0\nfor i in range(n):\n    s += ((a + i) @ (a * 2))[0, i] + ((a - v) @ (v + 1))[i]\nreturn s",
    "np.matmul and np.dot": "s = 0.0\nfor i in range(n):\n    s += np.matmul(a, a)[i, 0] + np.dot(a, a)[0, i] + a.dot(v)[i] + np.dot(v, a.T)[0]\nreturn s",
    "np.outer": "for i in range(n):\n    a += np.outer(v, v) * 0.01\nreturn a",
}  # fmt: skip
REDUCTIONS = {
    "axes of a matrix": "for i in range(n):\n    v += np.sum(a, axis=0) * 0.1 + a.sum(axis=1) * 0.1 - a.mean(axis=0)\nreturn v",
    "extrema along axes": "for i in range(n):\n    v += np.max(a, axis=1) - a.min(axis=0) * 0.5 + np.amax(a * v, axis=-1)\nreturn v",
    "several axes": "s = 0.0\nfor i in range(n):\n    s += np.sum(t * i, axis=(0, 2))[0] + np.sum(t, axis=(1, 2))[1] + t.sum(axis=(0, 1))[i]\nreturn s",
    "kept axes": "for i in range(n):\n    a /= np.sum(a, axis=1, keepdims=True)\n    a -= np.max(a, axis=0, keepdims=True) * 0.1\nreturn a",
    "softmax": "for i in range(n):\n    e = np.exp(a - np.max(a, axis=-1, keepdims=True))\n    a[:] = e / np.sum(e, axis=-1, keepdims=True)\nreturn a",
    "parts and other layouts": "s = 0.0\nfor i in range(1, n):\n    s += np.sum(a[::2, i:]) + a.T.sum() + np.sum(a[:i, :i]) + a[:, ::-1].sum() + t[:, i, :-1].sum()\nreturn s",
    "of bools and ints": "s = 0\nfor i in range(n):\n    s += np.sum(a > 0.5) + (a > v).sum(axis=0)[i] + np.any(a[i] > 0.9) + np.all(a[i] > 0.1)\nreturn s",
    "products and arguments": "s = 0.0\nfor i in range(n):\n    s += np.prod(a[i]) + a.argmax() + np.argmin(a, axis=0)[i] + a[:, i].prod()\nreturn s",
    "spread": "s = 0.0\nfor i in range(n):\n    s += np.std(a) + np.var(a, axis=0)[i] + np.linalg.norm(v) + np.linalg.norm(a)\nreturn s",
    "running": "for i in range(n):\n    v = np.cumsum(v) * 0.1\nreturn v",
}  # fmt: skip
FUNCTIONS = {
    "joined": "s = 0.0\nfor i in range(n):\n    s += np.hstack((a, a[:, :1]))[i, -1] + np.vstack((a, v))[n, i] + np.concatenate((v, v * 2))[-1] + np.stack((v, v))[1, i]\nreturn s",
    "triangles": "s = 0.0\nfor i in range(n):\n    s += np.sum(np.triu(a, 1)) - np.sum(np.tril(a * i))\nreturn s",
    "powers": "for i in range(n):\n    v = v ** 3 * 0.1 + v ** 0.5 + (v + 1) ** -1.5 + v ** 2 + (v + 2.0) ** -1\n    v %= 1.0\nreturn v",
    "powers in place": "for i in range(n):\n    v **= 3\n    v += 1.5\n    v **= 0.5\nreturn v",
    "division with a rest": "for i in range(n):\n    v = v // 0.3 + v % 0.7\nreturn v",
    "transcendental": "for i in range(n):\n    v = np.sin(v) + np.exp(-v) + np.log(v + 2) + np.arctan2(v, v + 1) * np.tanh(v)\nreturn v",
    "of a reversed vector": "for i in range(n):\n    v = np.exp(-v[::-1]) + np.cos(v[::2]).sum()\nreturn v",
    "choices": "for i in range(n):\n    v = np.where(v > 0.5, v, v * 2) + np.clip(v, 0.2, 0.8) - np.maximum(v, 0.3)\n    v *= 0.4\nreturn v",
    "sorted": "for i in range(n):\n    v = np.sort(v) - np.sort(a[:, i]) * 0.1\nreturn v",
    "unit axes": "x = a[:, 0:1].copy()\nfor i in range(n):\n    y = a[:, 1:2]\n    a[:] = 0.1 * (y.T - y) + x - x.T + a[i:i + 1] * a[:, i:i + 1]\nreturn a",
    "reshaped": "s = 0.0\nfor i in range(n):\n    s += (a.reshape(n * n) + a.ravel())[i] + np.reshape(a * 2, (-1,)).sum() + a.T.flatten()[1] + t.reshape(2, -1)[1, i]\nreturn s",
    "a view of another shape": "w = a.reshape(-1)\nfor i in range(n):\n    w = a.reshape(n * n)\n    w[i] = i\nreturn a, w",
    "transposed": "for i in range(n):\n    a[:] = a.T + np.transpose(a) * 0.5\n    a += a.T\n    a *= 0.2\nreturn a",
    "solved": "for i in range(n):\n    v = np.linalg.solve(a + n * np.eye(n), v) + np.linalg.inv(a + n * np.eye(n))[0]\nreturn v",
}  # fmt: skip
BODIES = {**PRODUCTS, **REDUCTIONS, **FUNCTIONS}


def _arguments(dtype):
    def make(n):
        rng = np.random.default_rng(n)
        arrays = [rng.random((n, n)), rng.random(n), rng.random((2, n, n + 1))]
        return [*(x.astype(dtype) for x in arrays), n]

    return make


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", BODIES)
def test_floats(name, dtype):
    body = "".join(f"    {line}\n" for line in BODIES[name].split("\n"))
    check_whole(f"def f(a, v, t, n):\n{body}", _arguments(dtype))


FAULTS = {
    "a product overflows": "for i in range(n):\n    a = a @ a\nreturn a",
    "a function is given what it warns about": "for i in range(n):\n    v = np.log(v - 0.1 * i)\nreturn v",
    "a matrix without an inverse": "for i in range(n):\n    a[i] = a[0]\n    v = np.linalg.solve(a, v)\nreturn v",
    "a power of a negative number": "for i in range(n):\n    v = (v - 0.3) ** 0.5\nreturn v",
    "extents that do not fit": "for i in range(n):\n    v = v[:n - i // 4] @ a\nreturn v",
    "no elements": "for i in range(n):\n    v[0] = np.mean(v[i * (i < 5):n * (i < 5)])\nreturn v",
    "a reshape that does not fit": "for i in range(n):\n    v[0] += v[:n - i // 4].reshape(n, 1)[0, 0]\nreturn v",
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name):
    """Warnings and exceptions are Python's, at the iteration where they belong."""
    import stator
    from fuzz.compare import observe, report

    from .whole import function_of

    body = "".join(f"    {line}\n" for line in FAULTS[name].split("\n"))
    text = f"def f(a, v, t, n):\n{body}"
    make = _arguments("f8")
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for size in (7, 11, 7, 11):
        arguments = [np.multiply(x, 1e80) if "overflows" in name and np.ndim(x) else x for x in make(size)]
        expected = observe(eager, [np.copy(x) if np.ndim(x) else x for x in arguments])
        found = observe(compiled, [np.copy(x) if np.ndim(x) else x for x in arguments])
        assert found == expected, report(expected, found)
        stator.wait()


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1"])
@pytest.mark.parametrize(
    "name",
    [
        "matrix times matrix",
        "vector times matrix",
    ],
)
def test_integers(name, dtype):
    text = {
        "matrix times matrix": "for i in range(n):\n        a = a @ a\n    return a",
        "vector times matrix": "for i in range(n):\n        v = v @ a\n    return v, v @ v",
    }[name]
    check_whole(
        f"def f(a, v, n):\n    {text}\n",
        lambda n: [np.random.default_rng(n).integers(0, 9, s).astype(dtype) for s in ((n, n), n)] + [n],
    )


def test_extents_that_become_one():
    """A region for extents of two and more, and another one for 1, which broadcasts."""
    text = "def f(a, v, n):\n    for i in range(n):\n        a += v\n    return a\n"
    import stator
    from fuzz.compare import observe, report

    from .whole import function_of

    eager, compiled = function_of(text), stator.compile(function_of(text))
    for shape in ((4, 5), (4, 1), (1, 5), (1, 1), (4, 5), (4, 1), (0, 5)):
        for _ in range(3):
            arguments = [
                np.ones((4, 5)) if 0 not in shape else np.ones(shape),
                np.arange(float(np.prod(shape))).reshape(shape),
                6,
            ]
            expected, found = (
                observe(eager, [np.copy(x) if np.ndim(x) else x for x in arguments]),
                observe(compiled, [np.copy(x) if np.ndim(x) else x for x in arguments]),
            )
            assert found == expected, report(expected, found)
            stator.wait()


SHAPES = ((3, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (2, 1, 300), (40, 9, 3), (3, 0, 4), (0, 3, 4))
AXES = (0, 1, 2, (0, 1), (0, 2), (1, 2), -1)


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_reductions_along_axes(name, dtype):
    """Of an array, of an expression and of a part, for extents of every kind."""
    from fuzz.compare import observe, report
    from stator import compile as compiled_of
    from stator import wait

    from .whole import function_of

    keepdims = dtype == "f4"
    for axis in AXES:
        text = (
            "def f(x, n):\n    for i in range(n):\n"
            f"        a = np.{name}(x, axis={axis}, keepdims={keepdims})\n"
            f"        b = (x * 2).{name}(axis={axis}, keepdims={keepdims})\n"
            f"        c = np.{name}(x[:, ::-1], axis={axis}, keepdims={keepdims})\n"
            "    return a, b, c\n"
        )
        eager, compiled = function_of(text), compiled_of(function_of(text))
        for shape in SHAPES:
            x = (np.random.default_rng(1).random(shape) * 9 - 4).astype(dtype)
            for _ in range(2):
                expected, found = observe(eager, [x, 3]), observe(compiled, [x, 3])
                assert found == expected, f"{axis} {shape}: {report(expected, found)}"
                wait()


OF_COMPLEX = {
    "sums into new arrays": "for z in range(n):\n    t = np.zeros(a.shape, np.complex128)\n    for k in range(3):\n        t += a * k\n    a = t * 0.5\nreturn a",
    "products": "for i in range(n):\n    a = (a @ a) * 0.1\n    v = a.T @ v + v @ a\n    a = a / 2\nreturn a, v",
    "functions of numbers": "for i in range(n):\n    v[i] = np.power(v[i], 1.5 - i) * v[0] + v[-1] * 2\nreturn v",
    "inverses": "for i in range(n):\n    a = np.linalg.inv(a + n * np.eye(n))\nreturn a",
    "reductions along axes": "for i in range(n):\n    v = np.sum(a, axis=0) * 0.1 + a.mean(axis=1)\n    a = a - v\nreturn a, v",
}  # fmt: skip


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex(name):
    def arguments(n):
        r = np.random.default_rng(n)
        return [r.random((n, n)) + 1j * r.random((n, n)), r.random(n) + 1j * r.random(n), n]

    body = "".join(f"    {line}\n" for line in OF_COMPLEX[name].split("\n"))
    check_whole(f"def f(a, v, n):\n{body}", arguments)


def test_integer_powers():
    """Of exponents that only the run knows: Python's ints, long ones and floats among them."""
    text = "def f(n, b):\n    s = 0\n    for i in range(n):\n        s += b ** i % 1000003 + (i - 2) ** i\n    return s\n"
    check_whole(text, lambda n: [n, 3])
    from fuzz.compare import observe, report
    from stator import compile as compiled_of
    from stator import wait

    from .whole import function_of

    text = "def f(n, b):\n    s = 0\n    for i in range(n):\n        s += b ** (40 - i)\n    return s\n"
    eager, compiled = function_of(text), compiled_of(function_of(text))
    for n, b in ((30, 2), (60, 3), (30, 2), (60, -7), (50, 1)):
        expected, found = observe(eager, [n, b]), observe(compiled, [n, b])
        assert found == expected, report(expected, found)
        wait()
