"""Random functions of two tensors: pointwise code, library calls, views and in-place operations on all of them."""

from __future__ import annotations

import random

VALUES = """
{a} + {b}
{a} * {b}
{a} - 1.5
{a} / 3
-{a}
{a} > 0
torch.exp({a} * 0.1)
torch.tanh({a})
F.relu({a})
{a}.clamp(min=0.1)
{a}.abs()
{a}.sum(-1, keepdim=True)
{a}.mean()
{a}.max(0).values
torch.where({a} > 0, {a}, {b})
torch.maximum({a}, {b})
{a}.masked_fill({a} > 0.5, 0.0)
{a} @ {a}.transpose(-1, -2)
F.softmax({a}, dim=-1)
torch.cat([{a}, {a}])
torch.cumsum({a}, 0)
torch.zeros_like({a})
{a}.clone()
{a}.contiguous()
{a}.float()
{a}.double()
{a}.bfloat16()
{a}.half()
""".strip().splitlines()

VIEWS = """
{a}[1:]
{a}[0]
{a}[:, ::2]
{a}[None]
{a}[..., -1]
{a}.t()
{a}.T
{a}.transpose(0, -1)
{a}.unsqueeze(0)
{a}.squeeze()
{a}.reshape(-1)
{a}.view(-1)
{a}.view({a}.shape)
{a}.flatten()
{a}.expand_as({a})
{a}.narrow(0, 0, 1)
{a}.diagonal()
{a}.detach()
{a}.split(1)[0]
{a}.chunk(2, -1)[0]
""".strip().splitlines()

STATEMENTS = """
{a}.add_(1)
{a}.mul_({b})
{a}.sub_({a})
{a} += {b}
{a} *= 0.5
{a}[0] = 1.0
{a}[1:] = {b}[1:]
{a}[..., 0] += 2
{a}[{a} > 0] = 0.0
{a}.zero_()
{a}.fill_(0.3)
{a}.copy_({b})
{a}.relu_()
{a}.exp_()
{a}.clamp_(-1, 1)
{a}.t().add_(1)
{a}.view(-1).mul_(2)
{a}[1:].sub_({a}[:-1])
""".strip().splitlines()


def program(seed: int) -> str:
    rng = random.Random(seed)
    names, lines = ["x", "y"], []
    for _ in range(rng.randint(3, 9)):
        a, b, kind = rng.choice(names), rng.choice(names), rng.random()
        if kind < 0.7:
            new = f"v{len(names)}"
            lines.append(f"{new} = " + rng.choice(VALUES if kind < 0.45 else VIEWS).format(a=a, b=b))
            names.append(new)
        elif kind < 0.95:
            lines.append(rng.choice(STATEMENTS).format(a=a, b=b))
        else:
            lines.append(f"if {a}.sum() > 0: {b} = {b} + 1")
    results = ", ".join(rng.sample(names, min(len(names), 4)))
    return "def call(x, y):\n    " + "\n    ".join(lines) + f"\n    return ({results},)\n"
