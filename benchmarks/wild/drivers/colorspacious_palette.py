"""A colour palette chosen for readers with weak colour sight, one swatch after the other."""

import numpy as np
from colorspacious import CIECAM02Space, cspace_convert, deltaE

PACKAGE = "colorspacious"

SIGHTS = [
    None,
    {"name": "sRGB1+CVD", "cvd_type": "deuteranomaly", "severity": 80},
    {"name": "sRGB1+CVD", "cvd_type": "protanomaly", "severity": 60},
]


def prepare():
    return (np.random.default_rng(11).random((60, 3)),)


def seen(colour, sight):
    return colour if sight is None else np.clip(cspace_convert(colour, sight, "sRGB1"), 0.0, 1.0)


def worst_distance(first, second):
    return min(deltaE(seen(first, sight), seen(second, sight), input_space="sRGB1") for sight in SIGHTS)


def drive(candidates):
    chosen = [candidates[0]]
    nearest = np.full(len(candidates), np.inf)
    while len(chosen) < 6:
        for i, colour in enumerate(candidates):
            nearest[i] = min(nearest[i], worst_distance(colour, chosen[-1]))
        chosen.append(candidates[int(np.argmax(nearest))])
    dim = CIECAM02Space("D65", Y_b=20, L_A=4.0)
    correlates = []
    for colour in chosen:
        appearance = dim.XYZ100_to_CIECAM02(cspace_convert(colour, "sRGB1", "XYZ100"))
        back = dim.CIECAM02_to_XYZ100(J=appearance.J, C=appearance.C, h=appearance.h)
        correlates.append((appearance.J, appearance.C, appearance.h, appearance.H, back))
    ramp = [
        cspace_convert([lightness, 30.0, hue], "JCh", "sRGB1")
        for lightness in range(20, 90, 7)
        for hue in (30, 210)
    ]
    return np.array(chosen), nearest, correlates, ramp
