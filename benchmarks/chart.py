"""The README's chart, from the tables of docs/guide/comparison.md: how many times as fast as NumPy each compiler is.

python -m benchmarks.chart        # writes docs/pictures/comparison.svg
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/guide/comparison.md"
PICTURE = ROOT / "docs/pictures/comparison.svg"
COLOURS = {"stator": "#d9480f", "Numba": "#1c7ed6", "JAX": "#5f3dc4", "torch.compile": "#868e96"}
# Rows of the first table, by how they begin, and what the chart calls them.
ROWS = {
    "`x*y + z*2 - x/y`, 64": "five operations\n64 elements",
    "the same, 65,536": "five operations\n65,536 elements",
    "the same, 1,000,000": "five operations\n1,000,000 elements",
}
LOOPS = "30 programs with\nloops (NPBench, S)"


def number(cell: str) -> float | None:
    text = re.sub(r"[*,` ]", "", cell)
    return float(text) if re.fullmatch(r"[\d.]+", text) else None


def speeds() -> dict[str, dict[str, float]]:
    """Times as fast as NumPy, by row of the chart and compiler."""
    rows = [
        [c.strip() for c in line.strip("|").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    head = rows[0]
    found: dict[str, dict[str, float]] = {}
    for begins, title in ROWS.items():
        cells = next(r for r in rows if r[0].startswith(begins))
        times = {name: number(c) for name, c in zip(head[1:], cells[1:], strict=True)}
        numpy = times.pop("NumPy")
        assert numpy
        found[title] = {name: numpy / t for name, t in times.items() if t and name in COLOURS}
    loops = next(r for r in rows if r[0] == "geometric mean, preset S")
    stator, numba, jax = (number(c) for c in loops[1:])
    assert stator and numba and jax
    found[LOOPS] = {"stator": stator, "Numba": stator / numba, "JAX": stator / jax}
    return found


def main() -> None:
    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "stator", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(7.2, 3.6), facecolor="white")
    groups = speeds()
    for row, (title, bars) in enumerate(groups.items()):
        for k, (name, colour) in enumerate(COLOURS.items()):
            if name not in bars:
                continue
            y = row + (k - 1.5) * 0.2
            axes.barh(y, bars[name], height=0.19, color=colour, label=name if row == 0 else None)
            axes.text(bars[name] * 1.04, y, f"{bars[name]:.2g}", va="center", fontsize=8, color="#333")
    axes.axvline(1, color="#333", linewidth=0.8)
    axes.text(1, -0.62, "NumPy", ha="center", va="bottom", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(0.08, 60)
    axes.set_xticks([0.1, 1, 10], ["a tenth", "the same", "10 times"])
    axes.minorticks_off()
    axes.set_yticks(range(len(groups)), list(groups))
    axes.invert_yaxis()
    axes.set_xlabel("times as fast as NumPy")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(frameon=False, loc="upper right", fontsize=8, bbox_to_anchor=(1.02, 0.86))
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None, "Creator": None})
    text = PICTURE.read_text(encoding="utf-8")
    PICTURE.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
