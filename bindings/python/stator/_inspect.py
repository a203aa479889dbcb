"""What a compiled function can say about itself: traces, graphs, generated code, explanations.

The methods of `CompiledFunction` of the same names end here. Nothing of this is imported before it is asked for.
"""

import os
import time

from stator import _stator
from stator._source import named


def _compiled(function):
    """The compiled function in a method or partial of one."""
    seen = function
    while seen is not None and not _stator.is_compiled(seen):
        seen = getattr(seen, "__func__", None) or getattr(seen, "func", None)
    if seen is None:
        raise TypeError(f"expected a function compiled by stator.compile, found {function!r}")
    return seen


def stats(function):
    """Counters of one function, as `stator.stats` has them for all."""
    return _stator.stats(_compiled(function))


def traces(function):
    """Traces recorded so far, in order, as they are now."""
    return _stator.traces(_compiled(function))


def regions(function):
    """Loops of the function that were compiled as a whole, by name."""
    return _stator.regions(_compiled(function))


def _trace(function, trace):
    all_traces = traces(function)
    if isinstance(trace, str):
        for t in all_traces:
            if t.name == trace:
                return t
        raise ValueError(f"no trace {trace!r}: there are {[t.name for t in all_traces]}")
    if not all_traces:
        name = _compiled(function).__qualname__
        raise ValueError(
            f"{name} has no trace yet: call it first; stator.explain({name})(...) says what keeps it in Python"
        )
    try:
        return all_traces[trace]
    except IndexError:
        raise ValueError(f"no trace {trace}: there are {len(all_traces)}, counted from 0") from None


class Graph:
    """A graph as text, which notebooks show with its parts told apart.

    Attributes
    ----------
    name : str
        The trace it belongs to.
    text : str
        The text form, which the parser reads back.
    """

    def __init__(self, name, text):
        self.name = name
        self.text = text

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _repr_html_(self):
        return _STYLE + f'<pre class="stator">{_highlight(self.text)}</pre>'


def graph(function, trace=-1, *, recorded=False):
    """Graph of one trace.

    Parameters
    ----------
    trace : int or str, default -1
        Number of the trace, the last by default, or its name.
    recorded : bool, default False
        As it was recorded, before the passes.

    Returns
    -------
    Graph
    """
    t = _trace(function, trace)
    return Graph(t.name, t.recorded_text if recorded else t.graph_text)


def _code(function, trace, what):
    t = _trace(function, trace)
    parts = []
    for number, segment in enumerate(t.artifacts()):
        text = getattr(segment, what)
        parts.append(text if text else f"; segment {number}: {segment.error or 'nothing to compile'}\n")
    return "\n".join(parts)


def llvm(function, trace=-1):
    """LLVM IR of one trace's kernels, one module for each segment."""
    return _code(function, trace, "llvm_ir")


def asm(function, trace=-1):
    """Assembly of one trace's kernels."""
    return _code(function, trace, "assembly")


def cuda(function, /, *args, arch="sm_90", **kwargs):
    """The CUDA kernels of a call with these arguments; see `CompiledFunction.cuda`."""
    from stator import _cuda

    return _cuda.kernels(_compiled(function), *args, arch=arch, **kwargs)


def explain(function, /, *args, **kwargs):
    """Call the function and say what became of it; see `stator.explain`."""
    return explainer(function)(*args, **kwargs)


def explainer(function):
    """`stator.explain`: a callable that takes the arguments and returns an `Explanation`."""
    import stator

    try:
        _compiled(function)
    except TypeError:
        function = stator.compile(function)
    state = _compiled(function)

    def explained(*args, **kwargs):
        before, answered = _stator.stats(state), _stator.host_calls()
        waits = _waits(_stator.traces(state))
        started = time.perf_counter()
        result, microseconds = _stator.profiled(lambda: function(*args, **kwargs))
        seconds = time.perf_counter() - started
        host_calls = {
            name: calls - answered.get(name, 0)
            for name, calls in _stator.host_calls().items()
            if calls > answered.get(name, 0)
        }
        return Explanation(state, result, before, seconds, microseconds, waits, host_calls)

    return explained


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"


def host_call_text(calls: dict[str, int], most: int = 5) -> str:
    """What stator answered in NumPy's place, the most frequent first: "12: numpy.mean 10, a * b 2"."""
    names = sorted(calls, key=lambda name: -calls[name])
    rest = sum(calls[name] for name in names[most:])
    shown = [f"{name} {calls[name]:,}" for name in names[:most]] + [f"others {rest:,}"] * bool(rest)
    return f"{sum(calls.values()):,}: {', '.join(shown)}"


def duration(seconds: float) -> str:
    """In the unit that people would say it in."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds:.0f} s"
    return f"{1e6 * seconds:.1f} µs"


class Explanation:
    """What became of one call, and of the function so far.

    Attributes
    ----------
    result : object
        What the function returned.
    seconds : float
        How long the call took.
    microseconds : dict
        Where the time of the call's replays went: `guards`, `launch` (finding memory, making results), `kernels`, and
        `numpy` (calls left to NumPy inside traces); `replays` says how many there were. `loops` is the time in loops that are
        native code as a whole, entering and leaving included. The rest of the call is Python.
    call : dict
        Counters of this call alone; `stats` has those since start or reset.
    host_calls : dict
        Calls of NumPy's functions and operators during this call, by Python code that is not compiled, that stator answered:
        how many, by name.
    traces : list
        Traces recorded so far.
    reasons : list
        What stayed in Python: `reason`, `message`, `hint`, `file`, `function`, `line`, `count`.
    waits : list
        With ``device="cuda"``: where replays waited for the GPU; `kind`, `text`, `hint`, `file`, `function`, `line`, `count`
        since start or reset, and `now` of this call.
    share : float
        Share captured: array operations in traces and loops that are native code as a whole, out of these and the places
        that stayed in Python.
    """

    def __init__(self, function, result, before, seconds, microseconds, waits=None, host_calls=None):
        self.name = function.__qualname__
        self.file = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        self.result = result
        self.seconds = seconds
        self.microseconds = microseconds
        self.stats = _stator.stats(function)
        self.call = {name: value - before[name] for name, value in self.stats.items()}
        self.host_calls = host_calls or {}
        self._function = function
        self.traces = _stator.traces(function)
        self.device = _stator.function_options(function)["device"]
        self.waits = _wait_rows(self.traces, waits or {})
        self.reasons = [r for r in _stator.remarks(function) if r.is_break or r.is_about_region]
        self.core = _stator.core_info(False)

    @property
    def operations(self):
        """Array operations in all traces."""
        return sum(_operations(t.graph_text) for t in self.traces)

    @property
    def loops(self):
        """Loops that are native code as a whole."""
        return [r for r in _stator.regions(self._function) if not r.error]

    @property
    def share(self):
        captured = self.operations + len(self.loops)
        return captured / (captured + len(self.reasons)) if captured else 0.0

    @property
    def outcome(self):
        """How this call was served, in a few words."""
        c = self.call
        if c["recordings"]:
            return "recorded"
        if c["eager_calls"] or not c["calls"]:
            return "ran as plain Python"
        if c["exits"]:
            return f"replayed, with {counted(c['exits'], 'exit')} into Python"
        return "replayed"

    def _sections(self):
        """(title, lines) of the report; a line is text and, indented below it, details."""
        details = _counter_lines(self.call) + _time_lines(self.microseconds, self.seconds)
        yield "call", [(f"{self.outcome} in {duration(self.seconds)}", details)]
        inside = f"{counted(self.operations, 'array operation')} in {counted(len(self.traces), 'trace')}"
        if self.loops:
            inside += f", {counted(len(self.loops), 'loop')} in native code"
        yield "captured", [(f"{100 * self.share:.0f}% ({inside})", [])]
        yield (
            "stays in Python",
            [
                (f"{named(f'{r.file}:{r.line}')} in {r.function}: {r.message}", _details(r))
                for r in self.reasons
            ]
            or [("nothing", [])],
        )
        if self.host_calls:
            yield "NumPy's calls that stator answered there", [(host_call_text(self.host_calls), [])]
        if self.device == "cuda" or self.waits:
            yield "waits for the GPU", [_wait_line(w) for w in self.waits] or [("never", [])]
        yield from _loop_sections(self._function)
        yield from _trace_sections(self.traces, self.file)

    @property
    def place(self):
        """Where the function begins: file and line, or a notebook's cell and line."""
        return named(f"{self.file}:{self.line}")

    def __str__(self):
        lines = [f"{self.name} ({self.place})"]
        for title, items in self._sections():
            lines.append(f"  {title}")
            for text, details in items:
                lines.append(f"    {text}")
                lines.extend(f"      {d}" for d in details)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        return _html(self.name, self.place, self._sections())


def _loop_sections(function):
    for r in _stator.regions(function):
        code = r.error or ("compiled" if r.ready else "its code is being made")
        title = f"{named(r.place)}: entered {times(r.entries)}, left in the middle {times(r.checks)}, {code}"
        refused = [f"not entered {times(r.refused)}: {r.why_refused}"] if r.refused else []
        yield f"region {r.name}", [(title, refused)]


def _trace_sections(traces, file):
    for t in traces:
        segments = f"{counted(t.segments, 'segment')}, {t.ready()} compiled"
        where = f"{named(t.place, os.path.dirname(file))}: " if t.place else ""
        title = f"{where}entered {times(t.entries)}, left early {times(t.exits)}, {segments}"
        yield f"trace {t.name}", [(title, []), ("guards:", list(t.guards))]


def function_html(function):
    """A compiled function as notebooks show it: its counters, what stays in Python, its loops and traces."""
    function = _compiled(function)
    code = function.__code__
    return _html(
        function.__qualname__,
        named(f"{code.co_filename}:{code.co_firstlineno}"),
        _function_sections(function),
    )


def _function_sections(function):
    counters = _counter_lines(_stator.stats(function))
    yield "since start or reset", [(line, []) for line in counters] or [("not called yet", [])]
    reasons = [r for r in _stator.remarks(function) if r.is_break or r.is_about_region]
    if reasons:
        yield (
            "stays in Python",
            [(f"{named(f'{r.file}:{r.line}')} in {r.function}: {r.message}", _details(r)) for r in reasons],
        )
    yield from _loop_sections(function)
    yield from _trace_sections(_stator.traces(function), function.__code__.co_filename)


def _html(name, place, sections):
    from html import escape

    parts = [_STYLE, f'<div class="stator"><b>{escape(name)}</b> {escape(place)}<dl>']
    for title, items in sections:
        parts.append(f"<dt>{escape(title)}</dt>")
        for text, details in items:
            inner = "".join(f"<li>{escape(d)}</li>" for d in details)
            parts.append(f"<dd>{escape(text)}{f'<ul>{inner}</ul>' if inner else ''}</dd>")
    parts.append("</dl></div>")
    return "".join(parts)


# What a wait is, and what to do about it, by kind.
WAITS = {
    "branch": (
        "Python decides with a value of the GPU",
        "np.where, or arithmetic on the condition, keeps the decision there",
    ),
    "host call": (
        "{} runs on the host, with arrays copied out and its results in",
        "do it before or after the work on the GPU, or write it with operations that have kernels",
    ),
    "number": (
        "{} gives Python a number of the GPU",
        "arithmetic with an array of no axes keeps it there",
    ),
    "python": ("Python goes on with what was computed", "what keeps it in Python is listed above"),
    "return": (
        "results are returned, as NumPy arrays",
        "a call that does more, such as a whole loop, waits as often",
    ),
}


def _waits(traces):
    """Counts by kind and place."""
    found: dict[tuple, int] = {}
    for t in traces:
        for w in t.waits:
            place = (w["file"], w["function"], w["line"]) if w["file"] else (t.place, "", 0)
            key = (w["kind"], w["call"], *place)
            found[key] = found.get(key, 0) + w["count"]
    return found


def _wait_rows(traces, before):
    rows = []
    for (kind, call, file, function, line), count in _waits(traces).items():
        text, hint = WAITS[kind]
        now = count - before.get((kind, call, file, function, line), 0)
        rows.append(
            {
                "kind": kind,
                "text": text.format(call),
                "hint": hint,
                "file": file,
                "function": function,
                "line": line,
                "count": count,
                "now": now,
            }
        )
    return sorted(rows, key=lambda row: (-row["count"], row["line"]))


def _wait_line(row):
    where = f"{row['file']}:{row['line']} in {row['function']}" if row["line"] else row["file"]
    counts = f"{times(row['count'])}, {row['now']} in this call"
    return f"{where}: {row['text']} ({counts})", [f"hint: {row['hint']}"]


def _details(reason):
    lines = [times(reason.count)] if reason.count > 1 else []
    return [*lines, f"hint: {reason.hint}"] if reason.hint else lines


def _counter_lines(counters):
    shown = [f"{name} {value:.4g}" for name, value in counters.items() if value and name != "calls"]
    return [", ".join(shown)] if shown else []


def _time_lines(microseconds, seconds):
    if not microseconds["replays"] and not microseconds["loops"]:
        return []
    parts = {name: microseconds[name] for name in ("guards", "launch", "kernels", "numpy", "loops")}
    parts["python"] = max(0.0, 1e6 * seconds - sum(parts.values()))
    return [", ".join(f"{name} {duration(value / 1e6)}" for name, value in parts.items() if value)]


def _operations(text):
    """Nodes of a printed graph that work on arrays."""
    quiet = ("input", "const", "sym", "guard", "symguard", "view", "reshape")
    count = 0
    for line in text.splitlines():
        name, equals, rest = line.strip().partition(" = ")
        if equals and name.startswith("%") and rest.split(None, 1)[0] not in quiet:
            count += 1
    return count


# In the notebook's own colours, light and dark; elsewhere in those of the reader's system.
_STYLE = (
    "<style>.stator{font-family:var(--jp-code-font-family,ui-monospace,monospace);line-height:1.35;color:inherit;"
    "--stator-dim:var(--jp-ui-font-color2,#666);--stator-v:var(--jp-mirror-editor-variable-color,#0550ae);"
    "--stator-t:var(--jp-mirror-editor-number-color,#116329);--stator-g:var(--jp-mirror-editor-keyword-color,#9a3412)}"
    "@media (prefers-color-scheme:dark){.stator{--stator-dim:var(--jp-ui-font-color2,#aaa);"
    "--stator-v:var(--jp-mirror-editor-variable-color,#79b8ff);--stator-t:var(--jp-mirror-editor-number-color,#85e89d);"
    "--stator-g:var(--jp-mirror-editor-keyword-color,#ffab70)}}"
    ".stator dt{font-weight:bold;margin-top:.4em}.stator dd{margin-left:1.2em}.stator ul{margin:0;color:var(--stator-dim)}"
    ".stator .v{color:var(--stator-v)}.stator .t{color:var(--stator-t)}.stator .g{color:var(--stator-g)}</style>"
)


def _highlight(text):
    import re
    from html import escape

    text = escape(text, quote=False)
    text = re.sub(r"(%\w+)", r'<span class="v">\1</span>', text)
    text = re.sub(r"(: )([a-z]\d+(?:\[[^\]]*\])?)", r'\1<span class="t">\2</span>', text)
    return re.sub(r"\b(guard|symguard|snap|return|leave)\b", r'<span class="g">\1</span>', text)
