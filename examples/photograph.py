"""Printing a photograph with four inks, and making it narrower without squeezing anyone.

Data: ``grace_hopper.jpg`` of matplotlib, 600 x 512 pixels (US Navy, public domain).

Error diffusion (Floyd and Steinberg 1976) gives each pixel the nearest of a few shades and hands the error on; seam carving
(Avidan and Shamir 2007, https://doi.org/10.1145/1276377.1276390) takes out the path of least change, one after another.
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data
from matplotlib.image import imread


def load() -> tuple[np.ndarray]:
    """Brightness from 0 to 1, shape (300, 256): every second pixel."""
    with get_sample_data("grace_hopper.jpg") as file:
        pixels = imread(file, format="jpg")
    return (pixels[::2, ::2] @ np.array([0.299, 0.587, 0.114]) / 255,)


@stator.compile
def dither(image, shades):
    u = image.copy()
    rows, columns = u.shape
    for i in range(rows):
        for j in range(columns):
            old = u[i, j]
            new = round(old * (shades - 1)) / (shades - 1)
            u[i, j] = new
            error = old - new
            if j + 1 < columns:
                u[i, j + 1] += error * 7 / 16
            if i + 1 < rows:
                if j > 0:
                    u[i + 1, j - 1] += error * 3 / 16
                u[i + 1, j] += error * 5 / 16
                if j + 1 < columns:
                    u[i + 1, j + 1] += error / 16
    return u


@stator.compile
def energy(image):
    """How much a pixel differs from its neighbours."""
    return np.abs(np.gradient(image, axis=0)) + np.abs(np.gradient(image, axis=1))


@stator.compile
def seam(cost):
    """The column to take out of each row."""
    rows, columns = cost.shape
    total = cost.copy()
    for i in range(1, rows):
        for j in range(columns):
            best = total[i - 1, j]
            if j > 0:
                best = min(best, total[i - 1, j - 1])
            if j < columns - 1:
                best = min(best, total[i - 1, j + 1])
            total[i, j] += best
    path = np.empty(rows, np.int64)
    path[-1] = np.argmin(total[-1])
    for i in range(rows - 2, -1, -1):
        j = path[i + 1]
        low = max(j - 1, 0)
        path[i] = low + np.argmin(total[i, low : min(j + 2, columns)])
    return path


@stator.compile
def carve(image, count):
    for _ in range(count):
        path = seam(energy(image))
        narrower = np.empty((image.shape[0], image.shape[1] - 1))
        for i in range(image.shape[0]):
            j = path[i]
            narrower[i, :j] = image[i, :j]
            narrower[i, j:] = image[i, j + 1 :]
        image = narrower
    return image


def work(image: np.ndarray) -> dict[str, np.ndarray]:
    return {"dithered": dither(image, 4), "narrow": carve(image, 80)}


def draw(figure, data, results) -> None:
    (image,) = data
    for axes, picture, title in zip(
        figure.subplots(1, 3, width_ratios=[256, 256, 176]),
        (image, results["dithered"], results["narrow"]),
        ("original", "four shades", "80 columns fewer"),
        strict=True,
    ):
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
