"""Outlines of shapes traced in small pictures, described by elliptic Fourier series and compared."""

import numpy as np
from pyefd import calculate_dc_coefficients, elliptic_fourier_descriptors, normalize_efd, reconstruct_contour

PACKAGE = "pyefd"

STEPS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]


def blob(rng, size):
    """A filled star-like shape on a grid of pixels."""
    amplitude, phase = rng.uniform(0.0, 0.12, 4), rng.uniform(0.0, 2 * np.pi, 4)
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    angle = np.arctan2(y, x)
    radius = np.full_like(angle, 0.3)
    for k in range(4):
        radius += amplitude[k] * np.cos((k + 2) * angle + phase[k]) / (k + 1)
    return np.hypot(x, y) < size * radius


def trace(picture):
    """Walks around the first shape in the picture, keeping it to one side."""
    start = tuple(int(i) for i in np.argwhere(picture)[0])
    contour, at, heading = [start], start, 7
    while True:
        heading = (heading + 6 + heading % 2) % 8
        for turn in range(8):
            dy, dx = STEPS[(heading + turn) % 8]
            if picture[at[0] + dy, at[1] + dx]:
                break
        heading = (heading + turn) % 8
        at = (at[0] + dy, at[1] + dx)
        if at == start:
            return np.array(contour, dtype=float)
        contour.append(at)


def prepare():
    rng = np.random.default_rng(12)
    return ([np.pad(blob(rng, 90), 1) for _ in range(70)],)


def drive(pictures):
    features, errors, transformations = [], [], []
    for picture in pictures:
        contour = trace(picture)
        coefficients = elliptic_fourier_descriptors(contour, order=12)
        locus = calculate_dc_coefficients(contour)
        closed = np.vstack([contour, contour[:1]])
        for order in (2, 5, 12):
            drawn = reconstruct_contour(coefficients[:order], locus=locus, num_points=60)
            nearest = [np.sqrt(((closed - point) ** 2).sum(axis=1)).min() for point in drawn]
            errors.append((order, float(np.mean(nearest)), float(np.max(nearest))))
        normal, (size, psi, theta) = normalize_efd(coefficients, return_transformation=True)
        features.append(normal.ravel()[3:])
        transformations.append((size, psi, theta))
    distances = np.zeros((len(features), len(features)))
    for i in range(len(features)):
        for j in range(i):
            distances[i, j] = distances[j, i] = np.linalg.norm(features[i] - features[j])
    order, left = [0], set(range(1, len(features)))
    while left:
        nearest = min(sorted(left), key=lambda j: distances[order[-1], j])
        order.append(nearest)
        left.remove(nearest)
    return np.array(features), errors, transformations, distances, order
