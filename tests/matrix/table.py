"""The rows of graph/ops.def, read from the file itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^OP\((.*)\)\s*$", re.M)
_CELL = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,"]+?))\s*(?:,|$)')


class Row(NamedTuple):
    """One row; the columns are those that ops.def explains."""

    id: str
    text: str
    arity: int
    cls: str
    dtype: str
    faults: str
    native: str
    host: str
    doc: str


def rows(text: str | None = None) -> list[Row]:
    """All rows, in order."""
    found = []
    for match in _ROW.finditer(text or (ROOT / "graph" / "ops.def").read_text()):
        cells = [quoted or plain for quoted, plain in _CELL.findall(match[1])]
        if len(cells) == len(Row._fields) - 1:
            cells.append("")  # an empty doc
        found.append(Row(*cells[:2], int(cells[2]), *cells[3:]))
    return found


def ufuncs() -> dict[str, np.ufunc]:
    """NumPy's ufuncs by name, aliases left out."""
    every = {u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc)}
    return dict(sorted(every.items()))


def library_rows() -> list[str]:
    """The functions that replays call on whole operands, other than methods of NumPy's numbers."""
    text = (ROOT / "frontend" / "hosts" / "numpy" / "functions.def").read_text()
    lines = re.findall(r"^(?!//).*", text, re.M)
    found = re.findall(r'\b[A-Z]+\("([^"]+)"\)', "\n".join(lines))
    return [name for name in found if not name.startswith("generic.")]
