"""Fronts of problems with several goals: the package's own ones and a beam that is to be light and stiff."""

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.soo.nonconvex.de import DE
from pymoo.core.problem import ElementwiseProblem
from pymoo.indicators.igd import IGD
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.optimize import minimize
from pymoo.problems import get_problem

PACKAGE = "pymoo"


class Beam(ElementwiseProblem):
    """Width and height of a beam: weight and deflection, with a limit on the stress."""

    def __init__(self):
        super().__init__(n_var=2, n_obj=2, n_ieq_constr=2, xl=np.array([0.02, 0.05]), xu=np.array([0.2, 0.5]))

    def _evaluate(self, x, out, *args, **kwargs):
        width, height = x
        inertia = width * height**3 / 12.0
        places = np.linspace(0.0, 3.0, 12)
        moments = 4000.0 * (3.0 - places)
        stress = np.max(np.abs(moments)) * height / (2.0 * inertia)
        deflection = 4000.0 * 3.0**3 / (3.0 * 210e9 * inertia)
        out["F"] = [7850.0 * 3.0 * width * height, deflection]
        out["G"] = [stress / 160e6 - 1.0, height / width - 6.0]


def prepare():
    return 28, 14


def drive(population, generations):
    out = []
    for name, options in (("zdt1", {"n_var": 8}), ("bnh", {})):
        problem = get_problem(name, **options)
        algorithm = NSGA2(pop_size=population, crossover=SBX(prob=0.9, eta=15), mutation=PM(eta=20))
        result = minimize(problem, algorithm, ("n_gen", generations), seed=1, verbose=False)
        quality = IGD(problem.pareto_front())(result.F)
        out.append((result.X, result.F, float(quality), result.algorithm.evaluator.n_eval))
    beam = minimize(Beam(), NSGA2(pop_size=population), ("n_gen", generations), seed=2, verbose=False)
    lightest = beam.X[np.argmin(beam.F[:, 0])]
    single = minimize(
        get_problem("rastrigin", n_var=4), DE(pop_size=20, CR=0.5), ("n_gen", 15), seed=3, save_history=False
    )
    return out, beam.X, beam.F, lightest, single.X, single.F
