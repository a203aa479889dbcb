"""Time loops over array statements: stencils, sweeps and recursive filters."""

from __future__ import annotations

import numpy as np


def adi(u, steps):
    """Alternating directions: tridiagonal sweeps along the columns, then along the rows."""
    n = u.shape[0]
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    h, k = 1.0 / n, 1.0 / steps
    r1, r2 = 2.0 * k / (h * h), k / (h * h)
    a, b = -r1 / 2.0, 1.0 + r1
    d, e = -r2 / 2.0, 1.0 + r2
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            below = a * p[1:-1, j - 1] + b
            p[1:-1, j] = -a / below
            q[1:-1, j] = (
                -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:] - a * q[1:-1, j - 1]
            ) / below
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -d / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (
                -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j] - d * q[1:-1, j - 1]
            ) / (d * p[1:-1, j - 1] + e)
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


def _source(b, rho, dt, u, v, dx, dy):
    """The right side of the pressure equation."""
    du = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    dv = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    b[1:-1, 1:-1] = rho * (
        1 / dt * (du + dv)
        - du**2
        - 2 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx))
        - dv**2
    )


def _pressure(p, b, dx, dy, sweeps):
    before = np.empty_like(p)
    for _ in range(sweeps):
        before = p.copy()
        p[1:-1, 1:-1] = (
            (before[1:-1, 2:] + before[1:-1, :-2]) * dy**2 + (before[2:, 1:-1] + before[:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0


def _momentum(w, wind, pressure, dt, dx, dy, u, v, nu):
    """One step of advection and diffusion of the component `w`."""
    w[1:-1, 1:-1] = (
        wind[1:-1, 1:-1]
        - u[1:-1, 1:-1] * dt / dx * (wind[1:-1, 1:-1] - wind[1:-1, :-2])
        - v[1:-1, 1:-1] * dt / dy * (wind[1:-1, 1:-1] - wind[:-2, 1:-1])
        - pressure
        + nu
        * (
            dt / dx**2 * (wind[1:-1, 2:] - 2 * wind[1:-1, 1:-1] + wind[1:-1, :-2])
            + dt / dy**2 * (wind[2:, 1:-1] - 2 * wind[1:-1, 1:-1] + wind[:-2, 1:-1])
        )
    )


def cavity_flow(u, v, p, steps, sweeps, dt, dx, dy, rho, nu):
    b = np.zeros(u.shape)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        _source(b, rho, dt, u, v, dx, dy)
        _pressure(p, b, dx, dy, sweeps)
        _momentum(u, un, dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2]), dt, dx, dy, un, vn, nu)
        _momentum(v, vn, dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1]), dt, dx, dy, un, vn, nu)
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


def channel_flow(u, v, p, sweeps, dt, dx, dy, rho, nu, force):
    """Until the mean velocity changes little; periodic along the channel."""
    change, count = 1.0, 0
    b = np.zeros(u.shape)
    while change > 0.02:
        un = u.copy()
        vn = v.copy()
        b[1:-1, 1:-1] = (
            rho / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))
        )
        b[1:-1, -1] = rho / dt * ((u[1:-1, 0] - u[1:-1, -2]) / (2 * dx))
        _pressure(p, b, dx, dy, sweeps)
        _momentum(u, un, dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2]), dt, dx, dy, un, vn, nu)
        u[1:-1, 1:-1] += force * dt
        u[1:-1, -1] = un[1:-1, -1] + force * dt - un[1:-1, -1] * dt / dx * (un[1:-1, -1] - un[1:-1, -2])
        u[1:-1, 0] = un[1:-1, 0] + force * dt - un[1:-1, 0] * dt / dx * (un[1:-1, 0] - un[1:-1, -1])
        _momentum(v, vn, dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1]), dt, dx, dy, un, vn, nu)
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        count += 1
    return count


def deriche(alpha, image):
    """A recursive filter, forth and back along both axes."""
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = k
    a2 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    forth = np.empty_like(image)
    back = np.empty_like(image)
    width, height = image.shape
    forth[:, 0] = a1 * image[:, 0]
    forth[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * forth[:, 0]
    for j in range(2, height):
        forth[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * forth[:, j - 1] + b2 * forth[:, j - 2]
    back[:, -1] = 0.0
    back[:, -2] = a3 * image[:, -1]
    for j in range(height - 3, -1, -1):
        back[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * back[:, j + 1] + b2 * back[:, j + 2]
    out = forth + back
    forth[0, :] = a1 * out[0, :]
    forth[1, :] = a1 * out[1, :] + a2 * out[0, :] + b1 * forth[0, :]
    for i in range(2, width):
        forth[i, :] = a1 * out[i, :] + a2 * out[i - 1, :] + b1 * forth[i - 1, :] + b2 * forth[i - 2, :]
    back[-1, :] = 0.0
    back[-2, :] = a3 * out[-1, :]
    for i in range(width - 3, -1, -1):
        back[i, :] = a3 * out[i + 1, :] + a4 * out[i + 2, :] + b1 * back[i + 1, :] + b2 * back[i + 2, :]
    out[:] = forth + back
    return out


def fdtd_2d(steps, ex, ey, hz, drive):
    for t in range(steps):
        ey[0, :] = drive[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def heat_3d(steps, a, b):
    for _ in range(1, steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1]
        )


def jacobi_1d(steps, a, b):
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def jacobi_2d(steps, a, b):
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def ping_pong(steps, a, b):
    """Two buffers that change places; until little changes."""
    change = np.inf
    t = 0
    while change > 1e-3 and t < steps:
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        change = np.max(np.abs(b - a))
        a, b = b, a
        t += 1
    return a, t, change


def seidel_2d(steps, a):
    n = a.shape[0]
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2]
                + a[i - 1, 1:-1]
                + a[i - 1, 2:]
                + a[i, 2:]
                + a[i + 1, :-2]
                + a[i + 1, 1:-1]
                + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0


def vadv(tendency, stage, wcon, position, previous, dtr):
    """Implicit vertical advection: a forward sweep over the levels, then a backward one."""
    rows, columns, levels = tendency.shape
    c = np.empty(stage.shape)
    d = np.empty(stage.shape)
    for k in range(levels):
        if k == 0:
            g = 0.25 * (wcon[1:, :, 1] + wcon[:-1, :, 1])
            cs = g * 0.5
            c[:, :, 0] = g * 0.5
            b = dtr - c[:, :, 0]
            correction = -cs * (stage[:, :, 1] - stage[:, :, 0])
            d[:, :, 0] = dtr * position[:, :, 0] + previous[:, :, 0] + tendency[:, :, 0] + correction
            factor = 1.0 / b
            c[:, :, 0] *= factor
            d[:, :, 0] *= factor
        elif k < levels - 1:
            ga = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
            gc = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
            a = ga * 0.5
            c[:, :, k] = gc * 0.5
            b = dtr - a - c[:, :, k]
            correction = -a * (stage[:, :, k - 1] - stage[:, :, k]) - gc * 0.5 * (
                stage[:, :, k + 1] - stage[:, :, k]
            )
            d[:, :, k] = dtr * position[:, :, k] + previous[:, :, k] + tendency[:, :, k] + correction
            factor = 1.0 / (b - c[:, :, k - 1] * a)
            c[:, :, k] *= factor
            d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * a) * factor
        else:
            a = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k]) * 0.5
            b = dtr - a
            correction = -a * (stage[:, :, k - 1] - stage[:, :, k])
            d[:, :, k] = dtr * position[:, :, k] + previous[:, :, k] + tendency[:, :, k] + correction
            factor = 1.0 / (b - c[:, :, k - 1] * a)
            d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * a) * factor
    for k in range(levels - 1, -1, -1):
        if k == levels - 1:
            data = d[:, :, k]
        else:
            data = d[:, :, k] - c[:, :, k] * data
        tendency[:, :, k] = dtr * (data - position[:, :, k])
