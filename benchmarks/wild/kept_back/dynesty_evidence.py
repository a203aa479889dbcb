"""Two models of a line with outliers weighed against each other by nested sampling."""

import math

import numpy as np
from dynesty import NestedSampler
from dynesty import utils as dyfunc

PACKAGE = "dynesty"


def prepare():
    rng = np.random.default_rng(28)
    x = np.sort(rng.uniform(0.0, 10.0, 25))
    y = 1.5 * x - 2.0 + 0.5 * rng.normal(size=25)
    y[::6] += 4.0 * rng.normal(size=5)
    return x, y, 28


def plain(theta, x, y):
    slope, offset, log_spread = theta
    spread = math.exp(log_spread)
    rest = (y - slope * x - offset) / spread
    return float(-0.5 * np.sum(rest * rest) - len(x) * log_spread)


def mixed(theta, x, y):
    slope, offset, log_spread, odd = theta
    spread = math.exp(log_spread)
    rest = y - slope * x - offset
    good = np.log1p(-odd) - 0.5 * (rest / spread) ** 2 - log_spread
    bad = np.log(odd) - 0.5 * (rest / 5.0) ** 2 - math.log(5.0)
    return float(np.logaddexp(good, bad).sum())


def prior(unit):
    theta = np.empty_like(unit)
    theta[0] = 5.0 * unit[0]
    theta[1] = 20.0 * unit[1] - 10.0
    theta[2] = 4.0 * unit[2] - 2.0
    if len(unit) > 3:
        theta[3] = 0.001 + 0.498 * unit[3]
    return theta


def drive(x, y, seed):
    report = []
    for likelihood, ndim, bound, sample in ((plain, 3, "single", "rwalk"), (mixed, 4, "multi", "rwalk")):
        sampler = NestedSampler(
            likelihood,
            prior,
            ndim,
            nlive=40,
            walks=15,
            bound=bound,
            sample=sample,
            rstate=np.random.default_rng(seed),
            logl_args=(x, y),
        )
        sampler.run_nested(dlogz=1.5, maxcall=3000, print_progress=False)
        results = sampler.results
        weights = np.exp(results.logwt - results.logz[-1])
        weights /= weights.sum()
        mean, covariance = dyfunc.mean_and_cov(results.samples, weights)
        halves = [dyfunc.quantile(column, [0.16, 0.5, 0.84], weights=weights) for column in results.samples.T]
        equal = dyfunc.resample_equal(results.samples, weights, rstate=np.random.default_rng(seed))
        report.append(
            (float(results.logz[-1]), float(results.logzerr[-1]), int(results.niter), mean, covariance)
        )
        report.append((np.array(halves), equal[:20], results.logl[-20:]))
    return report
