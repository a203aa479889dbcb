"""Orientation from gyroscope and accelerometer samples, one by one."""

import numpy as np
from ahrs.filters import Madgwick, Mahony

PACKAGE = "ahrs"


def prepare():
    rng = np.random.default_rng(1)
    return rng.normal(size=(400, 3)) * 0.1, rng.normal(size=(400, 3)) * 0.05 + np.array([0, 0, 9.8])


def drive(gyr, acc):
    first, second = Madgwick(), Mahony()
    q = np.tile([1.0, 0.0, 0.0, 0.0], (len(gyr), 1))
    p = q.copy()
    for t in range(1, len(gyr)):
        q[t] = first.updateIMU(q[t - 1], gyr=gyr[t], acc=acc[t])
        p[t] = second.updateIMU(p[t - 1], gyr=gyr[t], acc=acc[t])
    return q, p
