"""Small loops, one for each kind of statement that kernels of loops have a form of their own for, and arguments."""

from __future__ import annotations

import numpy as np


def masks(x, y, n):
    for i in range(n):
        kept = x[x > 0.25 * i]
        y[y < 0.5] = 1.0 - kept.shape[0]
    return kept


def index_arrays(x, y, k, n):
    for _ in range(n):
        y[k] = x[k - 3] + y[:-2]


def complex_numbers(z, c, n):
    for _ in range(n):
        z = z * z + c
    return abs(z)


def halves(x, y, n):
    for _ in range(n):
        y[:] = x[::-1]
        x[1:] = y[:-1]


def sums(x, n):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + np.sum(x[i:]) + x.max()
    return s


def axes(x, y, n):
    for _ in range(n):
        y[:] = x.sum(axis=1) - x.min(axis=1)
        x -= np.sum(x, axis=0)


def products(a, x, n):
    for _ in range(n):
        a[:] = (a @ a) * 0.5
        x[0] = np.dot(x, x) + (a @ x)[1]


def stencil(a, b, n):
    for _ in range(n):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j])
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


def element_products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def _square():
    return np.arange(49.0).reshape(7, 7) / 49.0


ARGUMENTS = {
    masks: lambda: [np.arange(9.0), np.arange(9.0), 4],
    index_arrays: lambda: [np.arange(9.0), np.arange(9.0), np.arange(7), 4],
    complex_numbers: lambda: [np.arange(9) * 0.1j, np.arange(9) * 0.1j, 4],
    halves: lambda: [np.arange(9, dtype="f2"), np.arange(9, dtype="f2"), 4],
    sums: lambda: [np.arange(90.0), 4],
    axes: lambda: [_square(), np.zeros(7), 4],
    products: lambda: [_square(), np.zeros(7), 4],
    stencil: lambda: [_square(), _square(), 4],
    element_products: lambda: [_square(), _square(), _square()],
}
