"""Results that take the place of an operand which nothing needs any more, and operands that must not give it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
import torch.nn.functional as F
from sameness import difference

N = 48
W = torch.randn(N, N, generator=torch.Generator().manual_seed(1)) / 7


def residual(x):
    y = F.linear(x, W)
    return y * 2 + x


def in_a_row(x):
    for _ in range(3):
        x = torch.tanh(F.linear(x, W) * 0.5 + x) - x
    return x


def still_returned(x):
    y = F.linear(x, W)
    return y * 2, y


def returned_as_view(x):
    y = F.linear(x, W)
    return y * 2, y.t(), y[1:]


def needed_later(x):
    y = F.linear(x, W)
    z = y * 2
    return torch.tanh(z) + torch.tanh(y)


def transposed(x):
    y = F.linear(x, W)
    return y + y.t()


def shifted(x):
    y = F.linear(x, W)
    return y - y[:, :1], x


def part(x):
    y = F.linear(x, W)
    return y[1:] * 2


def two_results(x):
    y = F.linear(x, W)
    return y * 2, y + 1, y > 0


def two_operands(x):
    return torch.tanh(x) * F.linear(x, W), torch.exp(x)


def another_dtype(x):
    y = F.linear(x, W)
    return y.double() * 2, y.to(torch.int32) if y.shape[0] > 1000 else y > 0


def stored(x):
    y = F.linear(x, W)
    y[0] = 1
    z = y * 2
    z += x
    return z


def shown(x):
    y = torch.tanh(x)
    kept = y.reshape(-1).diagonal_scatter(torch.zeros(1)) if False else y.view(-1).unfold(0, 3, 2)
    return y * 2, kept


def argument(x):
    return x * 2


def held(x):
    y = F.linear(x, W)
    KEPT.append(y)
    return y * 2


KEPT: list = []

FUNCTIONS = [
    residual,
    in_a_row,
    still_returned,
    returned_as_view,
    needed_later,
    transposed,
    shifted,
    part,
    two_results,
    two_operands,
    another_dtype,
    stored,
    shown,
    argument,
    held,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("large", [False, True])
def test_places(function, large, monkeypatch):
    global W, N
    if large:
        monkeypatch.setitem(globals(), "W", torch.randn(300, 300) / 17)
    n = 300 if large else N
    compiled = stator.compile(function)
    results = []
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(n, n)
            mine, theirs = x.clone(), x.clone()
            got, want = compiled(mine), function(theirs)
            told = difference(got, want, [mine], [theirs])
            assert not told, told
            results.append((got, want))
        for got, want in results:  # nothing was written again
            told = difference(got, want, [], [])
            assert not told, told
    if function is held:
        assert all(torch.isfinite(t).all() for t in KEPT)


def test_no_memory_is_allocated():
    def function(x):
        return torch.tanh(F.linear(x, W) * 2 + x)

    compiled = stator.compile(function)
    x = torch.randn(N, N)
    with torch.no_grad():
        for _ in range(4):
            compiled(x)
        stator.wait()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            compiled(x)
    names = {event.key for event in profile.key_averages()}
    assert "aten::linear" in names and "aten::empty_strided" not in names, names
