"""A genetic algorithm that fits a curve, fills a knapsack and trains a small network of the package."""

import numpy as np
import pygad
import pygad.gann
import pygad.nn

PACKAGE = "pygad"


def prepare():
    np.random.seed(3)
    rng = np.random.default_rng(10)
    t = np.linspace(0.0, 3.0, 25)
    signal = 2.0 * np.exp(-0.7 * t) * np.cos(4.0 * t + 0.5) + rng.normal(size=25) * 0.02
    inputs = rng.normal(size=(24, 2))
    return (
        t,
        signal,
        rng.integers(1, 20, 15),
        rng.integers(1, 30, 15),
        inputs,
        (inputs[:, 0] * inputs[:, 1] > 0) * 1,
    )


def drive(t, signal, weights, values, inputs, classes):
    history = []

    def closeness(ga, solution, index):
        size, decay, pace, phase = solution
        error = size * np.exp(-decay * t) * np.cos(pace * t + phase) - signal
        return 1.0 / (float(np.mean(error * error)) + 1e-6)

    def worth(ga, solution, index):
        weight = float(np.sum(solution * weights))
        return float(np.sum(solution * values)) if weight <= 70.0 else 70.0 - weight

    curve = pygad.GA(
        num_generations=60,
        num_parents_mating=6,
        fitness_func=closeness,
        sol_per_pop=20,
        num_genes=4,
        gene_space=[{"low": 0.0, "high": 4.0}, {"low": 0.0, "high": 2.0}, {"low": 1.0, "high": 6.0}, None],
        mutation_type="random",
        mutation_probability=0.3,
        on_generation=lambda ga: history.append(float(ga.best_solution(ga.last_generation_fitness)[1])),
        random_seed=4,
        suppress_warnings=True,
    )
    curve.run()
    sack = pygad.GA(
        num_generations=60,
        num_parents_mating=4,
        fitness_func=worth,
        sol_per_pop=16,
        num_genes=15,
        gene_type=int,
        gene_space=[0, 1],
        parent_selection_type="tournament",
        crossover_type="two_points",
        mutation_num_genes=2,
        random_seed=5,
        suppress_warnings=True,
    )
    sack.run()

    networks = pygad.gann.GANN(
        num_solutions=8, num_neurons_input=2, num_neurons_hidden_layers=[4], num_neurons_output=2
    )

    def right(ga, solution, index):
        guesses = pygad.nn.predict(last_layer=networks.population_networks[index], data_inputs=inputs)
        return float(np.mean(np.array(guesses) == classes) * 100.0)

    def renew(ga):
        networks.update_population_trained_weights(
            pygad.gann.population_as_matrices(networks.population_networks, ga.population)
        )

    trained = pygad.GA(
        num_generations=10,
        num_parents_mating=4,
        initial_population=pygad.gann.population_as_vectors(networks.population_networks),
        fitness_func=right,
        mutation_percent_genes=20,
        on_generation=renew,
        random_seed=6,
        suppress_warnings=True,
    )
    trained.run()
    return (
        history,
        curve.best_solution()[:2],
        sack.best_solution()[:2],
        sack.best_solutions_fitness,
        trained.best_solutions_fitness,
        trained.population,
    )
