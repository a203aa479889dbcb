"""What `fastmath=True` changes in CUDA code: contracted sums of products, approximate division, square root and exp, and no more."""

import re

import numpy as np
import pytest

from tests.gpu import runner, sass


def both(function, *arguments):
    exact, fast = (runner.kernels_of(function, arguments, fastmath=f) for f in (False, True))
    return exact[0], fast[0]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, y: x * y + 1, r"__fmaf_rn\(v\d, v\d, v\d\)"),
        (lambda x, y: x * y - y, r"__fmaf_rn\(v\d, v\d, -v\d\)"),
        (lambda x, y: y - x * y, r"__fmaf_rn\(-v\d, v\d, v\d\)"),
        (lambda x, y: x / y, r"quotient\(v0, v1\)"),
        (lambda x, y: np.sqrt(x) + y, r"root\(v0\)"),
        (lambda x, y: np.exp(x) + y, r"__expf\(v0\)"),
    ],
)
def test_source(function, text):
    exact, fast = both(function, np.ones(100, "f4"), np.ones(100, "f4"))
    assert re.search(text, fast.source)
    assert not re.search(text, exact.source)


def test_exact_kernels_do_not_contract():
    x = np.ones(100, "f4")
    exact, fast = both(lambda x, y: x * y + x, x, x + 1)
    counts = [sass.count(sass.kernels(k.cubin)[k.name]) for k in (exact, fast)]
    assert counts[0]["FFMA"] == 0 and counts[0]["FMUL"] > 0
    assert counts[1]["FFMA"] > 0 and counts[1]["FMUL"] == 0
