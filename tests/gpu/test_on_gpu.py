"""Every kernel of the suite on a GPU (STATOR_TEST_GPU=1), launched as `f.cuda` says, beside eager NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu import machine, runner
from tests.gpu.suite import PROGRAMS

pytestmark = pytest.mark.skipif(not machine.has_gpu(), reason="needs a GPU and STATOR_TEST_GPU=1")


@pytest.fixture(scope="module")
def gpu():
    from stator import _gpu

    return _gpu.Gpu()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program, gpu):
    from stator import _gpu

    for size in program.sizes:
        case = runner.Case(program, program.arguments(np.random.default_rng(7), size))
        arrays = [a for a in case.arguments if isinstance(a, np.ndarray)]
        for kernels in case.lists:
            with _gpu.Bound(gpu, kernels, arrays, case.expected) as call:
                call.run()
                runner.compare(
                    program, call.arguments(), call.results(), case.expected, case.eager, f"size {size}"
                )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_launches_anew_give_the_same_bits(program, gpu):
    """Reductions use no atomics: results depend on extents alone, not on which block comes first."""
    from stator import _gpu

    case = runner.Case(program, program.arguments(np.random.default_rng(7), program.largest))
    arrays = [a for a in case.arguments if isinstance(a, np.ndarray)]
    seen = set()
    for _ in range(3):
        with _gpu.Bound(gpu, case.lists[0], arrays, case.expected) as call:
            call.run()
            seen.add(b"".join(x.tobytes() for x in call.results()))
    assert len(seen) == 1
