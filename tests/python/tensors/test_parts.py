"""Views that library calls get, and that leave: parts of split and chunk, axes split and moved, in any order."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
import torch.nn.functional as F
from sameness import difference

W = torch.arange(72.0).view(12, 6) / 7


def heads(x):
    a, b, c = F.linear(x, W).split(4, dim=-1)
    n, t, d = a.shape
    a = a.view(n, t, 2, 2).transpose(1, 2)
    return torch.matmul(a, b.view(n, t, 2, d // 2).transpose(1, 2).transpose(2, 3)) + torch.tanh(c).sum()


def parts_leave(x):
    q, k, v = F.linear(x, W).split(4, dim=2)
    return q, k[0], v.view(v.shape[0], -1, 2, 2), torch.tanh(k)


def chunks(x):
    a, b = torch.exp(x).chunk(2, 1)
    return torch.cumsum(a, 1) + b, torch.cumsum(b.transpose(0, 1), 0)


def uneven(x):
    a, b = F.linear(x, W).split(7, dim=2)
    return torch.tanh(a), torch.tanh(b), b


def sections(x):
    a, b, c = torch.split(F.linear(x, W), [2, 4, 6], -1)
    return torch.tanh(a) * torch.tanh(b).sum(), c


def written_part(x):
    y = F.linear(x, W)
    a, b = y.chunk(2, dim=2)
    a.mul_(3)
    return torch.tanh(y), torch.tanh(a), b


def of_argument(x):
    a, b, c = x.split(2, dim=2)
    return torch.cumsum(a.transpose(0, 1).unsqueeze(0), 1), torch.cumsum(b, 0) + c


def of_generated(x):
    y = x * 2 + 1
    a, b, c = y.chunk(3, dim=2)
    return torch.cumsum(a.transpose(1, 2).transpose(0, 1), 0), torch.tanh(c.view(c.shape[0], -1, 2, 1))


def several_axes(x):
    y = F.linear(x, W)
    z = y.permute(2, 0, 1)
    return torch.cumsum(z[1:3].transpose(0, 1), 0), torch.tanh(
        y.view(y.shape[0], y.shape[1], 3, 2, 2).select(2, 1)
    )


FUNCTIONS = [
    heads,
    parts_leave,
    chunks,
    uneven,
    sections,
    written_part,
    of_argument,
    of_generated,
    several_axes,
]
SHAPES = [(2, 4, 6)] * 3 + [(3, 6, 6), (2, 4, 6), (1, 4, 6), (5, 2, 6), (2, 1, 6), (2, 0, 6), (4, 8, 6)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_parts(function, mode):
    compiled = stator.compile(function)
    with mode():
        for shape in SHAPES:
            x = torch.randn(shape)
            mine, theirs = x.clone(), x.clone()
            got = want = error = None
            try:
                want = function(theirs)
            except (RuntimeError, ValueError, IndexError) as e:
                error = e
            if error is None:
                got = compiled(mine)
            else:
                with pytest.raises(type(error)) as raised:
                    compiled(mine)
                assert str(raised.value) == str(error)
            told = difference(got, want, [mine], [theirs])
            assert not told, (shape, told)


def test_parts_are_followed():
    compiled = stator.compile(heads)
    with torch.no_grad():
        for _ in range(3):
            compiled(torch.randn(2, 4, 6))
    graph = str(compiled.graph())
    assert "library split" not in graph and "library view" not in graph and "strided(" in graph
    assert stator.stats(compiled)["opaque_steps"] == 0


def test_a_tensor_that_begins_inside_its_storage():
    """Library calls whose results were fresh while recording may be none later: here the module's own."""

    class Odd:
        tensor = torch.arange(40.0)

    def parts(x):
        y = torch.tanh(x)
        a, b = y.chunk(2)
        return torch.cumsum(a, 0) + torch.cumsum(b, 0)

    compiled = stator.compile(parts)
    for offset in (0, 4, 8):
        x = Odd.tensor[offset : offset + 16]
        assert torch.equal(compiled(x), parts(x))


def mixed(x, y):
    return (x * y + 1) * (x - y) + torch.tanh(x) * 2


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_torch_threads(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        compiled = stator.compile(mixed)
        for shape in [(40_000,), (33_000,), (300, 400), (3, 70_001), (1, 1_000_000), (1_000_000, 1)]:
            x, y = torch.randn(shape), torch.randn(shape)
            for _ in range(2):
                assert torch.equal(compiled(x, y), mixed(x, y))
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_after_fork():
    compiled = stator.compile(mixed)
    x, y = torch.randn(200_000), torch.randn(200_000)
    want = compiled(x, y)
    compiled(x, y)
    pid = os.fork()
    if pid == 0:
        torch.set_num_threads(1)  # torch's own loops would wait for the parent's workers
        same = torch.equal(compiled(x, y), want)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
