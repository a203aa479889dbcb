"""Every kernel of the suite, on the CPU through the shim: results, bounds, barriers, races."""

import numpy as np
import pytest

from tests.gpu import machine, runner
from tests.gpu.suite import PROGRAMS

pytestmark = machine.without_gpu


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program):
    cases = [
        runner.Case(program, program.arguments(np.random.default_rng(7), size)) for size in program.sizes
    ]
    for case in cases:
        case.check()
    assert not runner.narrow(cases), f"no access of 16 bytes in {runner.narrow(cases)}"
