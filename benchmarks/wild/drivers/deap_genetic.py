"""A genetic algorithm on lists of bits and on arrays."""

import random

import numpy as np
from deap import algorithms, base, creator, tools

PACKAGE = "deap"

creator.create("Most", base.Fitness, weights=(1.0,))
creator.create("Individual", list, fitness=creator.Most)


def prepare():
    random.seed(2)
    return (40,)


def drive(length):
    box = base.Toolbox()
    box.register("bit", random.randint, 0, 1)
    box.register("individual", tools.initRepeat, creator.Individual, box.bit, length)
    box.register("population", tools.initRepeat, list, box.individual)
    box.register("evaluate", lambda x: (sum(x),))
    box.register("mate", tools.cxTwoPoint)
    box.register("mutate", tools.mutFlipBit, indpb=0.05)
    box.register("select", tools.selTournament, tournsize=3)
    statistics = tools.Statistics(lambda i: i.fitness.values)
    statistics.register("mean", np.mean)
    population, log = algorithms.eaSimple(box.population(60), box, 0.5, 0.2, 12, statistics, verbose=False)
    return [float(row["mean"]) for row in log], [list(p) for p in population]
