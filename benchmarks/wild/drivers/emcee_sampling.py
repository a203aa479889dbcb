"""Walkers on a Gaussian."""

import emcee
import numpy as np

PACKAGE = "emcee"


def prepare():
    return np.random.default_rng(9).random((16, 3)), np.array([1.0, 2.0, 3.0])


def log_probability(x, inverse):
    return -0.5 * np.sum(inverse * x**2)


def drive(start, inverse):
    np.random.seed(1)
    sampler = emcee.EnsembleSampler(16, 3, log_probability, args=(inverse,))
    sampler.run_mcmc(start, 60)
    return sampler.get_chain(flat=True)
