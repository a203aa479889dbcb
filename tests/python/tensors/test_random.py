"""Random programs over tensors against eager torch: values, aliasing, versions, effects on arguments, errors."""

from __future__ import annotations

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
import torch.nn.functional as F
from programs import program
from sameness import difference, run

SHAPES = [(4, 4), (4, 4), (4, 4), (6, 6), (4, 6), (2, 2), (5, 5), (1, 4), (4, 4)]
PROGRAMS = 400


def arguments(seed: int, shape: tuple[int, int]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(*shape, generator=generator) for _ in range(2))
    if seed % 3 == 1:
        x = x.t().contiguous().t()
    if seed % 3 == 2:
        wide = torch.zeros(shape[0], 2 * shape[1])
        wide[:, ::2] = y
        y = wide[:, ::2]
    return [x, y]


@pytest.mark.parametrize("part", range(8))
def test_same_as_eager(part):
    for seed in range(part, PROGRAMS, 8):
        text = program(seed)
        space = {"torch": torch, "F": F}
        exec(text, space)
        compiled = stator.compile(space["call"])
        for shape in SHAPES:
            mine, theirs = arguments(seed, shape), arguments(seed, shape)
            with torch.no_grad():
                got, error, _ = run(compiled, mine)
                want, wanted, _ = run(space["call"], theirs)
            assert error == wanted, f"{error} instead of {wanted} at {shape} in\n{text}"
            told = difference(got or (), want or (), mine, theirs)
            assert not told, f"{told} at {shape} in\n{text}"
            stator.wait()
