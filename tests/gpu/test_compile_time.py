"""How long NVRTC takes for every source of the suite. Limits are processor time, which other work on the machine changes less than
the clock's, and half more than what is wanted of an idle one: 100 ms for a pointwise kernel, 150 ms for one with reductions."""

import time

import numpy as np
import pytest
from stator import _stator

from tests.gpu import runner
from tests.gpu.suite import PROGRAMS

WANTED = {"scalar": 0.1, "elementwise": 0.1, "tiles": 0.1}
REDUCTION = 0.15
SLACK = 1.5
ATTEMPTS = 5


def cold_seconds(source, name, arch, attempt):
    """Processor time of a compilation that no cache knows."""
    text = f"{source}\n// {time.time_ns()} {attempt}\n"
    begun = time.process_time()
    code = _stator.compile_cuda(text, name, arch, [])
    spent = time.process_time() - begun
    assert not code["error"] and not code["from_cache"], code["error"]
    return spent


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_cold(program):
    arguments = program.arguments(np.random.default_rng(7), program.sizes[-1])
    kernels = runner.kernels_of(program.function, arguments, fastmath=program.fastmath)
    for source in {k.source for k in kernels}:
        forms = {k.name: k.form for k in kernels if k.source == source}
        limit = SLACK * sum(WANTED.get(form, REDUCTION) for form in forms.values())
        spent = []
        while len(spent) < ATTEMPTS and min(spent, default=limit + 1) > limit:
            spent.append(cold_seconds(source, program.name, "sm_90", len(spent)))
        assert min(spent) <= limit, f"{forms}: {min(spent):.3f} s, {limit:.3f} s allowed"
