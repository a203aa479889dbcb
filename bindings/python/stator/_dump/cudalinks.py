"""Which line of CUDA source, PTX and the compiler's log belongs to which nodes. Keys are those of `links`.

Statement v3 of the loop IR is v3 in the CUDA source of a kernel of one nest, and v1_3 in the second nest of a kernel of several;
a3 is what its reduction adds up. In PTX and in the log, what names a kernel belongs to all nodes of its nests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import links
from .graphtext import Text

_HEAD = re.compile(r"^ *kernel (\w+) of segment|^(\w+)\(|\.entry (\w+)\(|'(\w+)'|\bfor (\w+)$")
# What a line defines or adds to; where nothing, what it stores.
_DEFINED = re.compile(r"\b[va](?:(\d+)_)?(\d+)(?= =)")
_STORED = re.compile(r"\b[va](?:(\d+)_)?(\d+)(?=\)?;)")
_NEST = re.compile(r"^\s*nest (\d+)")
_VALUE = re.compile(r"^\s*v(\d+) = ")


class Kernels:
    """The kernels of a trace, and what their parts belong to."""

    def __init__(self, cuda: Mapping[str, Any], graph: Text, source_of: Mapping[int, str]) -> None:
        self.programs: list[list[links.Line]] = []
        statements: list[dict[tuple[int, int], list[str]]] = []
        nests: list[list[list[int]]] = []
        taken: set[int] = set()
        for text in cuda.get("programs", ()):
            lines, nest_of, mine = links.of_loop_ir(text, graph, source_of, set(taken))
            taken.update(nest_of)
            self.programs.append(lines)
            nests.append(mine)
            statements.append(_statements(lines))
        self.keys: dict[str, list[str]] = {}
        self.statements: dict[str, dict[tuple[int, int], list[str]]] = {}
        for k in cuda.get("kernels", ()):
            found = nests[k["segment"]] if k["segment"] < len(nests) else []
            nodes = [i for n in k["nests"] if n < len(found) for i in found[n]]
            self.keys[k["name"]] = links.with_sources(dict.fromkeys(nodes), source_of)
            known = statements[k["segment"]] if k["segment"] < len(statements) else {}
            place = {nest: at for at, nest in enumerate(k["nests"])}
            self.statements[k["name"]] = {
                (place[nest], statement): keys for (nest, statement), keys in known.items() if nest in place
            }

    def named(self, line: str) -> str:
        """The kernel that a line names, or ""."""
        for groups in _HEAD.findall(line):
            for name in groups:
                if name in self.keys:
                    return name
        return ""

    def of_schedule(self, text: str) -> list[links.Line]:
        """Lines of `schedule_text`: of kernels, then of programs, which are linked already."""
        out: list[links.Line] = []
        current: list[str] = []
        waiting = [line for program in self.programs for line in program]
        for line in text.rstrip("\n").split("\n"):
            if waiting and line == waiting[0][0]:
                out.append(waiting.pop(0))
                continue
            if line.startswith("kernel "):
                current = self.keys.get(self.named(line), [])
            elif not line.startswith(" "):
                current = []
            out.append((line, current))
        return out

    def of_source(self, text: str) -> list[links.Line]:
        """Lines of CUDA C++: statements by their names, heads of kernels by all that they compute."""
        out: list[links.Line] = []
        kernel = ""
        for line in text.rstrip("\n").split("\n"):
            if name := self.named(line):
                kernel = name
                out.append((line, self.keys[name]))
                continue
            keys: list[str] = []
            named = (_DEFINED.findall(line) or _STORED.findall(line)) if kernel else ()
            for nest, statement in named:
                keys += self.statements[kernel].get((int(nest or 0), int(statement)), [])
            if line.startswith("}"):
                kernel = ""
            out.append((line, list(dict.fromkeys(keys))))
        return out

    def of_named(self, text: str) -> list[links.Line]:
        """Lines of PTX or of the log: those that name a kernel."""
        return [(line, self.keys.get(self.named(line), [])) for line in text.rstrip("\n").split("\n")]


def _statements(lines: Sequence[links.Line]) -> dict[tuple[int, int], list[str]]:
    found: dict[tuple[int, int], list[str]] = {}
    nest = -1
    for text, keys in lines:
        if head := _NEST.match(text):
            nest = int(head[1])
        elif (value := _VALUE.match(text)) and nest >= 0:
            found[nest, int(value[1])] = keys
    return found
