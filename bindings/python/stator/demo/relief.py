"""The terrain pipeline itself: ordinary NumPy functions that know nothing of stator.

Heights and cell sizes are in metres, angles in radians.
"""

from __future__ import annotations

import numpy as np


def slope(z: np.ndarray, dx: float, dy: float) -> np.ndarray:
    """Steepness of the surface.

    Parameters
    ----------
    z : ndarray, shape (rows, columns)
        Heights, the first row northernmost.
    dx, dy : float
        Size of a cell from west to east and from north to south.

    Returns
    -------
    ndarray, shape (rows, columns)
        Tangent of the slope angle.
    """
    south, east = np.gradient(z, dy, dx)
    return np.sqrt(south * south + east * east)


def hillshade(
    z: np.ndarray, dx: float, dy: float, azimuth: float, altitude: float, exaggeration: float = 2.0
) -> np.ndarray:
    """How brightly the sun lights each cell: the cosine between the sun and the surface normal, 0 in shade.

    Parameters
    ----------
    z, dx, dy
        As for `slope`.
    azimuth, altitude : float
        Direction of the sun, clockwise from north, and its height above the horizon.
    exaggeration : float
        Factor on the heights.
    """
    south, east = np.gradient(z * exaggeration, dy, dx)
    steepness = np.arctan(np.sqrt(south * south + east * east))
    aspect = np.arctan2(-east, south)  # the way downhill, clockwise from north
    light = np.sin(altitude) * np.cos(steepness) + np.cos(altitude) * np.sin(steepness) * np.cos(
        azimuth - aspect
    )
    return np.clip(light, 0.0, 1.0)


def relax(
    z: np.ndarray, dx: float, dy: float, creep: float, critical: float, dt: float, steps: int
) -> tuple[np.ndarray, int]:
    """Hillslope diffusion: soil creeps downhill, and faster while the land is steeper than it can stand.

    Each step is the explicit scheme for dz/dt = D laplace(z). While any slope between neighbouring cells exceeds
    `critical`, cells at such slopes also slide: their D is five times larger. The border keeps its heights.

    Parameters
    ----------
    z, dx, dy
        As for `slope`; `z` is not changed.
    creep : float
        The diffusivity D, m2 per year.
    critical : float
        Tangent of the steepest slope that stands.
    dt : float
        Years per step; stable below ``min(dx, dy)**2 / (20 * creep)``.
    steps : int

    Returns
    -------
    z : ndarray
        The heights afterwards.
    slides : int
        In how many steps something slid.
    """
    z = z.copy()
    slides = 0
    for _ in range(steps):
        west_east = (z[1:-1, 2:] - 2.0 * z[1:-1, 1:-1] + z[1:-1, :-2]) / (dx * dx)
        north_south = (z[2:, 1:-1] - 2.0 * z[1:-1, 1:-1] + z[:-2, 1:-1]) / (dy * dy)
        rate = creep * (west_east + north_south)
        steep = np.maximum(
            np.abs(z[1:-1, 2:] - z[1:-1, :-2]) / (2.0 * dx), np.abs(z[2:, 1:-1] - z[:-2, 1:-1]) / (2.0 * dy)
        )
        if steep.max() > critical:
            rate = np.where(steep > critical, 5.0 * rate, rate)
            slides += 1
        z[1:-1, 1:-1] += dt * rate
    return z, slides
