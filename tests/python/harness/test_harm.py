"""The harness of benchmarks/harm: its random programs are programs, its digests tell results apart, its figures are right."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.harm import found, processes, report  # noqa: E402
from benchmarks.harm.adversary import generator, worker  # noqa: E402
from benchmarks.harm.digest import digest  # noqa: E402


@pytest.mark.parametrize("kind", generator.KINDS)
def test_every_seed_is_one_program(kind):
    for seed in range(300):
        name, text = generator.program(seed)
        if name == kind:
            compile(text, f"seed {seed}", "exec")
            assert generator.program(seed) == (name, text)


def test_random_program_runs_and_repeats():
    seed = next(s for s in range(300) if generator.program(s)[0] == "rebinding")
    first, second = (worker.worker_run(seed, lambda f: f) for _ in range(2))
    assert first["results"] == second["results"]
    assert first["cpu"] > 0


def test_digest_tells_bits_types_and_order_apart():
    class Slotted:
        __slots__ = ("a",)

        def __init__(self, a):
            self.a = a

    different = [
        1,
        1.0,
        True,
        np.float64(1),
        np.float32(1),
        np.ones(1),
        np.ones((1, 1)),
        [1],
        (1,),
        {1: 2},
        {2: 1},
        "1",
        None,
        -0.0,
        0.0,
        Slotted(1),
        Slotted(2),
        ValueError("a"),
        np.array([1, None], object),
    ]
    assert len({digest(x) for x in different}) == len(different)
    assert digest([np.ones(3), {"a": 1}]) == digest([np.ones(3), {"a": 1}])


def test_corpus_names_differ():
    names = [name for module in found.modules([]) for name, _, _ in found.calls_of(module, lambda f: f)]
    assert len(set(names)) == len(names) > 80


def test_figures_are_of_neighbouring_blocks():
    """A machine that is twice as slow for a while changes no ratio."""
    slow = [1, 1, 2, 2, 2, 1]
    first = {"first_cpu": 1e6, "ten_cpu": 1e7}
    runs = [
        {
            "plain": {"blocks": [{"cpu": 100.0 * k} for k in slow], **first},
            "all": {"blocks": [{"cpu": 125.0 * k} for k in slow], "first_cpu": 2e6, "ten_cpu": 9e7},
        }
    ]
    figures = found.figures(runs, "all", "cpu", 1)
    assert figures["total"] == figures["median"] == figures["half"] == 0.8
    assert figures["ten"] == pytest.approx(79.0)
    assert found.missed(figures) == ["warm", "first"]


def test_worker_that_fails_says_how():
    outcome = processes.run(
        "benchmarks.harm.found_worker", {"module": "no_such_module", "list": True}, "plain"
    )
    assert "no_such_module" in outcome.failure
    assert outcome.lines == []


def test_geometric_mean():
    assert report.geomean([0.5, 2.0]) == pytest.approx(1.0)
