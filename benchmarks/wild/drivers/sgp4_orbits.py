"""A satellite propagated by the package's Python code."""

import numpy as np
from sgp4 import model

PACKAGE = "sgp4"

LINES = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)


def prepare():
    return (model.Satrec.twoline2rv(*LINES), np.linspace(0, 5, 1500))


def drive(satellite, times):
    out = []
    for t in times:
        error, position, velocity = satellite.sgp4(2458827.0, t)
        out.append((error, position, velocity))
    return out
