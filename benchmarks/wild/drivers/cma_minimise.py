"""Evolution of a covariance: test functions, and a small controller tuned on a simulated pendulum."""

import cma
import numpy as np

PACKAGE = "cma"


def rotated_ellipsoid(x, turn):
    y = turn @ x
    return float(np.sum(10.0 ** (4.0 * np.arange(len(y)) / (len(y) - 1)) * y * y))


def swing_up(gains):
    """The cost of a pendulum under a controller with these gains."""
    angle, speed, cost = 2.5, 0.0, 0.0
    for _ in range(60):
        features = np.array([np.sin(angle), np.cos(angle) - 1.0, speed, speed * np.cos(angle)])
        torque = float(np.clip(gains @ features, -6.0, 6.0))
        speed += 0.05 * (9.81 * np.sin(angle) + torque - 0.2 * speed)
        angle += 0.05 * speed
        cost += (1.0 - np.cos(angle)) + 0.02 * speed * speed + 0.001 * torque * torque
    return cost


def prepare():
    turn, _ = np.linalg.qr(np.random.default_rng(6).normal(size=(6, 6)))
    return (turn,)


def drive(turn):
    out = []
    for start, sigma, seed in ((2.0, 0.5, 21), (-1.0, 1.5, 22)):
        options = {"seed": seed, "verbose": -9, "maxiter": 60, "tolfun": 1e-9}
        search = cma.CMAEvolutionStrategy(6 * [start], sigma, options)
        history = []
        while not search.stop():
            points = search.ask()
            search.tell(points, [rotated_ellipsoid(np.asarray(p), turn) for p in points])
            history.append((search.result.fbest, search.sigma))
        out.append((search.result.xbest, search.result.stds, search.countevals, history))

    tuned = cma.CMAEvolutionStrategy(
        4 * [0.0], 2.0, {"seed": 5, "verbose": -9, "popsize": 8, "bounds": [-15.0, 15.0], "maxiter": 16}
    )
    tuned.optimize(swing_up)
    return out, tuned.result.xbest, tuned.result.fbest, tuned.result.evaluations, tuned.mean
