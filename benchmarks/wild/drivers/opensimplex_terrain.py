"""A landscape of simplex noise, worn down by drops of rain that run over it."""

import numpy as np
from opensimplex import OpenSimplex

PACKAGE = "opensimplex"

SIZE = 52


def prepare():
    return (np.random.default_rng(17),)


def height(noise, x, y):
    total, amplitude, frequency = 0.0, 1.0, 0.05
    for _ in range(3):
        total += amplitude * noise.noise2(x * frequency, y * frequency)
        amplitude, frequency = amplitude * 0.5, frequency * 2.1
    return total


def run_drop(land, x, y, steps=30):
    """One drop: it picks up earth on steep ground and leaves it where it slows."""
    dx = dy = 0.0
    speed, water, load = 1.0, 1.0, 0.0
    for _ in range(steps):
        i, j = int(x), int(y)
        u, v = x - i, y - j
        cell = land[i : i + 2, j : j + 2]
        gx = (cell[1, 0] - cell[0, 0]) * (1 - v) + (cell[1, 1] - cell[0, 1]) * v
        gy = (cell[0, 1] - cell[0, 0]) * (1 - u) + (cell[1, 1] - cell[1, 0]) * u
        dx, dy = 0.3 * dx - 0.7 * gx, 0.3 * dy - 0.7 * gy
        length = np.hypot(dx, dy)
        if length < 1e-9:
            return load
        dx, dy = dx / length, dy / length
        before = np.array([(1 - u) * (1 - v), (1 - u) * v, u * (1 - v), u * v]) @ cell.ravel()
        x, y = x + dx, y + dy
        if not (0 <= x < SIZE - 1 and 0 <= y < SIZE - 1):
            return load
        after = land[int(x), int(y)]
        fall = before - after
        room = max(fall, 0.01) * speed * water * 2.0
        change = min(0.3 * (room - load), max(fall, 0.0)) if load < room else -0.3 * (load - room)
        land[i, j] -= change
        load += change
        speed = np.sqrt(max(speed * speed + fall, 0.01))
        water *= 0.98
    return load


def drive(rng):
    noise = OpenSimplex(seed=42)
    land = np.array([[height(noise, x, y) for y in range(SIZE)] for x in range(SIZE)])
    caves = noise.noise3array(np.arange(8) * 0.2, np.arange(8) * 0.2, np.arange(4) * 0.3)
    wind = [noise.noise4(0.1 * t, 0.2 * t, 0.3 * t, 0.4 * t) for t in range(40)]
    raw = land.copy()
    carried = [run_drop(land, *rng.uniform(0, SIZE - 1.001, 2)) for _ in range(450)]
    return raw, land, caves, wind, carried
