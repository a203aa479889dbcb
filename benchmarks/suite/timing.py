"""Interleaved timing of several callables."""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Timing(NamedTuple):
    """Seconds per call: the least and the median over the rounds."""

    best: float
    median: float


def loop_for(count: int) -> Callable:
    """A function ``loop(f, args, k)`` that calls ``f`` k times with `count` arguments and nothing else in the loop."""
    names = ", ".join(f"a{i}" for i in range(count))
    text = f"def loop(f, args, k):\n    {names + ', = args' if count else 'pass'}\n    for _ in repeat(None, k):\n        f({names})\n"
    namespace = {"repeat": itertools.repeat}
    exec(text, namespace)
    return namespace["loop"]


def calls_per_round(loop: Callable, function: Callable, args: Sequence, seconds: float) -> int:
    """How many calls last about `seconds`. One slow call, as any machine has now and then, must not decide it."""
    k = 1
    while True:
        spent = math.inf
        for _ in range(3):
            begun = time.perf_counter()
            loop(function, args, k)
            spent = min(spent, time.perf_counter() - begun)
        if spent > seconds / 4:
            return max(1, round(k * seconds / spent))
        k *= 4


def compare(
    calls: Mapping[str, tuple[Callable, Sequence]], rounds: int = 15, seconds: float = 0.004
) -> dict[str, Timing]:
    """Time several calls against each other.

    Parameters
    ----------
    calls : mapping
        Name to (function, arguments).
    rounds : int
        How often each one gets its turn.
    seconds : float
        Length of a turn.

    Returns
    -------
    dict
        Name to seconds per call.
    """
    loops = {name: loop_for(len(args)) for name, (_, args) in calls.items()}
    counts = {name: calls_per_round(loops[name], f, args, seconds) for name, (f, args) in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, (function, args) in calls.items():
                begun = time.perf_counter()
                loops[name](function, args, counts[name])
                times[name].append((time.perf_counter() - begun) / counts[name])
    finally:
        if was_on:
            gc.enable()
    return {name: Timing(min(t), statistics.median(t)) for name, t in times.items()}
