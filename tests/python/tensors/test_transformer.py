"""A transformer block's forward pass without gradients: as functions of its parameters, and as a module."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
import torch.nn.functional as F
from sameness import difference

DIM, HEADS = 32, 4
SHAPES = [(2, 8, DIM)] * 3 + [(3, 12, DIM), (2, 16, DIM), (1, 8, DIM), (2, 8, DIM)]
SIZES = {
    "norm1": (DIM,),
    "bias1": (DIM,),
    "qkv": (3 * DIM, DIM),
    "qkv_bias": (3 * DIM,),
    "proj": (DIM, DIM),
    "proj_bias": (DIM,),
    "norm2": (DIM,),
    "bias2": (DIM,),
    "up": (4 * DIM, DIM),
    "up_bias": (4 * DIM,),
    "down": (DIM, 4 * DIM),
    "down_bias": (DIM,),
}


def heads(x):
    b, t, d = x.shape
    return x.view(b, t, HEADS, d // HEADS).transpose(1, 2)


def fused(x, p):
    b, t, d = x.shape
    h = F.layer_norm(x, (d,), p["norm1"], p["bias1"])
    q, k, v = F.linear(h, p["qkv"], p["qkv_bias"]).split(d, dim=2)
    a = F.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
    x = x + F.linear(a.transpose(1, 2).reshape(b, t, d), p["proj"], p["proj_bias"])
    h = F.layer_norm(x, (d,), p["norm2"], p["bias2"])
    return x + F.linear(F.gelu(F.linear(h, p["up"], p["up_bias"])), p["down"], p["down_bias"])


def normal(x, scale, shift):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(var + 1e-5) * scale + shift


def by_hand(x, p):
    b, t, d = x.shape
    q, k, v = (normal(x, p["norm1"], p["bias1"]) @ p["qkv"].T + p["qkv_bias"]).chunk(3, dim=-1)
    q, k, v = heads(q), heads(k), heads(v)
    scores = q @ k.transpose(-2, -1) / math.sqrt(d // HEADS)
    later = torch.ones(t, t, dtype=torch.bool).triu(1)
    a = torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ v
    x = x + (a.transpose(1, 2).reshape(b, t, d) @ p["proj"].T + p["proj_bias"])
    u = normal(x, p["norm2"], p["bias2"]) @ p["up"].T + p["up_bias"]
    g = 0.5 * u * (1 + torch.tanh(0.7978845608 * (u + 0.044715 * u**3)))
    return x + (g @ p["down"].T + p["down_bias"])


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(DIM)
        self.qkv = torch.nn.Linear(DIM, 3 * DIM)
        self.proj = torch.nn.Linear(DIM, DIM)
        self.norm2 = torch.nn.LayerNorm(DIM)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(DIM, 4 * DIM), torch.nn.GELU(), torch.nn.Linear(4 * DIM, DIM)
        )

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(d, dim=2)
        a = F.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


def parameters():
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(*size, generator=generator) * 0.1 for name, size in SIZES.items()}


@pytest.mark.parametrize("function", [fused, by_hand])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_functions(function, mode):
    compiled, p = stator.compile(function), parameters()
    with mode():
        for shape in SHAPES:
            x = torch.randn(*shape)
            got, want = compiled(x, p), function(x, p)
            told = difference(got, want, [x], [x])
            assert not told, told
    stats = stator.stats(compiled)
    assert stats["replays"] >= len(SHAPES) - 2 and stats["opaque_steps"] == 0, stats


def test_module():
    torch.manual_seed(0)
    block = Block()
    compiled = stator.compile(block.forward)
    for shape in SHAPES:
        x = torch.randn(*shape)
        with torch.no_grad():
            assert not difference(compiled(x), block.forward(x), [x], [x])
        got, want = compiled(x), block.forward(x)
        assert torch.equal(got, want) and type(got.grad_fn) is type(want.grad_fn)
