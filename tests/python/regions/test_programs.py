"""Loops of numerical programs: bits of every call, and whether the loops are regions."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .programs import CASES

REPEATS = 3


def _arguments(name: str, size: int, call: int) -> list:
    return CASES[name].arguments(np.random.Generator(np.random.PCG64([size, call])), size)


@pytest.mark.parametrize("name", CASES)
def test_bits(name):
    """Of the first, second and third call, for two sizes, and again for the first."""
    case = CASES[name]
    compiled = stator.compile(case.function)
    for size in (*case.sizes, case.sizes[0]):
        for call in range(REPEATS):
            expected = observe(case.function, _arguments(name, size, call))
            found = observe(compiled, _arguments(name, size, call))
            assert expected.exception is None
            assert found == expected, f"size {size}, call {call}: {report(expected, found)}"
        stator.wait()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.xfail(strict=False, reason=c.open)] if c.open else [])
        for n, c in CASES.items()
    ],
)
def test_every_loop_is_a_region(name):
    """And in steady state no call leaves one for Python."""
    case = CASES[name]
    compiled = stator.compile(case.function)
    for size in (*case.sizes, *case.sizes):
        for call in range(REPEATS):
            compiled(*_arguments(name, size, call))
        stator.wait()
    warm = stator.stats(compiled)
    assert warm["regions"] >= case.regions, warm
    entered = sum(r.entries for r in compiled.regions)
    compiled(*_arguments(name, case.sizes[1], 0))
    after = stator.stats(compiled)
    # Each loop once: those of functions that it calls are part of it. (A poll ends a region and begins it again.)
    assert sum(r.entries for r in compiled.regions) - entered <= case.regions + 2
    for counter in ("exits", "opaque_steps", "eager_calls", "redone"):
        assert after[counter] == warm[counter], (counter, warm, after)
