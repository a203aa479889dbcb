"""The dump: for each trace every stage as a file of its own, and ``index.html`` to read them side by side.

``STATOR_DUMP=DIR`` leads here when the process ends. A trace's folder holds

    source.py               the function, with line numbers
    bytecode.txt            its bytecode
    graph.0-recorded.txt    the graph as it was recorded, then after each pass that changed it
    graph.1-….txt
    guards.txt              what must hold at entry, in Python terms
    loop_ir.0.txt           schedule and loop IR of segment 0
    llvm.0.ll  asm.0.s      what it is compiled to
    schedule.cu.txt         with device="cuda": each kernel's form, vectors and launch, and the loop IR behind it
    kernels.cu  kernels.ptx what its segments are compiled to
    nvrtc.log               the compiler's words, with registers and spills
    exits.txt               guards in the middle, exits taken, and what stayed in Python, with reason and hint
    timings.json            everything that differs from run to run

A region's folder (a loop that is native code as a whole) holds source.py and bytecode.txt,

    region.txt              its blocks and instructions, each with its source line
    region.ll  region.s     what it is compiled to
    exits.txt               where it can be left, how often that happened, and which instructions it has no code for
    timings.json

All but ``timings.json`` is the same text for the same program, so two dumps can be compared with ``diff -r``.
"""

from __future__ import annotations

import ast
import atexit
import dis
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from .._source import lines_of

__all__ = ["function_texts", "gather", "gather_regions", "watch", "write_dump"]

_watched: list[Any] = []  # compiled functions, kept alive so that their traces are there at the end


def watch(compiled: Any) -> None:
    """Have the traces of a compiled function dumped when the process ends (``STATOR_DUMP``)."""
    if not _watched:
        atexit.register(_write_watched)
    _watched.append(compiled)


def _write_watched() -> None:
    import stator
    from stator import _stator

    folder = _stator.get_option("dump")
    if folder:
        stator.wait()
        write_dump(
            folder, [part for compiled in _watched for part in (*gather(compiled), *gather_regions(compiled))]
        )


def function_texts(function: FunctionType) -> dict[str, Any]:
    """Where a function is written, its source text and its bytecode.

    Returns
    -------
    dict
        ``file``, ``function``, ``first_line``, ``source`` (empty when it cannot be found) and ``bytecode``.
    """
    code = function.__code__
    first, source = source_of(code.co_filename, code.co_firstlineno, code.co_name)
    return {
        "file": code.co_filename,
        "function": function.__qualname__,
        "first_line": first or code.co_firstlineno,
        "source": source,
        "bytecode": bytecode(code),
    }


def source_of(file: str, line: int, name: str) -> tuple[int, str]:
    """First line and text of the innermost function that contains `line` of `file`; (0, "") when there is none."""
    lines = lines_of(file)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return 0, ""
    best: tuple[int, int] | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            if first <= line <= (node.end_lineno or line) and (best is None or first >= best[0]):
                best = (first, node.end_lineno or line)
    if name == "<module>" or best is None:
        best = (max(1, line - 5), min(len(lines), line + 5))
    return best[0], "".join(lines[best[0] - 1 : best[1]])


def bytecode(code: CodeType) -> str:
    """The disassembly of a code object and of those inside it, without addresses."""
    out = io.StringIO()
    dis.dis(code, file=out)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", out.getvalue())


def gather(compiled: Any) -> list[dict[str, Any]]:
    """What `write_dump` needs to know of every trace of a compiled function."""
    from stator import _stator

    texts = function_texts(compiled.__wrapped__)
    remarks = [
        {
            name: getattr(r, name)
            for name in ("reason", "message", "hint", "file", "function", "line", "count")
        }
        for r in _stator.remarks(compiled)
    ]
    out = []
    counters = dict(_stator.stats(compiled))
    for trace in _stator.traces(compiled):
        artifacts = [
            {"loop_ir": a.loop_ir, "llvm_ir": a.llvm_ir, "assembly": a.assembly, "error": a.error}
            for a in trace.artifacts()
        ]
        for k, text in enumerate(trace.programs):
            if k >= len(artifacts):
                artifacts.append({"loop_ir": text, "llvm_ir": "", "assembly": "", "error": "not compiled"})
        out.append(
            texts
            | _cuda_parts(trace)
            | {
                "name": trace.name,
                "place": trace.place,
                "recorded": trace.recorded_text,
                "passes": list(trace.passes),
                "graph": trace.graph_text,
                "guards": list(trace.guards),
                "segments": artifacts,
                "exits_taken": trace.exits,
                "remarks": remarks,
                "timings": {
                    "entries": trace.entries,
                    "recorded_ms": trace.recorded_ms,
                    "prepared_ms": trace.prepared_ms,
                    "compiled_ms": trace.compiled_ms,
                    "function": counters,
                },
            }
        )
    return out


def gather_regions(compiled: Any) -> list[dict[str, Any]]:
    """What `write_dump` needs to know of every loop of a compiled function that is native code as a whole."""
    from stator import _stator

    out = []
    for region in _stator.regions(compiled):
        code = region.artifacts()
        out.append(
            function_texts(compiled.__wrapped__)
            | {
                "kind": "region",
                "name": region.name,
                "place": region.place,
                "graph": region.graph_text,
                "llvm_ir": code.llvm_ir,
                "assembly": code.assembly,
                "error": region.error or code.error,
                "exits": [
                    {"file": f, "line": line, "why": why, "taken": taken}
                    for f, line, why, taken in region.exits
                ],
                "left_out": [
                    {"file": f, "line": line, "function": function, "what": what}
                    for f, line, function, what in region.left_out
                ],
                "timings": {
                    "entries": region.entries,
                    "checks": region.checks,
                    "compiled_ms": region.compiled_ms,
                },
            }
        )
    return out


def _cuda_parts(trace: Any) -> dict[str, Any]:
    """What a trace that runs on a GPU has beside the others."""
    if not (trace.cuda and trace.cuda["arch"]):
        return {}
    return {"cuda": _cuda_stage(trace.name, trace.cuda), "waits": trace.waits}


def _cuda_stage(name: str, cuda: dict[str, Any]) -> dict[str, Any]:
    """A trace's CUDA kernels with what NVRTC made of them; it has them in memory or in the cache."""
    from stator import _stator

    code: dict[str, Any] = {"error": cuda["error"]}
    if not cuda["error"]:
        code = _stator.compile_cuda(_stator.mutate_cuda(cuda["source"]), name, cuda["arch"], [])
    used = code.get("kernels", {})
    names = ("registers", "spill_bytes", "stack_bytes", "shared_bytes")
    kernels = [k | dict(zip(names, used.get(k["name"], ()), strict=False)) for k in cuda["kernels"]]
    return {
        "arch": cuda["arch"],
        "source": cuda["source"],
        "programs": cuda["programs"],
        "kernels": kernels,
        "ptx": code.get("ptx", ""),
        "log": code.get("log", ""),
        "options": code.get("options", []),
        "error": code["error"],
    }


def schedule_text(cuda: Mapping[str, Any]) -> str:
    """The kernels' schedules, then the loop IR of each segment."""
    out = []
    for k in cuda.get("kernels", ()):
        out.append(f"kernel {k['name']} of segment {k['segment']}")
        out.append(k["schedule"].rstrip("\n"))
        if "registers" in k:
            out.append(
                f"  uses         {k['registers']} registers a thread, {k['spill_bytes']} bytes spilled, "
                f"{k['shared_bytes']} bytes of static shared memory"
            )
        out.append("")
    for k, text in enumerate(cuda.get("programs", ())):
        out += [f"segment {k}", text.rstrip("\n"), ""]
    return "\n".join(out)


def nvrtc_text(cuda: Mapping[str, Any]) -> str:
    """How NVRTC was called and what it said."""
    error = cuda.get("error")
    head = f"{cuda.get('arch', '')}: {' '.join(cuda.get('options', ()))}"
    return "\n".join([head, *([error] if error else []), cuda.get("log", "").rstrip("\n")]) + "\n"


def write_dump(folder: str | Path, traces: Iterable[Mapping[str, Any]]) -> Path | None:
    """Write one folder per trace or region and ``index.html``.

    Parameters
    ----------
    folder : path
        Made if it does not exist.
    traces : iterable of mappings
        Keys: ``name``, ``place``, ``file``, ``function``, ``first_line``, ``source``, ``bytecode``, ``recorded`` (graph
        text), ``passes`` (pairs of pass and graph text), ``graph`` (the final text), ``guards`` (lines), ``segments``
        (mappings with ``loop_ir``, ``llvm_ir``, ``assembly``, ``error``), ``exits_taken``, ``remarks`` (mappings with
        ``reason``, ``message``, ``hint``, ``file``, ``function``, ``line``, ``count``, ``is_break``), ``timings`` and, of traces
        that run on a GPU, ``waits`` and ``cuda`` (``arch``, ``source``, ``ptx``, ``log``, ``options``, ``error``, ``programs``, ``kernels``). Missing
        ones are empty. Regions are what `gather_regions` gives.

    Returns
    -------
    Path or None
        ``index.html``; None, after one line on standard error, when the folder cannot be written.
    """
    from . import page

    folder, rows = Path(folder), []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        used: set[str] = set()
        for trace in traces:
            name = _folder_name(trace.get("name") or "trace", used)
            _write_stages(folder / name, trace)
            rows.append((name, trace))
        index = folder / "index.html"
        index.write_text(page.render(rows), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        print(
            f"stator: cannot write the dump to {folder}: {error.strerror}; set STATOR_DUMP to a folder that can be written",
            file=sys.stderr,
        )
        return None
    return index


def _folder_name(name: str, used: set[str]) -> str:
    base = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "trace"
    candidate, k = base, 2
    while candidate in used:
        candidate, k = f"{base}.{k}", k + 1
    used.add(candidate)
    return candidate


def numbered(source: str, first_line: int) -> str:
    """Source text with line numbers."""
    return "".join(f"{first_line + k:5}  {line}\n" for k, line in enumerate(source.splitlines()))


def _write_stages(folder: Path, trace: Mapping[str, Any]) -> None:
    from . import regions
    from .page import exits_text

    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.is_file():
            old.unlink()

    def put(name: str, text: str) -> None:
        (folder / name).write_text(
            text if text.endswith("\n") or not text else text + "\n",
            encoding="utf-8",
            errors="backslashreplace",
        )

    put("source.py", numbered(trace.get("source", ""), trace.get("first_line", 1)))
    put("bytecode.txt", trace.get("bytecode", ""))
    put("timings.json", json.dumps(trace.get("timings", {}), indent=1, sort_keys=True))
    if trace.get("kind") == "region":
        put("region.txt", trace.get("graph", ""))
        put("region.ll", trace.get("llvm_ir", "") or f"; {trace.get('error') or 'no machine code'}")
        put("region.s", trace.get("assembly", "") or f"# {trace.get('error') or 'no machine code'}")
        put("exits.txt", regions.exits_text(trace))
        return
    put("graph.0-recorded.txt", trace.get("recorded", ""))
    for k, (name, text) in enumerate(trace.get("passes", ()), 1):
        put(f"graph.{k}-{name}.txt", text)
    put("guards.txt", "\n".join(trace.get("guards", ())))
    segments: Sequence[Mapping[str, str]] = trace.get("segments", ())
    for k, segment in enumerate(segments):
        put(f"loop_ir.{k}.txt", segment.get("loop_ir", ""))
        put(f"llvm.{k}.ll", segment.get("llvm_ir", "") or f"; {segment.get('error') or 'no machine code'}")
        put(f"asm.{k}.s", segment.get("assembly", "") or f"# {segment.get('error') or 'no machine code'}")
    if cuda := trace.get("cuda"):
        put("schedule.cu.txt", schedule_text(cuda))
        put("kernels.cu", cuda.get("source", ""))
        put("kernels.ptx", cuda.get("ptx", "") or f"// {cuda.get('error') or 'no PTX'}")
        put("nvrtc.log", nvrtc_text(cuda))
    put("exits.txt", exits_text(trace))
