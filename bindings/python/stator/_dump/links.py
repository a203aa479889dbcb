"""Which line of one text belongs to which line of another.

Every line of every stage gets keys: ``n7`` for node 7 of the final graph, ``s2:14`` for line 14 of the trace's file 2.
Two lines belong together when they share a node; where one of them has no nodes, when they share a source line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .graphtext import Text, parse

Line = tuple[str, list[str]]

_STATEMENT_NODE = re.compile(r"\s;((?: %\d+)+)\s*$")
_NEST = re.compile(r"^\s*nest (\d+)")
_VALUE = re.compile(r"^\s*(v\d+) = |^\s*(store|set)\b")
_BUFFER = re.compile(r"^\s*([bc]\d+) = (\w+)(?: (.+?))? : ")
_DEBUG = re.compile(r"!dbg !(\d+)")
_DEBUG_LINE = re.compile(r"^!(\d+) = !DILocation\(line: (\d+)")
_LOC = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)")
_SYMBOL = re.compile(r"^(?:\"?)([\w.$#]*?nest(\d+))(?:\"?):")
_DEFINE = re.compile(r"^define .*@\"?[\w.$#]*?nest(\d+)")


class Sources:
    """Numbers the files of a trace and spells keys."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}

    def key(self, file: str, line: int) -> str:
        return f"s{self.files.setdefault(file, len(self.files))}:{line}"


def of_graph(text: str, sources: Sources, final: bool) -> list[Line]:
    """Lines of a printed graph; nodes of earlier stages link through their source lines only."""
    graph = parse(text)
    at = graph.node_at_line()
    out = []
    for number, line in enumerate(graph.lines):
        keys, node = [], at.get(number)
        if node:
            if final:
                keys.append(f"n{node.id}")
            if node.location:
                keys.append(sources.key(node.location[0], node.location[1]))
        elif final and line.startswith(("  return", "  leave")):
            keys = [f"n{i}" for i in graph.results]
        out.append((line, keys))
    return out


def with_sources(nodes: Iterable[int], source_of: Mapping[int, str]) -> list[str]:
    """Keys of some nodes and of the source lines they come from."""
    nodes = list(nodes)
    return [f"n{i}" for i in nodes] + sorted({source_of[i] for i in nodes if i in source_of})


def of_loop_ir(
    text: str, graph: Text, source_of: Mapping[int, str]
) -> tuple[list[Line], dict[int, str], list[list[int]]]:
    """Lines of a program's loop IR, the nest that computes each node, and the nodes of each nest.

    Statements name their node in a closing comment (``; %7``). Where they do not, operations are matched with the
    graph's in order.
    """
    nodes_of_line = _statement_nodes(text, graph)
    lines: list[Line] = []
    nest_of: dict[int, str] = {}
    nests: list[list[int]] = []
    for number, line in enumerate(text.rstrip("\n").split("\n")):
        if _NEST.match(line):
            nests.append([])
        mine = nodes_of_line.get(number, [])
        if nests:
            for i in mine:
                nest_of.setdefault(i, f"nest {len(nests) - 1}")
                nests[-1].append(i)
        lines.append((line, with_sources(mine, source_of)))
    at = -1
    for number, (line, _) in enumerate(lines):
        if _NEST.match(line):
            at += 1
            lines[number] = (line, with_sources(dict.fromkeys(nests[at]), source_of))
    return lines, nest_of, [list(dict.fromkeys(n)) for n in nests]


def _statement_nodes(text: str, graph: Text) -> dict[int, list[int]]:
    by_label = {n.label: n.id for n in graph.nodes if n.op == "input"}
    values: dict[str, int] = {}
    buffers: dict[str, int] = {}
    waiting: dict[str, list[int]] = {}
    for n in graph.nodes:
        waiting.setdefault(
            n.op if n.op not in ("loop", "reduce", "argreduce") else f"{n.op}.{n.label}", []
        ).append(n.id)
    out: dict[int, list[int]] = {}
    for number, line in enumerate(text.split("\n")):
        if named := _STATEMENT_NODE.search(line):
            out[number] = [int(x) for x in re.findall(r"\d+", named[1])]
            continue
        if _NEST.match(line):
            values = {}
        if found := _BUFFER.match(line):
            value = found[3] or ""
            node = (
                int(value[1:])
                if re.fullmatch(r"%\d+", value)
                else by_label.get(value.replace("L['", "").replace("']", ""))
            )
            if node is not None:
                buffers[found[1]] = node
                out[number] = [node]
        elif found := _VALUE.match(line):
            words = line.split(" = ", 1)[-1].split()
            node = None
            if words[0] in ("load", "scalar"):
                node = buffers.get(re.match(r"\w+", words[1])[0]) if len(words) > 1 else None  # type: ignore[index]
            elif words[0] in ("store", "set"):
                last = words[-1] if words[-1] in values else ""
                node = values.get(last)
            elif waiting.get(words[0]):
                node = waiting[words[0]].pop(0)
            if node is not None:
                out[number] = [node]
                if found[1]:
                    values[found[1]] = node
    return out


def of_llvm(text: str, nests: list[list[int]], source_of: Mapping[int, str]) -> list[Line]:
    """Lines of LLVM IR: by debug locations (line = node + 1), else by the function they are in."""
    rows = text.rstrip("\n").split("\n")
    place = {found[1]: int(found[2]) - 1 for row in rows if (found := _DEBUG_LINE.match(row))}
    out: list[Line] = []
    inside: list[int] = []
    for row in rows:
        if found := _DEFINE.match(row):
            inside = nests[int(found[1])] if int(found[1]) < len(nests) else []
        nodes = inside if found else []
        if (debug := _DEBUG.search(row)) and place.get(debug[1], -1) >= 0:
            nodes = [place[debug[1]]]
        elif not place and inside and row.startswith("  "):
            nodes = inside
        if row.startswith("}"):
            inside = []
        out.append((row, with_sources(nodes, source_of)))
    return out


def of_assembly(text: str, nests: list[list[int]], source_of: Mapping[int, str]) -> list[Line]:
    """Lines of assembly: by ``.loc`` directives (line = node + 1), else by the function they are in."""
    rows = text.rstrip("\n").split("\n")
    exact = any(_LOC.match(row) for row in rows)
    out: list[Line] = []
    inside: list[int] = []
    nodes: list[int] = []
    for row in rows:
        if found := _SYMBOL.match(row):
            inside = nests[int(found[2])] if int(found[2]) < len(nests) else []
            nodes = [] if exact else inside
            out.append((row, with_sources(inside, source_of)))
            continue
        if found := _LOC.match(row):
            nodes = [int(found[1]) - 1] if int(found[1]) > 0 else []
        if row.startswith("\t.size") or row.startswith("\t.section"):
            inside, nodes = [], []
        code = row.startswith(("\t", "  ")) and not row.strip().startswith((".", "#", ";"))
        out.append((row, with_sources(nodes, source_of) if code else []))
    return out
