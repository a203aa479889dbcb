"""Rows of figures, worst first, and what the bars say of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# From the eleventh call on: plain's time over stator's. The first ten calls, or a whole short program: at most this
# factor of plain's time and so many milliseconds more.
WARM, FACTOR, GRACE_MS = 0.97, 1.1, 50.0


def ratio(plain: float, other: float) -> float:
    """How many times faster than plain."""
    return plain / other if other > 0 else 1.0


def excess_ms(plain_ns: float, other_ns: float) -> float:
    """Milliseconds beyond `FACTOR` of plain's time; the bar is `GRACE_MS`."""
    return (other_ns - FACTOR * plain_ns) / 1e6


def geomean(values: Iterable[float]) -> float:
    logs = [math.log(v) for v in values if v > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Text: the first column to the left, numbers to the right."""
    cells = [list(columns), *[[_cell(x) for x in row] for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]
    lines = [f"\n{title}", "-" * len(title)]
    for row in cells:
        lines.append(
            "  ".join(
                x.ljust(w) if k == 0 else x.rjust(w) for k, (x, w) in enumerate(zip(row, widths))
            ).rstrip()
        )
    return "\n".join(lines)


def _cell(x: Any) -> str:
    if x is None:
        return "-"
    if isinstance(x, float):
        return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}"
    return str(x)


def write(
    path: Path | None, part: str, rows: Sequence[dict[str, Any]], silent: bool = False, **facts: Any
) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"part": part, **facts, "rows": list(rows)}, indent=1) + "\n")
        if not silent:
            print(f"written: {path}")
