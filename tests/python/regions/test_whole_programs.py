"""Programs as scientists write them give eager's results, warnings and random states."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import stator
from fuzz.check import internal_errors
from fuzz.compare import observe, report

from .whole import LEAVING
from .whole_programs import NATIVE, PROGRAMS


def _function(text, monkeypatch):
    """`f` of a module that is there: dataclasses look for theirs."""
    module = types.ModuleType("whole_program")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(module).update(np=np)
    exec(compile(text, "<program>", "exec"), vars(module))
    return module.f


def _arguments(name, size, call):
    return PROGRAMS[name][1](np.random.Generator(np.random.PCG64([size, call])), size)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, monkeypatch):
    text = PROGRAMS[name][0]
    eager, compiled = _function(text, monkeypatch), stator.compile(_function(text, monkeypatch))
    with internal_errors() as wrong:
        for size in (6, 9, 6):
            for call in range(2):
                np.random.seed(call)
                expected = observe(eager, _arguments(name, size, call))
                state = np.random.get_state()
                np.random.seed(call)
                found = observe(compiled, _arguments(name, size, call))
                assert expected.exception is None
                assert found == expected, f"size {size}, call {call}: {report(expected, found)}"
                assert str(np.random.get_state()) == str(state)
                stator.wait()
    assert not wrong
    if name not in NATIVE:
        return
    compiled(*_arguments(name, 9, 0))
    warm = stator.stats(compiled)
    compiled(*_arguments(name, 9, 0))
    after = stator.stats(compiled)
    assert {c: after[c] - warm[c] for c in LEAVING} == dict.fromkeys(LEAVING, 0)
