"""What else decides what torch does: gradients, modes, subclasses, special tensors, changed classes and defaults."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import numpy as np
import stator
import torch
import torch.nn.functional as F
from sameness import difference


def chain(x, y):
    z = x * 2 + y
    return F.relu(z) - torch.tanh(z)


def scaled_in_place(x, y):
    x += y
    x.mul_(2)
    return x.sum()


def warm(function, make, calls=4):
    compiled = stator.compile(function)
    for _ in range(calls):
        compiled(*make())
    return compiled


def pair(n=5, **options):
    return torch.arange(float(n), **options), torch.ones(n, **options)


def assert_same(compiled, function, *args):
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    got, want = compiled(*mine), function(*theirs)
    told = difference(got, want, mine, theirs)
    assert not told, told


def test_gradients_are_eagers():
    compiled = warm(chain, pair)
    x, y = pair(requires_grad=True)
    a, b = pair(requires_grad=True)
    got, want = compiled(x, y), chain(a, b)
    assert type(got.grad_fn) is type(want.grad_fn)
    got.sum().backward()
    want.sum().backward()
    assert torch.equal(x.grad, a.grad) and torch.equal(y.grad, b.grad)


def test_recorded_with_gradients_and_replayed_without():
    compiled = warm(chain, lambda: pair(requires_grad=True))
    assert compiled(*pair(requires_grad=True)).requires_grad
    assert not compiled(*pair()).requires_grad
    reasons = str(stator.explain(compiled)(*pair(requires_grad=True)))
    assert "requires grad" in reasons


def test_parameters_under_no_grad():
    w = torch.nn.Parameter(torch.ones(5))

    def scaled(x):
        return x * w + 1, w[1:], w.view(5, 1)

    with torch.no_grad():
        compiled = warm(scaled, lambda: (torch.ones(5),))
        got, want = compiled(torch.ones(5)), scaled(torch.ones(5))
        assert not difference(got, want, [w], [w])
        assert stator.stats(compiled)["replays"] > 2
    assert compiled(torch.ones(5))[0].requires_grad


def test_in_place_on_a_leaf_under_no_grad():
    def step(p, g):
        p -= 0.1 * g
        return p

    compiled = stator.compile(step)
    p, q = (torch.ones(6, requires_grad=True) for _ in range(2))
    with torch.no_grad():
        for i in range(5):
            assert compiled(p, torch.full((6,), float(i))) is p
            step(q, torch.full((6,), float(i)))
    assert torch.equal(p, q) and p._version == q._version and p.requires_grad
    with pytest.raises(RuntimeError, match="leaf Variable"):
        compiled(p, torch.ones(6))


@pytest.mark.parametrize("function", [chain, scaled_in_place])
def test_inference_mode(function):
    compiled = warm(function, pair)
    for _ in range(3):
        with torch.inference_mode():
            assert_same(compiled, function, *pair())
    outside = pair()
    with torch.inference_mode():
        got, want = compiled(*outside), function(*pair())
        assert got.is_inference() == want.is_inference()
        made = pair()
    for f in (compiled, function):
        if function is scaled_in_place:
            with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
                f(*[t for t in made])
        else:
            assert not f(*made).is_inference()


class Counting(torch.overrides.TorchFunctionMode):
    seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        Counting.seen += 1
        return func(*args, **(kwargs or {}))


def test_function_modes_see_every_call():
    compiled = warm(chain, pair)
    counts = []
    for f in (chain, compiled):
        Counting.seen = 0
        with Counting():
            f(*pair())
        counts.append(Counting.seen)
    assert counts[0] == counts[1] > 0


def test_dispatch_modes_see_every_call():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatch(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Dispatch.seen += 1
            return func(*args, **(kwargs or {}))

    compiled = warm(chain, pair)
    counts = []
    for f in (chain, compiled):
        Dispatch.seen = 0
        with Dispatch():
            f(*pair())
        counts.append(Dispatch.seen)
    assert counts[0] == counts[1] > 0


def test_autocast():
    def product(x, y):
        return (x * 2) @ (y + 1)

    compiled = warm(product, lambda: (torch.ones(4, 4), torch.ones(4, 4)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_same(compiled, product, torch.ones(4, 4), torch.ones(4, 4))


def test_vmap_and_grad():
    compiled = warm(chain, pair)
    x, y = torch.randn(3, 5), torch.randn(3, 5)
    assert torch.equal(torch.vmap(compiled)(x, y), torch.vmap(chain)(x, y))
    total = lambda f: lambda v: f(v, torch.ones(5)).sum()
    assert torch.equal(torch.func.grad(total(compiled))(x[0]), torch.func.grad(total(chain))(x[0]))
    inner = lambda f: lambda v: (f(*pair()) * v).sum()
    assert torch.equal(torch.func.grad(inner(compiled))(x[0]), torch.func.grad(inner(chain))(x[0]))


@pytest.mark.filterwarnings("ignore")
def test_jit_traces_see_every_operation():
    compiled = warm(chain, pair)
    graphs = [
        torch.jit.trace(lambda x, y: f(x, y), pair(), check_trace=False).graph for f in (chain, compiled)
    ]
    kinds = [[node.kind() for node in graph.nodes()] for graph in graphs]
    assert kinds[0] == kinds[1]


class Sub(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "special",
    [
        lambda: torch.ones(5).as_subclass(Sub),
        lambda: torch.ones(5, dtype=torch.complex64).conj().imag,
        lambda: torch.ones(5, dtype=torch.complex64).conj(),
        lambda: torch.ones(5, dtype=torch.bfloat16),
        lambda: torch.ones(5).to_sparse(),
        lambda: torch.ones(5, device="meta"),
        lambda: torch.ones(5, dtype=torch.float64),
        lambda: torch.ones(()),
        lambda: torch.ones(10)[::2],
        lambda: torch.ones(1).expand(5),
        lambda: torch.ones(5).requires_grad_().detach(),
    ],
)
def test_special_tensors(special):
    def doubled(x):
        return x * 2 + x

    compiled = warm(doubled, lambda: (torch.ones(5),))
    for _ in range(3):
        got, want = compiled(special()), doubled(special())
        assert type(got) is type(want) and got.dtype == want.dtype and got.stride is not None
        if got.device.type == "cpu":
            assert torch.equal(
                got.to_dense() if got.is_sparse else got, want.to_dense() if want.is_sparse else want
            )


def test_default_dtype():
    def halves(i):
        return i / 2 + i * 0.5

    compiled = warm(halves, lambda: (torch.arange(4),))
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled(torch.arange(4)).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert compiled(torch.arange(4)).dtype == torch.float32


def test_default_device():
    def made(x):
        return torch.zeros(3), x + 1

    compiled = warm(made, lambda: (torch.ones(3),))
    torch.set_default_device("meta")
    try:
        assert compiled(torch.ones(3, device="cpu"))[0].device.type == "meta"
    finally:
        torch.set_default_device(None)


def test_changed_class(monkeypatch):
    def added(x):
        return x.add(1) * 2

    compiled = warm(added, lambda: (torch.ones(3),))
    monkeypatch.setattr(torch.Tensor, "add", lambda self, other: self.sub(other), raising=False)
    assert torch.equal(compiled(torch.ones(3)), torch.zeros(3))


def test_overlapping_arguments():
    def shifted(x, y):
        x += y * 2
        return x

    compiled = warm(shifted, lambda: (torch.ones(6), torch.ones(6)))
    mine, theirs = torch.arange(8.0), torch.arange(8.0)
    for _ in range(2):
        assert torch.equal(compiled(mine[1:7], mine[:6]), shifted(theirs[1:7], theirs[:6]))
        assert torch.equal(mine, theirs)
    wide = torch.zeros(1).expand(6)
    for f in (compiled, shifted):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            f(wide, torch.ones(6))


def test_memory_shared_with_numpy():
    def both(a, x):
        x += 1
        return a * 2

    compiled = stator.compile(both)
    for _ in range(4):
        a = np.arange(5.0)
        assert np.array_equal(compiled(a, torch.ones(5)), np.arange(5.0) * 2)
    a = np.arange(5.0)
    assert np.array_equal(compiled(a, torch.from_numpy(a)), (np.arange(5.0) + 1) * 2)


def test_numpy_and_torch_in_one_function():
    def mixed(a, x):
        b = a * 2 + 1
        y = x * 2 + 1
        c = y.numpy() * b
        return torch.from_numpy(c) + x, a / 0

    compiled = stator.compile(mixed)
    for n in (4, 4, 6):
        a, x = np.arange(float(n)), torch.arange(float(n), dtype=torch.float64)
        with np.errstate(all="ignore"):
            got, want = compiled(a, x), mixed(a, x)
        assert torch.equal(got[0], want[0]) and np.array_equal(got[1], want[1], equal_nan=True)


def test_division_by_zero_is_silent():
    def divided(x):
        return x / 0 + torch.zeros(3) / 0

    compiled = stator.compile(divided)
    with np.errstate(all="raise"):
        for _ in range(4):
            assert torch.isnan(compiled(torch.ones(3))).all()
    assert stator.stats(compiled)["redone"] == 0


def test_branches_on_values():
    def signed(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    compiled = stator.compile(signed)
    for sign in (1, 1, 1, -1, -1, -1, 1):
        assert torch.equal(compiled(sign * torch.ones(4)), signed(sign * torch.ones(4)))


def test_versions_where_a_trace_is_left():
    def stopped(x, limit):
        y = x + 1
        y.mul_(2)
        x.add_(1)
        z = y * 3
        if z.max() > limit:
            z.sub_(1)
        return y, z, x

    compiled = stator.compile(stopped)
    for limit in (100.0, 100.0, 100.0, 1.0, 1.0, 1.0, 100.0):
        assert_same(compiled, stopped, torch.ones(4), limit)


def test_loops():
    def relax(x, n):
        for _ in range(n):
            x = x * 0.5 + 1
            x[1:] += x[:-1] * 0.1
        return x

    compiled = stator.compile(relax)
    for n in (3, 5, 9):
        assert_same(compiled, relax, torch.arange(6.0), n)


def test_verify(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, stator\n"
        "@stator.compile\n"
        "def f(x):\n    return torch.tanh(x) * 2 + 1, x[1:]\n"
        "@stator.compile\n"
        "def g(x):\n    x.add_(1)\n    return x * 2\n"
        "for _ in range(4):\n    f(torch.ones(4)); g(torch.ones(4))\n"
    )
    environment = {**os.environ, "STATOR_VERIFY": "1"}
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "differs" not in done.stderr and "cannot check g#1: it writes into x" in done.stderr, done.stderr
