"""A Markov chain, a Kalman step and a linear-quadratic problem."""

import numpy as np
import quantecon as qe

PACKAGE = "quantecon"


def prepare():
    p = np.random.default_rng(13).random((8, 8))
    return (p / p.sum(axis=1, keepdims=True),)


def drive(p):
    chain = qe.MarkovChain(p)
    out = [chain.stationary_distributions, chain.is_irreducible, chain.period]
    for beta in (0.9, 0.95):
        lq = qe.LQ(
            np.eye(1), np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0], [1.0]]), beta=beta
        )
        out.append(lq.stationary_values()[1])
    return out
