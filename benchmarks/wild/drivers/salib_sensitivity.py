"""Which settings of a model of prey and hunters matter, asked in three ways."""

import numpy as np
from SALib.analyze import morris, pawn, sobol
from SALib.sample import latin
from SALib.sample import morris as morris_sampler
from SALib.sample import sobol as sobol_sampler

PACKAGE = "SALib"

PROBLEM = {
    "num_vars": 5,
    "names": ["growth", "hunting", "death", "gain", "room"],
    "bounds": [[0.8, 1.2], [0.3, 0.6], [0.3, 0.5], [0.1, 0.3], [5.0, 12.0]],
}


def prepare():
    return (np.array([2.0, 1.5]), 0.1, 12)


def slope(state, setting):
    growth, hunting, death, gain, room = setting
    prey, hunters = state
    eaten = hunting * prey * hunters
    return np.array([growth * prey * (1.0 - prey / room) - eaten, gain * eaten - death * hunters])


def simulate(setting, start, step, steps):
    """Runge and Kutta's rule, one run for each setting."""
    state, prey = start, []
    for _ in range(steps):
        a = slope(state, setting)
        b = slope(state + 0.5 * step * a, setting)
        c = slope(state + 0.5 * step * b, setting)
        d = slope(state + step * c, setting)
        state = state + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        prey.append(state[0])
    return state[1], max(prey)


def drive(start, step, steps):
    report = {}
    settings = sobol_sampler.sample(PROBLEM, 32, calc_second_order=True, seed=19)
    outcomes = np.array([simulate(x, start, step, steps) for x in settings])
    for k in range(2):
        found = sobol.analyze(PROBLEM, outcomes[:, k], num_resamples=30, seed=19)
        report["sobol", k] = {name: np.asarray(found[name]) for name in found}
    settings = morris_sampler.sample(PROBLEM, 40, num_levels=4, seed=19)
    outcomes = np.array([simulate(x, start, step, steps)[0] for x in settings])
    found = morris.analyze(PROBLEM, settings, outcomes, num_resamples=50, seed=19)
    report["morris"] = {name: np.asarray(found[name]) for name in ("mu", "mu_star", "sigma", "mu_star_conf")}
    settings = latin.sample(PROBLEM, 300, seed=19)
    outcomes = np.array([simulate(x, start, step, steps)[1] for x in settings])
    found = pawn.analyze(PROBLEM, settings, outcomes, S=8, seed=19)
    report["pawn"] = {name: np.asarray(found[name]) for name in ("minimum", "mean", "median", "CV")}
    return report
