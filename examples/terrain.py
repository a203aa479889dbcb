"""Where water flows: rivers on an elevation model of Jacksboro, Tennessee.

Data: ``jacksboro_fault_dem.npz`` of matplotlib, 344 x 403 heights in metres (USGS National Elevation Dataset).

Pits are filled by repeated sweeps (Planchon and Darboux 2001, https://doi.org/10.1016/S0341-8162(01)00164-3), each cell
drains to its lowest neighbour (O'Callaghan and Mark 1984), and the area that drains through a cell is added up from the
highest cell to the lowest.
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data

STEEPNESS = 1e-3  # metres that filled cells rise per cell, so that they drain


def load() -> tuple[np.ndarray]:
    """Heights in metres, shape (344, 403)."""
    with get_sample_data("jacksboro_fault_dem.npz") as data:
        return (data["elevation"].astype(float),)


@stator.compile
def fill_pits(height):
    """The lowest surface above ``height`` that drains to the border everywhere."""
    rows, columns = height.shape
    water = np.full((rows, columns), height.max() + 1.0)
    water[0], water[-1] = height[0], height[-1]
    water[:, 0], water[:, -1] = height[:, 0], height[:, -1]
    changed = True
    while changed:
        changed = False
        for forward in (True, False):
            for p in range(1, rows - 1):
                i = p if forward else rows - 1 - p
                for q in range(1, columns - 1):
                    j = q if forward else columns - 1 - q
                    if water[i, j] <= height[i, j]:
                        continue
                    lowest = min(
                        water[i - 1, j - 1], water[i - 1, j], water[i - 1, j + 1], water[i, j - 1],
                        water[i, j + 1], water[i + 1, j - 1], water[i + 1, j], water[i + 1, j + 1],
                    )  # fmt: skip
                    new = max(height[i, j], lowest + STEEPNESS)
                    if new < water[i, j]:
                        water[i, j] = new
                        changed = True
    return water


@stator.compile
def accumulate(water):
    """How many cells drain through each cell."""
    rows, columns = water.shape
    area = np.ones(water.shape)
    order = np.argsort(water, axis=None)[::-1]
    for k in range(order.size):
        i, j = order[k] // columns, order[k] % columns
        steepest, to_i, to_j = 0.0, i, j
        for di in range(-1, 2):
            for dj in range(-1, 2):
                a, b = i + di, j + dj
                if (di == 0 and dj == 0) or a < 0 or b < 0 or a >= rows or b >= columns:
                    continue
                slope = (water[i, j] - water[a, b]) / np.sqrt(di * di + dj * dj)
                if slope > steepest:
                    steepest, to_i, to_j = slope, a, b
        if steepest > 0.0:
            area[to_i, to_j] += area[i, j]
    return area


def work(height: np.ndarray) -> dict[str, np.ndarray]:
    water = fill_pits(height)
    return {"water": water, "area": accumulate(water)}


def draw(figure, data, results) -> None:
    (height,) = data
    axes = figure.subplots()
    axes.imshow(height, cmap="gist_earth")
    axes.imshow(np.ma.masked_less(np.log10(results["area"]), 2), cmap="Blues", vmin=1, vmax=4.5)
    axes.set_title("Cells that more than 100 others drain through")
    axes.set_axis_off()
