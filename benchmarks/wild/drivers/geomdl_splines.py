"""B-spline curves and surfaces in Python lists."""

from geomdl import BSpline, utilities

PACKAGE = "geomdl"


def prepare():
    return ([[float(k), float(k * k % 7), float(k % 3)] for k in range(12)],)


def drive(points):
    curve = BSpline.Curve()
    curve.degree = 3
    curve.ctrlpts = points
    curve.knotvector = utilities.generate_knot_vector(3, len(points))
    curve.delta = 0.005
    return curve.evalpts, [curve.derivatives(u / 20, 2) for u in range(20)]
