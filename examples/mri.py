"""Noise out, edges kept: a slice of a magnetic resonance image.

Data: ``s1045.ima.gz`` of matplotlib, 256 x 256 pixels.

Anisotropic diffusion (Perona and Malik 1990, https://doi.org/10.1109/34.56205) smooths where the image is smooth; then the
image is split into two regions by their means (Chan and Vese 2001, https://doi.org/10.1109/83.902291).
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data


def load() -> tuple[np.ndarray]:
    """Brightness from 0 to 1, shape (256, 256)."""
    with get_sample_data("s1045.ima.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint16).reshape(256, 256)
    return (pixels / pixels.max(),)


@stator.compile
def diffuse(image, steps, edge, rate):
    u = image.copy()
    for _ in range(steps):
        north = np.roll(u, 1, axis=0) - u
        south = np.roll(u, -1, axis=0) - u
        west = np.roll(u, 1, axis=1) - u
        east = np.roll(u, -1, axis=1) - u
        u = u + rate * (
            north / (1 + (north / edge) ** 2)
            + south / (1 + (south / edge) ** 2)
            + west / (1 + (west / edge) ** 2)
            + east / (1 + (east / edge) ** 2)
        )
    return u


@stator.compile
def curvature(phi):
    gy, gx = np.gradient(phi)
    norm = np.sqrt(gx**2 + gy**2 + 1e-8)
    return np.gradient(gx / norm, axis=1) + np.gradient(gy / norm, axis=0)


@stator.compile
def segment(image, steps, smoothness):
    """A level set that is positive inside."""
    rows, columns = image.shape
    y, x = np.mgrid[0:rows, 0:columns]
    phi = 60.0 - np.sqrt((x - columns / 2) ** 2 + (y - rows / 2) ** 2)
    for _ in range(steps):
        inside = phi > 0
        mean_in = image[inside].mean()
        mean_out = image[~inside].mean()
        delta = 1 / (np.pi * (1 + phi**2))
        force = smoothness * curvature(phi) - (image - mean_in) ** 2 + (image - mean_out) ** 2
        phi = phi + 20 * delta * force / np.abs(force).max()
    return phi


def work(image: np.ndarray) -> dict[str, np.ndarray]:
    smooth = diffuse(image, 60, 0.05, 0.2)
    return {"smooth": smooth, "level": segment(smooth, 100, 0.01)}


def draw(figure, data, results) -> None:
    (image,) = data
    left, right = figure.subplots(1, 2)
    left.imshow(image, cmap="gray")
    left.set_title("as measured")
    right.imshow(results["smooth"], cmap="gray")
    right.contour(results["level"], [0], colors="C1", linewidths=1)
    right.set_title("diffused and segmented")
    for axes in (left, right):
        axes.set_axis_off()
