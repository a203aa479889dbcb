"""A planet's orbit: positions, radial velocities, transits, periods in noisy data and outliers."""

import numpy as np
from PyAstronomy import modelSuite, pyasl
from PyAstronomy.pyTiming import pyPeriod

PACKAGE = "PyAstronomy"


def prepare():
    rng = np.random.default_rng(8)
    times = np.sort(rng.uniform(0.0, 120.0, 70))
    return times, rng.normal(size=70) * 1.5


def drive(times, noise):
    orbit = pyasl.KeplerEllipse(0.08, 7.3, e=0.21, tau=1.1, Omega=30.0, w=65.0, i=87.0)
    track = []
    for t in np.linspace(0.0, 7.3, 60):
        position, anomaly = orbit.xyzPos(t, getTA=True)
        velocity = orbit.xyzVel(t)
        track.append((position, anomaly, velocity, orbit.radius(t), orbit.projPlaStDist(t)))
    crossings = (orbit.xyzNodes_LOSZ(getTimes=True), orbit.yzCrossingTime(), orbit.xyzFoci())

    speeds = np.array([orbit.xyzVel(t)[2] for t in times]) * 400.0 + noise
    speeds[[5, 33, 50]] += (25.0, -30.0, 40.0)
    found = pyasl.generalizedESD(speeds, 6, 0.05, fullOutput=True)
    kept = np.delete(np.arange(len(times)), found[1])
    bent = pyasl.polyResOutlier(times, speeds, deg=2, stdlim=2.5)

    power = pyPeriod.Gls((times[kept], speeds[kept]), fbeg=0.01, fend=0.4, ofac=6)
    levels = [power.powerLevel(p) for p in (0.1, 0.01, 0.001)]
    model = modelSuite.KeplerRVModel(mp=1, deg=0)
    model.assignValues(
        {"per1": 7.25, "K1": 28.0, "e1": 0.2, "tau1": 1.0, "w1": 60.0, "mstar": 1.0, "c0": 0.0}
    )
    model.thaw(["per1", "K1", "e1", "tau1", "w1", "c0"])
    use = kept[::2]
    model.fit(times[use], speeds[use], yerr=np.full(len(use), 1.5), fminArgs={"maxiter": 60, "disp": False})
    fitted = model.parameters()

    solver = pyasl.MarkleyKESolver()
    anomalies = [solver.getE(m, e) for e in np.linspace(0.0, 0.9, 10) for m in np.linspace(0.0, 6.0, 25)]
    dates = [pyasl.daycnv(2455000.5 + 13.7 * k) for k in range(40)]
    suns = [pyasl.sunpos(2455000.5 + 13.7 * k) for k in range(40)]
    return track, crossings, found, bent, fitted, power.power, power.hpstat, levels, anomalies, dates, suns
