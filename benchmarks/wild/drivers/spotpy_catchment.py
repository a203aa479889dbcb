"""A rainfall and runoff model, step by step, calibrated on the flow of a year."""

import contextlib
import io

import numpy as np
import spotpy

PACKAGE = "spotpy"


def run_model(rain, evaporation, room, shape, split, slow, quick):
    """A store of soil water that spills into a slow store and three quick ones."""
    soil, slow_store, stores = 0.5 * room, 1.0, np.zeros(3)
    flow = np.zeros(len(rain))
    for t in range(len(rain)):
        wet = (soil / room) ** shape
        spill = rain[t] * wet
        soil += rain[t] - spill
        extra = max(soil - room, 0.0)
        soil = max(soil - extra - evaporation[t] * min(soil / room, 1.0), 0.0)
        quick_in = split * (spill + extra)
        slow_store += (1.0 - split) * (spill + extra)
        for k in range(3):
            stores[k] += quick_in
            quick_in = quick * stores[k]
            stores[k] -= quick_in
        seep = slow * slow_store
        slow_store -= seep
        flow[t] = quick_in + seep
    return flow


def uniform(low, high, guess):
    return spotpy.parameter.Uniform(
        low=low, high=high, step=0.1 * (high - low), optguess=guess, minbound=low, maxbound=high
    )


class Setup:
    # with a step and bounds of its own, since spotpy guesses those by draws it does not seed
    room = uniform(20.0, 200.0, 80.0)
    shape = uniform(0.3, 4.0, 1.0)
    split = uniform(0.1, 0.95, 0.5)
    slow = uniform(0.005, 0.1, 0.05)
    quick = uniform(0.2, 0.9, 0.5)

    def __init__(self, rain, evaporation, measured):
        self.rain, self.evaporation, self.measured, self.sign = rain, evaporation, measured, 1.0

    def simulation(self, vector):
        return run_model(self.rain, self.evaporation, *vector)

    def evaluation(self):
        return self.measured

    def objectivefunction(self, simulation, evaluation, params=None):
        return self.sign * spotpy.objectivefunctions.rmse(evaluation[30:], simulation[30:])


def prepare():
    rng = np.random.default_rng(23)
    days = np.arange(120)
    rain = rng.gamma(0.7, 9.0, days.size) * (rng.random(days.size) < 0.4)
    evaporation = 2.0 + 1.8 * np.sin(2 * np.pi * days / 365.0)
    flow = run_model(rain, evaporation, 90.0, 1.4, 0.6, 0.03, 0.55)
    return (Setup(rain, evaporation, flow * np.exp(0.05 * rng.normal(size=days.size))),)


def drive(setup):
    report = []
    with contextlib.redirect_stdout(io.StringIO()):
        for algorithm, runs in (("lhs", 60), ("dds", 250), ("sceua", 500)):
            # one of the algorithms looks for the largest value, the others for the smallest
            setup.sign = -1.0 if algorithm == "dds" else 1.0
            sampler = getattr(spotpy.algorithms, algorithm)(
                setup, dbname="made", dbformat="ram", random_state=23, save_sim=False
            )
            sampler.sample(runs, **({"ngs": 4} if algorithm == "sceua" else {}))
            data = sampler.getdata()
            costs = np.array(data["like1"])
            best = sampler.status.params_max if algorithm == "dds" else sampler.status.params_min
            report.append((algorithm, costs, np.array(best, dtype=float)))
            flow = setup.simulation(best)
            scores = spotpy.objectivefunctions.calculate_all_functions(setup.measured, flow)
            report.append([(name, float(score)) for name, score in scores])
    return report
