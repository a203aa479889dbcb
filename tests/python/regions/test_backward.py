"""Arrays with negative strides that a loop is given: indexed, gone through, stored into, and in statements on whole arrays."""

import itertools

import numpy as np
import pytest
import stator


def filtered(x, out):
    level = 0.0
    for k in range(len(x)):
        level = 0.5 * level + x[k]
        out[k] = level
    return level


def gone_through(x, out):
    level, k = 0.0, 0
    for v in x:
        level = level * 0.25 + v
        out[k] = level
        k += 1
    return level, k


def shifted(x, out):
    for k in range(len(x) - 1):
        out[1:] = x[:-1] * 0.5 + k
        out[0] = x[-1]
        x[:-1] = x[1:]
    return out[::-1].sum() + x[1:-1:2].sum()


def by_rows(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        out[i] = x[i] * 2 - x[-1 - i]
        for j in range(x.shape[1]):
            total += x[i, j] * (i - j)
    out += x
    return total, out.sum(), (x + out).strides, x.copy().strides, (x.T * 2).strides


def native(f):
    return any(r.ready and not r.error and r.entries for r in f.regions)


def check(f, make, layouts):
    """`make` gives the arguments, anew each time, of which `layouts` make others."""
    g = stator.compile(f)
    for layout in layouts:
        for _ in range(3):
            ours, eager = [layout(a) for a in make()], [layout(a) for a in make()]
            got, expected = g(*ours), f(*eager)
            stator.wait()
            assert repr(got) == repr(expected) and type(got) is type(expected)
            for a, b in zip(ours, eager, strict=True):
                assert a.tobytes() == b.tobytes()
    return native(g)


VECTORS = [lambda a: a[::-1], lambda a: a[::-2], lambda a: a, lambda a: a[::3], lambda a: a[::-1][1:]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int16, np.complex128])
@pytest.mark.parametrize("f", [filtered, gone_through, shifted], ids=lambda f: f.__name__)
def test_vectors(f, dtype):
    def make(n=60):
        x = np.random.default_rng(3).normal(size=n) * 9
        return x.astype(dtype), np.zeros(n, np.complex128 if dtype is np.complex128 else np.float64)

    was_native = check(f, make, VECTORS)
    assert was_native or dtype is np.complex128
    for n in (0, 1, 2, 3):  # lengths that have versions of their own
        if f is not shifted or n > 2:
            check(f, lambda n=n: make(n), VECTORS[:1])


MATRICES = [
    lambda a, i=i, j=j, t=t: a[::i, ::j].T if t else a[::i, ::j]
    for i, j, t in itertools.product((1, -1), (1, -1, -2), (0, 1))
]


@pytest.mark.parametrize("order", range(2))
def test_matrices(order):
    def make():
        x = np.random.default_rng(4).normal(size=(17, 12))
        return x, np.zeros_like(x)

    check(by_rows, make, MATRICES[:: -1 if order else 1])  # with a negative stride they are Python's


def test_views_of_one_array():
    """What is written overlaps what is read: the loop is Python's, which has the result."""

    def f(x, out):
        for k in range(len(x)):
            out[k] = x[k] + 1
        return out.sum()

    g = stator.compile(f)
    for _ in range(4):
        a, b = np.arange(50.0), np.arange(50.0)
        assert g(a, a[::-1]) == f(b, b[::-1]) and a.tobytes() == b.tobytes()
        assert g(a[::-1], a) == f(b[::-1], b) and a.tobytes() == b.tobytes()
        stator.wait()


def quotients(order, n):
    total, last = 0, (0, 0)
    for k in order:
        i, j = divmod(k, n)
        total += i * 3 + j
        last = divmod(-total, 7)
    return total, last


def of_floats(x, y):
    total = 0.0
    for k in range(30):
        q, r = divmod(x + k, y)
        total += q * r
    return total


def test_divmod():
    g = stator.compile(quotients)
    orders = [np.arange(40)[::-1], np.arange(-9, 60), list(range(50)), np.arange(20, dtype=np.int32)]
    for order, n in itertools.product(orders, (7, -3, np.int64(5))):
        for _ in range(3):
            got, expected = g(order, n), quotients(order, n)
            stator.wait()
            assert repr(got) == repr(expected)
    assert native(g)
    for args in ((orders[0], 0), ([1, 2], 0)):
        results = []
        for f in (g, quotients):
            with np.errstate(all="ignore"):
                try:
                    results.append(repr(f(*args)))
                except ZeroDivisionError as e:
                    results.append(str(e))
        assert results[0] == results[1]
    h = stator.compile(of_floats)
    for x, y in ((0.5, 0.3), (-7.25, 2.5), (1e300, -3.0)):
        for _ in range(3):
            assert repr(h(x, y)) == repr(of_floats(x, y))
            stator.wait()
    assert native(h)
    with pytest.raises(ZeroDivisionError, match=r"divmod|division"):
        h(1.0, 0.0)
