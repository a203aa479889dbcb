"""Colours between spaces, and how they differ."""

import colour
import numpy as np

PACKAGE = "colour-science"


def prepare():
    return (np.random.default_rng(6).random((60, 3)),)


def drive(colours):
    out = []
    for rgb in colours:
        xyz = colour.sRGB_to_XYZ(rgb)
        lab = colour.XYZ_to_Lab(xyz)
        out.append(colour.delta_E(lab, np.array([50.0, 10.0, 10.0]), method="CIE 2000"))
        out.append(colour.XYZ_to_xy(xyz))
    return out
