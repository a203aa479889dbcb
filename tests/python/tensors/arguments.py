"""The tensors that the calls of `calls.py` name, in different layouts, and functions made from those lines."""

from __future__ import annotations

import re

import torch
import torch.nn.functional as F

LAYOUTS = ["contiguous", "transposed", "sliced"]
_SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-41, 3e38, -3e38, 0.5, 1.5, 2.5, -0.5]

_ROWS = "x y z p o d e h g i j k u m".split()
_DTYPES = {
    "d": torch.float64,
    "e": torch.float64,
    "h": torch.float16,
    "g": torch.float16,
    "i": torch.int64,
    "j": torch.int64,
    "k": torch.int32,
    "u": torch.uint8,
    "m": torch.bool,
}
NAMES = [*_ROWS, "v", "r", "s", "q", "w", "c", "img", "idx"]


def laid_out(t: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "contiguous" or t.dim() < 2:
        return t
    if layout == "transposed":
        return t.transpose(-1, -2).clone(memory_format=torch.contiguous_format).transpose(-1, -2)
    wide = torch.zeros(*t.shape[:-1], 2 * t.shape[-1], dtype=t.dtype)
    part = wide[..., 1 : 1 + t.shape[-1]]
    part.copy_(t)
    return part


def make(name: str, n: int, layout: str, seed: int, special: bool) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1000 * seed + sum(map(ord, name)))
    rand = lambda *shape: torch.randn(*shape, generator=generator)
    if name in _ROWS:
        t = rand(n, 6) * 2
        if name in "po":
            t = t.abs() + 0.1 if name == "p" else torch.sigmoid(t)
        elif name == "u":
            t = t.abs() * 30
        elif name == "m":
            t = (t > 0).float()
        elif special and name not in "ij":
            where = torch.randint(0, 3, (n, 6), generator=generator) == 0
            values = torch.tensor(_SPECIAL)[torch.randint(0, len(_SPECIAL), (n, 6), generator=generator)]
            if name != "k":
                t = torch.where(where, values, t)
        if name in "ijk":
            t = (t * 5).round()
            t = torch.where(t == 0, torch.ones(()), t)
        t = t.to(_DTYPES.get(name, torch.float32))
    elif name == "v":
        t = rand(6)
    elif name == "r":
        t = rand(n)
    elif name == "s":
        t = rand(())
    elif name in "qw":
        t = rand(6, 6)
    elif name == "c":
        t = rand(2, n, 6)
    elif name == "img":
        t = rand(2, 3, n, n)
    else:
        t = torch.randint(0, min(n, 6), (n,), generator=generator)
    return laid_out(t, layout)


def function_of(line: str):
    """The function of the tensors that the line names, and their names."""
    words = set(re.findall(r"(?<![\w.'])[A-Za-z_]\w*(?!\s*=[^=]|\w*\()", line))
    bound = set(re.findall(r"(?:^|; )([a-z]\w*) = ", line))
    names = [n for n in NAMES if n in words and n not in bound]
    body = line if "return" in line else f"return {line}"
    space = {"torch": torch, "F": F}
    text = "def call(" + ", ".join(names) + "):\n    " + "\n    ".join(body.split("; ")) + "\n"
    exec(compile(text, f"<{line}>", "exec"), space)
    return space["call"], names
