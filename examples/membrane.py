"""In which state is a nerve cell? A hidden Markov model of its membrane's voltage.

Data: ``membrane.dat`` of matplotlib, 12,000 samples.

Three states, each with a mean and a spread of its own, follow each other at random; Baum's and Welch's algorithm fits them
(Rabiner 1989, https://doi.org/10.1109/5.18626), and Viterbi's finds the most likely sequence.
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data


def load() -> tuple[np.ndarray]:
    """Voltages, shape (12000,)."""
    with get_sample_data("membrane.dat") as file:
        return (np.frombuffer(file.read(), np.float32).astype(float),)


@stator.compile
def densities(signal, means, spreads):
    """How likely each sample is in each state, shape (samples, states)."""
    z = (signal[:, None] - means) / spreads
    return np.exp(-0.5 * z**2) / (spreads * np.sqrt(2 * np.pi)) + 1e-300


@stator.compile
def forward_backward(density, moves):
    """How likely each state is at each sample, and how often each move is made."""
    count, states = density.shape
    forward = np.empty((count, states))
    scale = np.empty(count)
    at = density[0] / states
    scale[0] = at.sum()
    forward[0] = at / scale[0]
    for t in range(1, count):
        at = (forward[t - 1] @ moves) * density[t]
        scale[t] = at.sum()
        forward[t] = at / scale[t]
    backward = np.ones((count, states))
    made = np.zeros((states, states))
    for t in range(count - 2, -1, -1):
        ahead = density[t + 1] * backward[t + 1] / scale[t + 1]
        backward[t] = moves @ ahead
        made += forward[t][:, None] * moves * ahead
    return forward * backward, made


@stator.compile
def fit(signal, means, spreads, moves, rounds):
    for _ in range(rounds):
        weight, made = forward_backward(densities(signal, means, spreads), moves)
        moves = made / made.sum(axis=1, keepdims=True)
        total = weight.sum(axis=0)
        means = (weight * signal[:, None]).sum(axis=0) / total
        spreads = np.sqrt((weight * (signal[:, None] - means) ** 2).sum(axis=0) / total) + 1e-4
    return means, spreads, moves


@stator.compile
def viterbi(density, moves):
    count, states = density.shape
    log_density, log_moves = np.log(density), np.log(moves + 1e-300)
    best = log_density[0].copy()
    came_from = np.zeros((count, states), np.int64)
    for t in range(1, count):
        new = np.empty(states)
        for j in range(states):
            k = np.argmax(best + log_moves[:, j])
            came_from[t, j] = k
            new[j] = best[k] + log_moves[k, j] + log_density[t, j]
        best = new
    path = np.empty(count, np.int64)
    path[-1] = np.argmax(best)
    for t in range(count - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path


def work(signal: np.ndarray) -> dict[str, np.ndarray]:
    start = np.full((3, 3), 0.01) + 0.97 * np.eye(3)
    means, spreads, moves = fit(signal, np.array([-0.65, -0.4, -0.1]), np.array([0.03, 0.1, 0.1]), start, 10)
    path = viterbi(densities(signal, means, spreads), moves)
    return {"means": means, "spreads": spreads, "moves": moves, "path": path}


def draw(figure, data, results) -> None:
    (signal,) = data
    axes = figure.subplots()
    k = np.arange(len(signal))
    for state, (color, name) in enumerate(zip(("C0", "C2", "C3"), ("rest", "plateau", "spike"), strict=True)):
        axes.plot(k, np.ma.masked_where(results["path"] != state, signal), color=color, lw=0.8, label=name)
    axes.set_xlim(0, 4000)
    axes.set_xlabel("sample")
    axes.set_ylabel("voltage")
    axes.legend(loc="upper right")
    axes.set_title("States of a nerve cell")
