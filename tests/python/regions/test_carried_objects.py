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
