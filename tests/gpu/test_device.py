"""device="cuda" from end to end: NVRTC and the driver are fakes that compile with the shim and run threads as fibers."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.gpu import machine

ROOT = Path(__file__).resolve().parents[2]


def run(body, prelude=True, **environment):
    """Runs a program in a process of its own, which a defect may end."""
    env = dict(os.environ)
    env.update(machine.environment(environment))
    env.update({k: str(v) for k, v in environment.items()})
    program = (
        "import ctypes, os, numpy as np, stator\n" + (PRELUDE if prelude else "") + textwrap.dedent(body)
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


PRELUDE = """
import warnings
warnings.simplefilter("error")
cuda = ctypes.CDLL(os.environ["STATOR_CUDA_DRIVER"])
for name in ("violations", "leaks"):
    getattr(cuda, "fake_cuda_" + name).restype = ctypes.c_char_p
def launches():
    return cuda.fake_cuda_calls(b"cuLaunchKernel")
def flat(x):
    return [x] if isinstance(x, np.ndarray) or np.isscalar(x) else [] if x is None else [z for y in x for z in flat(y)]
def same(x, y):
    return np.allclose(x, y, rtol=1e-5, atol=1e-5, equal_nan=True) and np.asarray(x).dtype == np.asarray(y).dtype
def check(f, make, times=3, replays=1):
    c = stator.compile(f, device="cuda")
    for i in range(times):
        a, b = make(i), make(i)
        before = launches()
        with np.errstate(all="ignore"):
            expected = f(*a)
        found = c(*b)
        for x, y in zip(flat((a, expected)), flat((b, found)), strict=True):
            assert same(x, y), (i, x, y)
    assert launches() > before, "nothing ran on the device"
    assert c.stats()["replays"] >= replays, c.stats()
    clean()
    return c
def clean():
    assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
    held = [l for l in cuda.fake_cuda_leaks().decode().splitlines() if "allocated" in l]
    assert not held, held
rng = np.random.default_rng(3)
def rows(i, dtype="f8"):
    return rng_of(i).standard_normal((5 + i, 33 + 9 * i)).astype(dtype)
def rng_of(i):
    return np.random.default_rng(i)
"""


def test_new_shapes():
    run("""
    def f(x, y):
        return x * 2 + y
    check(f, lambda i: (np.arange(100.0 + 7 * i), np.ones(100 + 7 * i)))
    """)


@machine.fake_only
def test_modules_go_with_what_was_compiled():
    run("""
    import gc
    def modules():
        return [l for l in cuda.fake_cuda_leaks().decode().splitlines() if "module" in l]
    for i in range(3):
        def f(x):
            return x * 2 + i
        c = check(f, lambda i: (rows(i),))
        assert len(modules()) == 1, modules()
        del c, f
        gc.collect()
        assert not modules(), modules()
    clean()
    """)


def test_arguments_are_changed_in_place():
    run("""
    def f(x, y, z):
        x *= 2
        y[1:] += x[:-1]
        z[::2] = 7
    check(f, lambda i: (np.arange(100.0 + i), np.arange(100.0 + i), np.arange(2 * (30.0 + i))))
    """)


def test_gaps_of_arguments_are_not_written():
    run("""
    def f(x, y):
        x += 1
        y -= 1
    def make(i):
        base = np.arange(200.0 + i)
        return base[::2], base[1::2]
    check(f, make)
    """)


def test_gaps_may_be_memory_that_cannot_be_written():
    run("""
    import mmap
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 8 * page)
    whole = np.frombuffer(memory)
    every_other_page = whole[:: 2 * page // 8]
    libc = ctypes.CDLL(None)
    for k in range(1, 8, 2):
        assert libc.mprotect(ctypes.c_void_p(whole.ctypes.data + k * page), ctypes.c_size_t(page), 1) == 0
    def f(x):
        x += 1
    c = stator.compile(f, device="cuda")
    for i in range(4):
        before = launches()
        c(every_other_page)
        assert (every_other_page == i + 1).all()
    assert launches() > before and c.stats()["replays"], c.stats()
    clean()
    """)


def test_what_the_device_computes_raises_no_warnings():
    run("""
    def f(x, y):
        return x / y, np.log(y)
    c = check(f, lambda i: (np.arange(1.0, 9.0 + i), np.ones(8 + i)))
    before = launches()
    quotient, logarithm = c(np.arange(1.0, 20.0), np.zeros(19))
    assert launches() > before and np.isinf(quotient).all() and np.isinf(logarithm).all()
    clean()
    """)


def test_what_raises_is_computed_where_it_raises():
    """A GPU has no floating-point flags: np.errstate would change nothing there."""
    run("""
    def caught(x):
        try:
            return 1.0 / x, "quotient"
        except FloatingPointError as error:
            return str(error), "error"
    def own(x):
        with np.errstate(divide="raise"):
            return caught(x)
    def ignored(x):
        with np.errstate(divide="ignore"):
            return 1.0 / x
    def told(kind, flag):
        seen.append(kind)
    seen = []
    c, o, g = (stator.compile(f, device="cuda") for f in (caught, own, ignored))
    for k in range(4):
        x = np.arange(1.0, 9.0 + k)
        assert c(x)[1] == o(x)[1] == "quotient"
        g(x)
    before = launches()
    assert np.isinf(g(np.zeros(9))).all() and launches() > before
    assert o(np.zeros(9)) == ("divide by zero encountered in divide", "error")
    before = launches()
    assert np.isinf(c(np.zeros(9))[0]).all() and launches() > before
    with np.errstate(divide="raise"):
        assert c(np.zeros(9)) == ("divide by zero encountered in divide", "error")
        assert c(np.ones(9))[1] == "quotient"
    with np.errstate(divide="call", call=told):
        assert np.isinf(c(np.zeros(9))[0]).all() and seen == ["divide by zero"]
    """)


def test_reductions_and_scalars():
    run("""
    def f(x, k):
        m = x.mean()
        return (x - m) * k, x.max(axis=1), x.sum(), np.argmax(x)
    check(f, lambda i: (rows(i), 2.5 + i))
    """)


def test_softmax():
    run("""
    def f(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    check(f, lambda i: (rows(i, "f4"),))
    """)


def test_branches_on_device_values():
    run("""
    def f(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1, "up"
        return y - 1, "down"
    def g(x):
        return f(x)[0]
    check(g, lambda i: (np.full(50, 1.0 if i % 3 else -1.0),), times=9)
    """)


def test_host_functions_in_between():
    run("""
    def f(x, y):
        z = x * 2 + y
        w = z @ z.T
        return w + 1, np.sort(z, axis=1) * 2
    check(f, lambda i: (rows(i), rows(i)))
    """)


def test_loops_and_opaque_steps():
    run("""
    def f(x, log):
        for k in range(3):
            x = x * 0.5 + k
            log.append(k)
        return x
    check(f, lambda i: (rows(i), []), replays=0)
    """)


def test_views_of_results():
    run("""
    def f(x):
        y = x * 2
        return y, y[1:], y.T
    c = check(f, lambda i: (rows(i),))
    y, part, t = c(rows(1))
    assert part.base is y and t.base is y
    """)


def test_nothing_to_do():
    run("""
    def f(x):
        return x * 2, x.sum()
    check(f, lambda i: (np.zeros(0) if i == 3 else np.ones(10 + i),), times=5)
    """)


def test_no_warnings_as_on_gpus():
    run("""
    def f(x):
        return 1 / x
    c = check(f, lambda i: (np.arange(1.0, 10 + i),))
    assert np.isinf(c(np.zeros(3))).all()
    """)


def test_without_a_driver_the_cpu_serves():
    out = run(
        """
    def f(x):
        return x * 2 + 1
    c = stator.compile(f, device="cuda")
    for i in range(3):
        assert (c(np.arange(10.0 + i)) == f(np.arange(10.0 + i))).all()
    stator.wait()
    assert c.stats()["replays"] >= 1
    print(stator.explain(c)(np.arange(10.0)))
    """,
        prelude=False,
        STATOR_CUDA_DRIVER="/nonexistent/libcuda.so",
    )
    assert "cannot be had" in out, out


def test_without_nvrtc():
    run(
        """
    def f(x):
        return x * 2 + 1
    c = stator.compile(f, device="cuda")
    for i in range(3):
        assert (c(np.arange(10.0 + i)) == f(np.arange(10.0 + i))).all()
    """,
        prelude=False,
        STATOR_NVRTC="/nonexistent/libnvrtc.so",
    )


@pytest.mark.parametrize(
    "function, code",
    [
        ("cuMemAllocAsync", 2),
        ("cuLaunchKernel", 701),
        ("cuLaunchKernel", 719),
        ("cuMemcpyHtoDAsync", 700),
        ("cuMemcpyDtoHAsync", 700),
        ("cuStreamSynchronize", 700),
        ("cuModuleLoadData", 200),
        ("cuModuleGetFunction", 500),
    ],
)
@pytest.mark.parametrize("nth", [1, 2])
def test_failures_leave_eager_results(function, code, nth):
    """Whatever the driver answers, calls return what eager returns, and arguments are as eager leaves them."""
    run(f"""
    def f(x, y):
        z = x * 2 + y
        return z - 1, z.sum()
    c = stator.compile(f, device="cuda")
    def make(i):
        return rows(i), rows(i)
    def call(i):
        a, b = make(i), make(i)
        for x, y in zip(flat((a, f(*a))), flat((b, c(*b))), strict=True):
            assert same(x, y), (i, x, y)
    inject = lambda: cuda.fake_cuda_inject({function!r}.encode(), {nth}, {code})
    if "Module" in {function!r}:
        inject()
    call(0), call(1)
    inject()
    before = cuda.fake_cuda_calls({function!r}.encode())
    for i in range(2, 6):
        call(i)
    assert "Module" in {function!r} or cuda.fake_cuda_calls({function!r}.encode()) > before
    """)


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_copy_back_fails_behind_others(nth):
    """What arguments hold already is not stored a second time: the call says so instead of starting anew."""
    run(f"""
    def f(x, y):
        x += 1
        y += 1
    c = stator.compile(f, device="cuda")
    for i in range(6):
        a, b = rows(i), rows(i)
        x, y = a.copy(), b.copy()
        if i == 3:
            cuda.fake_cuda_inject(b"cuMemcpyDtoHAsync", {nth}, 700)
        try:
            c(x, y)
        except RuntimeError as e:
            assert "arguments were changed" in str(e) and i >= 3
            assert all(same(u, v) or same(u, v + 1) for u, v in ((x, a), (y, b)))
        else:
            assert same(x, a + 1) and same(y, b + 1)
    """)


def test_out_of_memory_with_memory_on_its_way_back():
    run("""
    def f(x, y):
        return (x * 2 + y) / (1 + x.sum())
    c = stator.compile(f, device="cuda")
    for i in range(5):
        a = (rows(i), rows(i))
        expected = f(*a)
        if i > 1:
            cuda.fake_cuda_inject(b"cuMemAllocAsync", 1 + i % 2, 2)
        assert same(c(*a), expected)
    assert cuda.fake_cuda_calls(b"cuMemPoolTrimTo") > 0
    clean()
    """)


def test_tensors_of_torch_stay_on_the_cpu():
    pytest.importorskip("torch")
    run(
        """
    import torch
    def f(x):
        return x * 2 + 1
    c = stator.compile(f, device="cuda")
    for i in range(3):
        assert torch.equal(c(torch.arange(10.0 + i)), f(torch.arange(10.0 + i)))
    try:
        stator.compile(f).cuda(torch.arange(10.0))
    except NotImplementedError as error:
        assert "NumPy's arrays" in str(error), error
    else:
        raise AssertionError("no error")
    """
    )


def test_results_are_stored_to_again():
    """Found by random programs: what the host had seen once was not copied out again."""
    run("""
    def f(x):
        y = x - x[::-1]
        z = np.gradient(y, axis=0)
        y[...] = 0.5
        return y, z
    check(f, lambda i: (np.arange(10.0 + i),))
    """)


def test_elements_of_arguments_as_results():
    """Found by random programs: the element was written to where the array begins."""
    run("""
    def f(x, y):
        first = y[-1]
        x *= 2
        return first, x[0]
    check(f, lambda i: (np.arange(10.0 + i), np.arange(5.0 + i)))
    """)


def test_memory_that_no_kernel_touched():
    """Found by random programs: an exit had no array for it."""
    run("""
    def f(x, log):
        y = np.empty_like(x)
        z = x * 2
        log.append(len(y))
        y[...] = z
        return y
    check(f, lambda i: (np.arange(10.0 + i), []), replays=0)
    """)


def test_stores_to_arrays_without_axes():
    """Found by random programs: what was computed from the old number was computed again from the new one."""
    run("""
    def f(a, b):
        b -= 300
        a[None] = a[()] + 1
        return np.int16(-2) >= b, a > 2, b * 2
    check(f, lambda i: (np.array(2.0 + i), np.array(200 + i)))
    """)


def test_next_half_precision_number():
    """Found by random programs: the next number of single precision rounds back. Such traces stay on the CPU."""
    run("""
    def f(x):
        return np.nextafter(x, x + 1)
    c = stator.compile(f, device="cuda")
    for i in range(3):
        x = np.arange(5.0 + i).astype(np.float16)
        assert (c(x) == f(x)).all()
    """)


def test_long_rows_and_columns():
    """Clusters of blocks, and slices, of which the launches share memory."""
    run("""
    def f(x, y):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True), y.sum(axis=0)
    c = check(f, lambda i: (rng_of(i).standard_normal((2, 9000 + 24600 * i)).astype("f4"), np.ones((9000 + i, 40))))
    assert cuda.fake_cuda_calls(b"cuLaunchKernelEx") == 2, cuda.fake_cuda_calls(b"cuLaunchKernelEx")
    """)
    run(
        """
    def f(x):
        return x / x.sum(axis=1, keepdims=True)
    check(f, lambda i: (np.ones((2, 33000 + i)), ))
    """,
        FAKE_CUDA_CAPABILITY="8.0",
    )


def test_memory_of_a_call():
    """What one kernel needs for itself is not what the next one finds, and all of it is given back, also when a launch fails."""
    run("""
    def of_two_sizes(x, y):
        return x.sum() + 1, y.sum()
    check(of_two_sizes, lambda i: (np.ones(100 + i), np.ones(40000 + i)))
    def in_two_segments(x):
        a = x / x.sum(axis=1).max()
        b = a @ a.T
        return b / b.sum(axis=1).max()
    check(in_two_segments, lambda i: (1 + rows(i) ** 2,))
    def standardized(x):
        return x - x.mean()
    for nth in 1, 2, 3:
        c = stator.compile(standardized, device="cuda")
        x = np.arange(20000.0)
        for i in range(4):
            if i == 2:
                cuda.fake_cuda_inject(b"cuLaunchKernel", nth, 2)  # out of memory
            assert same(c(x), x - x.mean())
        clean()
    """)


def test_strides_of_arguments():
    run("""
    def f(x, y):
        y *= 2
        return x + 1, y - x
    check(f, lambda i: (np.arange(4000.0).reshape(40, 100)[:: 2 + i % 2, ::3][:13], np.ones((26, 68))[::2, ::2]))
    def interleaved(x, y):
        x += 1
        y *= 2
    def make(i):
        whole = np.arange(100.0 + 2 * i)
        return whole[::2], whole[1::2]
    check(interleaved, make, replays=0)
    """)


def test_what_the_host_changes_in_between():
    run("""
    def f(x, k):
        y = x * 2
        np.put(y, k, 7.0)
        z = y + 1
        y += z
        return y, z
    check(f, lambda i: (np.arange(50.0 + i), np.array([3, 5])))
    """)


def test_functions_that_are_written_once():
    """Steps of NumPy's functions (frontend/hosts/numpy/functions/) are nodes that have CUDA code."""
    run("""
    calls = [
        "np.clip(x, -0.5, 0.5)", "x.clip(min=-1)", "np.diff(x, axis=0)", "np.flip(x, 1) * 2", "np.rot90(x) + 1",
        "np.swapaxes(x, 0, 1) * x.T", "np.moveaxis(x, 0, 1) - 1", "np.mean(x, axis=1)", "np.var(x, axis=0)",
        "np.std(x, axis=1, ddof=1)", "np.ptp(x, axis=1)", "np.linalg.norm(x, axis=1)", "np.outer(x[0], x[1])",
        "np.cross(x[:, :3], x[:, 3:6]) * 2",
    ]
    for call in calls:
        space = {"np": np}
        exec(f"def f(x):\\n x = x * 1.5\\n return {call}", space)
        c = check(space["f"], lambda i: [rows(i)])
        assert not any(" library " in t.graph_text for t in c.traces), call
    """)
