"""Every kernel of the suite, on the CPU through the shim: results, bounds, barriers, races."""

import numpy as np
import pytest

from tests.gpu import runner
from tests.gpu.suite import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program):
    for size in program.sizes:
        rng = np.random.default_rng(7)
        runner.check(program, program.arguments(rng, size))
