"""Everyday loops: bits, side effects and errors of every call, and that their loops are native from end to end."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.check import internal_errors
from fuzz.compare import observe, report

from .everyday import PROGRAMS
from .whole import LEAVING, function_of


def _arguments(name, size, call):
    return PROGRAMS[name].arguments(np.random.Generator(np.random.PCG64([size, call])), size)


@pytest.mark.parametrize("name", PROGRAMS)
def test_everyday(name):
    eager, compiled = function_of(PROGRAMS[name].text), stator.compile(function_of(PROGRAMS[name].text))
    with internal_errors() as wrong:
        for size in (8, 13, 8):
            for call in range(3):
                expected = observe(eager, _arguments(name, size, call))
                found = observe(compiled, _arguments(name, size, call))
                assert expected.exception is None
                assert found == expected, f"size {size}, call {call}: {report(expected, found)}"
                stator.wait()
        warm = stator.stats(compiled)
        compiled(*_arguments(name, 13, 0))
        after = stator.stats(compiled)
    assert not wrong
    if PROGRAMS[name].open:
        pytest.xfail(PROGRAMS[name].open)
    assert warm["regions"] >= 1
    assert {c: after[c] - warm[c] for c in LEAVING} == dict.fromkeys(LEAVING, 0)
