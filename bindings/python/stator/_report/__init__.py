"""Reports of where a program's time went (`stator.profile`), as text and as a page."""

from __future__ import annotations

import ast
import html
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .._inspect import duration as call_duration
from .._inspect import host_call_text
from .._profile import ASIDE, CAPTURED, COMPILED, GROUPS, LOST, PARTS
from .._source import cell_of, from_here, line_of, lines_of

if TYPE_CHECKING:
    from .._profile import Function, Line, Report

HERE = Path(__file__).parent
# In the text.
MOST_FUNCTIONS = {"own": 10, "installed": 3, "other": 0}
MOST_LINES, MOST_REASONS, MOST_COMPILED = 5, 3, 5
LEAST = 0.005  # share of the time from which something is worth a line
CONTEXT = 2  # lines around those with time, on the page
SHORT = {"numpy": "NumPy", "python": "Python"}


def text(report: Report) -> str:
    return "\n".join(
        [*_head(report), "", *_parts(report), "", *_compiled(report), *_routines(report), *_changes(report)]
    )


def summary(report: Report) -> str:
    shown = [n for n in CAPTURED if n != "answered" or report.parts[n]]
    of_it = [f"{PARTS[n][0]} {_percent(report.share(report.parts[n]))}" for n in shown]
    return f"captured: {_percent(report.captured)} of the program's time ({', '.join(of_it)})"


def facts(report: Report) -> str:
    compiling = f", compiler {duration(report.compile)} on a thread of its own" if report.compile else ""
    threads = f", {report.threads} threads of Python's" if report.threads > 1 else ""
    return f"{duration(report.wall)} by the clock, {duration(report.cpu)} of CPU{compiling}{threads}"


def answered(report: Report) -> str:
    """Of Python code that is not compiled: what it did not wait for NumPy for."""
    return f"NumPy's calls that stator answered for code that is not compiled: {host_call_text(report.host_calls)}"


def _head(report: Report) -> Iterator[str]:
    yield f"where the time went{': ' + report.title if report.title else ''}"
    yield f"  {facts(report)}"
    yield f"  {summary(report)}"
    if report.host_calls:
        yield from _wrapped(answered(report), "  ")
    if report.interrupted:
        yield "  the program took SIGURG for itself: what follows is of the time before"


def _parts(report: Report) -> Iterator[str]:
    for name, (title, meaning) in PARTS.items():
        seconds = report.parts[name]
        if seconds:
            share = "" if name in ASIDE else _percent(report.share(seconds))
            yield f"  {title:18}{share:>7}{duration(seconds):>10}   {meaning}"


def _compiled(report: Report) -> Iterator[str]:
    """The functions that spend most time in compiled code: what is fast already."""
    found = sorted(report.functions, key=lambda f: -f.sum(COMPILED))
    shown = [f for f in found if report.share(f.sum(COMPILED)) >= LEAST][:MOST_COMPILED]
    if shown:
        yield "In compiled code already"
        for f in shown:
            yield f"     {_percent(report.share(f.sum(COMPILED))):>6} {place(f)}: {duration(f.sum(COMPILED))}{gain(f)}"


def _routines(report: Report) -> Iterator[str]:
    """The functions that wait for NumPy's routines, which nothing but other algorithms makes shorter."""
    found = sorted(report.functions, key=lambda f: -f.parts.get("routines", 0.0))
    shown = [f for f in found if report.share(f.parts.get("routines", 0.0)) >= LEAST][:MOST_COMPILED]
    if shown:
        yield "In NumPy's routines, which compiled code would call as well"
        for f in shown:
            spent = f.parts["routines"]
            names = ", ".join(sorted(f.routines, key=lambda name: -f.routines[name]))
            yield f"     {_percent(report.share(spent)):>6} {place(f)}: {duration(spent)} in {names}"


def _changes(report: Report) -> Iterator[str]:
    found = [f for f in report.functions if report.share(f.lost) >= LEAST]
    if not any(f.group == "own" for f in found):
        others = "; what the others spend is below" if found else ""
        yield (
            "nothing is left to change in the program's own files: no function there spends half a percent of the time "
            f"outside of compiled code{others}"
        )
    for group, most in MOST_FUNCTIONS.items():
        functions = [f for f in found if f.group == group]
        whole = sum(f.lost for f in report.functions if f.group == group)
        if functions:
            yield f"{GROUPS[group]}, {_percent(report.share(whole))} of the time"
        for number, function in enumerate(functions[:most], 1):
            yield f"{number:3}. {_percent(report.share(function.lost)):>6} {place(function)}: {split(function)}"
            for reason in function.reasons:
                yield from _wrapped(why(reason), "       ")
            yield from _hot_lines(report, function)
        if (more := len(functions) - most) > 0:
            rest = sum(f.lost for f in functions[most:])
            yield f"     {_percent(report.share(rest)):>6} in {more}{' more' * (most > 0)} function{'s' * (more > 1)}"


def _hot_lines(report: Report, function: Function) -> Iterator[str]:
    lines = sorted(function.lines.values(), key=lambda at: -at.lost)
    shown = [at for at in lines if report.share(at.lost) >= LEAST][:MOST_LINES]
    # What a loop was not compiled for need not be where the loop spends its time.
    if not any(at.reasons for at in shown[:1]):
        shown += [at for at in lines if at.reasons and at not in shown][:MOST_REASONS]
    for at in shown:
        source = line_of(function.file, at.line).strip()
        share = _percent(report.share(at.lost)) if at.lost else ""
        yield f"       {share:>6} {at.line:5}  {textwrap.shorten(source, 80, placeholder=' ...')}"
        for reason in at.reasons:
            yield from _wrapped(why(reason), "                      ")


def _wrapped(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, 110, initial_indent=indent, subsequent_indent=indent + "  ")


def place(function: Function) -> str:
    return f"{function.name} ({cell_of(function.file) or from_here(function.file)}:{function.line})"


def gain(function: Function) -> str:
    """How much faster the function's calls are than plain Python's, where that was measured."""
    if not function.compared:
        return ""
    served, plain = function.compared
    return f"; a call takes {call_duration(served)}, as plain Python {call_duration(plain)}: {plain / served:.2g} times as fast"


def split(at: Line) -> str:
    parts = [f"{SHORT[n]} {duration(at.parts[n])}" for n in LOST if at.parts.get(n)]
    captured = at.sum(CAPTURED) / at.seconds if at.seconds else 0.0
    if not parts and not captured:
        return f"{duration(at.seconds)} in other libraries, NumPy's routines and stator itself"
    return ", ".join(parts) + (f"; {_percent(captured)} of its time is captured" if captured else "")


def why(reason: dict[str, object]) -> str:
    return f"{reason['text']}{f' → {hint}' if (hint := reason['hint']) else ''}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def duration(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.{seconds < 0.01:d}f} ms"


# --- the page ---


def page(report: Report) -> str:
    title = html.escape(report.title or "where the time went")
    shown = [f for f in report.functions if report.share(f.seconds) >= LEAST]
    sections = ""
    for group, heading in GROUPS.items():
        functions = [f for f in shown if f.group == group]
        if functions or group == "own":
            pieces = [_function(report, f, group == "own" and k < 3) for k, f in enumerate(functions)]
            sections += (
                f"<h2>{heading}</h2>\n{''.join(pieces) or '<p>Nothing: no function has any time.</p>'}\n"
            )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>stator: {title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{(HERE / 'page.css').read_text(encoding='utf-8')}</style></head>\n<body>\n"
        f'<header><h1>stator</h1><p>{title}</p><p class="dim">{html.escape(facts(report))}</p></header>\n<main>\n'
        f'<p class="summary">{html.escape(summary(report))}</p>\n{_bar(report.parts, report.seconds)}\n'
        f"{f'<p>{html.escape(answered(report))}</p>' if report.host_calls else ''}\n"
        f"{_legend(report)}\n{sections}"
        "</main>\n</body></html>\n"
    )


def _bar(parts: dict[str, float], whole: float) -> str:
    """Widths are shares of `whole`."""
    pieces = [
        f'<i class="{name}" style="width:{100 * seconds / whole:.2f}%" title="{PARTS[name][0]} {duration(seconds)}"></i>'
        for name in PARTS
        if (seconds := parts.get(name, 0.0)) and whole and name not in ASIDE
    ]
    return f'<span class="bar">{"".join(pieces)}</span>'


def _legend(report: Report) -> str:
    rows = []
    for name, (title, meaning) in PARTS.items():
        if seconds := report.parts[name]:
            share = "" if name in ASIDE else _percent(report.share(seconds))
            rows.append(
                f'<tr><td><i class="{name}"></i>{title}</td><td class="n">{share}</td>'
                f'<td class="n">{duration(seconds)}</td><td class="dim">{meaning}</td></tr>'
            )
    return f'<table class="legend">{"".join(rows)}</table>'


def _function(report: Report, function: Function, is_open: bool) -> str:
    reasons = "".join(_reason(r) for r in function.reasons)
    return (
        f"<details{' open' if is_open else ''}><summary>"
        f'<b class="n">{_percent(report.share(function.lost))}</b> {html.escape(place(function))}'
        f'<span class="dim">{html.escape((split(function) or "all of it is captured") + gain(function))}</span>'
        f"{_bar(function.parts, report.seconds)}</summary>\n{reasons}<pre>{_listing(report, function)}</pre></details>\n"
    )


def _reason(reason: dict[str, object]) -> str:
    hint = f" <b>{html.escape(str(reason['hint']))}</b>" if reason["hint"] else ""
    return f'<p class="why">{html.escape(str(reason["text"]))}{hint}</p>'


def _listing(report: Report, function: Function) -> str:
    last = max((n for n, at in function.lines.items()), default=0)
    rows, before = (
        ['<div class="dim"><span class="cost">left out</span><span class="cost got">captured</span></div>'],
        0,
    )
    for n in _shown(function):
        at = function.lines.get(n)
        if before and n > before + 1:
            rows.append('<div class="gap">⋯</div>')
        before = n
        source = html.escape(line_of(function.file, n).rstrip("\n"))
        lost = _percent(report.share(at.lost)) if at and report.share(at.lost) >= 0.0005 else ""
        got = at.sum(CAPTURED) if at else 0.0
        captured = _percent(report.share(got)) if report.share(got) >= 0.0005 else ""
        bar = _bar(at.parts, report.seconds) if at else '<span class="bar"></span>'
        kind = "python" if at and (at.reasons or at.lost) else "native" if captured else ""
        rows.append(
            f'<div class="{kind}"><span class="cost">{lost}</span><span class="cost got">{captured}</span>{bar}'
            f'<span class="number">{n:{len(str(last))}}</span>  {source}</div>'
        )
        rows.extend(f'<div class="note">{html.escape(why(r))}</div>' for r in (at.reasons if at else ()))
    return "".join(rows)


def _shown(function: Function) -> list[int]:
    """The lines of the function; of code outside of functions, and of long ones, those around lines with time."""
    own = _extent(function)
    around = {n + k for n in function.lines for k in range(-CONTEXT, CONTEXT + 1)}
    whole = set(range(own[0], own[1] + 1)) if own and own[1] - own[0] < 80 else set()
    length = len(lines_of(function.file))
    first = own[0] if own else 1
    return sorted(n for n in whole | around if first <= n <= (own[1] if own else length))


def _extent(function: Function) -> tuple[int, int] | None:
    try:
        tree = ast.parse("".join(lines_of(function.file)))
    except (SyntaxError, ValueError):
        return None
    name = function.name.rpartition(".")[2]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            last = node.end_lineno or node.lineno
            if first <= max(function.lines, default=function.line) <= last:
                return first, last
    return None
