"""Sums along axes that are not the innermost one (kernels/llvm/regions/sums.cpp)."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import check_whole, function_of

LOOPS = {
    "rows": "y[i] = np.sum(x[i] * w, axis=0)",
    "two axes": "z[i] = np.sum(x[:, :, None] * w[None, :, :], axis=(0, 1)) + i",
    "the first of three": "y[:, :] = np.sum(x[:, :, None] * w[None, :, :] - i, axis=0)",
    "the middle of three": "u[:, :] = np.sum(x[:, :, None] * w[None, :, :] + i, axis=1)",
    "largest": "y[i] = np.max(x[i] * w, axis=0)",
    "any": "b[i] = np.any(w > x[i], axis=0)",
    "all": "b[i] = np.all(w > x[i] - 2, axis=0)",
    "count": "c[i] = np.sum(w > 0.1 * i, axis=0)",
    "with an overflow": "y[i] = np.sum(x[i] * w * 1e308, axis=0)",
    "reduced into itself": "w[i] = np.sum(w * x[i], axis=0)",
    "nothing to sum": "y[i] = np.sum(w[i:i] * x[i], axis=0)",
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "f2"])
@pytest.mark.parametrize("name", LOOPS)
def test_sums(name, dtype):
    source = (
        "import numpy as np\ndef f(x, w, y, z, u, b, c):\n    for i in range(len(x)):\n        "
        + LOOPS[name]
        + "\n    return x, w, y, z, u, b, c\n"
    )

    def arguments(size):
        rng = np.random.default_rng(size)
        n = size
        x, w = ((rng.normal(size=(n, n)) * 3).astype(dtype) for _ in range(2))
        y, z, u = (np.zeros((n, n)) for _ in range(3))
        return [x, w, y, z, u, np.zeros((n, n), bool), np.zeros((n, n), int)]

    if dtype != "f2" and name != "with an overflow":
        check_whole(source, arguments)
        return
    eager, compiled = function_of(source), stator.compile(function_of(source))
    for size in (7, 40, 7, 40):
        expected, found = observe(eager, arguments(size)), observe(compiled, arguments(size))
        assert found == expected, report(expected, found)
        stator.wait()
