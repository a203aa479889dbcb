"""Tensors of torch on a GPU: tensors of the CPU stand in for them, and the fake driver opens all memory to kernels."""

from __future__ import annotations

import pytest

from . import machine, test_device

pytest.importorskip("torch")

PRELUDE = """
import torch, warnings
warnings.simplefilter("error")
cuda = ctypes.CDLL(os.environ["STATOR_CUDA_DRIVER"])
cuda.fake_cuda_violations.restype = ctypes.c_char_p
torch.set_grad_enabled(False)
{prepare}
def launches():
    return cuda.fake_cuda_calls(b"cuLaunchKernel")
def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, (tuple, list)) else [] if x is None else [x]
def same(x, y, exact):
    assert type(x) is type(y)
    if isinstance(x, torch.Tensor):
        assert (x.dtype, x.shape, x.stride(), x._version) == (y.dtype, y.shape, y.stride(), y._version), (x, y)
    if exact:
        assert torch.equal(torch.nan_to_num(torch.as_tensor(x)), torch.nan_to_num(torch.as_tensor(y))), (x, y)
    elif not isinstance(x, torch.Tensor):
        assert abs(x - y) <= 1e-5 * abs(x)
    else:
        torch.testing.assert_close(x, y, rtol=1e-2 if x.dtype in (torch.half, torch.bfloat16) else 1e-5, atol=1e-5, equal_nan=True)
def check(f, make, times=3, exact=True, kernels=None):
    c = stator.compile(f)
    for i in range(times):
        a, b = make(i), make(i)
        expected, before = f(*a), launches()
        found = c(*b)
        launched = launches() - before
        for x, y in zip(flat([expected, a]), flat([found, b]), strict=True):
            same(x, y, exact)
    s = c.stats()
    assert s["replays"] >= times - 1, s
    assert launched > 0 if kernels is None else launched == kernels, (launched, c.graph())
    assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
    return c
def noise(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), device="cpu").to(dtype).to(where)
"""


# Tensors of the CPU stand in for the GPU's, or they are the GPU's.
STAND_IN = """
where, stream = "cpu", 0
torch._C._cuda_getCurrentRawStream = lambda device: stream
"""
REAL = """
where = "cuda"
"""


def run(body: str) -> str:
    import textwrap

    prelude = PRELUDE.replace("{prepare}", REAL if machine.has_gpu() else STAND_IN)
    variables = {} if machine.has_gpu() else {"STATOR_TEST_TORCH_STAND_IN": 1, "FAKE_CUDA_UNIFIED": 1}
    return test_device.run(prelude + textwrap.dedent(body), False, **variables)


def test_pointwise():
    run("""
    def f(x, y, k):
        return torch.exp(x) * 2 + y * k, torch.sigmoid(x), x > y, torch.where(x > 0, x, y), x.relu(), x.clamp(-1, 1)
    check(f, lambda i: (noise(5 + i, 20), noise(20, seed=1), 1.5), exact=False)
    def g(x, y):
        return (x + y) * x - y, x / y, -x, x.abs(), torch.sqrt(x * x), x == y, x.floor()
    check(g, lambda i: (noise(33 + i, dtype=torch.float64), noise(33 + i, dtype=torch.float64, seed=1)), kernels=1)
    """)


def test_extrema_have_the_bits_of_torch():
    """Zeros of both signs and NaNs of several payloads, each beside each; on the CPU torch takes other zeros."""
    run("""
    def f(x, y):
        return torch.maximum(x, y), torch.minimum(x, y), torch.maximum(x, y[0])
    for t, i, nans in ((torch.float32, torch.int32, [0x7fc00001, -0x400000]), (torch.float64, torch.int64, [0x7ff8 << 48 | 9])):
        odd = torch.tensor([0.0, -0.0, 1, -1.5, float("inf"), -float("inf"), 1e-45], dtype=t)
        if where == "cpu":
            odd = odd[1:]
        odd = torch.cat([odd, torch.tensor(nans, dtype=i).view(t)]).to(where)
        x, y = (a.contiguous() for a in torch.broadcast_tensors(odd[:, None], odd))
        check(f, lambda k: (x.clone(), y.clone()), kernels=1)
        if where == "cuda":
            c = stator.compile(f)
            for k in range(3):
                found = c(x, y)
            for a, b in zip(f(x, y), found):
                assert torch.equal(a.view(i), b.view(i)), (a, b)
    """)


def test_a_number_divides_as_a_factor():
    """x / 3 is x * (1 / 3) in torch's CUDA kernels."""
    run("""
    def f(x):
        return x / 3.0
    c = stator.compile(f)
    x = noise(100)
    for _ in range(3):
        found = c(x)
    assert c.stats()["replays"] == 2
    third = torch.tensor(1.0) / torch.tensor(3.0)
    assert torch.equal(found, x * third.to(where)) and (where == "cuda" or not torch.equal(found, x / 3.0)), c.graph()
    """)


def test_half_precision():
    run("""
    def f(x, y):
        return x * y + x, torch.tanh(x), x.float() - y, x * 0.3, x > y
    for t in (torch.float16, torch.bfloat16):
        check(f, lambda i: (noise(40 + i, dtype=t), noise(40 + i, dtype=t, seed=1)), exact=False)
    def g(x):
        return x.to(torch.bfloat16), x.half()
    check(g, lambda i: (noise(65 + i),))
    """)


def test_views_stores_and_library_calls():
    run("""
    def f(x, y):
        z = (x.t() + 1)[1:]
        w = z @ y
        x[0] = 7.0
        x += 1
        return z, w * 2, x[:, 1:], torch.softmax(w, -1)
    check(f, lambda i: (noise(6, 5 + i), noise(6, 3, seed=1)), exact=False)
    """)


def test_branches_and_numbers():
    run("""
    def f(x, k):
        y = x * k
        if y.sum() > 0:
            return y + y.max(), y.sum().item()
        return y
    check(f, lambda i: (noise(50 + i).abs(), 2.0), exact=False)
    """)


@machine.fake_only
def test_current_stream():
    run("""
    def f(x):
        return x * 2
    c = stator.compile(f)
    x = noise(30)
    for _ in range(2):
        c(x)
    handle = ctypes.c_void_p()
    context = ctypes.c_void_p()
    assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    assert not cuda.cuCtxPushCurrent_v2(context) and not cuda.cuStreamCreate(ctypes.byref(handle), 1)
    stream = handle.value
    same(f(x), c(x), True)
    assert not cuda.cuStreamDestroy_v2(handle)
    c(x)  # launches on the destroyed stream are refused: it is the stream that torch says
    assert b"stream" in cuda.fake_cuda_violations(), cuda.fake_cuda_violations()
    """)
