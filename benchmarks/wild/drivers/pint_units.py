"""Quantities with units, scalars and arrays."""

import numpy as np
import pint

PACKAGE = "pint"

units = pint.UnitRegistry()


def prepare():
    return (np.linspace(1, 10, 50),)


def drive(values):
    energy = 0 * units.joule
    for v in values:
        speed = v * units.meter / units.second
        energy = energy + 0.5 * (2.0 * units.kilogram) * speed**2
    lengths = values * units.inch
    area = (lengths.to(units.cm) * (3 * units.m)).to(units.m**2)
    return energy.to("kJ").magnitude, area.magnitude, str(area.units)
