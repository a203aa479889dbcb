"""Functions that stator cannot help must cost what they cost without it, beside one that it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import programs
from .report import Goal, Section, Table, us
from .timing import compare


def count_words(words: list[str]) -> dict[str, int]:
    """A loop over a dict."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A call of a SciPy solver."""
    from scipy import linalg

    return linalg.solve(a, b)


def tiny(x: np.ndarray) -> float:
    """Two elements."""
    return float(x[0]) * 0.5 + float(x[1])


def run(options: Any) -> Section:
    section = Section("harm")
    if "stator" not in options.peers:
        return section
    import stator

    rng = np.random.default_rng(3)
    words = [f"w{k % 17}" for k in range(200)]
    a, b = rng.random((20, 20)) + 20 * np.eye(20), rng.random(20)
    cases: dict[str, tuple[Callable, tuple]] = {
        "dict loop": (count_words, (words,)),
        "2 elements": (tiny, (np.array([1.0, 2.0]),)),
    }
    try:
        import scipy.linalg  # noqa: F401

        cases["SciPy solver"] = (solve, (a, b))
    except ImportError:
        pass
    helped = stator.compile(programs.FIVE.load())
    small, large = programs.FIVE.arguments(64), programs.FIVE.arguments(65_536)
    for _ in range(6):
        helped(*small)
    table = Table(
        "functions that cannot be helped, µs after 10 calls", ["", "undecorated", "decorated", "difference"]
    )
    for name, (f, args) in cases.items():
        g = stator.compile(f)
        for _ in range(10):
            g(*args)
        stator.wait()
        times = compare({"plain": (f, args), "decorated": (g, args)}, 3 * options.rounds, options.seconds)
        plain, fast = times["plain"].best, times["decorated"].best
        table.rows.append(
            [name, us(plain), us(fast), f"{1e9 * (fast - plain):+.0f} ns ({100 * (fast / plain - 1):+.1f}%)"]
        )
        section.goals.append(
            Goal(
                name,
                "<= 5% or 50 ns",
                f"{1e9 * (fast - plain):+.0f} ns",
                fast - plain <= max(0.05 * plain, 50e-9),
            )
        )
    section.tables.append(table)
    plain_five = programs.FIVE.load()
    for label, args in (("64", small), ("65,536, after it grew", large)):
        for _ in range(4):
            helped(*args)
        stator.wait()
        times = compare(
            {"plain": (plain_five, args), "helped": (helped, args)}, options.rounds, options.seconds
        )
        ratio = times["plain"].best / times["helped"].best
        section.goals.append(Goal(f"beside them, 5 operations on {label}", "> 1", f"{ratio:.1f}", ratio > 1))
    return section
