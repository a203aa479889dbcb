"""Reads the printed form of a graph, as far as the dump page needs it: nodes, operands, locations, guards.

The grammar is that of graph/print.cpp. Lines that are not understood are shown and link to nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Location = tuple[str, int, str]  # file, line, function

_NODE = re.compile(r"^  %(\d+) = (.*)$")
_GUARD = re.compile(r"^  (guard|symguard|checkpoint)\b(.*)$")
_LOCATION = re.compile(r' @ ("(?:[^"\\]|\\.)*"|[^\s":]+):(\d+)(?: ("(?:[^"\\]|\\.)*"|\S+))?\s*$')
_REFERENCE = re.compile(r"%(\d+)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')

CLASSES = {
    "input": "input", "const": "const", "sym": "const", "empty": "alloc", "full": "alloc", "arange": "alloc", "view": "view",
    "reshape": "view", "store": "store", "reduce": "reduction", "argreduce": "reduction", "library": "library",
    "guard": "guard", "symguard": "guard", "checkpoint": "guard", "loop": "host",
}  # fmt: skip


@dataclass
class Node:
    """One printed node. `kind` is a drawing class: input, const, alloc, view, store, reduction, library, guard, host
    (a loop of the host's), or pointwise."""

    id: int
    op: str
    kind: str
    text: str
    type: str
    operands: list[int]
    location: Location | None
    line: int  # in the printed text, from 0
    label: str = ""
    exit: str | None = None  # guards: "entry" or the snapshot "n3"


@dataclass
class Text:
    """A printed graph taken apart."""

    lines: list[str]
    nodes: list[Node] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  # nodes the end returns or leaves with

    def node_at_line(self) -> dict[int, Node]:
        return {n.line: n for n in self.nodes}


def _unquote(text: str | None) -> str:
    if not text:
        return ""
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def _split_location(text: str) -> tuple[str, Location | None]:
    found = _LOCATION.search(text)
    if not found:
        return text, None
    return text[: found.start()], (_unquote(found[1]), int(found[2]), _unquote(found[3]))


def _label(op: str, body: str) -> str:
    """A short name for the picture."""
    rest = body[len(op) :].strip()
    if op == "input":
        return rest.split(" {")[0].replace("L['", "").replace("']", "")
    if op in ("const", "sym"):
        return rest
    if op == "view" and "[" in rest:
        return rest[rest.index("[") :].replace(" from ", "+")
    if op in ("loop", "reduce", "argreduce", "library"):
        return (_unquote(rest.split(" %")[0]) if rest.startswith('"') else rest.split(" ")[0]) or op
    return op


def parse(text: str) -> Text:
    """Take a printed graph apart.

    Parameters
    ----------
    text : str
        What ``f.graph()`` prints.

    Returns
    -------
    Text
    """
    out = Text(text.rstrip("\n").split("\n") if text else [])
    following = 0
    for number, line in enumerate(out.lines):
        if found := _NODE.match(line):
            body, location = _split_location(found[2])
            head, _, kind = body.rpartition(" : ")
            op = (head or body).split(" ", 1)[0]
            node = Node(int(found[1]), op, CLASSES.get(op, "pointwise"), body, kind, [], location, number)
            node.operands = [int(x) for x in _REFERENCE.findall(_STRING.sub("", head or body))]
            node.label = _label(op, head or body)
        elif found := _GUARD.match(line):
            body, location = _split_location(line.strip())
            condition, _, way_out = body.partition(" else ")
            node = Node(
                following,
                found[1],
                "guard",
                body,
                "",
                [int(x) for x in _REFERENCE.findall(condition)],
                location,
                number,
            )
            node.label, node.exit = condition.split(" ", 1)[-1], way_out.strip() or None
        else:
            if line.startswith(("  return", "  leave")):
                out.results = [int(x) for x in _REFERENCE.findall(line)]
            continue
        following = node.id + 1
        out.nodes.append(node)
    return out
