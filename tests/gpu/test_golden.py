"""CUDA sources as text: what a change of the printer or of the schedule changes can be read. STATOR_BLESS=1 rewrites them."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import stator

from tests.gpu import region_kinds, runner
from tests.gpu.suite import PROGRAMS

FOLDER = Path(__file__).parent / "golden"
NAMES = [
    "chain_f32",
    "casts",
    "transposed",
    "stored_both_ways",
    "stencil_2d",
    "sum_all_i32",
    "sum_columns",
    "softmax",
    "layernorm",
    "black_scholes",
]


@pytest.mark.parametrize("name", NAMES)
def test_source(name):
    program = next(p for p in PROGRAMS if p.name == name)
    kernels = runner.kernels_of(
        program.function, program.arguments(np.random.default_rng(7), program.largest)
    )
    text = kernels[0].source
    for k in kernels:
        text += f"// {k.name}: {k.form}, vectors of {k.vector}\n"
    check(name, text)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="frames list other slots where a loop is left")
@pytest.mark.parametrize(
    "loop", [region_kinds.masks, region_kinds.sums, region_kinds.axes, region_kinds.element_products]
)
def test_loop(loop):
    """Kernels of loops, without what all sources begin with."""
    compiled = stator.compile(loop)
    for _ in range(3):
        compiled(*region_kinds.ARGUMENTS[loop]())
    stator.wait()
    source = compiled.regions[0].cuda().source
    check("loop_" + loop.__name__, source[source.index('extern "C"') :])


def check(name, text):
    path = FOLDER / f"{name}.cu"
    if os.environ.get("STATOR_BLESS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"the source of {name} changed: STATOR_BLESS=1 rewrites {path.name}"
