"""Swarms, genes, ants, antibodies and annealing on small problems."""

import numpy as np
from sko.AFSA import AFSA
from sko.DE import DE
from sko.GA import GA, GA_TSP
from sko.PSO import PSO
from sko.SA import SABoltzmann

PACKAGE = "scikit-opt"


def prepare():
    np.random.seed(17)
    places = np.random.default_rng(2).random((12, 2))
    gaps = np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1))
    return (gaps,)


def schaffer(p):
    x = np.square(p[0]) + np.square(p[1])
    return 0.5 + (np.square(np.sin(np.sqrt(x))) - 0.5) / np.square(1.0 + 0.001 * x)


def spring(p):
    """The volume of a spring of three sizes."""
    wire, coil, turns = p
    return (turns + 2.0) * coil * wire**2


def drive(gaps):
    genes = GA(
        schaffer, n_dim=2, size_pop=40, max_iter=45, prob_mut=0.01, lb=[-1, -1], ub=[1, 1], precision=1e-7
    )
    by_genes = genes.run()
    different = DE(
        spring,
        n_dim=3,
        size_pop=40,
        max_iter=45,
        lb=[0.05, 0.25, 2.0],
        ub=[1.0, 1.3, 15.0],
        constraint_ueq=[lambda p: 1.0 - p[1] ** 3 * p[2] / (71785.0 * p[0] ** 4)],
    )
    by_differences = different.run()
    swarm = PSO(schaffer, n_dim=2, pop=20, max_iter=80, lb=[-5, -5], ub=[5, 5], w=0.8, c1=0.5, c2=0.5)
    swarm.run()
    annealing = SABoltzmann(schaffer, x0=[1.0, 1.0], T_max=1.0, T_min=1e-3, L=60, max_stay_counter=8)
    by_annealing = annealing.run()
    fish = AFSA(
        schaffer, n_dim=2, size_pop=20, max_iter=15, max_try_num=10, step=0.5, visual=0.3, q=0.98, delta=0.5
    )
    by_fish = fish.run()

    def length(tour):
        return sum([gaps[tour[i % 12], tour[(i + 1) % 12]] for i in range(12)])

    tour = GA_TSP(length, n_dim=12, size_pop=40, max_iter=45, prob_mut=1)
    by_tour = tour.run()
    return (
        by_genes,
        by_differences,
        (swarm.gbest_x, swarm.gbest_y, swarm.gbest_y_hist),
        (by_annealing, annealing.iter_cycle),
        by_fish,
        by_tour,
    )
