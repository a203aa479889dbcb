"""Poses as objects around small matrices."""

import numpy as np
from spatialmath import SE3, UnitQuaternion

PACKAGE = "spatialmath-python"


def prepare():
    return (np.random.default_rng(11).random((40, 3)),)


def drive(rows):
    pose, out = SE3(), []
    for x, y, z in rows:
        pose = pose * SE3.Rx(x) * SE3.Trans(x, y, z)
        q = UnitQuaternion.Ry(y)
        out.append(q * np.array([x, y, z]))
        out.append(pose.inv() * np.array([1.0, 2.0, 3.0]))
    return out
