"""Distances between time series of different lengths."""

import numpy as np
from fastdtw import fastdtw

PACKAGE = "fastdtw"


def prepare():
    rng = np.random.default_rng(10)
    return rng.random((100, 2)), rng.random((120, 2))


def distance(a, b):
    return float(np.abs(a - b).sum())


def drive(a, b):
    return fastdtw(a, b, radius=1, dist=distance)
