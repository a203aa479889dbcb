"""A ball with drag followed by Kalman filters, whose noise is learned from gaps and all."""

import numpy as np
from pykalman import AdditiveUnscentedKalmanFilter, KalmanFilter

PACKAGE = "pykalman"


def prepare():
    rng = np.random.default_rng(20)
    state, seen = np.array([0.0, 10.0, 12.0, 15.0]), []
    for _ in range(60):
        state = fly(state) + 0.05 * rng.normal(size=4)
        seen.append(state[:2] + 0.4 * rng.normal(size=2))
    seen = np.ma.asarray(np.array(seen))
    seen[20:24] = np.ma.masked
    return (seen,)


def fly(state):
    """One step of a ball that gravity and drag act on."""
    dt, speed = 0.05, np.sqrt(state[2] ** 2 + state[3] ** 2)
    drag = 0.02 * speed * state[2:]
    return np.concatenate([state[:2] + dt * state[2:], state[2:] - dt * (drag + np.array([0.0, 9.8]))])


def drive(seen):
    dt = 0.05
    moves = np.eye(4) + dt * np.eye(4, k=2)
    linear = KalmanFilter(
        transition_matrices=moves,
        observation_matrices=np.eye(2, 4),
        transition_offsets=np.array([0.0, 0.0, 0.0, -9.8 * dt]),
        initial_state_mean=np.array([0.0, 10.0, 10.0, 10.0]),
        em_vars=["transition_covariance", "observation_covariance", "initial_state_mean"],
    )
    fits = [linear.loglikelihood(seen)]
    for _ in range(4):
        linear = linear.em(seen, n_iter=1)
        fits.append(linear.loglikelihood(seen))
    smooth, spread = linear.smooth(seen)
    # the same, online, with a check of each measurement before it is used
    mean, covariance, kept = linear.initial_state_mean, linear.initial_state_covariance, []
    for measured in seen:
        expected = moves @ mean
        strange = np.linalg.norm(np.ma.filled(measured, 0.0) - expected[:2])
        use = None if np.ma.is_masked(measured) or strange > 4.0 else measured
        mean, covariance = linear.filter_update(mean, covariance, use)
        kept.append((np.asarray(mean), float(np.trace(covariance))))
    curved = AdditiveUnscentedKalmanFilter(
        fly,
        lambda state: state[:2],
        0.01 * np.eye(4),
        0.16 * np.eye(2),
        np.array([0.0, 10.0, 10.0, 10.0]),
        np.eye(4),
    )
    means, covariances = curved.smooth(seen)
    return fits, smooth, spread[::10], kept, np.asarray(means), np.asarray(covariances)[::10]
