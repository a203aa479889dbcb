"""Euler angles, quaternions and matrices, there and back."""

import numpy as np
from transforms3d import affines, axangles, euler, quaternions

PACKAGE = "transforms3d"


def prepare():
    return (np.random.default_rng(2).random((150, 3)),)


def drive(angles):
    q, out = np.array([1.0, 0, 0, 0]), []
    for a, b, c in angles:
        m = euler.euler2mat(a, b, c, "sxyz")
        q = quaternions.qmult(q, quaternions.mat2quat(m))
        out.append(euler.quat2euler(q))
        out.append(quaternions.rotate_vector([1.0, 2.0, 3.0], q))
        out.append(axangles.mat2axangle(m)[1])
        out.append(affines.compose([1, 2, 3], m, [1, 1, 1]).sum())
    return out
