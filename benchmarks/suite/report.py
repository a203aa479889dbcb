"""Tables and plots of what was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Table:
    """Rows of text and numbers under a title; `unit` is a factor and name for plain numbers (seconds by default)."""

    title: str
    columns: list[str]
    rows: list[list[Any]] = field(default_factory=list)
    note: str = ""

    def text(self) -> str:
        cells = [self.columns, *[[_cell(x) for x in row] for row in self.rows]]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.columns))]
        out = [f"\n{self.title}", "-" * len(self.title)]
        for row in cells:
            out.append(
                "  ".join(x.ljust(widths[k]) if k == 0 else x.rjust(widths[k]) for k, x in enumerate(row))
            )
        return "\n".join([*out, *([self.note] if self.note else [])])


@dataclass
class Goal:
    """A figure that was asked for, and what was measured."""

    what: str
    wanted: str
    found: str
    met: bool


@dataclass
class Section:
    """What one module of the suite found."""

    name: str
    tables: list[Table] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    series: dict[str, dict[str, list]] = field(
        default_factory=dict
    )  # plot title -> {"x": sizes, peer: seconds, ...}


def _cell(x: Any) -> str:
    if x is None:
        return "-"
    return f"{x:.3g}" if isinstance(x, float) else str(x)


def us(seconds: float) -> str:
    """Microseconds with three digits."""
    value = 1e6 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show(section: Section) -> None:
    """Prints a section's tables and goals."""
    for table in section.tables:
        print(table.text(), flush=True)
    if section.goals:
        print(
            Table(
                f"{section.name}: goals",
                ["goal", "wanted", "found", ""],
                [[g.what, g.wanted, g.found, "ok" if g.met else "MISSED"] for g in section.goals],
            ).text(),
            flush=True,
        )


def write(sections: Sequence[Section], folder: Path, environment: dict[str, str]) -> list[Path]:
    """Writes results.json and the plots; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "results.json"
    data.write_text(
        json.dumps(
            {"environment": environment, "sections": [asdict(s) for s in sections]}, indent=1, default=str
        )
    )
    return [data, *_plots(sections, folder)]


def _plots(sections: Sequence[Section], folder: Path) -> list[Path]:
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    out = []
    for section in sections:
        for title, series in section.series.items():
            figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
            x = series["x"]
            numbers = all(isinstance(v, int | float) for v in x)
            peers = [k for k in series if k != "x"]
            for k, peer in enumerate(peers):
                y = [None if v is None else 1e6 * v for v in series[peer]]
                if numbers:
                    axes.loglog(
                        x,
                        [float("nan") if v is None else v for v in y],
                        "o-",
                        label=peer,
                        lw=2.5 if peer == "stator" else 1.3,
                    )
                else:
                    axes.bar(
                        [i + (k - len(peers) / 2) * 0.8 / len(peers) for i in range(len(x))],
                        [v or 0 for v in y],
                        0.8 / len(peers),
                        label=peer,
                        align="edge",
                    )
            if not numbers:
                axes.set_xticks(range(len(x)), x)
                axes.set_yscale("log")
            axes.set_xlabel("elements" if numbers else "")
            axes.set_ylabel("µs")
            axes.set_title(title)
            axes.legend()
            axes.grid(alpha=0.3)
            path = folder / f"{section.name}-{len(out)}.png"
            figure.savefig(path, dpi=110)
            plt.close(figure)
            out.append(path)
    return out
