"""Tables, goals and the plot of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.suite.report import Goal, Section, Table

from .variants import MODES, NEEDS, PEERS, WRITTEN


@dataclass
class Row:
    """A program at a preset: the best variant of each peer, as the worker's lines; None where it has none."""

    suite: str
    program: str
    preset: str
    lines: dict[str, dict[str, Any]] = field(default_factory=dict)

    def seconds(self, peer: str) -> float | None:
        return self.lines.get(peer, {}).get("best")

    def compile_seconds(self, peer: str) -> float | None:
        line = self.lines.get(peer, {})
        return max(0.0, line["first"] - line["median"]) if "first" in line else None

    def bits(self, peer: str) -> str:
        line = self.lines.get(peer, {})
        if line.get("failed"):
            return "late" if line["failed"].startswith("over ") else "fails"
        both = line.get("bits") or []
        return "" if not both else both[0] if len(set(both)) == 1 else " then ".join(both)

    def ratio(self, peer: str) -> float | None:
        """How many times faster stator is than the peer."""
        own, other = self.seconds("stator"), self.seconds(peer)
        return other / own if own and other else None


def geomean(values: Iterable[float | None]) -> float | None:
    logs = [math.log(v) for v in values if v]
    return math.exp(sum(logs) / len(logs)) if logs else None


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.3g}"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def section(rows: Sequence[Row]) -> Section:
    """The tables of all presets, and the goals."""
    peers = [p for p in PEERS if any(p in row.lines for row in rows)]
    out = Section("npbench")
    for preset in dict.fromkeys(row.preset for row in rows):
        some = [row for row in rows if row.preset == preset]
        out.tables += [_speed(some, peers, preset), _first(some, peers, preset)]
        out.goals += _goals(some, preset)
        out.series[f"preset {preset}"] = {
            "x": [row.program for row in some],
            **{p: [row.seconds(p) for row in some] for p in peers if p not in MODES},
        }
    return out


def _speed(rows: Sequence[Row], peers: Sequence[str], preset: str) -> Table:
    others = [p for p in peers if p not in ("stator", *MODES)]
    table = Table(f"preset {preset}: ms per call in steady state, and how many times faster stator is",
                  ["program", "stator ms", *(f"{p} ms" for p in others), *(f"x {p}" for p in others), "bits", "regions", "exits", *(f"bits {p}" for p in others[1:])])  # fmt: skip
    for row in rows:
        stats, steady = (
            row.lines.get("stator", {}).get("stats", {}),
            row.lines.get("stator", {}).get("steady_exits", {}),
        )
        table.rows.append(
            [row.program, _ms(row.seconds("stator")), *(_ms(row.seconds(p)) for p in others), *(_times(row.ratio(p)) for p in others), row.bits("stator"),
             stats.get("regions", "-"), sum(steady.values()) if steady else "-", *(row.bits(p) for p in others[1:])]
        )  # fmt: skip
    means = [_times(geomean(row.ratio(p) for row in rows)) for p in others]
    table.rows.append(["geomean", *[""] * (1 + len(others)), *means, *[""] * (2 + len(others))])
    table.note = "exits: steps left to Python in a call in steady state; fails, late: why is in npbench.json"
    return table


def _first(rows: Sequence[Row], peers: Sequence[str], preset: str) -> Table:
    some = [p for p in peers if p != "numpy"]
    table = Table(
        f"preset {preset}: ms of the first call beyond a later one (cached: with a warm cache on disk)",
        ["program", *some],
    )
    for row in rows:
        table.rows.append([row.program, *(_ms(row.compile_seconds(p)) for p in some)])
    return table


def _at_least(preset: str, what: str, wanted: float, found: float | None) -> list[Goal]:
    if found is None:
        return []
    return [Goal(f"{preset}: {what}", f">= {wanted:g}", f"{found:.2f}", found >= wanted)]


def _against_the_best(rows: Sequence[Row], preset: str) -> list[Goal]:
    """Against the fastest peer of each program: of any kind, and of those with NumPy's bits, to which NumPy belongs."""
    if not any(p in row.lines for p in NEEDS for row in rows):
        return []

    def slowest_ratio(row: Row, exact: bool) -> float | None:
        ratios = [r for p in NEEDS if (r := row.ratio(p)) and (not exact or row.bits(p) == "same")]
        return min([*ratios, *([r] if (r := row.ratio("numpy")) else [])], default=None)

    return _at_least(
        preset, "geomean over the best peer of any kind", 1, geomean(slowest_ratio(r, False) for r in rows)
    ) + _at_least(
        preset,
        "geomean over the best peer with NumPy's bits",
        2.5,
        geomean(slowest_ratio(r, True) for r in rows),
    )


def _goals(rows: Sequence[Row], preset: str) -> list[Goal]:
    def at_least(what: str, wanted: float, found: float | None) -> list[Goal]:
        return _at_least(preset, what, wanted, found)

    def at_most(what: str, wanted: float, found: float | None) -> list[Goal]:
        return (
            []
            if found is None
            else [Goal(f"{preset}: {what}", f"<= {wanted:g}", f"{found:.2f}", found <= wanted)]
        )

    out = at_least(
        "geomean over Numba's best serial variant", 1.5, geomean(row.ratio("numba") for row in rows)
    )
    out += at_least("geomean over JAX", 3, geomean(row.ratio("jax") for row in rows))
    ratios = [(r, row.program) for row in rows if (r := row.ratio("numpy"))]
    if ratios:
        out += at_least(f"the slowest against NumPy ({min(ratios)[1]})", 1, min(ratios)[0])
    exact = [(r, row.program) for row in rows for p in ("numpy", "numba", "jax", "pythran")
             if (r := row.ratio(p)) and (p == "numpy" or row.bits(p) == "same")]  # fmt: skip
    if exact:
        out += at_least(
            f"the slowest against a serial peer with NumPy's bits ({min(exact)[1]})", 0.9, min(exact)[0]
        )
    out += _against_the_best(rows, preset)
    for written in ("perturbed", "rewritten"):
        others = [(r, row.program) for row in rows if (r := row.ratio(written))]
        if not others:
            continue
        worst, program = max(others)
        out += at_least(f"{written}, geomean of the speed", 0.9, 1 / (geomean(r for r, _ in others) or 1))
        out += at_least(f"{written}, the slowest ({program})", 0.9, 1 / worst)
    ours = ("stator", *MODES, *WRITTEN)
    wrong = [f"{row.program} ({p})" for row in rows for p in ours if row.bits(p) not in ("same", "")]
    out.append(Goal(f"{preset}: bits", "all the same", "all" if not wrong else ", ".join(wrong), not wrong))
    compared = sorted(
        own / jax
        for row in rows
        if (own := row.compile_seconds("stator")) is not None and (jax := row.compile_seconds("jax"))
    )
    if compared:
        out += at_most("median compile time over JAX's", 0.2, compared[len(compared) // 2])
        out += at_most("worst compile time over JAX's", 0.25, compared[-1])
    return out


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    """How many times faster than NumPy each peer is, a line of dots for each program."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    out = []
    for preset in dict.fromkeys(row.preset for row in rows):
        some = [row for row in rows if row.preset == preset and row.seconds("numpy")]
        figure, axes = plt.subplots(figsize=(9, 1.2 + 0.28 * len(some)), layout="constrained")
        for peer in PEERS:
            points = [
                (row.lines["numpy"]["best"] / s, k) for k, row in enumerate(some) if (s := row.seconds(peer))
            ]
            if peer not in ("numpy", *MODES) and points:
                x, y = zip(*points)
                axes.plot(
                    x,
                    y,
                    "o",
                    ms=8 if peer == "stator" else 5,
                    label=peer,
                    zorder=3 if peer == "stator" else 2,
                )
        axes.axvline(1, color="gray", lw=1)
        axes.set_xscale("log")
        axes.set_yticks(range(len(some)), [row.program for row in some])
        axes.invert_yaxis()
        axes.set_xlabel("times faster than NumPy")
        axes.set_title(f"preset {preset}")
        axes.grid(alpha=0.3)
        axes.legend(loc="best")
        path = folder / f"npbench-{preset}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        out.append(path)
    return out
