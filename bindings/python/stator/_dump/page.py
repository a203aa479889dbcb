"""Makes ``index.html``: one self-contained page in which the stages of every trace are linked.

The page carries each trace as data (texts with keys, see `links`, and the drawn graph); ``page.js`` shows it.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._inspect import times
from . import links
from .graphtext import Text, parse
from .layout import Drawing

HERE = Path(__file__).parent


def exits_text(trace: Mapping[str, Any]) -> str:
    """Guards in the middle of a trace, how often it was left, and what stayed in Python."""
    out = []
    for entry in middle_guards(parse(trace.get("graph", ""))):
        out.append(f"{entry['place'] or '?'}: leaves to {entry['exit']} unless {entry['condition']}")
    out.append(f"exits taken: {trace.get('exits_taken', 0)}")
    for r in trace.get("remarks", ()):
        hint = f" ({r['hint']})" if r.get("hint") else ""
        out.append(
            f"{os.path.basename(r['file'])}:{r['line']} in {r['function']}: {r['reason']}: {r['message']}{hint}, {times(r['count'])}"
        )
    return "\n".join(out) + "\n"


def middle_guards(graph: Text) -> list[dict[str, Any]]:
    """Guards of a graph that leave through a snapshot."""
    out = []
    for node in graph.nodes:
        if node.kind == "guard" and node.exit and node.exit != "entry":
            place = f"{os.path.basename(node.location[0])}:{node.location[1]}" if node.location else ""
            out.append(
                {
                    "node": node.id,
                    "exit": node.exit,
                    "condition": node.label,
                    "place": place,
                    "location": node.location,
                }
            )
    return out


def _source_panes(
    trace: Mapping[str, Any], graphs: Sequence[Text], sources: links.Sources
) -> list[dict[str, Any]]:
    """The traced function, then every other function that nodes come from, each with marks at its lines."""
    from . import source_of

    marks = _marks(trace, sources)
    panes: list[dict[str, Any]] = []
    shown: set[tuple[str, int]] = set()

    def pane(title: str, file: str, first: int, text: str) -> None:
        lines = []
        for k, line in enumerate(text.splitlines(), first):
            shown.add((file, k))
            key = sources.key(file, k)
            lines.append([f"{k:5}  {line}", [key], marks.get(key, [])])
        panes.append({"title": title, "lines": lines})

    file, first = trace.get("file", ""), trace.get("first_line", 1)
    pane(f"{trace.get('function', '')} · {os.path.basename(file)}", file, first, trace.get("source", ""))
    shown.update((os.path.basename(file), line) for name, line in list(shown) if name == file)
    for graph in graphs:
        for node in graph.nodes:
            if node.location and (node.location[0], node.location[1]) not in shown:
                name, line, function = node.location
                start, text = source_of(name, line, function)
                if text:
                    pane(f"{function} · {os.path.basename(name)}", name, start, text)
                shown.add((name, line))
    return panes


def _kind(remark: Mapping[str, Any]) -> str:
    """Whether a remark means that something stayed in Python, or only says how the code was cut."""
    return "python" if remark.get("is_break", True) and remark["reason"] != "LoopHeader" else "note"


def _marks(trace: Mapping[str, Any], sources: links.Sources) -> dict[str, list[dict[str, Any]]]:
    """Exits and Python steps by source line."""
    out: dict[str, list[dict[str, Any]]] = {}
    for entry in middle_guards(parse(trace.get("graph", ""))):
        if entry["location"]:
            key = sources.key(entry["location"][0], entry["location"][1])
            out.setdefault(key, []).append(
                {
                    "kind": "exit",
                    "text": f"exit {entry['exit']}",
                    "why": f"leaves here unless {entry['condition']}",
                }
            )
    for r in trace.get("remarks", ()):
        why = r["message"] + (f"\n→ {r['hint']}" if r.get("hint") else "")
        kind = _kind(r)
        out.setdefault(sources.key(r["file"], r["line"]), []).append(
            {"kind": kind, "text": f"{r['reason']} ×{r['count']}", "why": why}
        )
    for w in trace.get("waits", ()):
        if w["line"]:
            text = {"text": f"waits ×{w['count']}", "why": f"waits for the GPU: {_wait_text(w)}"}
            out.setdefault(sources.key(w["file"], w["line"]), []).append({"kind": "note"} | text)
    return out


def _wait_text(wait: Mapping[str, Any]) -> str:
    from .._inspect import WAITS

    return WAITS[wait["kind"]][0].format(wait["call"])


def _left_to_python(trace: Mapping[str, Any], sources: links.Sources) -> list[dict[str, Any]]:
    rows = []
    for entry in middle_guards(parse(trace.get("graph", ""))):
        keys = [f"n{entry['node']}"] + ([sources.key(*entry["location"][:2])] if entry["location"] else [])
        rows.append(
            {
                "kind": "exit",
                "place": entry["place"],
                "text": f"leaves to {entry['exit']} unless {entry['condition']}",
                "hint": "",
                "keys": keys,
            }
        )
    for r in trace.get("remarks", ()):
        place = f"{os.path.basename(r['file'])}:{r['line']} {r['function']}"
        rows.append(
            {
                "kind": _kind(r),
                "place": place,
                "text": f"{r['message']} ({times(r['count'])})",
                "hint": r.get("hint", ""),
                "keys": [sources.key(r["file"], r["line"])],
            }
        )
    return rows


def _bytecode_lines(text: str, file: str, sources: links.Sources) -> list[links.Line]:
    """Disassembly: each instruction belongs to the last source line that was named in the first column."""
    out: list[links.Line] = []
    current: list[str] = []
    for line in text.splitlines():
        head = line[:12].split()
        if head and head[0].isdigit() and line[:5].strip():
            current = [sources.key(file, int(head[0]))]
        elif not line.strip() or line.startswith("Disassembly"):
            current = []
        out.append((line, current))
    return out


def _first_place(graph: Text) -> str:
    located = [n.location for n in graph.nodes if n.location]
    return f"{os.path.basename(located[0][0])}:{located[0][1]}" if located else ""


def _gpu_panes(
    cuda: Mapping[str, Any], graph: Text, source_of: Mapping[int, str]
) -> dict[str, list[links.Line]]:
    from . import nvrtc_text, schedule_text
    from .cudalinks import Kernels

    kernels = Kernels(cuda, graph, source_of)
    return {
        "schedule": kernels.of_schedule(schedule_text(cuda)),
        "CUDA": kernels.of_source(cuda.get("source", "")),
        "PTX": kernels.of_named(cuda.get("ptx", "") or f"// {cuda.get('error', '')}"),
        "NVRTC": kernels.of_named(nvrtc_text(cuda)),
    }


def model(folder: str, trace: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the page shows of one trace."""
    if trace.get("kind") == "region":
        from . import regions

        return regions.model(folder, trace) | {
            "bytecode": _bytecode_lines(trace.get("bytecode", ""), trace.get("file", ""), links.Sources())
        }
    sources = links.Sources()
    final = trace.get("graph", "")
    graph = parse(final)
    sources.key(trace.get("file", ""), 0)
    source_of = {n.id: sources.key(n.location[0], n.location[1]) for n in graph.nodes if n.location}
    stages = [("recorded", trace.get("recorded", ""))] + [tuple(p) for p in trace.get("passes", ())]
    graphs = [
        {"title": f"{k} {name}", "lines": links.of_graph(text, sources, False)}
        for k, (name, text) in enumerate(stages)
    ]
    graphs.append({"title": "final", "lines": links.of_graph(final, sources, True)})
    segments: list[dict[str, list[links.Line]]] = []
    nest_of: dict[int, str] = {}
    for k, segment in enumerate(trace.get("segments", ())):
        loop_ir, nests_by_node, nests = links.of_loop_ir(
            segment.get("loop_ir", ""), graph, source_of, set(nest_of)
        )
        for i, nest in nests_by_node.items():
            nest_of.setdefault(i, f"segment {k}, {nest}")
        segments.append({
            "loop IR": loop_ir,
            "LLVM IR": links.of_llvm(segment.get("llvm_ir", "") or f"; {segment.get('error', '')}", nests, source_of),
            "assembly": links.of_assembly(segment.get("assembly", "") or f"# {segment.get('error', '')}", nests, source_of),
        })  # fmt: skip
    left = _left_to_python(trace, sources)
    gpu = _gpu_panes(trace["cuda"], graph, source_of) if trace.get("cuda") else None
    return {
        "folder": folder,
        "name": trace.get("name", folder),
        "place": trace.get("place") or _first_place(graph),
        "function": trace.get("function", ""),
        "exits": sum(r["kind"] == "exit" for r in left),
        "python": sum(r["kind"] == "python" for r in left),
        "sources": _source_panes(trace, [graph], sources),
        "bytecode": _bytecode_lines(trace.get("bytecode", ""), trace.get("file", ""), sources),
        "graphs": graphs,
        "guards": list(trace.get("guards", ())),
        "left": left,
        "segments": segments,
        **({"gpu": gpu} if gpu else {}),
        "svg": Drawing(graph).svg(nest_of) if graph.nodes else "",
        "sourceOf": {str(k): v for k, v in source_of.items()},
        "nests": len(set(nest_of.values())),
        "nodes": len(graph.nodes),
    }


def render(traces: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The page's text for (folder, trace) pairs."""
    data = json.dumps(
        [model(folder, trace) for folder, trace in traces], ensure_ascii=False, separators=(",", ":")
    )
    data = data.replace("</", "<\\/").replace("<!--", "<\\!--")
    title = html.escape(f"stator: {len(traces)} trace{'s' if len(traces) != 1 else ''}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{(HERE / 'page.css').read_text(encoding='utf-8')}</style></head>\n<body>\n"
        f"{(HERE / 'page.html').read_text(encoding='utf-8')}"
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>\n{(HERE / 'page.js').read_text(encoding='utf-8')}</script>\n</body></html>\n"
    )
