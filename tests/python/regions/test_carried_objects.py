"""Objects that a loop hands on without looking at them: they may be others in each call."""

from __future__ import annotations

import numpy as np
import stator


def relax(u, steps):
    history = []
    change = np.float64(0.0)
    for k in range(steps):
        old = u.copy()
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        change = np.max(np.abs(u - old))
        if k % 50 == 0:
            history.append(float(change))
    return change, history


def test_a_list_of_the_call():
    """One region serves all calls, though each has a list of its own."""
    compiled = stator.compile(relax)
    for call in range(6):
        expected = relax(np.linspace(0.0, 1.0, 20) ** 2, 200)
        found = compiled(np.linspace(0.0, 1.0, 20) ** 2, 200)
        assert found == expected, call
        stator.wait()
    entered = [r.entries for r in compiled.regions]
    assert len(entered) <= 2 and sum(entered) >= 5, compiled.regions


def inside_with(a, n):
    with np.errstate(over="ignore"):
        for i in range(n):
            a[i % 4] = a[i % 4] * 0.5 + i
    return a


def test_inside_a_with_block():
    """What the block has on the stack is another object in each call."""
    compiled = stator.compile(inside_with)
    for _ in range(6):
        assert (compiled(np.ones(4), 40) == inside_with(np.ones(4), 40)).all()
        stator.wait()
    assert len(compiled.regions) <= 2
    assert sum(r.entries for r in compiled.regions) >= 4


def test_arrays_of_other_dtypes_have_versions_of_their_own():
    """An array that becomes one of another dtype in the first iteration does not keep its loop in Python."""

    def f(a, n):
        t = a
        for i in range(n):
            t = t + 1 if i < 3 else t * 0.5
        return t, i

    compiled = stator.compile(f)
    for _ in range(3):
        assert repr(compiled(np.arange(5), 8)) == repr(f(np.arange(5), 8))
    assert stator.stats(compiled)["regions"] == 1


def test_arrays_in_other_orders_have_versions_of_their_own(monkeypatch):
    """A version of the loop whose variable may hold arrays that it made relies on the order of their axes."""
    monkeypatch.setattr(stator.options, "async", False)

    def f(a, b, n):
        for i in range(n):
            if i % 3 == 1:
                a, b = b, a
            elif i % 3 == 2:
                a = a + a
        return a, b

    compiled = stator.compile(f)
    for n in (4, 5, 6, 7, 9, 12):
        for swapped in (False, True):
            pair = np.ones((3, 5)), np.asfortranarray(np.full((3, 5), 2.0))
            a, b = pair[::-1] if swapped else pair
            for e, g in zip(f(a, b, n), compiled(a, b, n), strict=True):
                assert e.strides == g.strides and (e == g).all(), n
