"""Rigid transformations, concatenated and inverted."""

import numpy as np
import pytransform3d.rotations as pr
import pytransform3d.transformations as pt

PACKAGE = "pytransform3d"


def prepare():
    return (np.random.default_rng(7).normal(size=(120, 6)),)


def drive(rows):
    here = np.eye(4)
    out = []
    for row in rows:
        m = pt.transform_from(pr.matrix_from_compact_axis_angle(row[:3]), row[3:])
        here = pt.concat(here, m)
        out.append(pr.quaternion_from_matrix(here[:3, :3], strict_check=False))
        out.append(pt.transform(pt.invert_transform(m), np.array([1.0, 2.0, 3.0, 1.0])))
    return out
