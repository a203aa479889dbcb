"""Noise, point by point."""

import opensimplex

PACKAGE = "opensimplex"


def prepare():
    opensimplex.seed(7)
    return (60,)


def drive(n):
    return [opensimplex.noise2(x * 0.1, y * 0.1) for y in range(n) for x in range(n)]
