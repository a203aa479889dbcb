"""A sum of peaks fitted to noisy data."""

import numpy as np
from lmfit import Parameters, minimize

PACKAGE = "lmfit"


def prepare():
    x = np.linspace(0, 10, 120)
    y = (
        3 * np.exp(-((x - 3) ** 2) / 0.5)
        + 2 * np.exp(-((x - 7) ** 2))
        + np.random.default_rng(4).normal(size=120) * 0.05
    )
    return x, y


def residual(p, x, y):
    model = p["a"] * np.exp(-((x - p["b"]) ** 2) / p["c"]) + p["d"] * np.exp(-((x - p["e"]) ** 2) / p["f"])
    return model - y


def drive(x, y):
    p = Parameters()
    for name, value in (("a", 1.0), ("b", 2.5), ("c", 1.0), ("d", 1.0), ("e", 7.5), ("f", 1.0)):
        p.add(name, value=value, min=0.01, max=20.0)
    fitted = minimize(residual, p, args=(x, y))
    return [float(v) for v in fitted.params.valuesdict().values()], fitted.nfev
