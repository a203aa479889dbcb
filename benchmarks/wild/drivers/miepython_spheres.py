"""Scattering by spheres of different sizes."""

import miepython
import numpy as np

PACKAGE = "miepython"


def prepare():
    return (np.linspace(0.5, 40, 25),)


def drive(sizes):
    out = []
    for x in sizes:
        found = (
            miepython.efficiencies_mx(1.5 - 0.05j, x)
            if hasattr(miepython, "efficiencies_mx")
            else miepython.mie(1.5 - 0.05j, x)
        )
        out.append(tuple(float(f) for f in found))
    return out
