"""``python -m benchmarks.tensors``: needs torch. Ratios are of calls that alternate, so that what else the machine does hits both."""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import stator
import torch
import torch.nn.functional as F

# (batch, length, width, heads)
SIZES = {
    "tiny": (2, 8, 32, 4),
    "small": (2, 32, 128, 4),
    "medium": (4, 64, 256, 8),
    "large": (8, 128, 512, 8),
}
_HEADS = 4


def _heads(x: Any) -> Any:
    b, t, d = x.shape
    return x.view(b, t, _HEADS, d // _HEADS).transpose(1, 2)


def fused(x: Any, p: dict[str, Any]) -> Any:
    b, t, d = x.shape
    h = F.layer_norm(x, (d,), p["norm1"], p["bias1"])
    q, k, v = F.linear(h, p["qkv"], p["qkv_bias"]).split(d, dim=2)
    a = F.scaled_dot_product_attention(_heads(q), _heads(k), _heads(v), is_causal=True)
    x = x + F.linear(a.transpose(1, 2).reshape(b, t, d), p["proj"], p["proj_bias"])
    h = F.layer_norm(x, (d,), p["norm2"], p["bias2"])
    return x + F.linear(F.gelu(F.linear(h, p["up"], p["up_bias"])), p["down"], p["down_bias"])


def _normal(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(var + 1e-5) * scale + shift


def by_hand(x: Any, p: dict[str, Any]) -> Any:
    b, t, d = x.shape
    q, k, v = (_normal(x, p["norm1"], p["bias1"]) @ p["qkv"].T + p["qkv_bias"]).chunk(3, dim=-1)
    q, k, v = _heads(q), _heads(k), _heads(v)
    scores = q @ k.transpose(-2, -1) / math.sqrt(d // _HEADS)
    later = torch.ones(t, t, dtype=torch.bool).triu(1)
    a = torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ v
    x = x + (a.transpose(1, 2).reshape(b, t, d) @ p["proj"].T + p["proj_bias"])
    u = _normal(x, p["norm2"], p["bias2"]) @ p["up"].T + p["up_bias"]
    g = 0.5 * u * (1 + torch.tanh(0.7978845608 * (u + 0.044715 * u**3)))
    return x + (g @ p["down"].T + p["down_bias"])


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.proj = torch.nn.Linear(width, width)
        self.norm2 = torch.nn.LayerNorm(width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x: Any) -> Any:
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(d, dim=2)
        a = F.scaled_dot_product_attention(_heads(q), _heads(k), _heads(v), is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


def parameters(d: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    sizes = {
        "norm1": (d,), "bias1": (d,), "qkv": (3 * d, d), "qkv_bias": (3 * d,), "proj": (d, d), "proj_bias": (d,),
        "norm2": (d,), "bias2": (d,), "up": (4 * d, d), "up_bias": (4 * d,), "down": (d, 4 * d), "down_bias": (d,),
    }  # fmt: skip
    return {name: torch.randn(*size, generator=generator) * 0.1 for name, size in sizes.items()}


def forms(width: int) -> dict[str, tuple[Callable[..., Any], tuple]]:
    """Each way to write the block: the function and what it takes beside the input."""
    p = parameters(width)
    torch.manual_seed(0)
    return {
        "attention by hand": (by_hand, (p,)),
        "fused attention": (fused, (p,)),
        "nn.Module": (Block(width).eval().forward, ()),
    }


def _spent(f: Callable[..., Any], arguments: tuple, times: int) -> tuple[float, float]:
    """Seconds of a call: of the clock and of processors."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(times):
        f(*arguments)
    return (time.perf_counter() - wall) / times, (time.process_time() - processor) / times


def compare(name: str, size: str, rounds: int) -> dict[str, Any]:
    """Medians over rounds in which eager and compiled calls alternate, and the median of their ratios."""
    global _HEADS
    b, t, d, _HEADS = SIZES[size]
    f, more = forms(d)[name]
    x = torch.randn(b, t, d, generator=torch.Generator().manual_seed(1))
    compiled = stator.compile(f)
    with torch.no_grad():
        begun = time.perf_counter()
        first = compiled(x, *more)
        first_call = time.perf_counter() - begun
        for _ in range(5):
            again = compiled(x, *more)
        stator.wait()
        same = torch.equal(first, f(x, *more)) and torch.equal(again, f(x, *more))
        times = max(1, round(0.02 / _spent(f, (x, *more), 3)[0]))
        eager, mine = [], []
        for k in range(rounds):
            for who, g in ((eager, f), (mine, compiled)) if k % 2 else ((mine, compiled), (eager, f)):
                who.append(_spent(g, (x, *more), times))
    ratio = [statistics.median(m[i] / e[i] for m, e in zip(mine, eager, strict=True)) for i in range(2)]
    return {
        "name": name, "size": size, "same bits": same, "eager": statistics.median(e[0] for e in eager),
        "stator": statistics.median(m[0] for m in mine), "ratio": ratio[0], "of processor time": ratio[1],
        "first call": first_call,
    }  # fmt: skip


def first_of_torch_compile() -> float | str:
    """Seconds of torch.compile's first call of the same block, in a process of its own."""
    program = (
        "import time, torch\nfrom benchmarks.tensors.__main__ import fused, parameters\n"
        "p = parameters(32)\nx = torch.randn(2, 8, 32)\n"
        "with torch.no_grad():\n    fused(x, p)\n    begun = time.perf_counter()\n"
        "    torch.compile(fused)(x, p)\n    print(time.perf_counter() - begun)\n"
    )
    with tempfile.TemporaryDirectory() as cache:  # what it compiled in another run would be found again
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=600
        )
    if done.returncode:
        return (done.stderr.strip() or "no message").splitlines()[-1]
    return float(done.stdout.split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tensors", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--no-torch-compile", action="store_true")
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(
        f"{'transformer block, forward':32}{'eager':>10}{'stator':>10}{'ratio':>8}{'of CPU':>8}{'first':>9}  bits"
    )
    firsts = []
    for size in options.sizes.split(","):
        for name in forms(SIZES[size][2]):
            row = compare(name, size, options.rounds)
            firsts.append(row["first call"])
            print(
                f"{name + ', ' + size:32}{1e6 * row['eager']:8.0f}µs{1e6 * row['stator']:8.0f}µs"
                f"{row['ratio']:8.3f}{row['of processor time']:8.3f}{1e3 * row['first call']:7.1f}ms"
                f"  {'same' if row['same bits'] else 'DIFFER'}",
                flush=True,
            )
    if not options.no_torch_compile:
        theirs = first_of_torch_compile()
        said = (
            f"{theirs:.2f} s, {theirs / max(firsts):.0f} times ours" if isinstance(theirs, float) else theirs
        )
        print(f"torch.compile's first call: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
