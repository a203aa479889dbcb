"""The programs of which every kernel is tested without a GPU: each form, dtype and layout, at sizes that lie on and beside
the borders of vectors, tiles, warps and blocks.

A program is a function, a maker of its arguments for a size, and the sizes. `exact` says that results have NumPy's bits:
all that is arithmetic; functions are CUDA's own, and sums are added up in another order.
"""

from dataclasses import dataclass

import numpy as np

from tests.gpu.arguments import awkward, of, positive, values, whole


@dataclass
class Program:
    function: object
    arguments: object  # (rng, size) -> tuple
    sizes: list
    exact: bool
    rtol: float
    fastmath: bool

    @property
    def name(self):
        return self.function.__name__

    @property
    def largest(self):
        return max(self.sizes, key=np.prod)


PROGRAMS = []
FLAT = [0, 1, 3, 255, 1022, 1023, 2046, 2047, 3070, 3071, 4094, 4095, 8195]
# inside of other vectors of two; one element, and whole vectors of any width, behind the end of a tile
FLAT += [1535, 4097, 4112]
TABLES = [(1, 1), (3, 5), (7, 64), (33, 71), (130, 17), (4099, 2), (2047, 3)]
# one column more and one less than ends inside each of a tile's vectors
TABLES += [(2, 1024 * part + more) for part in (1, 2, 3, 4) for more in (-1, 0, 1)]
# a row that several blocks share
TABLES += [(2, 8195)]
EMPTY = [(0, 5), (5, 0)]
# the same for elements of one byte, of which sixteen make a vector
WIDE = [*FLAT, 8191, 12287, 16383, 16385, 16400, 20001, 32769]
ROWS = [(1, 1), (5, 3), (3, 64), (9, 129), (3, 1030), (2, 2048), (3, 5001), (3, 5004)]
# Around the tiles of elements of 16 to 1 bytes, which have sides of 32, 64 and 128, and too few elements for a side.
TILES = [(3, 5), (31, 33), (32, 32), (64, 64), (96, 64), (65, 63)]
TILES += [(2, 1100), (1100, 3), (16, 520), (520, 16), (100, 196), (164, 36)]
# whole vectors both ways, but no whole tiles; one less than a tile
TILES += [(48, 80), (80, 48), (112, 208), (63, 127), (127, 63), *EMPTY]
BYTES = [
    (31, 33),
    (64, 64),
    (127, 128),
    (272, 400),
    (129, 130),
    (256, 256),
    (64, 1040),
    (1040, 64),
    (3, 4200),
    (4200, 20),
]
# Rows that the blocks of a cluster share, two, four and eight of them, with and without whole vectors.
LONG = [(2, 8192), (2, 16390), (3, 32772)]


def program(arguments, sizes, *, exact=True, rtol=2e-5, fastmath=False):
    def add(function):
        PROGRAMS.append(Program(function, arguments, sizes, exact, rtol, fastmath))
        return function

    return add


# ---- elementwise: arithmetic of every dtype ----


@program(of("f4", "f4"), FLAT)
def add_f32(x, y):
    return x + y


@program(of("f4", "f4"), FLAT)
def chain_f32(x, y):
    return (x * y - x) / (np.abs(y) + 1.5) + x * x


@program(of("f8", "f8"), FLAT)
def chain_f64(x, y):
    return (x * y - x) / (np.abs(y) + 1.5) + np.sqrt(np.abs(x))


@program(of("f2", "f2"), FLAT)
def chain_f16(x, y):
    return (x * y - x) / (np.abs(y) + np.float16(1.5)) + x * x


@program(of("i4", "i4"), FLAT)
def integers_i32(x, y):
    return (x * y + (x << 3)) ^ (y >> 2) | ~x


@program(of("i8", "i8"), FLAT)
def division_i64(x, y):
    return x // (np.abs(y) + 1) + x % (np.abs(y) + 3)


@program(awkward("i4", "i4"), FLAT)
def quotients_i32(x, y):
    return x // y, x % y, np.fmod(x, y)


@program(awkward("u2", "u2"), FLAT)
def quotients_u16(x, y):
    return x // y + (x << y), x % y ^ (x >> y)


@program(awkward("f4", "f4"), FLAT)
def quotients_f32(x, y):
    return x // y, x % y


@program(awkward("f2", "f2"), [1, 255, 513, 4097, 4112])
def quotients_f16(x, y):
    return x // y, x % y, -x, np.abs(y)


@program(awkward("f8", "f8"), [1, 255, 513, 1025, 1027])
def quotients_f64(x, y):
    return x // y, np.fmod(x, y), np.sign(x) + np.heaviside(y, 0.5)


@program(awkward("i2", "i2"), [1, 255, 513, 4097, 4112])
def divisors_i16(x, y):
    return np.gcd(x, y), np.lcm(x, y), np.sign(x) + np.clip(y, -2, 7)


@program(awkward("i8", "i8"), [1, 255, 513, 1025, 1027])
def shifts_i64(x, y):
    return np.bitwise_count(x), x << y, x >> y, np.abs(x) % y


@program(awkward("f4", "f4"), [1, 255, 513, 1025, 1027], exact=False)
def sums_of_logarithms(x, y):
    return np.logaddexp(x, y), np.maximum(x, y), np.minimum(x, y), np.clip(x, -2, y)


@program(of("u1", "u1"), WIDE)
def bytes_u8(x, y):
    return np.maximum(x, y) - (x & y) + np.minimum(x, y)


@program(of("i2", "u2"), FLAT)
def mixed_integers(x, y):
    return x * 3 + y


@program(of("f4", "f8", "i4"), FLAT)
def mixed_floats(x, y, k):
    return x * 2 + y * k


@program(of("c8", "c8"), FLAT, exact=False)
def complex_c64(x, y):
    return x * y + x / (y + 3)


@program(of("c16", "c16"), FLAT, exact=False, rtol=1e-12)
def complex_c128(x, y):
    return x * y - np.conj(x)


@program(of("c16", "u1", "f4"), WIDE, exact=False, rtol=1e-12)
def wide_and_narrow(x, k, y):
    return x * 2 + 1, k + 1, x.real * y


def _with_equal_ones(rng, size):
    """Small numbers, of which many are equal, the largest ones, infinities and NaN."""
    special = np.array([-2, -1, 0, 1, 2, 3, 3e38, np.finfo("f4").max, np.inf, -np.inf, np.nan], "f4")
    return special[rng.integers(special.size, size=size)], special[rng.integers(special.size, size=size)]


@program(_with_equal_ones, WIDE)
def comparisons(x, y):
    return (x < y) & (x > -1) | np.isnan(x), np.where(x > y, x, y), np.isfinite(x / y)


@program(of("?", "?"), WIDE)
def logic(x, y):
    return x & ~y, x ^ y, np.logical_or(x, y)


@program(of("f4", extra=(2.5, 3)), FLAT)
def scalars(x, a, n):
    return a * x + n * (x - 1)


@program(of("f8"), FLAT)
def roundings(x):
    return np.floor(x) + np.ceil(x / 3) + np.trunc(x) - np.rint(x * 2)


@program(of("f4"), FLAT)
def casts(x):
    return x.astype(np.int32), x.astype(np.float64) * 3, x.astype(np.float16)


@program(of("f4", "f4", "f4"), FLAT)
def twenty_operations(x, y, z):
    a = x * y + z
    b = a * a - x
    c = b * 0.5 + y * z
    d = np.maximum(a, c) - np.minimum(b, c)
    e = d * d + a * b
    f = e - c * 0.125
    return f * x + d, f - y


@program(positive("f4"), FLAT, exact=False)
def functions_f32(x):
    return np.exp(-x) + np.log(x) * np.tanh(x) + np.log1p(x)


@program(positive("f8"), [1, 255, 513, 1025, 1027], exact=False, rtol=1e-12)
def functions_f64(x):
    return np.exp(x) * np.arctan(x) + np.cbrt(x)


@program(of("f4"), [3, 257, 1025, 2050], exact=False)
def trigonometry(x):
    return np.sin(x) * np.cos(x)


@program(positive("f4", "f4"), [3, 257, 1025, 2050], exact=False, rtol=1e-4)
def powers(x, y):
    return x**y + np.arctan2(x, y) + np.hypot(x, y)


@program(positive("f8", "f8", "f8"), [1, 300, 513, 1024, 1025], exact=False, rtol=1e-12)
def black_scholes(s, k, t):
    d1 = (np.log(s / k) + (0.1 + 0.5 * 0.2 * 0.2) * t) / (0.2 * np.sqrt(t))
    d2 = d1 - 0.2 * np.sqrt(t)
    n1 = 1 / (1 + np.exp(-1.702 * d1))
    n2 = 1 / (1 + np.exp(-1.702 * d2))
    return s * n1 - k * np.exp(-0.1 * t) * n2


@program(lambda rng, n: (int(n),), FLAT[1:])
def counting(n):
    return np.arange(n) * 2 + 1, np.arange(n, dtype=np.float32) / 3


# ---- layouts ----


@program(lambda rng, n: (values(rng, 2 * n + 3, "f4"),), FLAT[1:])
def every_second(x):
    return x[1::2] * 2 + x[:-1:2]


@program(lambda rng, n: (values(rng, n + 1, "f4"),), FLAT[1:])
def shifted(x):
    return x[1:] - x[:-1]


@program(of("f4"), FLAT[1:])
def backwards(x):
    return x[::-1] * 2 - x


@program(of("f8"), [*TABLES, *TILES])
def transposed(x):
    return x.T.copy() + 1


@program(lambda rng, s: (values(rng, s, "f4"), values(rng, s[::-1], "f4")), TILES)
def add_transposed(x, y):
    return x + y.T


@program(of("u1"), BYTES)
def transposed_bytes(x):
    return x.T.copy()


@program(lambda rng, s: (values(rng, s, "f2"), values(rng, s[::-1], "?")), [*TILES[:4], *BYTES[2:], *EMPTY])
def transposed_half(x, y):
    return np.where(y.T, x, -x), (~y.T).copy()


@program(
    lambda rng, s: (values(rng, s, "c16"), values(rng, s[::-1], "u1")), TILES[1:7], exact=False, rtol=1e-12
)
def transposed_wide(x, y):
    return x.T.copy() * y


@program(lambda rng, s: (values(rng, (3, *s), "f4"),), TILES)
def transposed_batches(x):
    return x.transpose(0, 2, 1).copy() * 2


@program(lambda rng, s: (values(rng, (s[0], 3, s[1]), "i4"),), TILES)
def reversed_axes(x):
    return x.transpose(2, 1, 0).copy() + np.arange(s0(x))


def s0(x):
    return x.shape[0]


@program(of("f4"), TILES)
def stored_both_ways(x):
    return x.T.copy() - 1, x.T * 2


@program(lambda rng, s: (values(rng, (s[0] + 2, s[1] + 4), "f4"), values(rng, s[::-1], "f8")), TILES)
def transposed_views(x, y):
    y += x[2:, 4:].T
    return x[1:-1, :-4].T * y


@program(
    lambda rng, s: (
        values(rng, (s[0], (s[1] + 11) // 4 * 4), "f4")[:, 4 : 4 + s[1]],
        values(rng, (s[1], (s[0] + 7) // 4 * 4), "f4")[:, : s[0]],
    ),
    [(3, 5), (33, 64), (64, 66), (67, 64), (63, 68), (68, 63), (103, 197), (100, 196)],
)
def transposed_with_gaps(x, y):
    y[...] = x.T * 2


@program(lambda rng, s: (values(rng, s, "f4"), values(rng, s[0], "f4"), values(rng, (s[1], 1), "f4")), TILES)
def transposed_broadcast(x, row, column):
    return x.T.copy() * row + column


@program(
    lambda rng, s: (values(rng, s, "f8"), values(rng, s[::-1], "f8")), TILES[:6], exact=False, rtol=1e-12
)
def transposed_functions(x, y):
    return np.exp(x.T - 3) + np.sqrt(np.abs(y))


@program(of("f4"), [*TABLES, *EMPTY])
def transposed_sum(x):
    return (x.T + 1) * 2


@program(
    lambda rng, s: (values(rng, s, "f4"), values(rng, s[1], "f4"), values(rng, (s[0], 1), "f4")),
    [*TABLES, *EMPTY],
)
def broadcast(x, row, column):
    return x * row + column


@program(lambda rng, s: (values(rng, s[0], "f8"), values(rng, s[1], "f8")), [*TABLES, *EMPTY])
def outer(x, y):
    return x[:, None] * y[None, :] - 1


@program(lambda rng, s: (values(rng, (s[0] + 2, s[1] + 2), "f8"),), [*TABLES, *EMPTY])
def stencil_2d(u):
    v = np.zeros_like(u)
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.25 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )
    return v


@program(lambda rng, s: (values(rng, (4, s[0] + 2, s[1] + 2), "f4"),), [*TABLES, *EMPTY])
def stencil_3d(u):
    return (
        u[1:-1, 1:-1, 1:-1] * 6
        - u[2:, 1:-1, 1:-1]
        - u[:-2, 1:-1, 1:-1]
        - u[1:-1, 2:, 1:-1]
        - u[1:-1, :-2, 1:-1]
        - u[1:-1, 1:-1, 2:]
        - u[1:-1, 1:-1, :-2]
    )


@program(lambda rng, s: (np.asfortranarray(values(rng, s, "f4")),), [*TABLES, *EMPTY])
def fortran_order(x):
    return x * 2 + 1


@program(lambda rng, s: (values(rng, (s[0], s[1] + 5), "f4")[:, 2:-3],), [*TABLES, *EMPTY])
def rows_with_gaps(x):
    return x * 2 - 1


@program(of("f4"), [*TABLES, *EMPTY])
def rolled(x):
    return np.roll(x, 1, axis=0) + np.roll(x, -1, axis=1)


@program(of("f4", "f4"), FLAT[1:])
def in_place(x, y):
    x *= 2
    x += y
    y[:] = x - 1


@program(lambda rng, s: (values(rng, s, "f4"), values(rng, s[1], "f4")), TABLES)
def store_row(x, y):
    x[0] = y * 2
    x[-1, :] = 3


# ---- reductions ----


@program(whole("f4"), [1, 3, 255, 4099, 40000])
def sum_all_f32(x):
    return (x * x).sum()


@program(whole("f8"), [1, 1027, 40000])
def several_all(x):
    return x.sum(), x.max(), x.min(), x.mean()


def distinct(dtype):
    """Each number once: extremes lie in one place."""
    return lambda rng, size: ((rng.permutation(size) - size // 2).astype(dtype),)


@program(distinct("i4"), [1, 300, 5000, 40003])
def sum_all_i32(x):
    return x.sum(), x.max(), np.argmax(x), np.argmin(x)


@program(whole("f4"), ROWS)
def sum_rows(x):
    return x.sum(axis=1)


@program(of("f4"), ROWS)
def extremes_of_rows(x):
    return x.max(axis=1), np.argmax(x, axis=1), x.min(axis=-1)


@program(whole("f8"), TABLES)
def sum_columns(x):
    return x.sum(axis=0), x.max(axis=0)


@program(of("f4"), TABLES)
def argmax_columns(x):
    return np.argmax(x, axis=0), np.argmin(x, axis=0)


# (1, 5001): a single value of several slices; (1057, 20): the last slice has one row
@program(
    lambda rng, s: whole("f8")(rng, (3, *s)),
    [*TABLES[:7], (2, 1025), (2, 3071), *TABLES[-1:], (1, 5001), (1057, 20)],
)
def sum_middle(x):
    return x.sum(axis=1), x.sum(axis=(0, 2))


def _one(rng, size):
    """False but for one element, which decides."""
    x = np.zeros(size, bool)
    x.flat[rng.integers(x.size)] = True
    return (x,)


@program(_one, TABLES)
def any_all(x):
    return x.any(axis=1), (~x).all(axis=0), x.any()


@program(of("f2"), ROWS, exact=False, rtol=5e-3)
def sum_rows_f16(x):
    return x.sum(axis=1)


@program(whole("f4"), LONG)
def sum_long_rows(x):
    return (x * 2).sum(axis=1), x.max(axis=1)


@program(of("i2"), [(2, 8193), (2, 32776)])
def argmax_long_rows(x):
    return np.argmax(x, axis=1), x - x.max(axis=1, keepdims=True)


# (1057, 20): the last slice has one row
@program(whole("f4"), [(200, 3), (4099, 2), (16400, 3), (9000, 40), (1057, 20)])
def sum_long_columns(x):
    return x.sum(axis=0), np.argmax(x, axis=0)


@program(lambda rng, s: whole("i4")(rng, (2, *s)), [(5, 3), (5000, 3), (1050, 33)])
def sum_long_middle(x):
    return x.max(axis=1) + x.sum(axis=1)


@program(of("f4"), LONG, exact=False)
def softmax_long(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(of("f2", "f4"), [(2, 8200), (2, 65544)], exact=False, rtol=1e-3)
def normalized_long(x, y):
    centred = x - x.mean(axis=1, keepdims=True) + y
    return centred, centred / np.sqrt((centred * centred).sum(axis=1, keepdims=True) + 1)


@program(of("f4"), ROWS, exact=False)
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(
    lambda rng, s: (values(rng, s, "f4"), values(rng, s[1], "f4"), values(rng, s[1], "f4")),
    ROWS[1:],
    exact=False,
    rtol=1e-4,
)
def layernorm(x, g, b):
    m = x.mean(axis=-1, keepdims=True)
    d = x - m
    v = (d * d).mean(axis=-1, keepdims=True)
    return d / np.sqrt(v + 0.5) * g + b


@program(of("f8"), ROWS, exact=False, rtol=1e-11)
def normalized(x):
    return x / np.sqrt((x * x).sum(axis=1, keepdims=True) + 1)


@program(of("f4"), [3, 257, 5000, 20001, 20004], exact=False, rtol=1e-4)
def standardized(x):
    return (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean() + 1e-3)


@program(whole("f4", "f4"), ROWS)
def row_dot(x, y):
    return (x * y).sum(axis=1) * 2 + 1


@program(of("f4", "f4"), FLAT[2:])
def time_loop(x, y):
    for k in range(3):
        x = x * 0.5 + y
        y = y - x
    return x, y


@program(of("f8", "f4"), FLAT[2:])
def elements(x, y):
    first = y[-1]
    x *= 2
    return first, x[0], x[-2] + first


# ---- results that may differ in the last bits ----


@program(of("f4", "f4"), FLAT, exact=False, rtol=1e-6, fastmath=True)
def fast_chain(x, y):
    return (x * y - x) / (np.abs(y) + 1.5) + x * x, 1 / (x * x + 1) - x * 3, np.sqrt(np.abs(y)) * 2 - y


@program(of("f8", "f8"), FLAT[2:6], exact=False, rtol=1e-14, fastmath=True)
def fast_chain_f64(x, y):
    return x * y + y * y - x / (y * y + 2), y - x * y


@program(of("f4"), ROWS[1:], exact=False, fastmath=True)
def fast_softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
