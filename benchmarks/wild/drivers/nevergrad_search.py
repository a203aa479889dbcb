"""Several optimisers over parameters of mixed kinds, asked and told one point after another."""

import nevergrad as ng
import numpy as np

PACKAGE = "nevergrad"


def prepare():
    rng = np.random.default_rng(14)
    x = np.sort(rng.uniform(-2.0, 2.0, 30))
    return x, np.sin(2.0 * x) + 0.3 * x + rng.normal(size=30) * 0.1


def smoothing_error(x, y, width, kernel, degree, weights):
    """Leave-out error of a kernel smoother with a polynomial trend."""
    trend = np.polynomial.polynomial.polyfit(x, y, degree)
    rest = y - np.polynomial.polynomial.polyval(x, trend)
    gaps = np.abs(x[:, None] - x[None]) / width
    near = np.exp(-gaps * gaps) if kernel == "gauss" else np.maximum(1.0 - gaps, 0.0) + 1e-9
    np.fill_diagonal(near, 0.0)
    near = near * (0.5 + np.tanh(weights[0] + weights[1] * x) ** 2)
    guess = near @ rest / (near.sum(axis=1) + 1e-12)
    return float(np.mean((rest - guess) ** 2)) + 0.002 * degree


def drive(x, y):
    out = []
    for name in ("OnePlusOne", "DE", "PSO", "TBPSA"):
        space = ng.p.Instrumentation(
            width=ng.p.Log(lower=0.01, upper=3.0),
            kernel=ng.p.Choice(["gauss", "triangle"]),
            degree=ng.p.Scalar(lower=0, upper=4).set_integer_casting(),
            weights=ng.p.Array(shape=(2,)).set_bounds(-2.0, 2.0),
        )
        space.random_state.seed(12)
        optimizer = ng.optimizers.registry[name](parametrization=space, budget=24)
        losses = []
        for _ in range(optimizer.budget):
            candidate = optimizer.ask()
            loss = smoothing_error(x, y, **candidate.kwargs)
            optimizer.tell(candidate, loss)
            losses.append(loss)
        best = optimizer.provide_recommendation().kwargs
        out.append((name, losses, best["width"], best["kernel"], best["degree"], best["weights"]))
    return out
