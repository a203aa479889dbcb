"""Large arrays: stator against C on the same buffers, and the peers."""

from __future__ import annotations

from typing import Any

from . import peers, programs
from .report import Goal, Section, Table, us
from .timing import compare

SIZES = (4096, 65_536, 1_000_000, 10_000_000)


def run(options: Any) -> Section:
    section = Section("throughput")
    sizes = SIZES[:3] if options.quick else SIZES
    for program in programs.LARGE[:4] if options.quick else programs.LARGE:
        _one(section, program, sizes if program is programs.FIVE else sizes[1:3], options)
    return section


def _one(section: Section, program: programs.Program, sizes: tuple[int, ...], options: Any) -> None:
    names = list(options.peers)
    table = Table(
        f"{program.name}, float64: µs per call, least of {options.rounds} rounds; * = not NumPy's bits",
        ["elements", *names, "C / stator"],
    )
    series: dict[str, list] = {"x": list(sizes)} | {n: [] for n in names}
    for n in sizes:
        args = program.arguments(n)
        calls = peers.calls(program, args, names, options.threads)
        expected = program.load()(*args)
        marks = {p: "" if peers.agreement(expected, f(*a)) == "same" else " *" for p, (f, a) in calls.items()}
        times = compare(calls, options.rounds, max(options.seconds, 0.01))
        both = "c" in times and "stator" in times
        ratio = times["c"].best / times["stator"].best if both else None
        table.rows.append(
            [f"{n:,}", *(us(times[p].best) + marks[p] if p in times else None for p in names), ratio]
        )
        for p in names:
            series[p].append(times[p].best if p in times else None)
        if ratio is not None:
            wanted = 0.9 if program is programs.FIVE else 0.8
            section.goals.append(
                Goal(f"{program.name}, {n:,}: C / stator", f">= {wanted}", f"{ratio:.2f}", ratio >= wanted)
            )
        others = {p: times[p].best for p in ("numba", "jax", "torch") if p in times}
        if others and "stator" in times:
            fastest = min(others, key=others.__getitem__)
            ratio = others[fastest] / times["stator"].best
            section.goals.append(
                Goal(
                    f"{program.name}, {n:,}: fastest peer ({fastest}) / stator",
                    ">= 1",
                    f"{ratio:.2f}",
                    ratio >= 1,
                )
            )
        if "stator" in marks:
            section.goals.append(
                Goal(
                    f"{program.name}, {n:,}: bits",
                    "same",
                    "same" if not marks["stator"] else "differ",
                    not marks["stator"],
                )
            )
    section.tables.append(table)
    section.series[f"{program.name}: time per call"] = series
