"""CUDA sources as text: what a change of the printer or of the schedule changes can be read. STATOR_BLESS=1 rewrites them."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.gpu import runner
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
        program.function, program.arguments(np.random.default_rng(7), program.sizes[-1])
    )
    text = kernels[0].source
    for k in kernels:
        text += f"// {k.name}: {k.form}, vectors of {k.vector}\n"
    path = FOLDER / f"{name}.cu"
    if os.environ.get("STATOR_BLESS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"the source of {name} changed: STATOR_BLESS=1 rewrites {path.name}"
