"""Gradients of a regression by tracing."""

import autograd.numpy as anp
import numpy as np
from autograd import grad

PACKAGE = "autograd"


def prepare():
    rng = np.random.default_rng(12)
    return rng.random((30, 3)), rng.random(30)


def loss(w, x, y):
    return anp.mean((anp.tanh(anp.dot(x, w)) - y) ** 2)


def drive(x, y):
    w, step = np.zeros(3), grad(loss)
    for _ in range(100):
        w = w - 0.1 * step(w, x, y)
    return w
