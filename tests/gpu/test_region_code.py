"""What NVRTC makes of the kernels of loops."""

import numpy as np
import pytest
import stator

from tests.gpu.region_kinds import ARGUMENTS
from tests.python.regions.programs import CASES

ARCHS = ["sm_80", "sm_90", "sm_100"]
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
    """Every kernel compiles for three architectures, and is of bounded size."""
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
        # What is compiled grows with the program: each instruction of the region is printed a few times at most.
        assert len(source) <= 12_000 + 8 * len(region.graph_text)


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
