"""A wave runs into the Salish Sea: shallow water on a real sea floor.

Data: ``topobathy.npz`` of matplotlib, 91 x 120 heights in metres around Vancouver Island, 1/30 of a degree apart.

The linear shallow water equations: heights stand in the middle of cells, velocities on their edges (Arakawa's C grid), and
the two leap over each other in time. Land reflects; the open sea in the west swallows what leaves.
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data

GRAVITY = 9.81  # m/s^2
DEGREE = 111.2e3  # m on a meridian
STEPS = 4000


def load() -> tuple[np.ndarray, np.ndarray]:
    """Heights in metres, shape (91, 120), the north first; how many metres a column is wide in each row, shape (91, 1)."""
    with get_sample_data("topobathy.npz") as data:
        topo, latitude, longitude = data["topo"], data["latitude"], data["longitude"]
    width = (longitude[1] - longitude[0]) * DEGREE * np.cos(np.radians(latitude))
    return topo[::-1].astype(float), width[::-1, None].astype(float)


@stator.compile
class Sea:
    def __init__(self, topo, width):
        self.depth = np.maximum(-topo, 0.0)
        self.dx = width
        self.dy = DEGREE * (49.98418 - 48.01637) / 90
        self.dt = 0.5 * width.min() / np.sqrt(GRAVITY * self.depth.max())
        self.height = np.zeros(topo.shape)
        self.u = np.zeros((topo.shape[0], topo.shape[1] - 1))  # eastwards, between columns
        self.v = np.zeros((topo.shape[0] - 1, topo.shape[1]))  # southwards, between rows
        wet = self.depth > 0
        self.open_u = wet[:, 1:] & wet[:, :-1]
        self.open_v = wet[1:] & wet[:-1]

    def step(self):
        h = self.height
        self.u = np.where(self.open_u, self.u - GRAVITY * self.dt / self.dx * (h[:, 1:] - h[:, :-1]), 0.0)
        self.v = np.where(self.open_v, self.v - GRAVITY * self.dt / self.dy * (h[1:] - h[:-1]), 0.0)
        flux_u = self.u * 0.5 * (self.depth[:, 1:] + self.depth[:, :-1]) / self.dx
        flux_v = self.v * 0.5 * (self.depth[1:] + self.depth[:-1]) / self.dy
        change = np.zeros_like(h)
        change[:, :-1] -= flux_u
        change[:, 1:] += flux_u
        change[:-1] -= flux_v
        change[1:] += flux_v
        self.height = h + self.dt * change

    def push(self, time):
        """The ocean rises and falls once in the west."""
        if time < 900.0:
            self.height[:, 0] = np.where(self.depth[:, 0] > 0, np.sin(2 * np.pi * time / 900.0), 0.0)
        else:
            self.height[:, 0] = self.height[:, 1] * (self.depth[:, 0] > 0)


@stator.compile
def run(sea, steps):
    highest = np.zeros_like(sea.height)
    for k in range(steps):
        sea.push(k * sea.dt)
        sea.step()
        highest = np.maximum(highest, sea.height)
    return highest


def work(topo: np.ndarray, width: np.ndarray) -> dict[str, np.ndarray]:
    sea = Sea(topo, width)
    highest = run(sea, STEPS)
    return {"highest": highest, "last": sea.height}


def draw(figure, data, results) -> None:
    topo, _ = data
    axes = figure.subplots()
    image = axes.imshow(np.ma.masked_where(topo >= 0, results["highest"]), cmap="inferno", vmin=0, vmax=2)
    axes.imshow(np.ma.masked_less(topo, 0), cmap="Greens_r")
    figure.colorbar(image, label="highest wave [m]")
    axes.set_title("A wave of one metre that came from the west")
    axes.set_axis_off()
