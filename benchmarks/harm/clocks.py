"""The two clocks of everything here, in nanoseconds: wall time, and CPU time of the calling thread.

CPU time of the calling thread is what decides: it is what the program itself had to wait for where the compiler's thread
has a core of its own, and other jobs of the machine are not in it. Reading it is a system call of some hundred
nanoseconds, which `COST` holds and `since` takes off.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Time(NamedTuple):
    """Nanoseconds by each clock."""

    wall: float
    cpu: float


def now() -> Time:
    return Time(time.perf_counter_ns(), time.thread_time_ns())


def since(begun: Time) -> Time:
    """Time since `begun`, without what it costs to ask."""
    cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
    return Time(max(0.0, wall - begun.wall - COST.wall), max(0.0, cpu - begun.cpu - COST.cpu))


def _cost() -> Time:
    least = [1e9, 1e9]
    for _ in range(200):
        begun = now()
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        least = [min(least[0], wall - begun.wall), min(least[1], cpu - begun.cpu)]
    return Time(*least)


COST = _cost()


def caller(count: int) -> Callable:
    """A function ``worker_loop(f, many)`` that calls `f` with each tuple of `count` arguments.

    The calls are written out, because CPython inlines ``f(a, b)`` and not ``f(*args)``, and inlining is one of the
    things that stator must not take away.
    """
    names = ", ".join(f"a{k}" for k in range(count))
    target = f"{names}," if count else "_"
    namespace: dict = {}
    exec(f"def worker_loop(f, many):\n    for {target} in many:\n        f({names})\n", namespace)
    return namespace["worker_loop"]
