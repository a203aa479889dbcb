"""Numbers with errors, alone and in object arrays."""

import numpy as np
from uncertainties import ufloat, umath, unumpy

PACKAGE = "uncertainties"


def prepare():
    return (np.linspace(1, 5, 60),)


def drive(values):
    total = ufloat(0, 0.1)
    for v in values:
        x = ufloat(v, 0.05 * v)
        total = total + umath.sqrt(x) * x / (1 + x * x)
    a = unumpy.uarray(values, values * 0.01)
    b = (a * 2 + unumpy.sqrt(a)).sum()
    return total.nominal_value, total.std_dev, b.nominal_value, b.std_dev
