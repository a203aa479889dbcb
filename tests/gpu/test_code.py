"""What NVRTC makes of every kernel of the suite, for three architectures: no spills, 16-byte accesses."""

import re
import warnings
from collections import Counter

import numpy as np
import pytest

from tests.gpu import machine, runner
from tests.gpu.suite import PROGRAMS

pytestmark = machine.without_gpu

ARCHS = ["sm_80", "sm_90", "sm_100"]
# v4 of 4 bytes, v2 of 8
WIDE = re.compile(r"\b(ld|st)(?:\.\w+)*\.(?:v4\.[bfus]32|v2\.[bfus]64)")
# The same where sources ask for them: x0_1_0 = ((const f32x4*)(p1 + at0))[0]; put(((f32x4*)(p3 + at0)) + 0, x0_3_0);
WORD = r"\(\((?:const )?(?:\w+32x4|\w+64x2|uint4|c128)\*\)"
ASKED = {"ld": re.compile(r" = " + WORD), "st": re.compile(r"\bput\(" + WORD)}


def _entries(ptx):
    """The body of each kernel."""
    parts = re.split(r"\.visible \.entry (\w+)\(", ptx)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _text(k):
    """A kernel's own part of its source."""
    return k.source.split(f"\n{k.name}(")[1].split('extern "C"')[0]


def _largest(program):
    return program.arguments(np.random.default_rng(7), program.largest)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_code(program, arch):
    for k in runner.kernels_of(program.function, _largest(program), arch, program.fastmath):
        assert k.spill_bytes == 0, k.name
        assert k.registers > 0
        assert k.cubin.startswith(b"\x7fELF")
        found = Counter(WIDE.findall(_entries(k.ptx)[k.name]))
        wide = set(found)
        for way, asked in ASKED.items():
            assert found[way] >= len(asked.findall(_text(k))), f"{k.name}: {way} is taken apart"
        if k.form == "elementwise" and k.vector > 1:
            assert wide, f"{k.name}: no access of 16 bytes"
        if k.form == "tiles" and k.vector > 1:
            assert wide == {"ld", "st"}, f"{k.name}: only {wide} of 16 bytes"
        if k.cluster > 1 or "cluster_meet" in k.source:
            assert ("barrier.cluster" in k.ptx) == (arch != "sm_80")


def quotients(x, y):
    return x / y, np.log(x)


def test_a_gpu_has_no_flags():
    """What warns, or raises, on the CPU has the same kernels and says nothing."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        kernels = runner.kernels_of(quotients, (np.zeros(40, "f4"), np.zeros(40, "f4")))
    assert [k.source for k in kernels] == [
        k.source for k in runner.kernels_of(quotients, (np.ones(40, "f4"), np.ones(40, "f4")))
    ]
