"""Reductions of windows, whose rows lie apart in memory, inside loops that are native code: the order in which NumPy adds."""

import numpy as np
import pytest
import stator

RNG = np.random.default_rng(7)


def of_windows(x, height, width):
    total, results = x.dtype.type(0), []
    for i in range(x.shape[0] - height + 1):
        for j in range(x.shape[1] - width + 1):
            window = x[i : i + height, j : j + width]
            results.append(float(window.sum()))
            results.append(float(np.max(window)))
            results.append(float(window.min()))
            total += np.sum(window)
    return total, results


def averages(x, size):
    out = np.zeros((x.shape[0] // size, x.shape[1] // size), dtype=x.dtype)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.mean(x[i * size : (i + 1) * size, j * size : (j + 1) * size])
            out[i, j] += np.average(x[i * size : (i + 1) * size, j * size : (j + 1) * size])
    return out


def of_parts(x, n):
    total = x.dtype.type(0)
    for i in range(n):
        total += x[i:, : x.shape[1] - 2].sum() + x[:, i : i + 3].max()
    return total


def values(dtype, shape):
    x = RNG.standard_normal(shape) * 10.0 ** RNG.uniform(-6, 6, shape)
    x[RNG.uniform(size=shape) < 0.1] = 0.0
    x[RNG.uniform(size=shape) < 0.1] = -0.0
    return x.astype(dtype)


def layouts(x):
    return [x, np.asfortranarray(x), x[::-1], x[:, ::-1], x[::2, ::2], x[:, 1:-1], x.T]


def same(a, b):
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check(function, calls, regions=1):
    compiled = stator.compile(function)
    for _ in range(3):
        for args in calls:
            assert same(compiled(*args), function(*args))
            stator.wait()
    assert compiled.stats()["regions"] >= regions
    return compiled


def check_no_exits(function, args):
    compiled = check(function, [args])
    before = compiled.stats()["exits"]
    assert same(compiled(*args), function(*args))
    assert compiled.stats()["exits"] == before


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("size", [(3, 3), (2, 9), (9, 1), (1, 9), (17, 11)])
def test_windows(dtype, size):
    x = values(dtype, (24, 22))
    check(of_windows, [(part, *size) for part in layouts(x) if min(part.shape) >= max(size)])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("size", [(5, 1), (9, 1), (12, 1), (1, 9), (3, 4)])
def test_zeros_of_either_sign(dtype, size):
    """Which of them is the maximum depends on whether elements are adjacent: windows of one column are no copies."""
    x = np.abs(values(dtype, (24, 22)))
    x[RNG.random(x.shape) < 0.3] = 0.0
    x[RNG.random(x.shape) < 0.3] = -0.0
    check(of_windows, [(y, *size) for y in (x, -x, x[:, ::2])])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_means_of_windows(dtype):
    x = values(dtype, (24, 32))
    check(averages, [(part, 4) for part in layouts(x)])
    check_no_exits(averages, (x, 4))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("shape", [(40, 50), (100, 81), (128, 66), (200, 100), (3, 9000), (5, 7)])
def test_parts_of_any_size(dtype, shape):
    """Above 8,192 elements they do not fit in NumPy's buffer."""
    check(of_parts, [(values(dtype, shape), 4)])


def test_warnings_and_faults():
    x = np.ones((8, 8))
    x[3, 3], x[3, 4] = np.inf, -np.inf

    def sums(x):
        out = np.zeros(6)
        for i in range(6):
            out[i] = x[i : i + 3, 2:6].sum()
        return out

    compiled = stator.compile(sums)
    for _ in range(4):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce") as caught:
            expected = sums(x)
        with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce") as same_caught:
            got = compiled(x)
        assert [(w.lineno, str(w.message)) for w in caught] == [
            (w.lineno, str(w.message)) for w in same_caught
        ]
        np.testing.assert_array_equal(got, expected)
        stator.wait()


def powers(x, y):
    distance = 0
    for i in range(len(x)):
        distance += pow(x[i] - y[i], 2) + pow(2, i % 5)
    return distance


def conjugates(a, v, n):
    for _ in range(n):
        w = a @ v
        v = w / np.sqrt(np.dot(w.conj(), w))
    return v


def test_pow_and_conj():
    x, y, a = values("f8", 90), values("f8", 90), RNG.standard_normal((12, 12))
    for function, args in ((powers, (x, y)), (conjugates, (a, a[0].copy(), 20))):
        check_no_exits(function, args)
