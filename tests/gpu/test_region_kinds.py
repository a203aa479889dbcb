"""Loops on a GPU whose statements are not elementwise: masks, index arrays, complex numbers, sums, products. Through the fakes, as in
test_regions.py. What NumPy computes in an order of its own has NumPy's bits; products that BLAS adds up are close, and the same
whatever the launch is."""

import pytest

from tests.gpu import machine
from tests.gpu.test_regions import run_exact

LAUNCHES = ["1,32,0", "3,64,0", "2,32,20000"]

CLOSE = """
def numbers(x):
    return flat(x) if isinstance(x, (tuple, list)) or x is not None else []
def close(f, make, calls=3, rtol=1e-12, launches_too=True):
    c = stator.compile(f, device="cuda")
    before = launches()
    for i in range(calls):
        own = []
        for launch in ("1,32,0", "3,64,0", "2,32,20000"):
            os.environ["STATOR_TEST_REGION_LAUNCH"] = launch
            eager, compiled = make(i), make(i)
            expected, found = f(*eager), c(*compiled)
            assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
            for x, y in zip(numbers((eager, expected)), numbers((compiled, found)), strict=True):
                x, y = np.asarray(x), np.asarray(y)
                assert x.dtype == y.dtype and x.shape == y.shape, (x, y)
                np.testing.assert_allclose(y, x, rtol=rtol, atol=rtol * (np.abs(x).max() if x.size else 0), err_msg=f"call {i}, {launch}")
            own.append([np.asarray(y).tobytes() for y in numbers((compiled, found))])
        if i > 1:
            assert own[0] == own[1] == own[2], f"call {i}: the launch shows in the bits"
    assert launches() > before, "no loop ran on the device: " + str(stator._stator.remarks(c))
    assert all(r.on_device for r in c.regions), c.regions
    clean()
"""


@pytest.mark.parametrize(
    "names",
    [
        ["cholesky", "lu", "ludcmp", "trisolv"],
        ["trmm", "symm", "gramschmidt", "durbin", "spmv"],
        ["scattering_self_energies"],
    ],
    ids=lambda names: names[0],
)
def test_programs_with_products(names):
    run_exact(
        CLOSE
        + f"""
from regions.programs import CASES
for order, name in enumerate({names!r}):
    cuda.fake_cuda_schedule(order % 4, ctypes.c_uint64(order))
    case = CASES[name]
    close(case.function, lambda i: case.arguments(np.random.default_rng(i), case.sizes[0]))
"""
    )


@pytest.mark.parametrize("launch", LAUNCHES)
def test_index_arrays(launch):
    """The last of several stores to one place counts; an index out of range is Python's."""
    run_exact(
        """
def takes(a, k, out, n):
    for i in range(n):
        out[:] = a[k] + out
    return out
def scatters(a, k, b, n):
    for i in range(n):
        a[k] = b * i
        b += a[k]
    return a
def both(a, k, n):
    for i in range(n):
        a[k] = a[k[::-1]] + i
def from_the_end(a, k, n):
    for i in range(n):
        a[k - 20] += 0.5
for t in "f4", "f8", "i8":
    exact(takes, lambda i: [np.arange(40).astype(t), rng_of(i).integers(-40, 40, 33 + i), np.ones(33 + i, t), 4])
    exact(scatters, lambda i: [np.arange(9).astype(t), rng_of(i).integers(0, 9, 33 + i), np.arange(33 + i).astype(t), 4])
exact(both, lambda i: [np.arange(9.0), rng_of(i).integers(0, 9, 70), 4])
exact(from_the_end, lambda i: [np.arange(20.0), rng_of(i).permutation(20), 4])
c = stator.compile(takes, device="cuda")
for last in 8, 8, 20, -9, -10:
    make = lambda: [np.arange(9.0), np.array([1, 2, -9, last, 4]), np.ones(5), 4]
    expected, found = observe(takes, make()), observe(c, make())
    assert expected == found, report(expected, found)
nothing = lambda: [np.arange(0.0), np.zeros(3, "i8"), np.ones(3), 4]
expected, found = observe(takes, nothing()), observe(c, nothing())
assert expected == found, report(expected, found)
clean()
""",
        launch,
    )


@pytest.mark.parametrize("launch", LAUNCHES)
def test_masks(launch):
    run_exact(
        """
def clamps(x, y, n):
    for i in range(n):
        x[x > 3.0] = 3.0 - i
        m = y < x
        y[m] = y[m] * 2.0 + x[m]
    return x
def counts(x, n):
    total = 0
    for i in range(n):
        x += 0.25
        total += len(x[x > i])
    return total
def packs(x, y, n):
    kept = x
    for i in range(n):
        kept = kept[kept > 0.1 * i] - 0.01
        y[i] = kept.shape[0]
    return kept
def divides(x, y, n):
    for i in range(n):
        m = x != 0.0
        y[m] = y[m] / x[m]
    return y
def through_a_variable(x, y, n):
    for i in range(n):
        t = x[x > 0.1 * i] * 0.5
        y[x > 0.1 * i] = t
        x[y > 0.2] = y[y > 0.2]
    return t
for size in 5, 31, 32, 33, 200:
    exact(through_a_variable, lambda i: [rng_of(i).random(size), np.ones(size), 5])
    exact(through_a_variable, lambda i: [rng_of(i).random((size, 3)), np.ones((size, 3)), 5])
    exact(clamps, lambda i: [rng_of(i).random(size) * 6, rng_of(i + 9).random(size) * 6, 5])
    exact(counts, lambda i: [rng_of(i).random(size) * 6, 5])
    exact(packs, lambda i: [rng_of(i).random(size), np.zeros(6), 6])
    exact(divides, lambda i: [(rng_of(i).random(size) > 0.5) * 2.0, np.ones(size), 5])
exact(clamps, lambda i: [rng_of(i).random((7, 9)) * 6, rng_of(i + 9).random((7, 9)) * 6, 5])
exact(packs, lambda i: [np.zeros(70), np.zeros(6), 6])
""",
        launch,
    )


def test_complex_numbers():
    run_exact("""
def steps(z, c, n):
    for i in range(n):
        z = z * z + c
        c[1:] = z[:-1] - z[1:] * 0.5
    return z, abs(z)
def in_place(z, n):
    for i in range(n):
        z *= 0.5
        z[z.real > 0.2] -= 1j
        z.imag[:] = z.imag + i
def rows(z, n):
    for i in range(n):
        z[i] = z[i] + z[i - 1].conj()
    return z[n - 1]
for t in "c8", "c16":
    make = lambda i: (rng_of(i).random(50 + i) + 1j * rng_of(i + 1).random(50 + i)).astype(t) * 0.5
    exact(steps, lambda i: [make(i), make(i + 5), 5])
    exact(in_place, lambda i: [make(i), 5])
    exact(rows, lambda i: [make(0)[:48].reshape(6, 8), 5])
""")


def test_half_precision():
    run_exact("""
def halves(x, y, n):
    for i in range(n):
        y[:] = x[::-1]
        x[1:] = y[:-1]
    return y
exact(halves, lambda i: [np.arange(20, dtype="f2"), np.zeros(20, "f2"), 5])
""")


SUMS = """
def sums(x, out, n):
    for i in range(n):
        out[i] = x[i:].sum()
        x[i] = out[i] * 0.5
    return out
def means(x, n):
    m = 0.0
    for i in range(n):
        x -= m
        m = np.mean(x)
    return m
def extremes(x, n):
    s = x[0]
    for i in range(n):
        s = s + x[i:].max() - np.min(x)
    return s
def products(x, n):
    s = x[0]
    for i in range(n):
        s = s * 3 + np.sum(x)
    return s
for size in {sizes}:
    for t in "f8", "f4":
        exact(sums, lambda i: [(rng_of(i).random(size) * 1e3 - 300).astype(t), np.zeros(4, t), 4], {calls})
        exact(means, lambda i: [(rng_of(i).random(size) * 1e3).astype(t), 4], {calls})
        exact(extremes, lambda i: [rng_of(i).standard_normal(size).astype(t), 4], {calls})
    exact(products, lambda i: [rng_of(i).integers(-9, 9, size), 4], {calls})
"""


@pytest.mark.parametrize("launch", LAUNCHES)
def test_sums_have_numpys_bits(launch):
    run_exact(SUMS.format(sizes="5, 9, 40, 131, 140, 1000", calls=3), launch)


@pytest.mark.parametrize("launch", ["3,64,0", "2,32,20000"])
def test_sums_by_the_whole_grid(launch):
    """Long ones are cut into parts, which the warps leave to each other."""
    run_exact(SUMS.format(sizes="4099, 8200, 70001", calls=2), launch)
    run_exact(
        """
def steps(x, n):
    for i in range(n):
        x[:-1] = x[1:] * (1.0 / np.sum(x))
        a = np.sum(x[::2])
        x[0] = a - np.sum(x[5:])
    return x
exact(steps, lambda i: [rng_of(i).random(9001 + i), 6])
""",
        launch,
    )


@pytest.mark.parametrize("launch", LAUNCHES)
def test_reductions_along_axes(launch):
    run_exact(
        """
def rows(x, out, n):
    for i in range(n):
        out[:] = x.sum(axis=1) + out
        x *= 0.5
    return out
def inner(x, out, n):
    for i in range(n):
        out += x.sum(axis=(1, 2)) - x.max(axis=(0, 2))[0] + x.min(axis=2).sum(axis=1)
        x[0] = x[0] + 0.25
    return out
def outer_and_inner(x, out, n):
    for i in range(n):
        out[:] = np.sum(x, axis=(0, 2)) + np.mean(x, axis=2)[0]
        x += 0.125
    return out
def normalized(x, n):
    for i in range(n):
        y = x - x.max(axis=-1, keepdims=True)
        x[:] = y / (y.sum(axis=-1, keepdims=True) - 1.0)
    return x
def columns(x, out, n):
    for i in range(n):
        out[:] = np.max(x, axis=0) + np.sum(x, axis=0)
        x[i] = out
    return out
for t in "f8", "f4":
    for shape in (5, 3), (4, 9), (3, 40), (6, 150), (2, 4100):
        exact(rows, lambda i: [(rng_of(i).random(shape) * 99).astype(t), np.zeros(shape[0], t), 4])
        exact(normalized, lambda i: [(rng_of(i).random(shape) * 9).astype(t), 3])
        exact(columns, lambda i: [(rng_of(i).random(shape) * 9).astype(t), np.zeros(shape[1], t), 2])
    for shape in (3, 4, 5), (2, 3, 17):
        exact(inner, lambda i: [(rng_of(i).random(shape) * 99).astype(t), np.zeros(shape[0], t), 3])
        exact(outer_and_inner, lambda i: [(rng_of(i).random(shape) * 99).astype(t), np.zeros(shape[1], t), 3])
def integers(x, out, n):
    for i in range(n):
        out[:] = x.sum(axis=1) - out + x.min(axis=1)
    return out
exact(integers, lambda i: [rng_of(i).integers(-9, 9, (4, 30)), np.zeros(4, "i8"), 4])
""",
        launch,
    )


def test_products():
    run_exact(
        CLOSE
        + """
def squares(a, n):
    for i in range(n):
        a = a @ a * 0.5
    return a
def vectors(a, x, n):
    for i in range(n):
        x = a @ x * 0.5 + x @ a * 0.25
    return x
def stacks(a, b, n):
    for i in range(n):
        a[:] = a @ b * 0.5
        b = b @ b
    return b
def dots(a, b, n):
    s = 0.0
    for i in range(n):
        s += np.dot(a, b[i]) + a[i:] @ a[i:]
        a = a * 0.5
    return s
for t, rtol in (("f8", 1e-12), ("f4", 1e-4), ("c16", 1e-12), ("i8", 0)):
    close(squares, lambda i: [(rng_of(i).random((7, 7)) * (4 if t == "i8" else 1)).astype(t), 4] if t != "i8" else [rng_of(i).integers(-3, 3, (7, 7)), 1], rtol=rtol) if t != "i8" else None
    close(vectors, lambda i: [rng_of(i).random((9, 9)).astype(t), rng_of(i).random(9).astype(t), 4], rtol=rtol) if t != "i8" else None
for t, rtol in (("f8", 1e-12), ("f4", 1e-4), ("c16", 1e-12)):
    close(stacks, lambda i: [rng_of(i).random((3, 5, 5)).astype(t), rng_of(i).random((3, 5, 5)).astype(t), 3], rtol=rtol)
def integers(a, b, out, n):
    for i in range(n):
        out += a @ b
        a[i] = out[i] & 7
    return out
exact(integers, lambda i: [rng_of(i).integers(-9, 9, (6, 4)), rng_of(i).integers(-9, 9, (4, 4)), np.zeros((6, 4), "i8"), 4])
for size in 20, 4095, 4096, 4097, 9000:
    close(dots, lambda i: [rng_of(i).random(size), rng_of(i).random((3, size)), 3])
""",
        launch="2,32,0",
    )


@pytest.mark.parametrize("name", ["sort", "cumsum", "argmax"])
def test_what_the_host_has_to_do_is_named(name):
    of = {"sort": "np.sort(a)[i]", "cumsum": "np.cumsum(a)[i]", "argmax": "np.argmax(a)"}[name]
    run_exact(f"""
def f(a, n):
    for i in range(n):
        a[i] = {of} + 1
c = stator.compile(f, device="cuda")
for i in range(3):
    expected, found = observe(f, [np.ones(8), 5]), observe(c, [np.ones(8), 5])
    assert expected == found, report(expected, found)
assert launches() == 0
[said] = [r for r in stator._stator.remarks(c) if r.reason == "RegionKernel"]
assert "the call of '{name}' in line " in said.message and "move what is named out of the loop" in said.hint, (said.message, said.hint)
""")


# A defect in the kernels of these programs: it must be found, as a race, an access out of bounds or a wrong result.
DEFECTS = {
    "what passed in front is not counted": r"if \(k < team\) before \+= n;=>",
    "lanes in front are not counted": r"__popc\(all & =>__popc(0 & ",
    "a stretch ends early": r"first \+ each < total \?=>first + each - 1 < total ? first + each - 1 :",
    "stretches meet": r"team \* each < total \? team \* each=>team * each < total ? team * each - (team > 0)",
    "all points pass": r"holds = s\d+;=>holds = true;",
    "a condition is not looked at": r"if \(s\d+\) \{(\n +(const|u8))=>if (true) {$1",
    "indices are not counted from the end": r"= (s\d+) < 0 \? s\d+ \+ s\d+ : s\d+;=>= $1;",
    "what is out of range is not noticed": r"bad \|= !y\d+;=>",
    "scatters are dealt out": r"&& leader\) \{\n(.*)\n(.*)for \(i64 at = 0; at < total; \+\+at\)=>) {\n$1\n$2for (i64 at = blockIdx.x * blockDim.x + threadIdx.x; at < total; at += gridDim.x * blockDim.x)",
    "halves are cut elsewhere": r"return n / 2 - n / 2 % 8;=>return n / 2;",
    "one block is summed as a whole": r"n <= 128\) return block_sum=>n <= 136) return block_sum",
    "branches that end early count twice": r"if \(slot & \(\(i64\)2 << k\) - 1\) n = 0;=>",
    "no barrier between a sum's parts and the whole": r"grid_meet\(c\);(\n    tree<T> t;)=>$1",
    "no barrier between a dot's parts and the whole": r"grid_meet\(c\);(\n    T x = s.start;)=>$1",
    "parts are left in one area": r"if \(n\d+_0 > kAlone\) \{[^\n]*=>",
    "a lane is left out": r"k = first \+ threadIdx.x % 32=>k = first + threadIdx.x % 31",
    "runs are a step short": r"run \*= inner \? =>run *= inner ? -1 + ",
    "elements are summed by several threads": r"for \(i64 i0 = 0; i0 < =>for (i64 i0 = threadIdx.x % 2; i0 < ",
    "rows begin one too far": r"x \+= (u\d) \* =>x += ($1 + 1) * ",
    "products are a step short": r"k < n; \+\+k\) s = with_product=>k < n - 1; ++k) s = with_product",
    "the other part": r"(p\d+ = p\d+) \+ 8;=>$1;",
}
VICTIMS = """
def masks(x, y, k, n):
    for i in range(n):
        kept = x[x > 0.2 * i]
        y[k] = x[::-1] + kept.shape[0]
        m = x < y
        y[m] = y[m] * 0.5 + x[m]
    return kept
def sums(x, n):
    for i in range(n):
        x[i] = np.sum(x[i:]) * 1e-3
        x[0] = np.dot(x[:-5], x[5:]) * 1e-3 - np.sum(x[7:])
        x[i + 1:] = x[i + 1:] * 0.75
    return x
def axes(x, y, n):
    for i in range(n):
        y[:] = x.sum(axis=1)
        x -= np.sum(x, axis=0) * 0.125
        x[:] = (x @ x) * 0.125
        x[0] = y
    return x
def turns(z, n):
    for i in range(n):
        z[1:] = z[1:] * 0.5 + z[:-1]
    return z
warnings.simplefilter("always")
def places(i):
    k = rng_of(i).integers(-150, 150, 150) // 2 * 2
    if i == 3:
        k[7] = 150
    return k
def victims():
    yield masks, lambda i: [rng_of(i).random(150), np.zeros(150), places(i), 4], 0
    yield sums, lambda i: [rng_of(i).random(9001), 3], 1e-9
    yield axes, lambda i: [rng_of(i).integers(0, 9, (12, 12)) * 0.25, np.zeros(12), 2], 1e-9
    yield turns, lambda i: [rng_of(i).random(70) + 1j * rng_of(i + 1).random(70), 4], 0
for order in range(3):
    cuda.fake_cuda_schedule(order, ctypes.c_uint64(7))
    for f, make, apart in victims():
        c = stator.compile(f, device="cuda")
        for i in range(4 - (f is sums)):
            a, b = make(i), make(i)
            expected, found = observe(f, a), observe(c, b)
            assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
            if apart and expected.exception is None:
                for x, y in zip(a, b):
                    np.testing.assert_allclose(y, x, rtol=apart)
            else:
                assert found == expected, f"call {i}: {report(expected, found)}"
            assert i == 3 or stator.stats(c)["exits"] == 0, f"what was expected is that no call leaves the loop: {f}, {i}"
        assert launches() > 0 and c.regions[0].on_device, stator._stator.remarks(c)
def exact_sums(x, n):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + np.sum(x[i:])
    return s
for size in 134, 136, 143, 250, 9001:
    exact(exact_sums, lambda i: [rng_of(i).random(size) * 1e3 - 300, 4], 2)
"""


def test_victims_are_right():
    run_exact(VICTIMS, launch="3,64,50000")


@machine.fake_only
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect):
    with pytest.raises(AssertionError, match="kernel '|differ|expected|cuLaunch|Not equal|no loop ran"):
        run_exact(VICTIMS, launch="3,64,50000", STATOR_TEST_CUDA_MUTATE=DEFECTS[defect])
