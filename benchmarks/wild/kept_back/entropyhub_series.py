"""How irregular short series are, at several scales, against shuffled copies of themselves."""

import contextlib
import io

import EntropyHub
import numpy as np

PACKAGE = "EntropyHub"


def prepare():
    rng = np.random.default_rng(24)
    logistic = np.empty(200)
    logistic[0] = 0.3
    for i in range(1, 200):
        logistic[i] = 3.8 * logistic[i - 1] * (1.0 - logistic[i - 1])
    walk = np.cumsum(rng.normal(size=200))
    beat = 0.8 + 0.1 * np.sin(np.arange(200) / 7.0) + 0.03 * rng.normal(size=200)
    return {"logistic": logistic, "walk": walk, "beat": beat}, rng


def coarse(series, scale):
    return np.array([series[i : i + scale].mean() for i in range(0, len(series) - scale + 1, scale)])


def measures(series):
    spread = float(series.std())
    sample, a, b = EntropyHub.SampEn(series, m=2, r=0.2 * spread)
    return {
        "sample": (sample, a, b),
        "approximate": EntropyHub.ApEn(series, m=2, r=0.2 * spread),
        "fuzzy": EntropyHub.FuzzEn(series, m=2, r=(0.2 * spread, 2.0)),
        "permutation": EntropyHub.PermEn(series, m=4, tau=2),
        "weighted": EntropyHub.PermEn(series, m=3, Typex="weighted"),
        "dispersion": EntropyHub.DispEn(series, m=2, c=4),
        "slope": EntropyHub.SlopEn(series, m=3),
        "bubble": EntropyHub.BubbEn(series, m=4),
        "increment": EntropyHub.IncrEn(series, m=2, R=3),
    }


def drive(series, rng):
    report = []
    for name, values in series.items():
        for scale in (1, 2):
            report.append((name, scale, measures(coarse(values, scale))))
        truth, lower = EntropyHub.PermEn(values, m=4)[0][-1], 0
        for _ in range(15):
            copy = rng.permutation(values)
            lower += EntropyHub.PermEn(copy, m=4)[0][-1] <= truth
        report.append((name, int(lower)))
    watch = EntropyHub.MSobject("SampEn", m=2, r=0.15)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints a dot for each scale
        report.append(EntropyHub.MSEn(series["beat"], watch, Scales=4))
    report.append(EntropyHub.XSampEn(series["walk"][:150], series["beat"][:150], m=2, r=0.3))
    return report
