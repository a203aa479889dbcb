"""Which of several zeros, and which NaN, the greatest and the least number are: NumPy's loops decide it by the width of
vectors, by whether elements are adjacent, and by what is left over of the length."""

import numpy as np
import pytest
import stator

LENGTHS = [1, 2, 3, 7, 8, 9, 16, 17, 25, 31, 33, 64, 65, 127, 129, 257, 1025]
LAYOUTS = {
    "adjacent": lambda a: a[: len(a) // 3],
    "gaps of one": lambda a: a[: len(a) // 3 * 2 : 2],
    "gaps of two": lambda a: a[::3],
    "backwards": lambda a: a[: len(a) // 3][::-1],
    "rows": lambda a: a.reshape(3, -1),
    "columns": lambda a: a.reshape(-1, 3),
    "parts of rows": lambda a: a.reshape(3, -1)[:, : max(1, len(a) // 6)],
    "one column": lambda a: a.reshape(-1, 3)[:, 1:2],
    "transposed": lambda a: a.reshape(-1, 3).T,
}


def greatest_and_least(x):
    return x.max(), x.min()


def along_the_last(x):
    return x.max(axis=-1), np.amin(x, axis=-1)


def along_the_first(x):
    return np.maximum.reduce(x), x.min(axis=0)


def of_an_expression(x):
    return (x * 1.5).max(), np.abs(x).min(axis=-1)


def in_a_loop(x):
    out = []
    for _ in range(40):
        high, low = x.max(), np.min(x * 1.5)
    out.append(high)
    out.append(low)
    return out


def of_rows_in_a_loop(x):
    high, low = np.zeros(len(x), x.dtype), np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        high[i] = x[i].max()
        low[i] = x[i].min()
    return high, low


def zeros(rng, n):
    return rng.choice([0.0, -0.0], n)


def few_zeros(rng, n):
    return rng.choice([0.0, -0.0, 1.0], n, p=[0.1, 0.1, 0.8])


def one_nan(rng, n):
    values = rng.standard_normal(n)
    values[rng.integers(n)] = -np.nan
    return values


def nans(rng, n):
    values = rng.standard_normal(n)
    values[rng.integers(n, size=1 + n // 9)] = -np.nan
    return values


def bits(results):
    return [np.asarray(r).tobytes() for r in results]


FUNCTIONS = [
    greatest_and_least,
    along_the_last,
    along_the_first,
    of_an_expression,
    in_a_loop,
    of_rows_in_a_loop,
]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_zeros_and_nans(function, layout, dtype):
    flat = function is of_rows_in_a_loop and layout in ("adjacent", "gaps of one", "gaps of two", "backwards")
    if flat:
        pytest.skip("items of a vector are numbers")
    compiled = stator.compile(function)
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        for values in (zeros, few_zeros, one_nan, nans):
            for n in LENGTHS:
                x = LAYOUTS[layout](values(rng, 3 * n).astype(dtype))
                assert bits(compiled(x)) == bits(function(x)), (values.__name__, n)
            stator.wait()
