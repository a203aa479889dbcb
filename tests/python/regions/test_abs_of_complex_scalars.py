"""abs() of NumPy's complex numbers in loops."""

import warnings

import numpy as np
import pytest
import stator


def sizes(zs):
    out = []
    total = 0.0
    for z in zs:
        size = abs(z)
        out.append(size)
        if size < 1.0:
            total = total - size
        total = total + size
    return out, total


RNG = np.random.default_rng(0)
ANGLES = np.exp(1j * RNG.uniform(0, 6, 500))
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 1.7e308, 5e-324, 1e-310, 1e-160, 3.0]


@pytest.mark.parametrize(
    "numbers",
    [
        RNG.standard_normal(500) + 1j * RNG.standard_normal(500),
        10.0 ** RNG.uniform(-300, 300, 500) * ANGLES,
        np.array([complex(re, im) for re in EDGES for im in EDGES] * 4),
        ANGLES.astype(np.complex64),
    ],
    ids=["ordinary", "all sizes", "special", "complex64"],
)
def test_sizes(numbers):
    def outcome(function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out, total = function(numbers)
        said = [(str(w.message), w.lineno) for w in caught]
        return np.array(out).tobytes(), {type(x) for x in out}, np.asarray(total).tobytes(), type(total), said

    compiled = stator.compile(sizes)
    for _ in range(4):
        assert outcome(compiled) == outcome(sizes)
        stator.wait()
    assert compiled.regions or numbers.dtype == np.complex64
