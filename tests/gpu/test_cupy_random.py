"""Random programs on the fake CuPy: views, stores through them, reductions, numbers and branches in any order."""

from __future__ import annotations

import random

import pytest

from .test_cupy import run

BINARY = [
    "{a} + {b}",
    "{a} * {b}",
    "{a} - {b}",
    "{a} / ({b} * {b} + 1)",
    "cp.where({a} > {b}, {a}, {b})",
    "cp.fmax({a}, {b})",
]
UNARY = [
    "-{a}",
    "abs({a})",
    "{a} * k",
    "{a} + 2",
    "cp.sqrt(abs({a}))",
    "{a} - {a}.mean()",
    "{a} / 3.5",
    "{a}.copy()",
]
VIEWS = ["{a}[1:, :]", "{a}[::-1]", "{a}[:, ::2]", "{a}.T", "{a}[:, 1:3]", "{a}.T[1:].T"]
KEPT = ["{a}.sum(axis=1, keepdims=True)", "{a}.max(axis=0, keepdims=True)", "{a}.mean(axis=1, keepdims=True)"]
STORES = [
    "{a} += {b}", "{a} *= k", "{a}[1:] = {b}[1:]", "{a}[:, 0] = 2.5", "{a}[::2] += 1", "{a}[...] = {b}", "{a}[0] -= {b}[0]",
    "{a}[{a} > 1] = 0.5",
]  # fmt: skip
SCALARS = ["{a}.sum()", "{a}.max() * k", "{a}[0, 0]", "{a}.min() + {a}.max()"]


def program(seed: int) -> str:
    """A function of two arrays and a float; arrays keep their shape class, so that any two go together."""
    choose = random.Random(seed)
    whole, results = ["x", "y"], []
    lines = []
    for i in range(choose.randint(3, 9)):
        a, b = choose.choice(whole), choose.choice(whole)
        kind = choose.random()
        if kind < 0.35:
            lines.append(f"v{i} = " + choose.choice(BINARY + UNARY).format(a=a, b=b))
            whole.append(f"v{i}")
        elif kind < 0.5:
            lines.append(f"v{i} = {choose.choice(VIEWS).format(a=a)} * 2")
            lines.append(f"w{i} = {choose.choice(VIEWS).format(a=a)}")
            results += [f"v{i}", f"w{i}"]
        elif kind < 0.6:
            lines.append(f"v{i} = {a} - {choose.choice(KEPT).format(a=b)}")
            whole.append(f"v{i}")
        elif kind < 0.85:
            lines.append(choose.choice(STORES).format(a=a, b=b))
        elif kind < 0.95:
            lines.append(f"s{i} = {choose.choice(SCALARS).format(a=a)}")
            lines.append(f"v{i} = {b} + s{i}")
            whole.append(f"v{i}")
            results.append(f"s{i}")
        else:
            lines.append(f"if {choose.choice(['k > 1', f'{a}.sum() > 0'])}:")
            lines.append(f"    {a} += 1")
    results += choose.sample(whole, min(3, len(whole)))
    body = "".join(f"    {line}\n" for line in lines)
    return f"def f(x, y, k):\n{body}    return {', '.join(dict.fromkeys(results))}\n"


RUNNER = """
import traceback
for seed, text in PROGRAMS:
    scope = {"cp": cp}
    exec(text, scope)
    f = scope["f"]
    try:
        c = stator.compile(f, fastmath=FASTMATH)
        for i in range(4):
            shape = (5 + i, 6)
            def make():
                return noise(shape, seed=i), noise(shape, seed=i + 9), 0.75 + i / 2
            a, b = make(), make()
            expected, found = f(*a), c(*b)
            for x, y in zip(flat([expected, a]), flat([found, b]), strict=True):
                same(x, y, not FASTMATH)
        assert c.stats()["replays"] >= 1, c.stats()
        clean()
    except BaseException:
        print(text, seed)
        raise
"""


@pytest.mark.parametrize("fastmath", [False, True])
@pytest.mark.parametrize("start", [0, 25, 50, 75])
def test_random_programs(start, fastmath):
    """With CuPy's bits, or, where sums may be added up in any order, near them."""
    programs = [(seed, program(seed)) for seed in range(start, start + 25)]
    run(RUNNER.replace("PROGRAMS", repr(programs)).replace("FASTMATH", repr(fastmath)))
