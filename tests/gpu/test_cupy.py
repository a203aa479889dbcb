"""Arrays of CuPy's as hosts: a fake CuPy on the fake driver, where every launch and every use of memory is checked."""

from __future__ import annotations

import textwrap
from pathlib import Path

from . import machine, test_device

MODULES = Path(__file__).parent / "fake" / "modules"

PRELUDE = """
import sys, warnings
{path}
import cupy as cp
warnings.simplefilter("error")
cuda = ctypes.CDLL(os.environ["STATOR_CUDA_DRIVER"])
cuda.fake_cuda_violations.restype = ctypes.c_char_p
def calls(name):
    return cuda.fake_cuda_calls(name.encode())
def launches():
    return calls("cuLaunchKernel")
def waits():
    return calls("cuStreamSynchronize")
def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, (tuple, list)) else [] if x is None else [x]
def bits(x):
    return x.get() if isinstance(x, cp.ndarray) else np.asarray(x)
def same(x, y, exact):
    assert type(x) is type(y), (type(x), type(y))
    if isinstance(x, cp.ndarray):
        assert (x.dtype, x.shape, x.strides, x.device) == (y.dtype, y.shape, y.strides, y.device), (x.dtype, x.shape, x.strides, y.dtype, y.shape, y.strides)
    x, y = bits(x), bits(y)
    if exact and os.environ.get("STATOR_TEST_GPU"):
        assert x.tobytes() == y.tobytes(), (x, y)
    elif exact:
        assert np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"), (x, y)
    else:
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
def clean(refused=0):
    assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
    # CuPy's own memory comes from cuMemAlloc, that of a run from the device's pool.
    assert calls("cuMemAllocAsync") - refused == calls("cuMemFreeAsync"), "a run keeps memory"
def check(f, make, times=3, exact=True, replays=None, kernels=None, fastmath=False):
    c = stator.compile(f, fastmath=fastmath)
    for i in range(times):
        a, b = make(i), make(i)
        expected = f(*a)
        before, waited = launches(), waits()
        found = c(*b)
        launched, waited = launches() - before, waits() - waited
        for x, y in zip(flat([expected, a]), flat([found, b]), strict=True):
            same(x, y, exact)
    s = c.stats()
    assert s["replays"] >= (times - 1 if replays is None else replays), (s, [str(r) for r in c.traces])
    assert launched > 0 if kernels is None else launched == kernels, (launched, s)
    clean()
    c.waited = waited
    return c
def array(values, dtype=None):
    return cp.array(np.asarray(values, dtype))
def noise(shape, dtype="f8", seed=0):
    return cp.array(np.random.default_rng(seed).standard_normal(shape).astype(dtype))
"""


def run(body: str, **environment) -> str:
    return test_device.run(
        PRELUDE.replace("{path}", "" if machine.has_gpu() else f"sys.path.insert(0, {str(MODULES)!r})")
        + textwrap.dedent(body),
        False,
        **environment,
    )


def test_pointwise():
    run("""
    def f(x, y):
        return x * 2.5 + y
    check(f, lambda i: (noise(100 + 7 * i), noise(100 + 7 * i, seed=1)), kernels=1)
    """)


def test_dtypes_follow_cupy():
    run("""
    types = "? b B h H i I l L e f d".split()
    def make(s, t):
        a = np.arange(1, 40) % 5 + 1
        return lambda i: (array(a, s), array(a[::-1], t))
    def f(x, y):
        return x + y, x * y, x == y, x < y, cp.logical_and(x, y), cp.true_divide(x, y)
    for k, first in enumerate(types):
        for n, second in enumerate(types[k:]):
            s, t = (first, second) if n % 2 else (second, first)
            if {s, t} & set("lqih") and {s, t} & set("LQ"):
                continue  # comparisons of signed and unsigned 64-bit integers are CuPy's own
            check(f, make(s, t), times=2)
    """)


def test_numbers_adapt():
    run("""
    def f(x, k, n):
        return x + k, x * n, x - 2, 3 / (x + 5), x > n, x * np.float32(2), x + True
    for t in "b B h i l e f d".split():
        check(f, lambda i: (array(np.arange(1, 30) % 7, t), 2.5 + i, 3 + i), times=2)
    """)


def test_ufuncs():
    run("""
    names = "negative absolute square sqrt floor ceil trunc fix rint isnan isinf isfinite signbit positive sign".split()
    pairs = "add subtract multiply divide fmax fmin maximum minimum copysign less equal logical_or power arctan2 fmod".split()
    smooth = "exp exp2 expm1 log log10 log1p log2 sin cos tan arctan sinh cosh tanh arcsinh cbrt deg2rad rad2deg".split()
    values = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 0.25, 7.75])
    for t in "fd":
        for name in names:
            g = getattr(cp, name)
            check(lambda x: g(x), lambda i: (array(values, t),), times=2)
        for name in pairs:
            g = getattr(cp, name)
            check(lambda x, y: g(x, y), lambda i: (array(values, t), array(values[::-1], t)), times=2,
                  exact=name not in ("power", "arctan2"))
        for name in smooth:
            g = getattr(cp, name)
            check(lambda x: g(x), lambda i: (array(np.linspace(0.1, 2, 30), t),), times=2, exact=False)
    ints = np.array([-7, -1, 0, 1, 5, 100, 3, 2])
    for name in "floor_divide remainder bitwise_and bitwise_or bitwise_xor left_shift right_shift maximum minimum".split():
        g = getattr(cp, name)
        check(lambda x, y: g(x, y), lambda i: (array(ints, "i4"), array(abs(ints[::-1]), "i4")), times=2)
    for t in "bhil":
        check(lambda x: cp.sign(x), lambda i: (array(ints, t),), times=2)
    """)


def test_functions_that_cupy_spells_out_have_its_bits():
    """Zeros of both signs, infinities and NaNs of several payloads, each beside each."""
    run("""
    for t, u, nans in (("f", "u4", [0x7fc00001, 0xffc00000, 0x7f800123]), ("d", "u8", [0x7ff8 << 48 | 9, 0xfff8 << 48])):
        odd = np.concatenate([np.array([0.0, -0.0, 1, -1.5, np.inf, -np.inf, 1e-45, 3e38], t), np.array(nans, u).view(t)])
        x, y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(odd[:, None], odd))
        def f(x, y):
            return cp.maximum(x, y), cp.minimum(x, y), cp.sign(x), cp.exp2(x), cp.maximum(x, 0.5), cp.minimum(-0.0, y)
        check(f, lambda i: (array(x), array(y)), kernels=1)
    """)


@machine.fake_only
def test_kernels_flush_subnormal_numbers_as_those_of_cupy():
    """Of CuPy's arrays alone: NumPy's and torch's keep them. On a GPU the test before this one tells."""
    run("""
    nvrtc = ctypes.CDLL(os.environ["STATOR_NVRTC"])
    nvrtc.fake_nvrtc_options.restype = ctypes.c_char_p
    def f(x):
        return x * 3 + 1
    check(f, lambda i: (noise(20, "f4"),))
    assert b"--ftz=true" in nvrtc.fake_nvrtc_options()
    c = stator.compile(f, device="cuda")
    for _ in range(3):
        c(np.ones(20, "f4"))
    assert nvrtc.fake_nvrtc_options() and b"ftz" not in nvrtc.fake_nvrtc_options()
    """)


def test_numpy_functions_of_cupy_arrays():
    run("""
    def f(x):
        return np.exp(x) + np.add(x, 1)
    check(f, lambda i: (noise(50 + i),), exact=False)
    """)


def test_new_shapes_and_layouts():
    run("""
    def f(x, y):
        return (x + y) * x
    for show in ("x[::2]", "x[::-1]", "x.reshape(10, 10).T", "x.reshape(10, 10)[2:7, 1:]", "x.reshape(10, 10)[:, None, 3]"):
        view = eval("lambda x: " + show)
        def make(i):
            return view(noise(100)), view(noise(100, seed=1))
        check(f, make)
    check(f, lambda i: (noise((3 + i, 1, 4)), noise((1, 5 + i, 1), seed=2)))
    """)


def test_views():
    run("""
    def f(x):
        y = x.T + 1
        z = x[1:, ::2] * 2
        return y, z, x[1], x[::-1], x.T, x.reshape(-1), y[2:], x[0, 1], x.ravel() - 1, z.swapaxes(0, 1)
    check(f, lambda i: (noise((4 + i, 6)),))
    """)


def test_views_share_memory():
    run("""
    @stator.compile
    def f(x):
        y = x * 2
        return y, y[1:], x[2:]
    x = noise(20)
    for _ in range(3):
        y, part, other = f(x)
    assert f.stats()["replays"] == 2
    part[...] = 5
    other[...] = 6
    assert (y.get()[1:] == 5).all() and (x.get()[2:] == 6).all()
    clean()
    """)


def test_stores():
    run("""
    def f(x, y, k):
        x *= k
        x[1:] += y[:-1]
        y[::2] = x[::2] * 2
        y[3] = 7
        x[x > 2] = 0.5
    check(f, lambda i: (noise(40 + i), noise(40 + i, seed=1), 1.5))
    def g(x):
        y = x + 1
        y[2:4] = 0
        y -= 3
        return y
    check(g, lambda i: (noise(30 + i),))
    def h(x, out):
        cp.multiply(x, 3, out)
        cp.add(out, x, out=out)
        return out
    check(h, lambda i: (noise(30 + i, "f4"), cp.zeros(30 + i)))
    """)


def test_reductions_stay_on_the_device():
    run("""
    def f(x):
        m = x.mean()
        return (x - m) / x.std(), x.sum(), x.max(axis=1), x.min(axis=0, keepdims=True), cp.sum(x, axis=0), x.argmax()
    check(f, lambda i: (noise((9 + i, 33)),))
    check(f, lambda i: (noise((9 + i, 33)),), exact=False, fastmath=True)
    def g(x):
        e = cp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    c = check(g, lambda i: (noise((5 + i, 130)),))
    assert c.waited == 0
    c = check(g, lambda i: (noise((5 + i, 130)),), exact=False, kernels=1, fastmath=True)
    assert c.waited == 0
    def h(x, n):
        return x.sum() * 2 + n, x.prod(axis=1), x.any(), x.all(axis=0), x.sum(dtype="f8")
    c = check(h, lambda i: (array(np.arange(12 + 4 * i).reshape(-1, 4), "i4"), array(2.0)))
    def two_numbers(x):
        return x * x.max() + x.min()
    c = check(two_numbers, lambda i: (noise(300 + i),))
    def sliced(x, y):
        return x.sum(axis=0), y.sum(axis=1)
    c = check(sliced, lambda i: (noise((9000 + i, 2)), noise((1, 70000 + i), "f4")), exact=False, fastmath=True)
    """)


def test_zero_dimensional_arguments():
    run("""
    def f(x, s):
        return x * s + s, s + 1, s * s
    c = check(f, lambda i: (noise(20 + i), array(1.5 + i)))
    assert c.waited == 0
    """)


def test_made_arrays():
    run("""
    def f(x):
        y = cp.zeros(x.shape, "f4")
        y += x
        return y, cp.ones_like(x), cp.full((3, 4), 2.5), x.astype("f4"), x.copy(), cp.where(x > 0, x, 0), cp.zeros_like(x)
    check(f, lambda i: (noise((6 + i, 3)),))
    """)


def test_library_calls():
    run("""
    def f(a, b):
        c = (a + 1) @ b
        d = cp.sort(c * 2, axis=1)
        return d - c, cp.linalg.norm(c), cp.concatenate((c, d))
    c = check(f, lambda i: (noise((4 + i, 5)), noise((5, 6), seed=3)), exact=False)
    """)


def test_metadata():
    run("""
    def f(x):
        n = x.shape[0]
        return x * n + x.size + len(x) + x.ndim, x.dtype, x.shape
    check(f, lambda i: (noise((4 + i, 3)),))
    """)


def test_branches_wait_and_nothing_else_does():
    run("""
    def f(x, k):
        y = x * 2
        if y.sum() > 0:
            return y + k
        return y - k
    c = stator.compile(f)
    for i in range(3):
        x = array(np.ones(50))
        before = waits()
        same(f(x, 1.5), c(x, 1.5), True)
        assert i == 0 or waits() - before == 1
        stator.wait()  # code may be on its way in the second call
    for i in range(5):
        same(f(-x, 1.5), c(-x, 1.5), True)
    assert c.stats()["bridges"] == 1 and c.stats()["exits"] == 5, c.stats()
    clean()
    text = str(stator.explain(c)(x, 1.5))
    assert "wait" in text and "<string>" in text, text
    def g(x):
        positive = x.sum() > 0
        if positive:
            x = x + 1
        return x, positive
    check(g, lambda i: (array(np.ones(20 + i)),))
    """)


def test_python_numbers_from_arrays():
    run("""
    def f(x):
        s = float(x.max())
        return x / s, s, (x - 1).sum().item()
    check(f, lambda i: (noise(30 + i),))
    """)


def test_current_stream():
    run("""
    stream = cp.cuda.Stream()
    def f(x, y):
        z = x * 2 + y
        return z - z.mean(), z
    with stream:
        check(f, lambda i: (noise(200 + i), noise(200 + i, seed=1)), exact=False)
    c = stator.compile(f)
    x, y = noise(100), noise(100, seed=1)
    cp.cuda.Stream.null.synchronize()
    for s in (cp.cuda.Stream.null, stream, cp.cuda.Stream(), cp.cuda.Stream.null):
        with s:
            for a, b in zip(f(x, y), c(x, y), strict=True):
                same(a, b, False)
        s.synchronize()
    assert c.stats()["traces"] == 1, c.stats()
    clean()
    """)


@machine.fake_only
def test_work_on_another_stream_is_seen():
    """What the fake driver says of a launch on a stream that does not wait for the array's."""
    run("""
    @stator.compile
    def f(x):
        return x * 2
    x = noise(50)
    for _ in range(2):
        f(x)
    cp.cuda.Stream.null.synchronize()
    with cp.cuda.Stream():
        f(x)
    with cp.cuda.Stream():
        f(x)
    assert b"stream" in cuda.fake_cuda_violations()
    """)


def test_kernels_are_made_in_the_background():
    """Until they are there calls are plain ones, of which nothing is recorded."""
    run(
        """
    def f(x, y):
        return cp.exp(x) * 2.5 + y
    c = stator.compile(f)
    for i in range(6):
        a, b = noise(100 + i), noise(100 + i, seed=1)
        same(f(a, b), c(a, b), False)
        if i == 2:
            stator.wait()
    s = c.stats()
    assert s["recordings"] == 1 and s["replays"] >= 3 and s["kernels_launched"] == s["replays"], s
    whole = stator.compile(f, fullgraph=True)  # nothing is to be left to Python: the first call waits
    for i in range(3):
        same(f(a, b), whole(a, b), False)
    assert whole.stats()["replays"] == 2, whole.stats()
    clean()
    """,
        STATOR_ASYNC=1,
    )


def test_no_kernels_come_from_the_background():
    run(
        """
    def f(x):
        return x * 2
    c = stator.compile(f)
    cuda.fake_cuda_inject(b"cuModuleLoadDataEx", 1, 2)  # out of memory
    cuda.fake_cuda_inject(b"cuModuleLoadData", 1, 2)
    for i in range(4):
        same(f(noise(20)), c(noise(20)), True)
        stator.wait()
    assert c.stats()["traces"] == 1 and c.stats()["replays"] == 0, c.stats()
    text = str(stator.explain(c)(noise(20)))
    assert "no kernels for these arrays" in text and "OUT_OF_MEMORY" in text, text
    """,
        STATOR_ASYNC=1,
    )


def test_loops_of_bfloat16():
    """Where the package ml_dtypes is installed CuPy has them among the others."""
    run("""
    for name in ("add", "exp"):
        types = getattr(cp, name).types
        if not any("E" in t for t in types):
            types.insert(types.index("ee->e" if name == "add" else "e->e") + 1, "EE->E" if name == "add" else "E->E")
    def f(x, y):
        return cp.add(x, y), cp.exp(x)
    check(f, lambda i: (noise(40 + i), noise(40 + i, seed=1)), exact=False, kernels=1)
    def g(x, n):
        return x + n
    check(g, lambda i: (array(np.arange(7 + i), "i2"), 3), kernels=1)
    """)


def test_two_devices():
    run(
        """
    def f(x):
        return x * 2 + 1
    c = stator.compile(f)
    for round in range(3):
        for d in (0, 1):
            with cp.cuda.Device(d):
                x = noise(40 + round, seed=d)
                same(f(x), c(x), True)
                assert c(x).device.id == d
    s = c.stats()
    assert s["traces"] == 2 and s["replays"] >= 8, s
    x = noise(10)
    with cp.cuda.Device(1):
        for g in (f, c):
            try:
                g(x)
            except ValueError as error:
                assert "current" in str(error)
            else:
                raise AssertionError("no error")
    clean()
    """,
        FAKE_CUDA_DEVICES=2,
    )


def test_no_kernels_can_be_had():
    for name in ("STATOR_NVRTC", "STATOR_CORE"):
        if name == "STATOR_CORE":
            continue
        run(
            """
        def f(x):
            return x * 2
        c = stator.compile(f)
        for i in range(4):
            same(f(noise(20)), c(noise(20)), True)
        assert c.stats()["replays"] == 0, c.stats()
        assert "no kernels for these arrays" in str(stator.explain(c)(noise(20))), str(stator.explain(c)(noise(20)))
        """,
            **{name: "/nowhere/lib.so"},
        )


FAILS = """
    def f(x, y):
        z = x * 2
        return z + y, z.sum()
    c = stator.compile(f, fastmath=True)
    x, y = noise(50), noise(50, seed=1)
    for _ in range(3):
        c(x, y)
    replays = c.stats()["replays"]
"""


def test_a_failed_launch():
    run(
        FAILS
        + """
    cuda.fake_cuda_inject(b"cuLaunchKernel", 1, 1)
    for _ in range(3):
        for a, b in zip(f(x, y), c(x, y), strict=True):
            same(a, b, False)
    assert c.stats()["redone"] == 1 and c.stats()["replays"] == replays, c.stats()
    assert "the GPU failed" in str(stator.explain(c)(x, y))
    clean()
    """
    )


@machine.fake_only
def test_a_lost_device():
    run(
        FAILS
        + """
    cuda.fake_cuda_inject(b"cuLaunchKernel", 1, 719)
    for _ in range(3):
        try:
            c(x, y)
        except cp.cuda.runtime.CUDARuntimeError as error:
            assert "719" in str(error)
        else:
            raise AssertionError("no error")
    """
    )


def test_no_memory():
    run(
        FAILS
        + """
    def refuse(size):
        raise MemoryError("none left")
    cp.cuda.set_allocator(refuse)
    for _ in range(2):
        try:
            c(x, y)
        except MemoryError as error:
            assert "none left" in str(error)
        else:
            raise AssertionError("no error")
    cp.cuda.set_allocator(None)
    for a, b in zip(f(x, y), c(x, y), strict=True):
        same(a, b, False)
    assert c.stats()["replays"] == replays + 1, c.stats()
    for nth in (1, 2):  # scratch of stator's own, asked for twice
        cuda.fake_cuda_inject(b"cuMemAllocAsync", nth, 2)
    for a, b in zip(f(x, y), c(x, y), strict=True):
        same(a, b, False)
    assert c.stats()["redone"] == 3, c.stats()
    c(x, y)
    assert c.stats()["replays"] == replays + 2, c.stats()
    clean(refused=2)
    """
    )


def test_a_failure_after_an_argument_was_changed():
    body = """
    def f(x, y):
        x += 1
        if x.sum() > 0:
            return x * y
        return y
    c = stator.compile(f)
    x, y = array(np.ones(50)), noise(50, seed=1)
    for _ in range(3):
        c(x, y)
    z = array(x.get())
    cuda.fake_cuda_inject(b"cuLaunchKernel", NTH, 1)
    """
    # Between the guard and the product nothing was written: Python goes on behind the branch.
    run(
        body.replace("NTH", "4")
        + """
    same(f(z, y), c(x, y), True)
    same(z, x, True)
    assert "the GPU failed" in str(stator.explain(c)(x, y))
    """
    )
    # In a segment that writes there is no way back once it has.
    run("""
    def f(x, y):
        x += 1
        y *= 2
    c = stator.compile(f)
    x, y = noise(50), noise(30)
    for _ in range(3):
        c(x, y)
    cuda.fake_cuda_inject(b"cuLaunchKernel", 2, 1)
    try:
        c(x, y)
    except RuntimeError as error:
        assert "after arguments were changed" in str(error), error
    else:
        raise AssertionError("no error")
    """)


def test_numbers_of_python_stay_on_the_cpu():
    run("""
    def f(x, k, n):
        h = k * 0.5 + n
        if h > 1:
            x = x * h
        return x + h * 3, h
    c = check(f, lambda i: (noise(20 + i), 2.5 + i, 3), kernels=1)
    assert c.waited == 0
    """)


def test_kernels_of_a_call():
    run("""
    def f(x, y, k):
        x *= k
        return (x + y[::2]).sum(axis=1), y
    x, y = noise((5, 40)), noise((10, 40), seed=1)
    before = bits(x), bits(y)
    kernels = stator.compile(f).cuda(x, y, 2.5, arch="sm_80")
    assert (bits(x) == before[0]).all() and (bits(y) == before[1]).all()
    params = [p for k in kernels for p in k.params]
    assert {("in", 0), ("in", 1), ("out", 0)} <= {p for p in params if p[0] in ("in", "out")}, params
    assert any(p == ("scalar", 2.5) for p in params) and ("extent", 40) in params, params
    assert kernels[0].grid[0] >= 1 and "__global__" in kernels[0].source
    assert kernels[0].ptx or kernels[0].cubin
    clean()
    """)
