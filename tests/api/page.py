"""docs/coverage.md: what becomes of each function, written from what the probe found, and read back by the test."""

from __future__ import annotations

from .probe import HERE, Call, kind_of

PATH = HERE.parents[1] / "docs" / "coverage.md"

HEAD = """# NumPy's functions, one by one

What stator makes of the {count} functions of NumPy and methods of its arrays that programs use most. `python -m tests.api
--write` writes this page: it makes the calls of `tests/api/calls.txt` eagerly and compiled, with several shapes and with NaNs,
infinities and zeros, and compares results, warnings and exceptions bit for bit. Which functions these are is counted in
{packages} packages of PyPI (`tests/api/corpus.txt`, `python -m tests.api.rank`).

| | functions |
| --- | --- |
| compiled: generated code, views, or answers that guards settle | {compiled} |
| library nodes: NumPy's own function, called by the trace on whole operands | {library} |
| opaque: a step of Python's, in front of which a trace ends | {opaque} |
| differ from NumPy | {differ} |

A function is as good as the worst of its calls. Names are those under `numpy`; methods of arrays begin with a dot. The number
is the place in the ranking; how many of the calls are of each kind stands behind it: compiled, library, opaque.

"""

TABLE = """| | function | kind | calls | what is left to Python |
| --- | --- | --- | --- | --- |
"""

BEYOND = """
## Beyond the ranking

Functions, methods and ways to write things that are not among those: `tests/api/beyond.txt`. {compiled} are compiled, {library} are
library nodes, {opaque} are opaque, {differ} differ from NumPy.

"""


def counts(tried: dict[str, list[Call]]) -> dict[str, int]:
    """How many functions there are of each kind, and how many differ."""
    kinds = [kind_of(calls) for calls in tried.values()]
    found = {kind: kinds.count(kind) for kind in ("compiled", "library", "opaque")}
    return {**found, "differ": sum(any(c.differs for c in calls) for calls in tried.values())}


def summary(tried: dict[str, list[Call]]) -> str:
    """One line."""
    each = ", ".join(f"{n} {kind}" for kind, n in counts(tried).items())
    return f"{len(tried)} functions, {sum(map(len, tried.values()))} calls: {each}"


def text(tried: dict[str, list[Call]], ranked: set[str]) -> str:
    """The page: first the functions that are `ranked`."""
    from .rank import corpus

    first = {entry: calls for entry, calls in tried.items() if entry in ranked}
    rest = {entry: calls for entry, calls in tried.items() if entry not in ranked}
    head = HEAD.format(count=len(first), packages=len(corpus()), **counts(first))
    return head + _table(first) + BEYOND.format(**counts(rest)) + _table(rest)


def _table(tried: dict[str, list[Call]]) -> str:
    lines = [TABLE]
    for place, (entry, calls) in enumerate(tried.items(), 1):
        left = [c.text for c in calls if c.kind == "opaque"]
        what = "all of it" if len(left) == len(calls) else ", ".join(f"`{t.replace('|', '/')}`" for t in left)
        each = [sum(c.kind == kind for c in calls) for kind in ("compiled", "library", "opaque")]
        lines.append(f"| {place} | `{entry}` | {kind_of(calls)} | {' · '.join(map(str, each))} | {what} |\n")
    return "".join(lines)


def kinds() -> dict[str, str]:
    """What the page says of each function."""
    found = {}
    for line in PATH.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[1].isdigit():
            found[cells[2].strip("`")] = cells[3]
    return found
