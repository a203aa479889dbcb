"""One number looked up in a sorted vector, in native loops: np.searchsorted, ndarray.searchsorted, np.interp; and complex
numbers compared with others. Each loop has to be native, and to give what NumPy gives, bit for bit."""

import itertools
import warnings

import numpy as np
import pytest
import stator

NAN, INF = float("nan"), float("inf")


def left(a, keys):
    out = np.zeros(len(keys), np.int64)
    for i in range(len(keys)):
        out[i] = np.searchsorted(a, keys[i])
    return out


def right(a, keys):
    out = np.zeros(len(keys), np.int64)
    for i in range(len(keys)):
        out[i] = a.searchsorted(keys[i], side="right")
    return out


def of_ints(a, keys):
    total = 0
    for k in range(-3, len(keys)):
        total = total * 3 + np.searchsorted(a, k, "left") + a.searchsorted(k, "right")
        total = total % 100003
    return total


def curve(x, y, at):
    out = np.zeros(len(at))
    for i in range(len(at)):
        out[i] = np.interp(at[i], x, y)
    return out


def native(f):
    regions = [r for r in f.regions if r.ready and not r.error]
    return bool(regions) and all(r.python_calls == 0 and r.checks == 0 for r in regions)


def same(f, *args):
    g = stator.compile(f)
    with np.errstate(all="raise"):  # neither raises a flag that anybody looks at
        expected = f(*args)
        for _ in range(6):
            got = g(*args)
            stator.wait()
            assert type(got) is type(expected)
            assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()
    return native(g)


def vectors(dtype, n, seed=0):
    rng = np.random.default_rng(seed)
    a = (rng.normal(size=n) * 10).astype(dtype)
    yield np.sort(a)
    yield a  # not sorted: what is found hangs on how it is looked for
    yield np.sort(a)[::-1].copy()
    yield np.repeat(np.sort(a), 3)[: max(n, 1)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("search", [left, right])
def test_search(dtype, search):
    for n in (0, 1, 2, 3, 17, 300):
        for a in vectors(dtype, n):
            keys = np.concatenate([a[:40], (np.arange(-20, 20) / 2).astype(dtype)])
            assert same(search, a, keys)


def test_search_among_nans():
    a = np.array([-INF, -1.0, -0.0, 0.0, 2.0, INF, NAN, NAN])
    keys = np.array([NAN, INF, -INF, 0.0, -0.0, 1.5])
    assert same(left, a, keys)
    assert same(right, a, keys)


@pytest.mark.parametrize("dtype", ["f8", "i8"])
def test_search_for_ints(dtype):
    assert same(of_ints, np.arange(0, 40, 3).astype(dtype), np.zeros(50))


def test_other_dtypes_are_numpys():
    """NumPy converts both to the dtype that they promote to."""
    same(left, np.arange(5, dtype="f4"), np.array([0.1, 2.5]))
    same(left, np.arange(5), np.array([0.1, 2.5]))
    same(left, np.arange(5) + 0j, np.array([0.1, 2.5]))
    same(left, np.arange(5, dtype="f2"), np.array([0.1, 2.5], "f2"))


def test_vectors_with_gaps():
    a = np.arange(40.0)
    assert same(left, a[::3], a[:20] + 0.5)
    assert same(curve, a[::3], a[::3] ** 2, a[:20] + 0.5)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 60])
def test_interpolation(n):
    rng = np.random.default_rng(n)
    x = np.sort(rng.normal(size=n))
    at = np.concatenate([x, rng.normal(size=60) * 1.5, [NAN, INF, -INF, 0.0, -0.0]])
    assert same(curve, x, rng.normal(size=n), at)
    # not increasing, equal places, infinite and absent values
    assert same(curve, rng.permutation(x), rng.normal(size=n), at)
    assert same(curve, np.round(x), rng.normal(size=n), at)
    special = rng.choice([1.0, INF, -INF, NAN, -0.0, 0.0], size=n)
    same(curve, x, special, at)
    same(curve, special, x, at)


def test_interpolation_of_nothing_raises_as_numpy_does():
    g = stator.compile(curve)
    for _ in range(4):
        with pytest.raises(ValueError, match="sample points is empty"):
            g(np.zeros(0), np.zeros(0), np.zeros(3))
        with pytest.raises(ValueError, match="not of the same length"):
            g(np.zeros(3), np.zeros(4), np.zeros(3))
        stator.wait()


def equal(Y, other):
    same = differ = 0
    kinds = set()
    for i in range(Y.shape[0]):
        kinds = Y[i] == other
        if Y[i] == other:
            same += i
        if other != Y[i]:
            differ += i
    return same, differ, repr(type(kinds))


def equal_python(zs, other):
    count = 0
    for k in range(len(zs)):
        z = complex(zs[k], k % 2)
        if z == other:
            count += k
        elif z != 3:
            count -= 1
    return count


@pytest.mark.parametrize(
    "other", [0, 1, 1.0, 1 + 2j, -0.0, NAN, np.float64(1), np.complex128(1 + 2j), 2**53, 2**70, True]
)
def test_complex_numbers_that_are_compared(other):
    parts = [0.0, -0.0, 1.0, 2.0, NAN, 2.0**53]
    Y = np.array([complex(a, b) for a, b in itertools.product(parts, parts)] * 3)
    for f, first in ((equal, Y), (equal, Y.astype("c8")), (equal_python, np.abs(Y.real))):
        g = stator.compile(f)
        for _ in range(5):
            assert g(first, other) == f(first, other)
            stator.wait()


def test_complex_comparisons_are_native():
    Y = np.eye(20).ravel() * (1 + 2j)

    def f(Y):
        s = 0.0
        for i in range(Y.shape[0]):
            if Y[i] == 0:
                continue
            s += Y[i].real
        return s

    assert same(f, Y)


def test_a_complex_number_that_is_no_number_is_found_as_itself():
    def f(ys, z):
        found = 0
        for i in range(len(ys)):
            y = ys[i]
            if y in (1.0, y):
                found += 1
            if z in (z, 5.0):
                found += 1000
            if complex(i, 0) in (3.0, 4):
                found += 1000000
        return found

    ys = np.array([complex(NAN, 0), 1.0] * 20)
    g = stator.compile(f)
    for z in (1j, complex(NAN, 0)) * 3:
        assert g(ys, z) == f(ys, z)
        stator.wait()


def test_the_type_of_a_complex_comparison():
    """complex.__eq__ takes an np.float64 for a float, np.float64.__eq__ makes a bool of NumPy's."""

    def f(xs):
        left = right = total = 0
        for i in range(len(xs)):
            left = complex(i, 0) == xs[i]
            right = xs[i] != complex(i, 0)
            total += ~left
        return total, type(left), type(right)

    xs = np.arange(30.0)
    g = stator.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ~ of a bool
        for _ in range(5):
            assert repr(g(xs)) == repr(f(xs))
            stator.wait()


@pytest.mark.parametrize("side", [None, "l", "middle", 1])
def test_other_sides_are_numpys(side):
    def f(a, n):
        total = 0
        for k in range(n):
            total += np.searchsorted(a, k, side) + a.searchsorted(k, side=side)
        return total

    def outcome(g):
        try:
            return g(np.arange(10.0), 20)
        except (TypeError, ValueError) as error:
            return repr(error)

    g = stator.compile(f)
    for _ in range(5):
        assert outcome(g) == outcome(f)
        stator.wait()
