"""A self-organizing map, trained and asked."""

import numpy as np
from minisom import MiniSom

PACKAGE = "minisom"


def prepare():
    return (np.random.default_rng(8).random((80, 4)),)


def drive(data):
    som = MiniSom(8, 8, 4, sigma=1.5, learning_rate=0.5, random_seed=1)
    som.train(data, 600)
    return som.get_weights(), [som.winner(row) for row in data], som.quantization_error(data)
