"""Portfolios kept in balance day by day, and the ratios by which they are judged."""

import empyrical
import numpy as np

PACKAGE = "empyrical-reloaded"

RATIOS = (
    empyrical.sharpe_ratio,
    empyrical.sortino_ratio,
    empyrical.calmar_ratio,
    empyrical.omega_ratio,
    empyrical.max_drawdown,
    empyrical.annual_return,
    empyrical.annual_volatility,
    empyrical.downside_risk,
    empyrical.stability_of_timeseries,
    empyrical.tail_ratio,
    empyrical.value_at_risk,
    empyrical.conditional_value_at_risk,
    empyrical.cum_returns_final,
)
AGAINST = (empyrical.alpha_beta, empyrical.excess_sharpe, empyrical.capture, empyrical.up_down_capture)


def prepare():
    rng = np.random.default_rng(71)
    market = rng.normal(0.0004, 0.01, 756)
    loads = rng.uniform(0.3, 1.6, 6)
    assets = market[:, None] * loads + rng.normal(0.0001, 0.008, (756, 6))
    return market, assets


def balanced(assets, rule, every):
    """The returns of a portfolio that follows a rule, with costs of each trade."""
    weights = np.full(assets.shape[1], 1.0 / assets.shape[1])
    returns = np.empty(len(assets))
    for day, today in enumerate(assets):
        cost = 0.0
        if day >= 10 and day % every == 0:
            wanted = rule(assets[max(0, day - 60) : day])
            cost = 0.0005 * float(np.abs(wanted - weights).sum())
            weights = wanted
        gain = float(weights @ today)
        returns[day] = gain - cost
        weights = weights * (1.0 + today) / (1.0 + gain)
    return returns


def equal(past):
    return np.full(past.shape[1], 1.0 / past.shape[1])


def least_risk(past):
    solved = np.linalg.solve(np.cov(past.T) + 1e-6 * np.eye(past.shape[1]), np.ones(past.shape[1]))
    solved = np.maximum(solved, 0.0)
    return solved / solved.sum()


def momentum(past):
    gains = np.prod(1.0 + past, axis=0)
    return np.where(gains >= np.sort(gains)[-3], 1.0 / 3.0, 0.0)


def drive(market, assets):
    out = []
    for rule in (equal, least_risk, momentum):
        for every in (1, 5, 21):
            returns = balanced(assets, rule, every)
            judged = {f.__name__: float(f(returns)) for f in RATIOS}
            against = [np.asarray(f(returns, market), dtype=float) for f in AGAINST]
            wealth = empyrical.cum_returns(returns, starting_value=100.0)
            months = [empyrical.sharpe_ratio(returns[k : k + 63]) for k in range(0, 693, 7)]
            falls = [empyrical.max_drawdown(returns[k : k + 63]) for k in range(0, 693, 7)]
            betas = empyrical.roll_alpha_beta(returns, market, window=126)[::40]
            out.append(
                (rule.__name__, every, judged, against, wealth[::50], months, falls, np.asarray(betas))
            )
    return out
