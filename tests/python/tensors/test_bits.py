"""Generated code against torch's own kernels: random bit patterns of every dtype, in vectors, tails and strided."""

from __future__ import annotations

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
from sameness import difference, run

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
ALL = [torch.bool, *INTS, *FLOATS]
COUNT = 5003

UNARY = {
    "-x": INTS + FLOATS,
    "abs(x)": INTS + FLOATS,
    "torch.square(x)": INTS + FLOATS,
    "torch.rsqrt(x)": FLOATS,
    "torch.reciprocal(x)": FLOATS,
    "torch.floor(x)": FLOATS,
    "torch.ceil(x)": FLOATS,
    "torch.trunc(x)": FLOATS,
    "torch.round(x)": FLOATS,
    "torch.isnan(x)": ALL,
    "torch.isinf(x)": ALL,
    "torch.isfinite(x)": ALL,
    "torch.signbit(x)": ALL,
    "~x": [torch.bool, *INTS],
    "torch.logical_not(x)": ALL,
    "x ** 2": INTS + FLOATS,
    "x ** 3": INTS + FLOATS,
    "x * 3": ALL,
    "x + 0.1": ALL,
    "x * 0.1": ALL,
    "x - 1e5": FLOATS,
    "x / 7": ALL,
    "0.3 - x": INTS + FLOATS,
    "x > 0.0999755859375": FLOATS,  # 0.1 in half precision
    "2 - x": INTS + FLOATS,
    "1 / x": ALL,
    "x > 0.1": ALL,
    "x <= 3": ALL,
    "x == 2": ALL,
    "x.float()": ALL,
    "x.double()": ALL,
    "x.half()": ALL,
    "x.bfloat16()": ALL,
    "x.bool()": ALL,
    "x.long()": [torch.bool, *INTS],
    "x.int()": [torch.bool, *INTS],
    "x.clone()": ALL,
    "torch.relu(x)": INTS + FLOATS,
    "torch.nn.functional.leaky_relu(x, 0.1)": FLOATS,
    "torch.clamp(x, -0.5, 0.7)": INTS + FLOATS,
    "x.clamp(min=0.1)": FLOATS,
    "x.clamp(max=-0.0)": FLOATS,
    "x.clip(0.5, -0.5)": FLOATS,
    "x.masked_fill(x > 0, 0.1)": FLOATS,
    "x.masked_fill(x > 0, 3)": INTS + FLOATS,
    "x.to(torch.float64)": ALL,
    "x.to(torch.int32)": ALL,
    "torch.where(x > 0, x, 0.5)": ALL,
    "torch.where(x > 0, 1, x)": ALL,
}
BINARY = ["x + y", "x - y", "x * y", "x / y", "x == y", "x < y", "x >= y", "torch.logical_and(x, y)"]
BITWISE = ["x & y", "x | y", "x ^ y"]


def bits(dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    size = torch.empty((), dtype=dtype).element_size()
    if dtype == torch.bool:
        return torch.randint(0, 2, (COUNT,), generator=generator).bool()
    raw = torch.randint(0, 256, (COUNT * size,), dtype=torch.uint8, generator=generator).view(dtype)
    # Half of the elements close to each other, so that sums and comparisons are not all trivial.
    near = torch.randint(0 if dtype == torch.uint8 else -9, 9, (COUNT,), generator=generator).to(dtype)
    return torch.where(torch.randint(0, 2, (COUNT,), generator=generator).bool(), raw, near)


def compare(text: str, *tensors: torch.Tensor) -> None:
    space = {"torch": torch}
    names = "x, y"[: 3 * len(tensors) - 2]
    exec(f"def call({names}): return {text}", space)
    function = space["call"]
    compiled = stator.compile(function)
    for part in (slice(None), slice(None), slice(1, 40), slice(0, 4001, 2), slice(3, 3001, 3)):
        args = [t[part] for t in tensors]
        got, error, _ = run(compiled, args)
        want, wanted, _ = run(function, args)
        assert error == wanted
        if error is None:
            told = difference(got, want, args, args)
            assert not told, told[:300]
        stator.wait()


@pytest.mark.parametrize(("text", "dtype"), [(t, d) for t, dtypes in UNARY.items() for d in dtypes])
def test_unary(text, dtype):
    compare(text, bits(dtype, 1))


@pytest.mark.parametrize("text", BINARY + BITWISE)
@pytest.mark.parametrize("second", ALL)
@pytest.mark.parametrize("first", ALL)
def test_binary(text, first, second):
    if text in BITWISE and (first.is_floating_point or second.is_floating_point):
        pytest.skip("integers only")
    compare(text, bits(first, 1), bits(second, 2))
