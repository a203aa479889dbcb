"""Modules of torch: calls of them are followed into forward, and what could change about them is guarded."""

from __future__ import annotations

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
import torch.nn.functional as F
from sameness import difference
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.norm = nn.LayerNorm(8)
        self.drop = nn.Dropout(0.5)
        self.body = nn.Sequential(
            nn.Linear(8, 8), nn.GELU(), nn.Sequential(nn.Linear(8, 8, bias=False), nn.ReLU())
        )
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(10)])
        self.register_buffer("shift", torch.linspace(-1, 1, 8))
        self.scale = 0.5

    def forward(self, x):
        h = self.drop(self.norm(self.first(x)) * self.scale + self.shift)
        for layer in self.layers:
            h = torch.tanh(layer(h)) + h
        return self.body(h) * 2 + h


def warm(net):
    """The compiled call of `net`, after calls that replay without a step in Python."""

    def apply(x):
        return net(x) * 2

    compiled = stator.compile(apply)
    for _ in range(4):
        same(compiled, apply)
    stats = stator.stats(compiled)
    assert stats["replays"] >= 2 and stats["opaque_steps"] == 0, stats
    return compiled, apply


def same(compiled, apply):
    x = torch.randn(4, 6)
    with torch.no_grad():
        state = torch.get_rng_state()
        want = apply(x)
        after = torch.get_rng_state()
        torch.set_rng_state(state)
        got = compiled(x)
    told = difference(got, want, [x], [x])
    assert not told, told
    assert torch.equal(torch.get_rng_state(), after)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().eval()


def test_one_trace(net):
    compiled, _ = warm(net)
    assert stator.stats(compiled)["traces"] == 1


def count_calls(calls):
    return lambda *args: calls.append(1)


@pytest.mark.parametrize("kind", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("at", ["", "first", "body.2.0", "layers.7"])
def test_hooks(net, kind, at):
    compiled, apply = warm(net)
    calls = []
    handle = getattr(net.get_submodule(at), kind)(count_calls(calls))
    same(compiled, apply)
    assert len(calls) == 2  # once for each
    handle.remove()
    same(compiled, apply)
    assert len(calls) == 2


def test_global_hooks(net):
    compiled, apply = warm(net)
    calls = []
    handle = nn.modules.module.register_module_forward_hook(count_calls(calls))
    same(compiled, apply)
    handle.remove()
    assert calls and len(calls) % 2 == 0


def replace_parameter(net):
    net.first.weight = nn.Parameter(torch.ones(8, 6))


def write_parameter(net):
    with torch.no_grad():
        net.first.weight.mul_(2)


def replace_module(net):
    net.body[0] = nn.Linear(8, 8)


def another_class(net):
    net.body[1] = nn.SiLU()


def append(net):
    net.layers.append(nn.Linear(8, 8))


def reorder(net):
    layers = net.layers._modules
    layers["0"] = layers.pop("0")


def forward_of_instance(net):
    net.first.forward = lambda x: x[:, :1].expand(4, 8) * 3


def shadowing_attribute(net):
    net.__dict__["norm"] = lambda x: x - 1


def drop_bias(net):
    net.first.bias = None


def train(net):
    net.train()


def number(net):
    net.scale = 2.0


def buffer(net):
    net.shift = torch.zeros(8)


def epsilon(net):
    net.norm.eps = 0.1


@pytest.mark.parametrize(
    "change",
    [
        replace_parameter,
        write_parameter,
        replace_module,
        another_class,
        append,
        reorder,
        forward_of_instance,
        shadowing_attribute,
        drop_bias,
        train,
        number,
        buffer,
        epsilon,
    ],
)
def test_changes(net, change):
    compiled, apply = warm(net)
    change(net)
    for _ in range(3):
        same(compiled, apply)


def test_changed_class(net, monkeypatch):
    compiled, apply = warm(net)
    monkeypatch.setattr(nn.GELU, "forward", lambda self, x: F.relu(x))
    same(compiled, apply)
    monkeypatch.setattr(nn.Linear, "__call__", lambda self, x: self.forward(x) + 1, raising=False)
    same(compiled, apply)


def test_own_getattr():
    class Aliased(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 6)
            self.asked = 0

        def __getattr__(self, name):
            if name == "alias":
                self.asked += 1
                return super().__getattr__("linear")
            return super().__getattr__(name)

        def forward(self, x):
            return self.alias(x) + 1

    net = Aliased()

    def apply(x):
        return net(x) * 2

    compiled = stator.compile(apply)
    for i in range(1, 5):
        same(compiled, apply)
        assert net.asked == 2 * i


def test_exit_inside_modules(net):
    class Choosy(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])

        def forward(self, x):
            for step in self.steps:
                x = step(x)
                if x.sum() > 0:
                    x = x - 1
            return x

    net = Choosy()

    def apply(x):
        return net(x) * 2

    compiled = stator.compile(apply)
    for _ in range(30):
        same(compiled, apply)
    assert stator.stats(compiled)["replays"] > 5


def test_gradients(net):
    compiled, apply = warm(net)
    x = torch.randn(4, 6)
    got, want = compiled(x), apply(x)
    assert torch.equal(got, want) and type(got.grad_fn) is type(want.grad_fn)
    got.sum().backward()
    assert net.first.weight.grad is not None


class Attentive(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x, mask=None, need_weights=False):
        h = self.norm(x)
        y, weights = self.attend(h, h, h, attn_mask=mask, need_weights=need_weights)
        return x + y * 2, weights


def attend(net, **options):
    compiled = stator.compile(lambda x: net(x, **options))

    def check():
        x = torch.randn(2, 5, 8)
        with torch.no_grad():
            state = torch.get_rng_state()
            want = net(x, **options)
            after = torch.get_rng_state()
            torch.set_rng_state(state)
            got = compiled(x)
        told = difference(got, want, [x], [x])
        assert not told, told
        assert torch.equal(torch.get_rng_state(), after)

    for _ in range(4):
        check()
    return compiled, check


MASK = torch.ones(5, 5, dtype=torch.bool).triu(1)


@pytest.mark.parametrize("options", [{}, {"need_weights": True}, {"mask": MASK}, {"mask": MASK.float()}])
def test_attention(options):
    net = Attentive().eval()
    compiled, check = attend(net, **options)
    stats = stator.stats(compiled)
    assert stats["traces"] == 1 and stats["opaque_steps"] == 0 and stats["replays"] == 3, stats
    net.attend.out_proj = nn.modules.linear.NonDynamicallyQuantizableLinear(8, 8)
    check()
    net.train()
    for _ in range(3):
        check()
    net.eval()
    check()


def test_attention_draws_while_training():
    _, check = attend(Attentive(dropout=0.5).train())
    check()


def test_attention_of_another_class():
    class Mine(nn.MultiheadAttention):
        def merge_masks(self, *args):
            calls.append(1)
            return super().merge_masks(*args)

    calls = []
    net = Attentive().eval()
    _, check = attend(net)
    net.attend = Mine(8, 2, batch_first=True).eval()
    for _ in range(4):
        calls.clear()
        check()
        assert len(calls) == 2


def test_attention_projection_with_code():
    calls = []

    class Counting(nn.Linear):
        @property
        def weight_seen(self):
            return self.weight

        def __getattr__(self, name):
            calls.append(name)
            return super().__getattr__(name)

    net = Attentive().eval()
    _, check = attend(net)
    net.attend.out_proj = Counting(8, 8)
    calls.clear()
    check()
    assert len(calls) > 0 and len(calls) % 2 == 0


def test_encoder_layers():
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    compiled = stator.compile(lambda x: net(x) * 2 + x)
    for _ in range(5):
        x = torch.randn(2, 5, 8)
        with torch.no_grad():
            assert torch.equal(compiled(x), net(x) * 2 + x)
