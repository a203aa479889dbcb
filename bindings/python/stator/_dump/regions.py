"""Regions in the dump: source lines with what is native, exits, the region's text and its code."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from .._inspect import times
from . import links

# What an exit's label means to someone who reads the page.
WHY = {
    "end": "the loop is over",
    "check": "Python does this statement",
    "poll": "signals and other threads",
}
_LINE = re.compile(r" @(\d+)( in l\d+)?:?$")
_BLOCK = re.compile(r"^b\d+\b.*:$")
_INSTRUCTION = re.compile(r"^\t(?!\.)\S")


def exits_text(region: Mapping[str, Any]) -> str:
    """Where the region can be left and how often that happened, then what it has no code for."""
    out = [f"entered {times(region.get('timings', {}).get('entries', 0))}"]
    for k, x in enumerate(region.get("exits", ())):
        place = f"{os.path.basename(x['file'])}:{x['line']}"
        out.append(f"x{k} to {place}, {times(x['taken'])}: {WHY.get(x['why'], x['why'])}")
    for r in region.get("left_out", ()):
        out.append(f"{os.path.basename(r['file'])}:{r['line']} in {r['function']}: no code for {r['what']}")
    return "\n".join(out) + "\n"


def _marks(region: Mapping[str, Any], sources: links.Sources) -> dict[str, list[dict[str, Any]]]:
    """By source line: exits that were taken, and instructions without code."""
    out: dict[str, list[dict[str, Any]]] = {}
    taken: dict[tuple[str, str], int] = {}
    for x in region.get("exits", ()):
        key = sources.key(x["file"], x["line"])
        taken[key, x["why"]] = taken.get((key, x["why"]), 0) + x["taken"]
    for (key, why), count in taken.items():
        if count and why != "end":
            mark = {
                "kind": "exit" if why == "check" else "note",
                "text": f"left ×{count}",
                "why": WHY.get(why, why),
            }
            out.setdefault(key, []).append(mark)
    for r in region.get("left_out", ()):
        mark = {"kind": "python", "text": "Python", "why": f"no code for {r['what']}"}
        marks = out.setdefault(sources.key(r["file"], r["line"]), [])
        if mark not in marks:
            marks.append(mark)
    return out


def _text(region: Mapping[str, Any], sources: links.Sources) -> list[links.Line]:
    file = region.get("file", "")
    out: list[links.Line] = []
    for line in region.get("graph", "").splitlines():
        found = _LINE.search(line)
        out.append((line, [sources.key(file, int(found[1]))] if found else []))
    return out


def _rows(region: Mapping[str, Any], sources: links.Sources) -> list[dict[str, Any]]:
    rows = []
    for r in region.get("left_out", ()):
        place = f"{os.path.basename(r['file'])}:{r['line']} {r['function']}"
        rows.append({"kind": "python", "place": place, "text": f"no code for {r['what']}", "hint": "", "keys": [sources.key(r["file"], r["line"])]})  # fmt: skip
    exits = list(enumerate(region.get("exits", ())))
    for k, x in sorted(exits, key=lambda e: -e[1]["taken"]):
        place = f"x{k} → {os.path.basename(x['file'])}:{x['line']}"
        kind = "exit" if x["why"] == "check" and x["taken"] else "note"
        rows.append({"kind": kind, "place": place, "text": f"{WHY.get(x['why'], x['why'])} · taken {times(x['taken'])}", "hint": "", "keys": [sources.key(x["file"], x["line"])]})  # fmt: skip
    return rows


def _code(text: str, error: str, comment: str) -> list[links.Line]:
    return [(line, []) for line in (text or f"{comment} {error or 'no machine code'}").splitlines()]


def model(folder: str, region: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the page shows of one region."""
    from . import source_of

    sources = links.Sources()
    file = region.get("file", "")
    sources.key(file, 0)
    text = _text(region, sources)
    native = {keys[0] for line, keys in text if keys and line.startswith("  %")}
    marks = _marks(region, sources)
    panes: list[dict[str, Any]] = [
        {"title": f"{region.get('function', '')} · {os.path.basename(file)}", "lines": []}
    ]
    first = region.get("first_line", 1)
    lines = region.get("source", "").splitlines()
    shown = {sources.key(file, first + k) for k in range(len(lines))}
    pane = [(first + k, line) for k, line in enumerate(lines)]
    panes[0]["lines"] = [
        [f"{k:5}  {line}", [sources.key(file, k)], marks.get(sources.key(file, k), [])] for k, line in pane
    ]
    for key in sorted(native - shown, key=lambda k: int(k.split(":")[1])):  # functions that it follows
        if key in shown:
            continue
        start, body = source_of(file, int(key.split(":")[1]), "")
        rows = [(start + k, line) for k, line in enumerate(body.splitlines())]
        shown.update(sources.key(file, k) for k, _ in rows)
        panes.append({
            "title": f"line {start} · {os.path.basename(file)}",
            "lines": [[f"{k:5}  {line}", [sources.key(file, k)], marks.get(sources.key(file, k), [])] for k, line in rows],
        })  # fmt: skip
    assembly = region.get("assembly", "")
    timings = region.get("timings", {})
    instructions = sum(1 for line in assembly.splitlines() if _INSTRUCTION.match(line))
    checks = sum(x["taken"] for x in region.get("exits", ()) if x["why"] == "check")
    facts = [
        f"{sum(1 for line, _ in text if _BLOCK.match(line))} blocks",
        f"{instructions} instructions of machine code",
        f"compiled in {timings['compiled_ms']:.1f} ms"
        if timings.get("compiled_ms")
        else "code from the cache",
        f"entered {times(timings.get('entries', 0))}",
        f"left in the middle {times(checks)}",
    ]
    return {
        "kind": "region",
        "folder": folder,
        "name": region.get("name", folder),
        "place": region.get("place", ""),
        "function": region.get("function", ""),
        "exits": checks,
        "python": len({(r["file"], r["line"]) for r in region.get("left_out", ())}),
        "sources": panes,
        "native": sorted(native),
        "bytecode": [],
        "text": text,
        "left": _rows(region, sources),
        "facts": facts,
        "LLVM IR": _code(region.get("llvm_ir", ""), region.get("error", ""), ";"),
        "assembly": _code(assembly, region.get("error", ""), "#"),
    }
