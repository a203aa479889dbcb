"""Functions of NumPy that warn by warnings.warn: once, at the line of the program that called them."""

import warnings

import numpy as np
import pytest
import stator


def variance(x):
    return x.var(axis=1, ddof=1) + 1.0


def deviation(x):
    return np.std(x, None, None, None, 1) * 2.0


def deviations_in_a_loop(x, out):
    for i in range(out.shape[0]):
        out[i] = np.var(x[: i + 1], ddof=3)
    return out


def cross(x, y):
    return np.cross(x, y) * 2.0


def shapes_of_none(x):
    return np.zeros(None) + x + np.empty(None, dtype="i8").ndim + np.ndarray(shape=None).ndim


def shapes_of_none_in_a_loop(x):
    for i in range(x.shape[0]):
        x[i] = np.zeros(None) + i
    return x


def heard(f, args):
    """What a call returns, or says where it raises, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = f(*args)
        except (ValueError, TypeError) as error:
            result = str(error)
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (variance, [(np.arange(12.0).reshape(3, 4),), (np.ones((1, 1)),), (np.ones((3, 1)),)]),
        (deviation, [(np.arange(5.0),), (np.ones(1),)]),
        (deviations_in_a_loop, [(np.arange(9.0), np.zeros(9))]),
        # Deprecated in NumPy 2.0 and refused by later ones.
        (shapes_of_none, [(np.arange(5.0),)]),
        (shapes_of_none_in_a_loop, [(np.arange(5.0),)]),
        # Vectors of two are warned of up to NumPy 2.4, and refused from 2.5 on.
        (cross, [(np.ones((5, 3)), np.ones((5, 3))), (np.ones((5, 2)), np.ones((5, 2)))]),
    ],
)
def test_a_warning_is_given_once_and_at_its_line(f, calls):
    compiled = stator.compile(f)
    for _ in range(4):
        for args in calls:
            expected, words = heard(f, args)
            got, same_words = heard(compiled, args)
            assert same_words == words
            np.testing.assert_array_equal(got, expected)
            stator.wait()


def test_other_arguments_are_still_replayed():
    f, x = stator.compile(variance), np.arange(12.0).reshape(3, 4)
    for _ in range(3):
        f(x)
    before = f.stats()["replays"]
    f(x)
    assert f.stats()["replays"] == before + 1
