"""What torch's functions write, refuse, draw and show beside their results, as an eager call does."""

from __future__ import annotations

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
import torch.nn.functional as F
from sameness import difference
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def outcome(f, *args):
    """The result of a call, or its exception, with a number drawn after it; and its arguments after it."""
    args = [a.clone() if isinstance(a, torch.Tensor) and a._base is None else a for a in args]
    torch.manual_seed(5)
    try:
        result = f(*args)
    except Exception as error:
        result = type(error), str(error)
    return (result, torch.rand(1)), args


def same(f, *calls, served=True):
    compiled = stator.compile(f)
    for args in calls:
        for _ in range(4):
            expected, changed = outcome(f, *args)
            found, changed_too = outcome(compiled, *args)
            assert not (why := difference(found, expected, changed_too, changed)), (why, expected, found)
    assert not served or compiled.stats()["replays"], compiled.stats()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int32, torch.bool])
@pytest.mark.parametrize("number", [5.0, 3, 0.1, True])
def test_a_number_divided_by_a_tensor_is_rounded_twice(dtype, number):
    """Tensor.__rtruediv__ is a product with the reciprocal."""

    def f(x):
        y = x + x
        return number / y, number / x[0]

    same(f, [torch.linspace(0.1, 9, 97).to(dtype)])


INPLACE = {
    "relu": lambda y: F.relu(y, True),
    "leaky_relu": lambda y: F.leaky_relu(y, 0.1, True),
    "elu": lambda y: F.elu(y, 1.0, True),
    "selu": lambda y: F.selu(y, True),
    "celu": lambda y: F.celu(y, 1.0, True),
    "silu": lambda y: F.silu(y, True),
    "mish": lambda y: F.mish(y, True),
    "relu6": lambda y: F.relu6(y, True),
    "hardswish": lambda y: F.hardswish(y, True),
    "hardsigmoid": lambda y: F.hardsigmoid(y, True),
    "hardtanh": lambda y: F.hardtanh(y, -1.0, 1.0, True),
    "threshold": lambda y: F.threshold(y, 0.1, 20.0, True),
    "ReLU6": torch.nn.ReLU6(inplace=True),
    "LeakyReLU": torch.nn.LeakyReLU(0.1, inplace=True),
}


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_by_position(name):
    act = INPLACE[name]

    def f(x):
        y = x * 2
        z = act(y)
        return z + 1, y, x * z

    def g(x):
        return act(x) * 2 + x

    x = torch.tensor([[-1.0, 5.0, 0.3]])
    same(f, [x])
    same(g, [x], served=False)


def test_out_by_position():
    def norm(x, o):
        y = x * 2
        return torch.norm(y, 2, 1, False, o) + 1

    def dots(x, o):
        y = x * 2
        return torch.tensordot(y, y, 1, o) + 1

    def normal(x, o):
        y = x * 2
        return F.normalize(y, 2.0, 1, 1e-12, o) + 1

    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    same(norm, [x, torch.zeros(4)], served=False)
    same(dots, [x, torch.zeros(4, 4)], served=False)
    same(normal, [x, torch.zeros(4, 4)], served=False)


def test_what_writes_or_draws_is_done_once():
    """A later result that does not fit has everything before it done again."""

    def attention(q, x):
        y = F.scaled_dot_product_attention(q, q, q, None, 0.5)
        return y + 1, x[x > 0] * 2

    def rows(w, i, x):
        return F.embedding(i, w, None, 1.0) + 1, x[x > 0] * 2

    many, one = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([1.0, -2.0, -1.0])
    q, i = torch.ones(1, 2, 4, 8), torch.tensor([1, 2])
    same(attention, [q, many], [q, one], served=False)
    same(rows, [torch.ones(4, 4), i, many], [torch.ones(4, 4), i, one], served=False)


STORES = {
    "fill_": lambda x, v: x.fill_(v),
    "masked_fill": lambda x, v: x.masked_fill(x > 0, v),
    "masked_fill_": lambda x, v: x.masked_fill_(x > 0, v),
    "item": lambda x, v: x.__setitem__(2, v),
    "part": lambda x, v: x.__setitem__(slice(1, 3), v),
    "mask": lambda x, v: x.__setitem__(x > 0, v),
    "where": lambda x, v: torch.where(x > 0, x, v),
    "leaky_relu": lambda x, v: F.leaky_relu(x, v),
}
LARGE = {
    torch.float32: (1e300, -1e39, 3.4028235e38, float("inf"), float("nan"), 2**63 - 1),
    torch.float16: (7e4, 70000, 65504.5, 65504.0, -65505, float("-inf"), 1e300),
    torch.bfloat16: (1e39, 3.3e38, 1e300),
    torch.uint8: (300, -1, -256, 255),
    torch.int8: (200, -129, 127),
    torch.int32: (2**31, -(2**31) - 1, 2**31 - 1),
}


@pytest.mark.parametrize("dtype", LARGE, ids=str)
@pytest.mark.parametrize("name", STORES)
def test_numbers_that_are_too_large(name, dtype):
    store = STORES[name]

    def f(x, v):
        y = x + x
        r = store(y, v)
        return y, r

    def computed(x, v):
        return f(x, v * 2)

    for number in LARGE[dtype]:
        first = type(number)(2)
        same(f, [torch.ones(4, dtype=dtype), first], [torch.ones(4, dtype=dtype), number], served=False)
        if isinstance(number, float):
            same(
                computed,
                [torch.ones(4, dtype=dtype), 2.0],
                [torch.ones(4, dtype=dtype), number / 2],
                served=False,
            )


def test_half_precision_is_made_of_single_precision():
    """Of doubles, and of numbers that are compared or stored: both are rounded twice."""

    def f(x, h, v):
        y = h + h
        return (
            (x + 0).half(),
            (x + 0).bfloat16(),
            y == v,
            y < v,
            y.masked_fill(y > 0, v),
            torch.where(y > 0, v, y),
        )

    v = 1 + 2**-11 + 2**-30
    same(f, [torch.tensor([v, -v, 1.5], dtype=torch.float64), torch.tensor([0.5, 1.0]).half(), v])


def test_strides_of_axes_of_one_element():
    base = torch.arange(400.0)

    def f(x):
        z = x.contiguous()
        return z * z + z, z.stride(), x * 2 + 1, x.clone(), x.double(), z is x

    shapes = [(2, 1, 3), (2, 1, 4), (4, 1, 2), (1, 3, 1), (0, 3), (3, 1, 2, 1)]
    strides = [
        (3, 100, 1),
        (3, 3, 3),
        (5, 100, 1),
        (1, 7, 3),
        (100, 1, 2),
        (2, 2, 1),
        (7, 2),
        (3, 1),
        (2, 9, 1, 5),
        (2, 1, 1, 1),
    ]
    tensors = [(n, s) for n in shapes for s in strides if len(n) == len(s)]
    for n, s in tensors:
        same(f, *([base.as_strided(*t)] for t in ((n, s), *tensors) if len(t[0]) == len(n)), served=False)


def test_versions_of_results():
    def f(x):
        t = x + 1
        s = torch.exp(t)
        t += 1
        u = t * 2
        return u, s, u._version

    def g(x):
        t = x + 1
        t.mul_(2).add_(1)
        u = t * 2
        v = u * 3
        return v

    same(f, [torch.ones(4, 5)])
    compiled = stator.compile(g)
    for _ in range(4):
        assert compiled(torch.ones(4, 5))._version == 0


class Doubled(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 100 if func.__name__ in ("add", "__add__") else result


class Counted(TorchDispatchMode):
    calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Counted.calls += 1
        return func(*args, **(kwargs or {}))


def test_modes_around_functions_that_are_given_no_tensor():
    def f(n):
        a = torch.zeros(n)
        b = a + 1
        return b * 2

    compiled = stator.compile(f)
    for _ in range(4):
        assert torch.equal(compiled(3), f(3))
    assert compiled.stats()["replays"]
    with Doubled():
        assert torch.equal(compiled(3), f(3))
    with Counted():
        f(3)
        expected, Counted.calls = Counted.calls, 0
        compiled(3)
        assert Counted.calls == expected
    assert torch.equal(compiled(3), f(3))


def test_views_of_leaves_that_are_written():
    def f(p):
        q = p[0]
        p *= 2
        return q

    compiled = stator.compile(f)
    for tensor in (torch.ones, lambda *n: torch.nn.Parameter(torch.ones(*n))):
        for _ in range(4):
            told = []
            for call in (f, compiled):
                p = tensor(2, 2)
                with torch.no_grad():
                    q = call(p)
                try:
                    told.append((q * 2).tolist())
                except RuntimeError as error:
                    told.append(str(error)[:60])
            assert told[0] == told[1]
