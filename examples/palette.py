"""Sixteen colours for a photograph, chosen as the eye sees them.

Data: ``grace_hopper.jpg`` of matplotlib, 600 x 512 pixels (US Navy, public domain).

Pixels become CIE L*a*b* (IEC 61966-2-1 and CIE 15), where distances are differences that one sees; k-means finds the
colours (Lloyd 1982, https://doi.org/10.1109/TIT.1982.1056489).
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data
from matplotlib.image import imread

COLOURS = 16
ROUNDS = 3
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.95047, 1.0, 1.08883])  # D65


def load() -> tuple[np.ndarray]:
    """sRGB from 0 to 1, shape (300, 256, 3): every second pixel."""
    with get_sample_data("grace_hopper.jpg") as file:
        return (imread(file, format="jpg")[::2, ::2] / 255,)


@stator.compile
def to_lab(rgb):
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = linear @ TO_XYZ.T / WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1
    )


@stator.compile
def k_means(points, centres, rounds):
    """Centres, shape (colours, 3), and the nearest centre of each point."""
    nearest = np.zeros(len(points), np.int64)
    for _ in range(rounds):
        sums = np.zeros_like(centres)
        counts = np.zeros(len(centres))
        for i in range(len(points)):
            least = np.inf
            for k in range(len(centres)):
                distance = 0.0
                for c in range(3):
                    distance += (points[i, c] - centres[k, c]) ** 2
                if distance < least:
                    least = distance
                    nearest[i] = k
            sums[nearest[i]] += points[i]
            counts[nearest[i]] += 1
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return centres, nearest


def work(rgb: np.ndarray) -> dict[str, np.ndarray]:
    points = to_lab(rgb).reshape(-1, 3)
    rng = np.random.default_rng(3)
    centres, nearest = k_means(points, points[rng.choice(len(points), COLOURS, replace=False)], ROUNDS)
    mean = np.array([rgb.reshape(-1, 3)[nearest == k].mean(axis=0) for k in range(COLOURS)])
    return {"centres": centres, "picture": mean[nearest].reshape(rgb.shape), "palette": mean}


def draw(figure, data, results) -> None:
    (rgb,) = data
    left, right, strip = figure.subplots(1, 3, width_ratios=[256, 256, 30])
    left.imshow(rgb)
    left.set_title("original")
    right.imshow(results["picture"])
    right.set_title(f"{COLOURS} colours")
    order = np.argsort(results["palette"].sum(axis=1))
    strip.imshow(results["palette"][order][:, None])
    for axes in (left, right, strip):
        axes.set_axis_off()
