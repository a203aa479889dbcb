"""Scalar nests, gathers, masks and arrays whose extents depend on data."""

from __future__ import annotations

import numpy as np


def _pairs(x, y):
    return 1 if x + y == 3 else 0


def nussinov(sequence):
    """The largest number of paired bases."""
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + _pairs(sequence[i], sequence[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def crc16(data, polynomial=0x8408):
    crc = 0xFFFF
    for byte in data:
        current = 0xFF & byte
        for _ in range(8):
            if (crc & 0x0001) ^ (current & 0x0001):
                crc = (crc >> 1) ^ polynomial
            else:
                crc >>= 1
            current >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


def spmv(rows, columns, values, x):
    """A matrix of compressed rows times a vector."""
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        at = columns[rows[i] : rows[i + 1]]
        part = values[rows[i] : rows[i + 1]]
        y[i] = part @ x[at]
    return y


def scattering_self_energies(neighbours, dh, g, d, sigma):
    """Many small complex products at gathered places."""
    momenta, energies = g.shape[:2]
    phonons, frequencies = d.shape[:2]
    for k in range(momenta):
        for e in range(energies):
            for q in range(phonons):
                for w in range(frequencies):
                    for i in range(3):
                        for j in range(3):
                            for a in range(neighbours.shape[0]):
                                for b in range(neighbours.shape[1]):
                                    if e - w >= 0:
                                        left = g[k, e - w, neighbours[a, b]] @ dh[a, b, i]
                                        right = dh[a, b, j] * d[q, w, a, b, i, j]
                                        sigma[k, e, a] += left @ right


def conv2d(images, weights):
    size = weights.shape[0]
    count, height, width = images.shape[0], images.shape[1] - size + 1, images.shape[2] - size + 1
    out = np.empty((count, height, width, weights.shape[3]), dtype=images.dtype)
    for i in range(height):
        for j in range(width):
            out[:, i, j, :] = np.sum(
                images[:, i : i + size, j : j + size, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )
    return out


def azimint_naive(data, radius, bins):
    """Means over rings: masks whose counts differ."""
    largest = radius.max()
    out = np.zeros(bins, dtype=np.float64)
    for i in range(bins):
        inner = largest * i / bins
        outer = largest * (i + 1) / bins
        mask = np.logical_and(inner <= radius, radius < outer)
        values = data[mask]
        out[i] = values.mean()
    return out


def mandelbrot_1(x, y, steps, horizon=2.0):
    c = x + y[:, None] * 1j
    counts = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros(c.shape, dtype=np.complex128)
    for n in range(steps):
        inside = np.less(abs(z), horizon)
        counts[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    counts[counts == steps - 1] = 0
    return z, counts


def mandelbrot_2(x, y, steps, horizon=2.0):
    """Points that have left are taken out, so the arrays shrink."""
    columns, rows = np.mgrid[0 : x.size, 0 : y.size]
    c = x[columns] + y[rows] * 1j
    left = np.zeros(c.shape, dtype=np.int64)
    values = np.zeros(c.shape, np.complex128)
    columns, rows, c = columns.reshape(-1), rows.reshape(-1), c.reshape(-1)
    z = np.zeros(c.shape, np.complex128)
    for i in range(steps):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        out = abs(z) > horizon
        left[columns[out], rows[out]] = i + 1
        values[columns[out], rows[out]] = z[out]
        np.logical_not(out, out)
        z = z[out]
        columns, rows = columns[out], rows[out]
        c = c[out]
    return values.T, left.T


def _acceleration(position, mass, gravity, softening):
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = dx**2 + dy**2 + dz**2 + softening**2
    inverse[inverse > 0] = inverse[inverse > 0] ** (-1.5)
    return np.hstack(
        (gravity * (dx * inverse) @ mass, gravity * (dy * inverse) @ mass, gravity * (dz * inverse) @ mass)
    )


def _energy(position, velocity, mass, gravity):
    kinetic = 0.5 * np.sum(np.sum(mass * velocity**2))
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    inverse = np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2 + (z.T - z) ** 2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    return kinetic, gravity * np.sum(np.sum(np.triu(-(mass * mass.T) * inverse, 1)))


def nbody(mass, position, velocity, steps, dt, gravity, softening):
    velocity -= np.mean(mass * velocity, axis=0) / np.mean(mass)
    acceleration = _acceleration(position, mass, gravity, softening)
    kinetic = np.ndarray(steps + 1, dtype=np.float64)
    potential = np.ndarray(steps + 1, dtype=np.float64)
    kinetic[0], potential[0] = _energy(position, velocity, mass, gravity)
    for i in range(steps):
        velocity += acceleration * dt / 2.0
        position += velocity * dt
        acceleration = _acceleration(position, mass, gravity, softening)
        velocity += acceleration * dt / 2.0
        kinetic[i + 1], potential[i + 1] = _energy(position, velocity, mass, gravity)
    return kinetic, potential
