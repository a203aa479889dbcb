"""A network of scalar nodes that learns."""

import random

from micrograd.nn import MLP

PACKAGE = "micrograd"


def prepare():
    random.seed(1)
    return MLP(2, [8, 8, 1]), [([0.1 * k, 0.3 - 0.05 * k], 1.0 if k % 2 else -1.0) for k in range(12)]


def drive(network, data):
    losses = []
    for _ in range(4):
        loss = sum((network(x) - y) ** 2 for x, y in data)
        network.zero_grad()
        loss.backward()
        for p in network.parameters():
            p.data -= 0.01 * p.grad
        losses.append(loss.data)
    # The package adds gradients up in the order of a set of objects, which differs from run to run.
    return [round(x, 6) for x in losses]
