"""Library calls whose results are several, views of arguments, numbers or other objects, and calls that change their
first argument: what programs do with the results, and with what shares memory with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report


def numbers(n: int, seed: int = 0) -> np.ndarray:
    return (np.arange(n) * (7 + 2 * seed) % 29 - 11 + seed) / 8


def square(n: int) -> np.ndarray:
    return numbers(n * n, 2).reshape(n, n) + 4 * np.eye(n)


def check(
    function: Callable, make: Callable[[int], tuple], *, served: bool = True, sizes=(6, 6, 9, 7)
) -> Any:
    """Calls agree, and all but the first are replayed without steps of Python's."""
    compiled = stator.compile(function)
    for n in sizes:
        expected, found = observe(function, make(n)), observe(compiled, make(n))
        assert found == expected, f"n = {n}: {report(expected, found)}"
        stator.wait()
    stats = stator.stats(compiled)
    if served:
        left = {k: stats[k] for k in ("opaque_steps", "exits", "redone") if stats[k]}
        assert not left and stats["replays"] >= len(sizes) - 1, (
            stats,
            str(stator.explain(compiled)(*make(6))),
        )
    return compiled


# --- several results ---


def eigen(a):
    w, v = np.linalg.eigh(a)
    v *= np.sign(v[0])
    return v * w


def eigen_fields(a):
    e = np.linalg.eigh(a)
    return e.eigenvalues + 1, e.eigenvectors, e[0], len(e)


def eigen_whole(a):
    e = np.linalg.eigh(a * 2)
    return e, e.eigenvalues * 2


def sliced(a):
    return np.linalg.svd(a)[:2], np.linalg.svd(a)[1:]


def counted(i):
    values, counts = np.unique(i, return_counts=True)
    counts += 1
    return values * counts, counts


def edges(x):
    count, edges = np.histogram(x, bins=5)
    edges[0] = -100.0
    return count / count.sum(), edges


def own_edges(x):
    own = x[:3] * 0 + np.arange(3.0)
    count, edges = np.histogram(x, bins=own)
    own[0] = 7.0
    return count, edges, own


def places(m):
    r, c = np.nonzero(m > 0)
    return m[r, c], r.base is c.base, r


def places_changed(m):
    r, c = np.nonzero(m > 0)
    r += 1
    return r, c


def parts(x):
    y = x * 2
    a, b = np.split(y, [2])
    y[0] = 100.0
    a[1] = 50.0
    return a + 1, b, y


def mesh(x):
    a, b = np.meshgrid(x, x[:3])
    a *= 2
    return a + b, a


def signed(a):
    sign, log = np.linalg.slogdet(a)
    return sign * np.exp(log)


def fitted(a, x):
    solution, residuals, rank, s = np.linalg.lstsq(a, x, rcond=None)
    return solution * 2, residuals, rank, s


def scaled(x):
    mantissa, exponent = np.frexp(x)
    quotient, rest = np.divmod(x, 3.0)
    fraction, whole = np.modf(x)
    return mantissa * 2.0**exponent, quotient + rest, fraction, whole


def kept_across_branch(a, k):
    r = np.linalg.qr(a)
    q = r.Q
    if a[0, 0] > k:
        q = q * 2
    return r, q


@pytest.mark.parametrize(
    "function, make",
    [
        pytest.param(eigen, lambda n: (square(n) @ square(n).T,), id="eigh"),
        pytest.param(eigen_fields, lambda n: (square(n) @ square(n).T,), id="fields"),
        pytest.param(eigen_whole, lambda n: (square(n) @ square(n).T,), id="whole"),
        pytest.param(sliced, lambda n: (square(n),), id="slices"),
        pytest.param(counted, lambda n: (np.arange(n) * 5 % 7,), id="unique"),
        pytest.param(edges, lambda n: (numbers(n),), id="histogram"),
        pytest.param(mesh, lambda n: (numbers(n),), id="meshgrid"),
        pytest.param(signed, lambda n: (square(n),), id="slogdet"),
        pytest.param(fitted, lambda n: (square(n)[:, :3], numbers(n)), id="lstsq"),
        pytest.param(scaled, lambda n: (numbers(n),), id="several-outputs"),
    ],
)
def test_several_results(function: Callable, make: Callable[[int], tuple]) -> None:
    check(function, make)


@pytest.mark.parametrize("function", [own_edges, places_changed, parts])
def test_results_that_share_memory_are_written(function: Callable) -> None:
    vector = function is not places_changed
    check(function, lambda n: (numbers(n) if vector else square(n),), served=False)


def test_index_arrays_with_one_base() -> None:
    check(places, lambda n: (square(n),), served=False)


@pytest.mark.parametrize("k", [-100.0, 100.0])
def test_named_tuple_across_an_exit(k: float) -> None:
    compiled = check(kept_across_branch, lambda n: (square(n), k))
    for other in (-k, k, -k):
        expected, found = (
            observe(kept_across_branch, (square(5), other)),
            observe(compiled, (square(5), other)),
        )
        assert found == expected, report(expected, found)


def test_singular_matrix_raises_where_it_should() -> None:
    def solve(a, x):
        y = x * 2
        w, v = np.linalg.eigh(a)
        return np.linalg.solve(a, y), w, v

    compiled = stator.compile(solve)
    for a in (square(4), square(4), np.zeros((4, 4)), square(5), np.full((4, 4), np.nan)):
        expected, found = observe(solve, (a, numbers(len(a)))), observe(compiled, (a, numbers(len(a))))
        assert found == expected, report(expected, found)


# --- numbers ---


def rounded(x, w):
    n = int(np.ceil(w * 4))
    return np.zeros(n) + x[n], x[:n]


def items(i):
    k = i.max().item()
    return np.arange(k), k + 1, [0] * 2, i * k


def truth(x, w):
    some = bool(np.any(x > w))
    return some, x * 2 if some else x


def near(x):
    return np.allclose(x, x + 1e-12), np.array_equal(x, x), x + 1


def converted(x, w):
    return np.int64(w) + x, np.float32(x), np.int32(x), np.float64(x) is x, np.float64(w) * x


def limits(x):
    return x + np.finfo(x.dtype).eps, np.iinfo(np.int32).max, x.dtype.itemsize * len(x), np.finfo(float)


@pytest.mark.parametrize("function", [rounded, converted, truth])
def test_numbers(function: Callable) -> None:
    check(function, lambda n: (numbers(n), n / 11))


@pytest.mark.parametrize("function", [near, limits])
def test_numbers_of_vectors(function: Callable) -> None:
    check(function, lambda n: (numbers(n),))


def test_item_of_ints() -> None:
    check(items, lambda n: (np.arange(n),))


def test_int_of_what_is_none() -> None:
    def f(x):
        return int(x.sum()), x + 1

    compiled = stator.compile(f)
    for value in (1.0, 2.5, np.nan, np.inf, 1e300, -7.5):
        expected, found = observe(f, (np.array([value, 0]),)), observe(compiled, (np.array([value, 0]),))
        assert found == expected, report(expected, found)


def test_complex_into_real_warns() -> None:
    def f(c):
        return int(c[0]), np.float64(c[1]), np.int32(c[2]), c * 2

    def g(c, x):
        y = c * 2
        np.put(x, [0, 1], c[:2])
        np.fill_diagonal(x.reshape(1, -1), c[0])
        return x, y

    for function, make in ((f, lambda: (numbers(4) + 1j,)), (g, lambda: (numbers(4) + 1j, numbers(4)))):
        compiled = stator.compile(function)
        for _ in range(3):
            expected, found = observe(function, make()), observe(compiled, make())
            assert found == expected, report(expected, found)


def chosen(m, y):
    best = np.argmax(y)
    return (
        m[best] * 2,
        m[:, np.argmin(y)],
        y[: np.argmax(y)],
        m[best, 1:],
        m[best] + (y.size // (int(best) + 1)),
    )


def chosen_rows_changed(m, y):
    row = m[np.argmax(y)]
    row[0] = 100.0
    return row, m


def test_indices_from_arrays() -> None:
    def some(n):
        y = numbers(n)
        y[3] = 50.0
        return square(n), y

    check(chosen, some)
    check(chosen_rows_changed, some)


def test_index_from_arrays_out_of_range() -> None:
    def f(m, i):
        k = i.max()
        y = m + 1
        return m[k], y

    compiled = stator.compile(f)
    for k in (2, 3, -1, 9, 0, -5):
        expected, found = (
            observe(f, (square(4), np.array([-9, k]))),
            observe(compiled, (square(4), np.array([-9, k]))),
        )
        assert found == expected, report(expected, found)


# --- other objects ---


def listed(x):
    y = x * 2
    a = y.tolist()
    b = a
    b.append(1)
    return a, y.tobytes(), y + 1


def looped(x):
    total = 0.0
    for v in (x * 2).tolist():
        total += v
    if x.tolist():
        total += 1
    return total, x.tolist()[0], [v for v in x[:3].tolist()]


@pytest.mark.parametrize("function", [listed, looped])
def test_objects(function: Callable) -> None:
    check(function, lambda n: (numbers(n),), served=False)


# --- views ---


def bits(x):
    y = x * 2
    v = y.view(np.int64)
    return v >> 2, v, y


def bits_changed(x):
    y = x * 2
    v = y.view(np.int64)
    y[0] = 1.0
    v[1] = 0
    return v + 1, y


def complex_parts(c):
    return c.real * 2, np.imag(c) + 1, np.real(c), c.imag


def complex_parts_changed(c):
    d = c * 2
    r = d.real
    d[0] = 5
    r += 1
    return r, d


def flat(m):
    return m.ravel(order="F") + 1, np.reshape(m, -1, order="F"), m.flatten(order="F") * 2


def flat_changed(m):
    f = m.ravel(order="F")
    f[0] = 100.0
    return f, m


def windows(x):
    w = np.lib.stride_tricks.as_strided(x, (x.size - 2, 3), (8, 8))
    return w.sum(axis=1), np.lib.stride_tricks.sliding_window_view(x, 3).max(axis=1)


def middle(m):
    c = m - np.median(m, axis=1, keepdims=True)
    m -= c
    return c, m


def diagonals(q):
    return np.diag(q) * 2, np.diagonal(q, 1) + 1, q.diagonal(), np.einsum("ii->i", q)


def turned(m):
    return np.rot90(m) + 1, np.rot90(m, 2), np.rot90(m, -1), np.rot90(m, 4)


def diagonals_changed(q):
    p = q * 2
    d = np.einsum("ii->i", p)
    d[0] = 3.0
    p[1, 1] = 4.0
    return d, p


@pytest.mark.parametrize(
    "function, make",
    [
        pytest.param(bits, lambda n: (numbers(n),), id="view"),
        pytest.param(complex_parts, lambda n: (numbers(n) + 1j * numbers(n, 1),), id="complex"),
        pytest.param(flat, lambda n: (square(n)[:, :4].copy(),), id="order"),
        pytest.param(windows, lambda n: (numbers(n),), id="windows"),
        pytest.param(middle, lambda n: (square(n),), id="keepdims"),
        pytest.param(diagonals, lambda n: (square(n),), id="diagonal"),
        pytest.param(turned, lambda n: (square(n)[:, 1:].copy(),), id="rot90"),
    ],
)
def test_views(function: Callable, make: Callable[[int], tuple]) -> None:
    check(function, make)


@pytest.mark.parametrize(
    "function, make",
    [
        pytest.param(bits_changed, lambda n: (numbers(n),), id="view"),
        pytest.param(complex_parts_changed, lambda n: (numbers(n) + 1j * numbers(n, 1),), id="complex"),
        pytest.param(flat_changed, lambda n: (square(n),), id="order"),
        pytest.param(flat_changed, lambda n: (square(n).T,), id="order-view"),
        pytest.param(diagonals_changed, lambda n: (square(n),), id="diagonal"),
    ],
)
def test_views_that_are_written(function: Callable, make: Callable[[int], tuple]) -> None:
    check(function, make, served=False)


def test_view_or_copy_differs_from_call_to_call() -> None:
    def f(m):
        r = np.ravel(m[:, :3], order="F")
        r[0] = 7.0
        return r, m

    compiled = stator.compile(f)
    for make in (
        lambda: square(3),
        lambda: square(5),
        lambda: square(3).T,
        lambda: square(5).T,
        lambda: square(3),
    ):
        expected, found = observe(f, (make(),)), observe(compiled, (make(),))
        assert found == expected, report(expected, found)


# --- calls that change their first argument ---


def sorted_in_place(x):
    x.sort()
    y = x * 2
    y[::-1].sort()
    return x[0], y


def sorted_rows(m):
    m.sort(axis=0)
    m[:, 1:].sort(kind="stable")
    return m + 1


def diagonal_filled(q, w):
    np.fill_diagonal(q, w)
    p = q * 2
    np.fill_diagonal(p, q[:, 0] * 1)
    return p


def diagonal_of_itself(q):
    np.fill_diagonal(q, q[0])
    return q * 2


def cleaned(x):
    y = np.nan_to_num(x, copy=False)
    return y is x, y + 1, np.nan_to_num(x)


def scattered(x, u):
    np.add.at(x, u, 1.0)
    np.put(x, [0, 1], [5.0, 6.0])
    np.place(x, x > 1, [0.5])
    np.copyto(x, u, where=u > 2)
    return x * 2


def out_of_range(x, u):
    y = x + 1
    np.add.at(x, u + 3, 1.0)
    return y


@pytest.mark.parametrize(
    "function, make",
    [
        pytest.param(sorted_in_place, lambda n: (numbers(n),), id="sort"),
        pytest.param(sorted_in_place, lambda n: (numbers(2 * n)[::-2],), id="sort-backwards"),
        pytest.param(sorted_rows, lambda n: (square(n),), id="sort-rows"),
        pytest.param(sorted_rows, lambda n: (square(n).T,), id="sort-fortran"),
        pytest.param(diagonal_filled, lambda n: (square(n), n / 4), id="fill_diagonal"),
        pytest.param(scattered, lambda n: (numbers(n), np.arange(n) * 2 % n), id="scatter"),
    ],
)
def test_changes(function: Callable, make: Callable[[int], tuple]) -> None:
    check(function, make)


@pytest.mark.parametrize(
    "function, make",
    [
        pytest.param(diagonal_of_itself, lambda n: (square(n),), id="itself"),
        pytest.param(cleaned, lambda n: (np.array([np.nan, np.inf, -0.0, *range(n)]),), id="nan_to_num"),
        pytest.param(out_of_range, lambda n: (numbers(n), np.arange(n)), id="out-of-range"),
    ],
)
def test_changes_that_are_left(function: Callable, make: Callable[[int], tuple]) -> None:
    check(function, make, served=False)


def test_read_only_argument_raises() -> None:
    def f(x):
        y = x * 2
        x.sort()
        return y

    compiled = stator.compile(f)
    for writeable in (True, True, False, True):
        a, b = numbers(5), numbers(5)
        a.flags.writeable = b.flags.writeable = writeable
        expected, found = observe(f, (a,)), observe(compiled, (b,))
        assert found == expected, report(expected, found)


def test_overlapping_arguments() -> None:
    def f(x, y):
        x.sort()
        return y + 1, x * 2

    compiled = stator.compile(f)
    for shift in (0, 3, 2, 1):
        a, b = numbers(12), numbers(12)
        expected = observe(f, (a[:8], a[shift : shift + 8]))
        found = observe(compiled, (b[:8], b[shift : shift + 8]))
        assert found == expected, report(expected, found)


def test_loop_with_calls_that_change() -> None:
    def f(x, n):
        for i in range(n):
            x[i] = np.nan
            np.nan_to_num(x, copy=False, nan=float(i))
            x[:4].sort()
        return x

    check(f, lambda n: (numbers(40), n + 20), served=False)


# --- reductions that begin with a number, or of some elements ---

SOME = {
    "sum": lambda x, m: np.sum(x, where=m) + x.sum(0, where=m, initial=2.0),
    "prod": lambda x, m: np.prod(x, axis=0, initial=2.0) * 3,
    "max": lambda x, m: np.max(x, axis=1, initial=0.5) - x.max(where=m, initial=-np.inf),
    "min": lambda x, m: x.min(initial=-5.0) * x,
    "any": lambda x, m: np.any(x > 0, where=m) & np.all(x > -9, axis=1, where=m),
    "reduce": lambda x, m: np.add.reduce(x, where=m) + np.minimum.reduce(x, axis=0, initial=0, where=m),
    "nansum": lambda x, m: np.nansum(x, axis=1, where=m) / 2,
}


@pytest.mark.parametrize("name", SOME)
def test_reductions_of_some_elements(name):
    def make(n):
        x = numbers(n * n).reshape(n, n)
        return x, x > -0.5

    check(SOME[name], make)
