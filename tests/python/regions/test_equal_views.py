"""Two views of the same part are two objects, also where a loop made both."""

import numpy as np
import pytest
import stator


def slices(x, rounds):
    a = b = None
    for _ in range(rounds):
        a = x[1:]
        b = x[1:]
    return a, b


def new_axes(x, rounds):
    a = b = None
    for i in range(rounds):
        y = x * i
        a = y[:, None]
        b = y[:, None]
    return a, b


def kept_for_later_iterations(x, rounds):
    a = b = x[1:]
    for i in range(rounds):
        if i % 3 == 0:
            a = b = x[i % 4 :]
        elif i % 3 == 1:
            a = x[i % 4 :]
            b = x[i % 4 :]
    return a, b


def parts_of_parts(x, rounds):
    whole = a = b = None
    for _ in range(rounds):
        whole = x[1:]
        a = whole[1:]
        b = whole[1:]
    return a, b, whole, a


def in_a_tuple(x, rounds):
    both = None
    for i in range(rounds):
        both = (x[i % 4 :], x[i % 4 :])
    return both


@pytest.mark.parametrize(
    "function", [slices, new_axes, kept_for_later_iterations, parts_of_parts, in_a_tuple]
)
@pytest.mark.parametrize("rounds", [298, 299, 300])
def test_what_is_one_object(function, rounds):
    def who_is_who(arrays):
        return [[a is b for b in arrays] for a in arrays]

    compiled = stator.compile(function)
    x = np.arange(5.0)
    expected = function(x, rounds)
    for _ in range(3):
        got = compiled(x, rounds)
        assert all(map(np.array_equal, got, expected))
        assert who_is_who(got) == who_is_who(expected)
        stator.wait()
    assert compiled.regions
