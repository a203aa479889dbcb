"""Series taken apart into modes, with and without added noise, and the pitch of each mode."""

import numpy as np
from PyEMD import CEEMDAN, EMD

PACKAGE = "EMD-signal"


def prepare():
    rng = np.random.default_rng(22)
    t = np.linspace(0.0, 1.0, 200)
    series = []
    for k in range(3):
        chirp = np.sin(2 * np.pi * (8 + k) * t * (1 + t))
        series.append(
            chirp + 0.6 * np.sin(2 * np.pi * 3 * t + k) + (k + 1) * t**2 + 0.05 * rng.normal(size=t.size)
        )
    return t, series


def crossings(t, mode):
    """The times at which a mode goes through zero, by straight lines between samples."""
    out = []
    for i in range(len(mode) - 1):
        if mode[i] == 0.0 or mode[i] * mode[i + 1] < 0:
            out.append(t[i] + (t[i + 1] - t[i]) * mode[i] / (mode[i] - mode[i + 1]))
    return np.array(out)


def drive(t, series):
    report = []
    for values in series:
        for spline, detection in (("cubic", "simple"), ("akima", "parabol"), ("pchip", "simple")):
            sift = EMD(spline_kind=spline, extrema_detection=detection)
            modes = sift.emd(values, t)
            _, rest = sift.get_imfs_and_residue()
            for mode in modes:
                at = crossings(t, mode)
                pitch = 0.5 / np.diff(at) if len(at) > 1 else np.zeros(0)
                report.append((spline, len(at), pitch, float(np.sqrt(np.mean(mode**2)))))
            report.append((rest, float(np.abs(modes.sum(axis=0) + rest - values).max())))
    many = CEEMDAN(trials=8, parallel=False, epsilon=0.02)
    many.noise_seed(22)
    together = many.ceemdan(series[0], t, max_imf=4)
    overlap = np.corrcoef(together)
    return report, together, overlap
