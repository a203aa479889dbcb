"""Many digits: integrals, zeros, special functions."""

import mpmath

PACKAGE = "mpmath"


def prepare():
    return (30,)


def drive(digits):
    with mpmath.workdps(digits):
        a = mpmath.quad(lambda x: mpmath.exp(-x * x), [0, 1, 2])
        b = mpmath.findroot(lambda x: mpmath.cos(x) - x, 0.7)
        c = mpmath.zeta(3) + mpmath.gamma(mpmath.mpf(1) / 3)
        d = mpmath.matrix([[1, 2], [3, 5]]) ** -1
        return str(a), str(b), str(c), str(d)
