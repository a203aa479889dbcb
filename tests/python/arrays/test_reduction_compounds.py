"""var, std, norm, ptp and outer are the reductions and elementwise steps that NumPy makes of them."""

import itertools
import warnings

import numpy as np
import pytest
import stator
from replayed import outcome

RNG = np.random.default_rng(3)


def layouts(dtype):
    x = RNG.normal(size=(6, 7, 5)).astype(dtype) * 3 + 100
    return {
        "C": x,
        "F": np.asfortranarray(x),
        "swapped": x.swapaxes(0, 1),
        "rows with gaps": x[:, ::2],
        "gaps inside": x[..., ::2],
        "backwards": x[::-1],
        "one column": x[..., :1],
        "windows": np.lib.stride_tricks.sliding_window_view(x[0], 3, axis=0),
        "repeated": np.broadcast_to(x[0, 0], (6, 7, 5)),
    }


def calls(axis, ddof, keepdims):
    return [
        lambda x: x.var(axis=axis, ddof=ddof, keepdims=keepdims),
        lambda x: x.std(axis, ddof=ddof, keepdims=keepdims),
        lambda x: np.var(x, axis, ddof=ddof, keepdims=keepdims),
        lambda x: np.std(x, axis, None, None, ddof, keepdims),
        lambda x: (x - x.mean(axis, keepdims=True)) / x.std(axis, ddof=ddof, keepdims=True),
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex128])
def test_layouts_and_axes(dtype):
    axes = [None, 0, 1, -1, (0, 1), (1, 2), (0, 2), (0, 1, 2)]
    for axis, ddof, keepdims in itertools.product(axes, (0, 1), (False, True)):
        for function in calls(axis, ddof, keepdims):
            compiled = stator.compile(function)
            for name, x in layouts(dtype).items():
                wanted = outcome(function, x)
                for _ in range(2):
                    assert outcome(compiled, x) == wanted, (name, axis, ddof, keepdims)


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 127, 128, 129, 1000, 9000])
def test_lengths(length):
    x = RNG.normal(size=(3, length))
    for function in calls(1, 0, False) + calls(None, 0, False) + calls(0, 1, False):
        compiled = stator.compile(function)
        for a in (x, x.T, x[1:], x[:, ::-1]):
            wanted = outcome(function, a)
            for _ in range(2):
                assert outcome(compiled, a) == wanted


def test_too_few_values_warn_each_time():
    def f(x, k):
        return x.std(ddof=k) + np.var(x, correction=k)

    compiled = stator.compile(f)
    for x in (np.arange(5.0), np.arange(2.0), np.arange(1.0), np.zeros(0), np.arange(3.0)):
        for k in (0, 1, 2, 3, 1.5):
            assert outcome(compiled, x, k) == outcome(f, x, k)


def test_ddof_and_correction():
    def f(x, k):
        return np.var(x, ddof=k, correction=0)

    compiled = stator.compile(f)
    x = RNG.normal(size=7)
    for k in (0, 0, 1, 0, 2):
        try:
            wanted = f(x, k)
        except ValueError:
            with pytest.raises(ValueError, match="simultaneously"):
                compiled(x, k)
        else:
            assert compiled(x, k) == wanted


def test_special_values():
    def f(x):
        return x.std(axis=1), x.var()

    compiled = stator.compile(f)
    for special in (np.inf, -np.inf, np.nan, 1e200, 1e-300, -0.0):
        x = RNG.normal(size=(4, 9))
        x[1, 3] = special
        for _ in range(3):
            with warnings.catch_warnings(record=True) as wanted_warnings:
                warnings.simplefilter("always")
                wanted = f(x)
            with warnings.catch_warnings(record=True) as found_warnings:
                warnings.simplefilter("always")
                found = compiled(x)
            assert [str(w.message) for w in found_warnings] == [str(w.message) for w in wanted_warnings]
            assert [w.lineno for w in found_warnings] == [w.lineno for w in wanted_warnings]
            assert found[0].tobytes() == wanted[0].tobytes()
            assert np.array_equal(found[1], wanted[1], equal_nan=True)


def test_nothing_stays_with_numpy():
    def f(x):
        return (x - x.mean(0)) / x.std(0, ddof=1)

    compiled = stator.compile(f)
    x = RNG.normal(size=(50, 4))
    for _ in range(3):
        assert compiled(x).tobytes() == f(x).tobytes()
    assert "library" not in str(compiled.graph())


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex128, np.bool_])
def test_norms_ptp_and_outer(dtype):
    functions = [
        lambda x: np.linalg.norm(x, axis=0),
        lambda x: np.linalg.norm(x, 2, -1, True),
        lambda x: np.linalg.norm(x, axis=(1, 2)),
        lambda x: np.linalg.norm(x[0, 0]),
        lambda x: np.linalg.norm(x[0, 0], keepdims=True),
        lambda x: np.linalg.norm(x[0, :, 0], ord=2),
        lambda x: np.linalg.norm(x[:, None] - x[None, :2], axis=-1),
        lambda x: np.linalg.norm(x, 1, 0),
        lambda x: np.linalg.norm(x, np.inf, axis=1),
        lambda x: np.ptp(x),
        lambda x: np.ptp(x, 0),
        lambda x: np.ptp(x, axis=(0, 2), keepdims=True),
        lambda x: np.outer(x[0, 0], x[1, :, 0]),
        lambda x: np.outer(x[0, ::2, -1], x[1, 1, ::-1]),
        lambda x: np.outer(x[0], x[1]),
        lambda x: np.outer(x[0, 0, :1], x[1, 1]),
    ]
    for k, function in enumerate(functions):
        compiled = stator.compile(function)
        for name, x in layouts(dtype).items():
            wanted = outcome(function, x)
            for _ in range(2):
                assert outcome(compiled, x) == wanted, (k, name)


def test_distances_are_compiled():
    def f(x, y):
        return np.linalg.norm(x[:, None] - y[None], axis=-1)

    compiled = stator.compile(f)
    for n in (4, 9, 30):
        x, y = RNG.normal(size=(n, 3)), RNG.normal(size=(n + 2, 3))
        for _ in range(2):
            assert compiled(x, y).tobytes() == f(x, y).tobytes()
    assert len(compiled.traces) == 1 and "library" not in str(compiled.graph())


def test_norms_warn_where_numpy_does():
    def f(x):
        return np.linalg.norm(x, axis=1)

    compiled = stator.compile(f)
    x = np.full((3, 3), 1e200)
    for a in (x * 1e-200, x, x * 1e-200):
        assert outcome(compiled, a) == outcome(f, a)


def test_norms_of_vectors_warn_once():
    def f(x):
        return np.linalg.norm(x)

    for a in (np.full(33, 1e200), np.full(3, np.nan), np.full(3, 1e30, np.float32)):
        compiled = stator.compile(f)
        wanted = outcome(f, a)
        for _ in range(3):
            assert outcome(compiled, a) == wanted
