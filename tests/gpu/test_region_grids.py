"""Loops over elements whose iterations are independent, shared by all threads of a grid, through the fakes. `shared` counts the loops of a
kernel that are."""

import pytest

from tests.gpu import machine
from tests.gpu.test_regions import run_exact

LAUNCHES = ["1,32,0", "3,64,0", "2,32,20000"]

SHARED = """
def shared(c):
    return max(r.cuda().source.count("for (i32 pass = 0") for r in c.regions)
def grids(f, make, loops, calls=3):
    c = exact(f, make, calls)
    assert shared(c) == loops, (f, shared(c))
    return c
"""

PROGRAMS = """
def jacobi(a, b, n):
    for k in range(n):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i - 1, j] + a[i + 1, j])
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j] + b[i, j - 1]
    return i, j
def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return k
def outer_sum(a, b, c):
    for k in range(a.shape[1]):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
def vector(a, x, y):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] = y[i] * 0.5 + a[i, j] * x[j]
def transposed(a, b, n):
    for t in range(n):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                b[j, i + 1] = a[i, j] * t
                a[i, j] = a[i, j] + 1
def values(a, b, n):
    for t in range(n):
        for i in range(a.shape[0]):
            x = a[i] * 2
            b[i] = x + t
    return x, i
def backwards(a, b):
    for i in range(a.shape[0] - 1, -1, -2):
        b[i // 2] = a[i] + a[-i]
        a[i] = 0.0
    return i
def gathers(a, k, b):
    for i in range(k.shape[0]):
        b[i] = a[k[i]]
"""


@pytest.mark.parametrize("launch", LAUNCHES)
def test_independent_iterations(launch):
    run_exact(
        SHARED
        + PROGRAMS
        + """
for order in range(2):
    cuda.fake_cuda_schedule(order, ctypes.c_uint64(order))
    square = lambda i, n, m, t="f8": (rng_of(i).random((n, m)) * 9).astype(t)
    for t in "f8", "f4", "i8":
        grids(jacobi, lambda i: [square(i, 9, 7 + i), square(i + 1, 9, 7 + i), 4], 2) if t != "i8" else None
        grids(product, lambda i: [square(i, 6, 5 + i, t), square(i + 1, 5 + i, 7, t), square(i, 6, 7, t)], 1)
        grids(outer_sum, lambda i: [square(i, 6, 5 + i, t), square(i + 1, 5 + i, 7, t), square(i, 6, 7, t)], 1)
    grids(vector, lambda i: [square(i, 40, 9), np.arange(9.0), np.arange(40.0)], 1)
    grids(transposed, lambda i: [square(i, 5, 8), square(i, 8, 6 + i), 4], 1)
    grids(values, lambda i: [np.arange(40.0 + i), np.zeros(41 + i), 4], 1)
    grids(gathers, lambda i: [np.arange(40.0), rng_of(i).integers(-40, 40, 70 + i), np.zeros(80)], 1)
exact(backwards, lambda i: [np.arange(41.0), np.zeros(21)])
""",
        launch,
    )


def test_dependent_iterations_are_one_threads():
    run_exact(
        SHARED
        + """
def prefix(a, n):
    for t in range(n):
        for i in range(1, a.shape[0]):
            a[i] = a[i] + a[i - 1]
def carried(a, b, n):
    s = 0.0
    for t in range(n):
        for i in range(a.shape[0]):
            s = s + a[i]
            b[i] = s
    return s
def twice(a, k, n):
    for t in range(n):
        for i in range(k.shape[0]):
            a[k[i]] = a[k[i]] + i
def diagonal(a, n):
    for t in range(n):
        for i in range(a.shape[0] - 1):
            a[i, i] = a[i + 1, i + 1]
def wraps(a, n):
    for t in range(n):
        for i in range(a.shape[0]):
            a[i - 2] = a[i - 2] + i
def triangle(a, n):
    for t in range(n):
        for i in range(a.shape[0]):
            for j in range(i):
                a[i, j] = a[i, j] + a[j, i]
def both(a, n):
    for t in range(n):
        for i in range(a.shape[0] - 1):
            a[i] = a[i] * 2
            a[i + 1] = a[i + 1] + 1
def until(a, b):
    for i in range(a.shape[0]):
        if a[i] > 7:
            break
        b[i] = a[i]
    return i
grids(prefix, lambda i: [np.arange(20.0), 3], 0)
grids(carried, lambda i: [np.arange(20.0), np.zeros(20), 3], 0)
grids(twice, lambda i: [np.arange(9), rng_of(i).integers(0, 9, 30), 3], 0)
grids(diagonal, lambda i: [np.arange(36.0).reshape(6, 6), 3], 0)
exact(wraps, lambda i: [np.arange(20.0), 3])
grids(triangle, lambda i: [np.arange(36.0).reshape(6, 6), 3], 0)
grids(both, lambda i: [np.arange(20.0), 3], 0)
grids(until, lambda i: [np.arange(20.0), np.zeros(20)], 0)
""",
        launch="3,32,0",
    )


def test_iterations_that_leave():
    """An index that is out of range, and numbers that warn: what came before has happened, nothing else."""
    run_exact(
        SHARED
        + """
def short(a, b, n):
    for t in range(n):
        for i in range(a.shape[0]):
            b[i] = a[i] * (t + 1)
def grows(a, b, n):
    for t in range(n):
        for i in range(a.shape[0]):
            b[i] = a[i] * a[i]
            a[i] = a[i] * 1e60
def divides(a, b, n):
    for t in range(n):
        for i in range(a.shape[0]):
            b[i] = a[i] // (i - 30)
warnings.simplefilter("always")
for f, makes in (
    (short, [lambda: [np.arange(40.0), np.zeros(40), 3]] * 3 + [lambda: [np.arange(40.0), np.zeros(35), 3]]),
    (grows, [lambda: [np.arange(40.0), np.zeros(40), 2]] * 2 + [lambda: [np.arange(40.0), np.zeros(40), 9]] * 2),
    (divides, [lambda: [np.arange(25), np.zeros(40, "i8"), 3]] * 3 + [lambda: [np.arange(40), np.zeros(40, "i8"), 3]]),
):
    c = stator.compile(f, device="cuda")
    for make in makes:
        expected, found = observe(f, make()), observe(c, make())
        assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
        assert expected == found, report(expected, found)
    assert launches() > 0 and shared(c) == 1, f
clean()
""",
        launch="3,32,0",
    )


# A defect in the kernels of the programs above: it must be found, as a race, an access out of bounds or a wrong result.
DEFECTS = {
    "no barrier behind the loop": r"grid_meet\(ctl\);(\n( +s\d+ = [^\n]*\n)*( +goto|  }))=>$1",
    "no barrier between the passes": r"grid_meet\(ctl\);(\n +const u32 leaves)=>$1",
    "every thread has all points": r"at = \(i64\)blockIdx.x \* blockDim.x \+ threadIdx.x=>at = 0",
    "nothing is stored": r"pass && e0=>pass > 1 && e0",
    "all passes store": r"if \(pass && e=>if (e",
    "counters begin elsewhere": r"= (first\d) \+ (i1|at|q1) \*=>= $1 + 1 + $2 *",
    "checks are not looked at": r"bad \|= 1u;=>;",
    "counters are left in the middle": r"\((count\d) - 1\) \*=>($1 - 2) *",
    "each iteration reads the same": r"if \(!e0\) e0 = =>e0 = nullptr; if (!e0) e0 = ",
    "values of another point are left": r"at == total - 1=>at == 0",
    "the leader starts behind": r"= begin;=>= begin + 1;",
}
VICTIMS = (
    SHARED
    + PROGRAMS
    + """
square = lambda i, n, m: rng_of(i).random((n, m))
exact(jacobi, lambda i: [square(i, 14, 22), square(i + 1, 14, 22), 7])
exact(product, lambda i: [square(i, 6, 5), square(i + 1, 5, 7), square(i, 6, 7)])
exact(values, lambda i: [np.arange(140.0), np.zeros(140), 4])
warnings.simplefilter("always")
c = stator.compile(values, device="cuda")
for length in 140, 140, 120:
    make = lambda: [np.arange(1.0, 141.0), np.zeros(length), 4]
    expected, found = observe(values, make()), observe(c, make())
    assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
    assert expected == found, report(expected, found)
"""
)


def test_victims_are_right():
    run_exact(VICTIMS, launch="3,64,50000")


@machine.fake_only
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect):
    with pytest.raises(AssertionError, match="kernel '|differ|expected|cuLaunch"):
        run_exact(VICTIMS, launch="3,64,50000", STATOR_TEST_CUDA_MUTATE=DEFECTS[defect])
