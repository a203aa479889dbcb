"""Curves evaluated, subdivided and intersected."""

import bezier
import numpy as np

PACKAGE = "bezier"


def prepare():
    return np.asfortranarray([[0.0, 0.5, 1.0], [0.0, 1.0, 0.0]]), np.asfortranarray(
        [[0.0, 0.4, 1.0], [0.6, -0.5, 0.7]]
    )


def drive(a, b):
    out = []
    for k in range(40):
        first = bezier.Curve(a + k * 0.001, degree=2)
        second = bezier.Curve(b, degree=2)
        out.append(first.intersect(second))
        left, right = first.subdivide()
        out.append(left.evaluate(0.3) + right.evaluate(0.7))
        out.append(first.length)
    return out
