"""Which line of one text belongs to which line of another.

Every line of every stage gets keys: ``n7`` for node 7 of the final graph, ``s2:14`` for line 14 of the trace's file 2.
Two lines belong together when they share a node; where one of them has no nodes, when they share a source line.
"""

from __future__ import annotations

import os
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
                line = line.replace(node.location[0], os.path.basename(node.location[0]))
        elif final and line.startswith(("  return", "  leave")):
            keys = [f"n{i}" for i in graph.results]
        out.append((line, keys))
    return out


def with_sources(nodes: Iterable[int], source_of: Mapping[int, str]) -> list[str]:
    """Keys of some nodes and of the source lines they come from."""
    nodes = list(nodes)
    return [f"n{i}" for i in nodes] + sorted({source_of[i] for i in nodes if i in source_of})


def of_loop_ir(
    text: str, graph: Text, source_of: Mapping[int, str], taken: set[int] | None = None
) -> tuple[list[Line], dict[int, str], list[list[int]]]:
    """Lines of a program's loop IR, the nest that computes each node, and the nodes of each nest.

    Statements name their node in a closing comment (``; %7``). Where they do not, operations are matched with those
    of the graph, in order, by operation and operands; nodes in `taken` (earlier segments') are left out.
    """
    nodes_of_line = _Matcher(graph, taken or set()).run(text)
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


class _Matcher:
    """Finds the graph node of each line of a printed program."""

    def __init__(self, graph: Text, taken: set[int]) -> None:
        self.nodes = {n.id: n for n in graph.nodes}
        self.inputs = {n.label: n.id for n in graph.nodes if n.op == "input"}
        self.waiting: dict[str, list[int]] = {}
        for n in graph.nodes:
            if n.id not in taken and n.kind not in ("input", "const", "view", "guard"):
                name = f"{n.op}.{n.label}" if n.op in ("loop", "reduce", "argreduce") else n.op
                self.waiting.setdefault(name, []).append(n.id)
        self.values: dict[str, int] = {}  # statements of this nest
        self.places: dict[str, int] = {}  # buffers and scalars

    def root(self, i: int) -> int:
        """The buffer behind views and stores."""
        while i in self.nodes and self.nodes[i].kind in ("view", "store") and self.nodes[i].operands:
            i = self.nodes[i].operands[0]
        return i

    def run(self, text: str) -> dict[int, list[int]]:
        out: dict[int, list[int]] = {}
        for number, line in enumerate(text.split("\n")):
            if named := _STATEMENT_NODE.search(line):
                out[number] = [int(x) for x in re.findall(r"\d+", named[1])]
            elif _NEST.match(line):
                self.values = {}
            elif (node := self._line(line)) is not None:
                out[number] = [node]
        return out

    def _line(self, line: str) -> int | None:
        if found := _BUFFER.match(line):
            value = found[3] or ""
            node = (
                int(value[1:])
                if re.fullmatch(r"%\d+", value)
                else self.inputs.get(value.replace("L['", "").replace("']", ""))
            )
            if node is not None:
                self.places[found[1]] = node
            return node
        if not (found := _VALUE.match(line)):
            return None
        words = line.split(" = ", 1)[-1].split()
        node = None
        if words[0] in ("load", "scalar") and len(words) > 1:
            node = self.places.get(words[1].split("[")[0])
        elif words[0] in ("store", "set"):
            node = self.values.get(words[-1])
        elif words[0] in self.waiting:
            node = self._take(words[0], [w.rstrip(",") for w in words[1:] if re.fullmatch(r"v\d+,?", w)])
        if node is not None and found[1]:
            self.values[found[1]] = node
        return node

    def _take(self, name: str, operands: list[str]) -> int | None:
        """The first waiting node of this name whose operands may be these statements."""
        for i in self.waiting[name]:
            wanted = self.nodes[i].operands
            known = [self.values.get(v) for v in operands]
            if name.startswith("reduce."):
                known = known[: len(wanted)]  # then the value that it begins with
            if len(wanted) == len(known) and all(
                k is None or self.root(k) == self.root(w) for k, w in zip(known, wanted, strict=True)
            ):
                self.waiting[name].remove(i)
                return i
        return None


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
