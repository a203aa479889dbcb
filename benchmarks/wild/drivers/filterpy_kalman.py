"""A Kalman filter and an unscented one over noisy positions."""

import numpy as np
from filterpy.common import Q_discrete_white_noise
from filterpy.kalman import KalmanFilter, MerweScaledSigmaPoints, UnscentedKalmanFilter

PACKAGE = "filterpy"


def prepare():
    rng = np.random.default_rng(0)
    return (np.cumsum(rng.random(150)) + rng.normal(size=150),)


def drive(measured):
    linear = KalmanFilter(dim_x=2, dim_z=1)
    linear.F, linear.H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    linear.P *= 100.0
    linear.Q = Q_discrete_white_noise(2, 1.0, 0.01)
    points = MerweScaledSigmaPoints(2, alpha=0.1, beta=2.0, kappa=1.0)
    unscented = UnscentedKalmanFilter(
        2, 1, 1.0, lambda x: x[:1], lambda x, dt: np.array([x[0] + dt * x[1], x[1]]), points
    )
    out = []
    for z in measured:
        linear.predict()
        linear.update(z)
        unscented.predict()
        unscented.update(np.array([z]))
        out.append((linear.x.copy(), unscented.x.copy()))
    return out
