"""Microseconds per call where the call itself is what costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import peers, programs
from .report import Goal, Section, Table, us
from .timing import Timing, compare

SIZES = (1, 16, 64, 256, 1024, 4096)


class Holder:
    """For methods."""

    def five(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return x * y + z * 2 - x / y


def run(options: Any) -> Section:
    section = Section("overhead")
    names = [n for n in options.peers if n != "c"]
    for program in (programs.ADD_ONE, programs.FIVE):
        _by_size(section, program, names, options)
    _variants(section, options)
    return section


def _by_size(section: Section, program: programs.Program, names: list[str], options: Any) -> None:
    table = Table(
        f"{program.name}, float64: µs per call, least over {options.rounds} rounds (median)",
        ["elements", *names],
    )
    series: dict[str, list] = {"x": list(SIZES)} | {n: [] for n in names}
    for n in SIZES:
        calls = peers.calls(program, program.arguments(n), names)
        times = compare(calls, options.rounds, options.seconds)
        table.rows.append(
            [
                f"{n:,}",
                *(f"{us(times[p].best)} ({us(times[p].median)})" if p in times else None for p in names),
            ]
        )
        for p in names:
            series[p].append(times[p].best if p in times else None)
        _goals(section, program, n, times)
    section.tables.append(table)
    section.series[f"{program.name}: time per call"] = series


def _goals(section: Section, program: programs.Program, n: int, times: dict[str, Timing]) -> None:
    if "stator" not in times:
        return
    stator, numpy = times["stator"].best, times["numpy"].best
    if program is programs.ADD_ONE and n == 1:
        section.goals.append(
            Goal("x + 1 on 1 element against NumPy", "<= 0.3", f"{stator / numpy:.2f}", stator <= 0.3 * numpy)
        )
    if program is programs.FIVE and 16 <= n <= 256:
        section.goals.append(
            Goal(
                f"5 operations, {n} elements: NumPy / stator",
                ">= 8",
                f"{numpy / stator:.1f}",
                numpy >= 8 * stator,
            )
        )
        if "numba" in times:
            ratio = times["numba"].best / stator
            section.goals.append(
                Goal(f"5 operations, {n} elements: Numba / stator", ">= 3", f"{ratio:.1f}", ratio >= 3)
            )


def _compiled(f: Callable, *args: Any) -> Callable:
    import stator

    g = stator.compile(f)
    for _ in range(4):
        g(*args)
    stator.wait()
    return g


def _variants(section: Section, options: Any) -> None:
    """The same work with other kinds of arguments; each as a ratio of NumPy's time."""
    if "stator" not in options.peers:
        return
    table = Table(
        "5 operations on 64 elements, kinds of arguments", ["kind", "NumPy µs", "stator µs", "NumPy / stator"]
    )
    five = programs.FIVE.load()
    ratios: dict[str, float] = {}

    def row(name: str, plain: Callable, fast: Callable, args: list) -> None:
        times = compare({"numpy": (plain, args), "stator": (fast, args)}, options.rounds, options.seconds)
        ratios[name] = times["numpy"].best / times["stator"].best
        table.rows.append([name, us(times["numpy"].best), us(times["stator"].best), f"{ratios[name]:.1f}"])

    for dtype in ("f8", "f4", "i8", "i4"):
        args = programs.vectors(3, dtype)(64)
        if dtype[0] == "i":
            args = [a + 1 for a in args]
        row(f"3 vectors {dtype}", five, _compiled(five, *args), args)
    for shape in ((), (64,), (8, 8), (4, 4, 4), (2, 4, 4, 2)):
        args = [np.full(shape, v) for v in (1.5, 2.5, 3.5)]
        row(f"rank {len(shape)}", five, _compiled(five, *args), args)
    for count in (2, 4, 8, 12):
        program = programs.many_arguments(count)
        args = program.arguments(64)
        row(program.name, program.load(), _compiled(program.load(), *args), args)
    args = programs.vectors(3)(64)
    holder = Holder()
    row("method", holder.five, _compiled(holder.five, *args), args)
    fast = _compiled(five, *args)

    def plain_keywords(x: Any, y: Any, z: Any) -> Any:
        return five(x=x, y=y, z=z)

    def fast_keywords(x: Any, y: Any, z: Any) -> Any:
        return fast(x=x, y=y, z=z)

    fast_keywords(*args)
    row("keyword arguments", plain_keywords, fast_keywords, args)
    _new_floats(table, ratios, options)
    section.tables.append(table)
    base = ratios["3 vectors f8"]
    worst = min((r, n) for n, r in ratios.items())
    section.goals.append(
        Goal(
            "worst kind against 3 vectors f8",
            ">= 1/1.5",
            f"{worst[0] / base:.2f} ({worst[1]})",
            worst[0] * 1.5 >= base,
        )
    )


def _new_floats(table: Table, ratios: dict[str, float], options: Any) -> None:
    """Two arrays and three floats that are new at each call."""

    def f(x: Any, y: Any, a: float, b: float, c: float) -> Any:
        return x * a + y * b - c

    x, y = programs.vectors(2)(64)
    fast = _compiled(f, x, y, 0.5, 1.5, 2.5)
    best = {"numpy": float("inf"), "stator": float("inf")}
    count = max(100, int(options.seconds / 4e-6))
    floats = [float(k) + 0.25 for k in range(count)]
    for _ in range(options.rounds):
        for name, g in (("numpy", f), ("stator", fast)):
            begun = time.perf_counter()
            for v in floats:
                g(x, y, v, v, v)
            best[name] = min(best[name], (time.perf_counter() - begun) / count)
    ratios["floats new at each call"] = best["numpy"] / best["stator"]
    table.rows.append(
        [
            "floats new at each call",
            us(best["numpy"]),
            us(best["stator"]),
            f"{ratios['floats new at each call']:.1f}",
        ]
    )
