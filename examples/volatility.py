"""How nervous is a share? A GARCH(1, 1) model of Google's daily returns, fitted by a random walk.

Data: ``goog.npz`` of matplotlib, 1,047 daily prices from 2004 to 2008.

The variance of a day follows from the one before, ``v = w + a r**2 + b v`` (Bollerslev 1986,
https://doi.org/10.1016/0304-4076(86)90063-1). Metropolis' algorithm draws (w, a, b) as likely as the data make them.
"""

from __future__ import annotations

import numpy as np
import stator
from matplotlib.cbook import get_sample_data

DRAWS = 4000


def load() -> tuple[np.ndarray]:
    """Daily returns in percent, shape (1046,)."""
    with get_sample_data("goog.npz") as data:
        price = data["price_data"]["adj_close"]
    return (100 * np.diff(np.log(price)),)


@stator.compile
def variances(returns, w, a, b):
    v = np.empty_like(returns)
    v[0] = returns.var()
    for t in range(1, len(returns)):
        v[t] = w + a * returns[t - 1] ** 2 + b * v[t - 1]
    return v


@stator.compile
def log_likelihood(returns, w, a, b):
    if w <= 0 or a < 0 or b < 0 or a + b >= 1:
        return -np.inf
    v = variances(returns, w, a, b)
    return -0.5 * np.sum(np.log(v) + returns**2 / v)


@stator.compile
def sample(returns, draws, seed):
    """Draws of (w, a, b), shape (draws, 3)."""
    rng = np.random.default_rng(seed)
    scale = np.array([0.05, 0.02, 0.02])
    at = np.array([0.2, 0.1, 0.8])
    likely = log_likelihood(returns, at[0], at[1], at[2])
    chain = np.empty((draws, 3))
    for k in range(draws):
        new = at + scale * rng.standard_normal(3)
        other = log_likelihood(returns, new[0], new[1], new[2])
        if np.log(rng.random()) < other - likely:
            at, likely = new, other
        chain[k] = at
    return chain


def work(returns: np.ndarray) -> dict[str, np.ndarray]:
    chain = sample(returns, DRAWS, 1)
    w, a, b = chain[DRAWS // 4 :].mean(axis=0)
    return {"chain": chain, "volatility": np.sqrt(variances(returns, w, a, b))}


def draw(figure, data, results) -> None:
    (returns,) = data
    over, below = figure.subplots(2, 1, sharex=True)
    over.plot(returns, lw=0.5)
    over.set_ylabel("return [%]")
    over.set_title("Google, daily, and the volatility that GARCH(1, 1) sees")
    below.plot(results["volatility"], color="C3")
    below.set_ylabel("volatility [%]")
    below.set_xlabel("day")
