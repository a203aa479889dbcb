"""What NVRTC makes of the kernels of loops."""

import time

import numpy as np
import pytest
import stator
from stator import _stator

from tests.gpu.region_kinds import ARGUMENTS
from tests.python.regions.programs import CASES

ARCHS = ["sm_80", "sm_90", "sm_100"]
# Processor time of a compilation in seconds, for the first 10,000 characters of a source and for each that follow: half more than
# what is wanted of an idle machine, as in test_compile_time.py.
SLACK = 1.5
FIRST, EACH = 0.15, 0.2
ATTEMPTS = 4


# Loops that call functions of NumPy's without kernels.
CALLS_THE_HOST = ["nbody"]
KINDS = {f.__name__: f for f in ARGUMENTS}


def kernels_of(name):
    """(region, source) of each loop of a program that can be a kernel."""
    case = CASES.get(name)
    compiled = stator.compile(case.function if case else KINDS[name])
    for call in range(3):
        compiled(
            *(
                case.arguments(np.random.default_rng(call), case.sizes[0])
                if case
                else ARGUMENTS[KINDS[name]]()
            )
        )
    stator.wait()
    found = []
    for region in compiled.regions:
        try:
            found.append((region, region.cuda().source))
        except NotImplementedError as e:
            assert "there is no CUDA code for" in str(e)
    return found


@pytest.mark.parametrize("name", [*CASES, *KINDS])
def test_code(name):
    """Every kernel compiles for three architectures, cold in bounded time."""
    sources = set()
    kernels = kernels_of(name)
    assert kernels or name in CALLS_THE_HOST
    for region, source in kernels:
        if source in sources:
            continue
        sources.add(source)
        for arch in ARCHS:
            kernel = region.cuda(arch=arch)
            assert kernel.cubin.startswith(b"\x7fELF")
            assert 0 < kernel.registers <= 255
            assert ".entry " + kernel.name in kernel.ptx
        limit = SLACK * (FIRST + EACH * len(source) / 10_000)
        spent = []
        while len(spent) < ATTEMPTS and min(spent, default=limit + 1) > limit:
            text = f"{source}\n// {time.time_ns()}\n"
            begun = time.process_time()
            code = _stator.compile_cuda(text, name, "sm_90", [])
            spent.append(time.process_time() - begun)
            assert not code["error"] and not code["from_cache"]
        assert min(spent) <= limit, f"{len(source)} characters: {min(spent):.2f} s, {limit:.2f} s allowed"


def elements(a, n):
    for k in range(n):
        for i in range(1, a.shape[0] - 1):
            a[i] = (a[i - 1] + a[i] + a[i + 1]) * k


def test_other_architectures_are_refused():
    compiled = stator.compile(elements)
    for _ in range(3):
        compiled(np.ones(6), 4)
    stator.wait()
    assert compiled.regions[0].cuda().params[-1] == ("region", "state")
    with pytest.raises(ValueError, match="arch: expected a device architecture"):
        compiled.regions[0].cuda(arch="gfx90a")
