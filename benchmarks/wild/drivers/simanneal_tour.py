"""A tour through towns by annealing, over an array of distances."""

import random

import numpy as np
from simanneal import Annealer

PACKAGE = "simanneal"


class Tour(Annealer):
    def __init__(self, state, distances):
        self.distances = distances
        super().__init__(state)

    def move(self):
        a, b = random.randrange(len(self.state)), random.randrange(len(self.state))
        self.state[a], self.state[b] = self.state[b], self.state[a]

    def energy(self):
        return sum(self.distances[self.state[k - 1], self.state[k]] for k in range(len(self.state)))


def prepare():
    xy = np.random.default_rng(14).random((15, 2))
    random.seed(3)
    return (np.sqrt(((xy[:, None] - xy[None]) ** 2).sum(-1)),)


def drive(distances):
    tour = Tour(list(range(15)), distances)
    tour.steps, tour.updates = 1500, 0
    state, energy = tour.anneal()
    return list(state), float(energy)
