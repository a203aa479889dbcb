"""Loops on a GPU (device="cuda"), through the fakes: kernels run on several blocks, every access to memory is checked, and
results have the bits of eager NumPy."""

import pytest

from tests.gpu import machine
from tests.gpu.test_device import PRELUDE, run

# Programs of tests/python/regions all of whose loops are kernels.
ON_DEVICE = [
    ["adi"],
    ["deriche", "fdtd_2d", "heat_3d", "jacobi_1d", "jacobi_2d"],
    ["seidel_2d", "syrk", "syr2k", "floyd_warshall", "nussinov", "crc16"],
    ["cavity_flow", "channel_flow"],
    ["vadv"],
    ["azimint_naive", "ping_pong", "mandelbrot_1", "mandelbrot_2"],
]
# Blocks, threads of each, nanoseconds after which a launch ends (0: as usual).
LAUNCHES = ["1,32,0", "3,32,0", "2,64,50000"]

EXACT = (
    PRELUDE
    + """
import sys
sys.path.insert(0, "tests/python")
from fuzz.compare import observe, report
def launches():
    return cuda.fake_cuda_calls(b"cuLaunchCooperativeKernel")
def exact(f, make, calls=3):
    c = stator.compile(f, device="cuda")
    before = launches()
    for i in range(calls):
        expected, found = observe(f, make(i)), observe(c, make(i))
        assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
        assert found == expected, f"call {i}: {report(expected, found)}"
    assert launches() > before, "no loop ran on the device: " + str(stator._stator.remarks(c))
    assert any(r.on_device for r in c.regions), c.regions
    clean()
    return c
"""
)


def run_exact(body, launch="2,32,0", **environment):
    return run(EXACT + body, prelude=False, STATOR_TEST_REGION_LAUNCH=launch, **environment)


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("names", ON_DEVICE, ids=lambda names: names[0])
def test_programs(names, launch):
    run_exact(
        f"""
from regions.programs import CASES
for order in range(2):
    cuda.fake_cuda_schedule(2 * order, ctypes.c_uint64(order))
    for name in {names!r}:
        case = CASES[name]
        make = lambda i: case.arguments(np.random.default_rng(i), case.sizes[0])
        c = exact(case.function, make, calls=3 - order)
        assert stator.stats(c)["exits"] == 0, (name, stator.stats(c))
""",
        launch,
    )


def test_no_more_blocks_than_run_at_once():
    run_exact(
        """
def f(a, b, n):
    for i in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a[1:-1] = b[1:-1]
    return i
exact(f, lambda i: [np.arange(1500.0), np.zeros(1500), 3 + i])
""",
        launch="0,32,0",
    )


def test_a_pause_at_every_poll():
    run_exact(
        """
def steps(a, b, n):
    for i in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a[1:-1] = b[1:-1]
    return i
def elements(a, n):
    for k in range(n):
        for i in range(1, a.shape[0] - 1):
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
    return i, k
c = exact(steps, lambda i: [np.arange(50.0), np.zeros(50), 12 + i])
assert launches() > 30, launches()
before = launches()
exact(elements, lambda i: [np.arange(9.0 + i) ** 2, 6])
assert launches() > before + 90, launches() - before
""",
        launch="2,32,1",
    )


def test_exits_leave_in_the_middle():
    """A division that warns, an index out of range, and an overflow end where Python would have found them."""
    run_exact("""
def divides(a, b, n):
    for i in range(n):
        a[:] = a / b[i]
    return i
def fill(i):
    b = np.ones(9)
    b[5] = 0.0 if i else 1.0
    return [np.arange(1.0, 40.0), b, 9]
c = stator.compile(divides, device="cuda")
for i in range(3):
    expected, found = observe(divides, fill(i)), observe(c, fill(i))
    assert expected == found, report(expected, found)
assert sum(r.checks for r in c.regions) > 0
def beyond(a, n):
    for i in range(n):
        a[i] = a[i] + i
c = stator.compile(beyond, device="cuda")
for n in 8, 8, 11:
    expected, found = observe(beyond, [np.arange(9), n]), observe(c, [np.arange(9), n])
    assert expected == found, report(expected, found)
def grows(a, x, n):
    for i in range(n):
        x = x * 3
        a[i % 4] = x % 1000
    return x
c = stator.compile(grows, device="cuda")
for n in 6, 6, 60:
    expected, found = observe(grows, [np.zeros(4), 1, n]), observe(c, [np.zeros(4), 1, n])
    assert expected == found, report(expected, found)
clean()
""")


def test_arrays_that_the_loop_makes():
    """Rebound in every iteration, of extents that change, returned, and parts of arguments that variables hold."""
    run_exact("""
def rebinds(a, n):
    for i in range(n):
        a = a * 0.5 + 1.0
    return a
def swaps(a, b, n):
    for i in range(n):
        b[:] = a + 1.0
        a, b = b, a
    return a, b
def shrinks(a, n):
    for i in range(1, n):
        part = a[i:] * 2.0
        a[i:] = part - a[i]
    return part, a
def row_of(a, n):
    for i in range(n):
        row = a[i]
        row += i
    return row
for launch in range(2):
    exact(rebinds, lambda i: [np.arange(30.0 + i), 9])
    exact(swaps, lambda i: [np.arange(30.0), np.zeros(30), 8 + i])
    exact(shrinks, lambda i: [np.arange(30.0 + i), 12])
    exact(row_of, lambda i: [np.arange(60).reshape(6, 10), 6])
""")


def test_types_and_layouts():
    run_exact("""
def mixed(a, b, c, n):
    for i in range(n):
        a[:] = a + b[::2]
        c[1:] = c[1:] ^ 5
        c[0] = i & 3
        b[1::2] = -b[1::2]
    return a
for t in "f4", "f8":
    exact(mixed, lambda i: [np.ones(20, t), np.arange(40, dtype=t), np.arange(7, dtype="u2"), 5 + i])
def gaps(x, y, n):
    for i in range(n):
        x += 1
        y -= x
def make(i):
    base = np.arange(80.0 + 2 * i)
    return [base[::2], base.copy()[1::2], 6]
exact(gaps, make)
def squares(x, n):
    for i in range(n):
        x = x * x - x
    return x
exact(squares, lambda i: [np.arange(12, dtype="i8"), 5])
def empty(x, y, n):
    for i in range(n):
        x[i:] += 1
        y[:] = y[::-1] * 0.5
    return x[n:]
exact(empty, lambda i: [np.arange(6.0), np.zeros(0), 6])
""")


def test_signals_are_answered():
    run_exact(
        """
import signal
class Stop(Exception):
    pass
def stop(*_):
    raise Stop
signal.signal(signal.SIGALRM, stop)
class Box:
    pass
box = Box()
def steps(a, b, n):
    for i in range(n):
        a += 1.0
        b += 2.0
c = stator.compile(steps, device="cuda")
c(np.zeros(8), np.zeros(8), 5)
c(np.zeros(8), np.zeros(8), 5)
a, b = np.zeros(8), np.zeros(8)
while a[0] == 0:  # on a busy machine the signal may come before the loop
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        c(a, b, 10**9)
    except Stop:
        pass
    else:
        raise AssertionError("the loop ended")
assert (a == a[0]).all() and a[0] > 0 and b[0] in (2 * a[0], 2 * (a[0] - 1)), (a, b)
clean()
""",
        launch="2,32,200000",
    )


def test_failures_of_the_driver():
    """The host is as it was until the kernel has left the loop: Python goes on."""
    run_exact("""
def steps(a, n):
    for i in range(n):
        a[1:] = a[1:] * 0.5 + a[:-1]
    return i
warnings.simplefilter("ignore")
for function in b"cuLaunchCooperativeKernel", b"cuMemAllocAsync", b"cuMemcpyHtoDAsync":
    c = stator.compile(steps, device="cuda")
    for i in range(2):
        c(np.arange(20.0), 5)
    cuda.fake_cuda_inject(function, 1, 1)
    expected, found = observe(steps, [np.arange(21.0), 7]), observe(c, [np.arange(21.0), 7])
    assert expected == found, report(expected, found)
    assert any(r.reason == "DeviceFailed" for r in stator._stator.remarks(c)), stator._stator.remarks(c)
clean()
""")


# A defect in the kernels of three programs: it must be found, as a race, an access out of bounds or a wrong result.
DEFECTS = {
    "no barrier in front of statements": r"grid_meet\(ctl\);(\n    if \(s\d+ > 0)=>$1",
    "no barrier in front of loops of elements": r"grid_meet\(ctl\);(\n    if \(!leader\) goto o)=>$1",
    "no barrier behind loops of elements": r"(o\d+:;\n    )grid_meet\(ctl\);=>$1",
    "no barrier behind the beginning": r"default: grid_meet\(ctl\);=>default:;",
    "the last point": r"at < total=>at < total - 1",
    "a point too many": r"at < total=>at <= total",
    "every thread starts at the first point": r"at = \(i64\)blockIdx.x \* blockDim.x \+ threadIdx.x=>at = 0",
    "flags are not looked at": r"bad \|= [^\n]*=>",
    "elements are stored by nobody": r"\*\(f64\*\)\(p=>if (0) *(f64*)(p",
    "values of exits are not stored": r"\*\(([if]64)\*\)\(out=>if (0) *($1*)(out",
    "paused loops go on with other values": r"= \*\(i64\*\)\(saved \+ 0\);=>= *(i64*)(saved + 0) + 1;",
    "memory that is in use is taken": r"if \(\(u64\)\(p=>if (true || (u64)(p",
}
VICTIMS = """
def stencil(a, b, n):
    for i in range(n):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.3 * (b[:-2] + b[1:-1] + b[2:])
    return i
def sweep(a, b, n):
    for k in range(n):
        a += b
        for i in range(1, a.shape[0]):
            a[i] = a[i] + a[i - 1] * 0.5
        b[:] = a * 0.25
def warns(a, b, n):
    for i in range(n):
        a = a + b[i]
        b[i:] = b[i:] / (a[i:] - a[i:])
    return a
def rebinds(a, n):
    for i in range(n):
        a = a[::-1] * 0.5 + a
    return a
warnings.simplefilter("always")
for order in range(3):
    cuda.fake_cuda_schedule(order, ctypes.c_uint64(7))
    for f, make in (
        (stencil, lambda i: [np.arange(150.0) ** 2, np.zeros(150), 7]),
        (sweep, lambda i: [np.arange(150.0), np.ones(150), 3]),
        (warns, lambda i: [np.ones(70), np.ones(70), 3]),
        (rebinds, lambda i: [np.arange(150.0), 7]),
    ):
        c = stator.compile(f, device="cuda")
        for i in range(3):
            expected, found = observe(f, make(i)), observe(c, make(i))
            assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
            assert found == expected, f"call {i}: {report(expected, found)}"
        assert launches() > 0
"""


def test_victims_are_right():
    run_exact(VICTIMS, launch="3,32,50000")


@machine.fake_only
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect):
    with pytest.raises(AssertionError, match="kernel '|differ|expected|cuLaunch"):
        run_exact(VICTIMS, launch="3,32,50000", STATOR_TEST_CUDA_MUTATE=DEFECTS[defect])
