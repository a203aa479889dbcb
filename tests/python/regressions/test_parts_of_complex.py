"""Real and imaginary parts that a loop's variable holds are views of the complex numbers, with gaps between them."""

import numpy as np
import pytest
import stator


def real(z, k):
    total = 0.0
    for i in range(k):
        part = (z + 1j).real
        total += np.sum(part) + i
    return part, total


def imag_of_conjugate(z, k):
    total = 0.0
    for i in range(k):
        part = (z * 1j).conjugate().imag
        total += part[0, 0] * i
    return part, total


def in_an_expression(z, k):
    for i in range(k):
        z = (z * 1j).imag + (z + 1j).real * 0.5
    return z, z.sum()


@pytest.mark.parametrize("function", [real, imag_of_conjugate, in_an_expression])
@pytest.mark.parametrize("shape", [(4, 3), (1, 3), (300, 200)])
def test_layout(function, shape):
    compiled = stator.compile(function)
    z = np.random.default_rng(1).random(shape)
    for _ in range(3):
        (part, number), (expected, expected_number) = compiled(z, 20), function(z, 20)
        stator.wait()
        assert (part.strides, part.flags.owndata) == (expected.strides, expected.flags.owndata)
        assert part.tobytes() == expected.tobytes() and number == expected_number
