"""Games of two players: equilibria, learning by play, and a tournament of strategies that repeat a game."""

import warnings

import nashpy
import numpy as np

PACKAGE = "nashpy"


def prepare():
    rng = np.random.default_rng(19)
    return [rng.integers(-6, 9, size=(2, 3, 3)).astype(float) for _ in range(8)], rng


def tournament(game, strategies, rounds, rng):
    """The mean payoff of each pair of strategies, each of which looks at both histories."""
    scores = np.zeros((len(strategies), len(strategies), 2))
    for i, first in enumerate(strategies):
        for j, second in enumerate(strategies):
            mine, theirs, sums = [], [], np.zeros(2)
            for _ in range(rounds):
                a, b = first(mine, theirs, rng), second(theirs, mine, rng)
                mine.append(a)
                theirs.append(b)
                row, column = np.eye(2)[a], np.eye(2)[b]
                sums += game[row, column]
            scores[i, j] = sums / rounds
    return scores


STRATEGIES = (
    lambda mine, theirs, rng: 0,
    lambda mine, theirs, rng: 1,
    lambda mine, theirs, rng: theirs[-1] if theirs else 0,
    lambda mine, theirs, rng: int(1 in theirs),
    lambda mine, theirs, rng: int(rng.random() < 0.5),
    lambda mine, theirs, rng: int(np.mean(theirs) > 0.5) if theirs else 0,
)


def drive(payoffs, rng):
    out = []
    for first, second in payoffs:
        game = nashpy.Game(first, second)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            by_support = [(np.array(r), np.array(c)) for r, c in game.support_enumeration()]
            by_vertex = [(np.array(r), np.array(c)) for r, c in game.vertex_enumeration()]
            by_pivots = [game.lemke_howson(initial_dropped_label=k) for k in range(3)]
        best = [game.is_best_response(r, c) for r, c in by_support]
        np.random.seed(2)
        counts = [tuple(np.array(p) for p in play) for play in game.fictitious_play(iterations=60)]
        regret = [(np.array(r), np.array(c)) for r, c in game.regret_minimization(iterations=30)][-1]
        values = [game[r, c] for r, c in by_support]
        out.append((by_support, by_vertex, by_pivots, best, counts[-1], regret, values))

    hawks = nashpy.Game(np.array([[2.0, 1.0, 0.5], [3.0, 0.0, 1.0], [2.5, 0.5, 0.8]]))
    flow = hawks.replicator_dynamics(y0=np.array([0.4, 0.3, 0.3]), timepoints=np.linspace(0, 8, 25))
    np.random.seed(7)
    born = [np.array(g) for g in hawks.moran_process(initial_population=np.array([0, 0, 0, 1, 1, 2, 2, 2]))]
    dilemma = nashpy.Game(np.array([[3.0, 0.0], [5.0, 1.0]]), np.array([[3.0, 5.0], [0.0, 1.0]]))
    return out, flow, (len(born), born[-1]), tournament(dilemma, STRATEGIES, 25, rng)
