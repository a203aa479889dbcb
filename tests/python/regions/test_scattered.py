"""Elements that a statement stores at computed places, and statements after it that read them: statements of other extents lie
between, whose loops are made one."""

import numpy as np
import pytest
import stator


def reversed_places(wide, large, a):
    s = 0.0
    for k in range(len(a)):
        wide = np.multiply(wide, large * 0.5)
        a[np.arange(len(a))[::-1]] = np.sqrt(np.abs(a[np.arange(len(a))[::-1]]))
        s = 1.5 * a[k]
    return s, a, wide


def given_places(wide, large, a):
    s, at = 0.0, np.array([3, 0, 4])
    for k in range(len(a)):
        wide = wide * (large * 0.5)
        part = a[1:4] + k
        a[at] = part * 0.5 + a[at]
        s += a[k] - a[3]
    return s, a, wide


def masked(wide, large, a):
    s = 0.0
    for k in range(len(a)):
        wide = wide * (large * 0.5)
        part = a + k
        a[part > 2] = 0.5
        s += a[k] * 3 - a[0]
        b = a[a < 2.0]
        s += b[0]
    return s, a, wide


def added(wide, large, a):
    s, at = 0.0, np.array([1, 2, 2])
    for k in range(len(a)):
        wide = wide * (large * 0.5)
        a[at] += 1.25
        s += a[2] * a[1] - a[k]
        large = large + 0.0
        a[at[:2]] = large[:2] * s
        s -= a[1]
    return s, a, wide


@pytest.mark.parametrize("f", [reversed_places, given_places, masked, added])
@pytest.mark.parametrize("n", [6, 5, 300, 40_000])
def test_what_was_stored_is_read(f, n):
    compiled = stator.compile(f)
    for _ in range(3):
        arguments = [np.linspace(0.5, 1.5, n), np.linspace(1.9, 2.1, n), np.arange(5.0) + 1]
        want, got = f(*(x.copy() for x in arguments)), compiled(*arguments)
        assert want[0] == got[0] and [x.tobytes() for x in want[1:]] == [x.tobytes() for x in got[1:]]
        stator.wait()
