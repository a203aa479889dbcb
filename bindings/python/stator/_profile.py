"""`stator.profile`: where a program's time goes, function by function and line by line.

The extension's sampler (frontend/profile/sampler.h) says how long each line was in what; here that is put together with
what is known of functions: why they, or parts of them, stay in Python.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable
from typing import Any

# What time was spent on, in the order of reports: name, title, what it means. The first three are captured; Python's own
# are what a change of the program may bring into compiled code.
PARTS = {
    "generated": ("generated code", "kernels and loops that stator compiled"),
    "library": ("library nodes", "NumPy's functions, called by compiled code"),
    "answered": ("answered calls", "calls of NumPy by Python code that is not compiled, answered by stator"),
    "routines": (
        "NumPy's routines",
        "linear algebra, random numbers, Fourier transforms: compiled code would call them as well",
    ),
    "numpy": ("NumPy from Python", "NumPy's functions, called by Python code that is not compiled"),
    "python": ("Python", "the interpreter, in code that is not compiled"),
    "other": ("other libraries", "the standard library and other extensions, called by Python code"),
    "overhead": (
        "stator itself",
        "looking at calls, checking guards, finding memory, entering and leaving loops",
    ),
    "recording": ("recording", "first calls: Python, and writing down what it does"),
    "compared": (
        "comparing",
        "calls as plain Python, by which stator measures how much faster compiled ones are",
    ),
    "import": ("imports", "of modules"),
    "waiting": ("waiting", "for files, sleeps, locks, the GIL and other processes"),
}
COMPILED = ("generated", "library")
CAPTURED = (*COMPILED, "answered")
LOST = ("numpy", "python")
# What is neither: shares are of the rest.
ASIDE = ("compared", "import", "waiting")

# Whose functions they are: the program's come first.
GROUPS = {
    "own": "What would pay most to change",
    "installed": "In installed packages",
    "other": "In files that do not use NumPy",
}

# Parts of a function that have code of their own, on some versions of Python.
_INNER = re.compile(r"\.<locals>\.<(listcomp|setcomp|dictcomp|genexpr)>$")


# Share of a line's time in Python and NumPy from which a routine is what the line waits for. Where it is called for a few
# elements, what stands around the call takes longer, and compiled code leaves that out.
MOSTLY = 0.8


def _part(row: dict[str, Any]) -> str:
    spent = row["spent"]
    return row["by"] if spent in ("plain", "stepped") else spent


def _path(folder: str, file: str) -> str:
    """Of a file as Python names it; "<string>" is none."""
    return file if file.startswith("<") else os.path.join(folder, file)


def _place(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["file"], row["function"], row["line"]


def _parts_of(rows: list[dict[str, Any]]) -> list[str]:
    """The part of each row: its own, but for routines that whole lines wait for."""
    whole: dict[tuple[str, str, int], float] = {}
    routines: dict[tuple[str, str, int], float] = {}
    parts = [_part(row) for row in rows]
    for row, part in zip(rows, parts, strict=True):
        if part in LOST:
            at = _place(row)
            whole[at] = whole.get(at, 0.0) + row["seconds"]
            routines[at] = routines.get(at, 0.0) + row["seconds"] * bool(row["routine"])
    return [
        "routines" if part in LOST and row["routine"] and routines[at] >= MOSTLY * whole[at] else part
        for row, part in zip(rows, parts, strict=True)
        for at in [_place(row)]
    ]


class profile:
    """Say where the time of a ``with`` block goes, on all threads of Python's.

    A block that runs for a second gets some thousand samples; what runs for less than a millisecond in all may be
    missing. While it lasts the process gets SIGURG, which most programs ignore.

    Attributes
    ----------
    report : Report
        When the block has ended. ``print(p.report)``, or ``print(p)``, is its text, ``p.report.html()`` a page,
        ``p.report.data()`` what both are made from.

    Raises
    ------
    RuntimeError
        When the block is entered while another profile is being made, where the system keeps processes from reading
        their own memory through it, or where stator cannot run.

    Examples
    --------
    >>> with stator.profile() as p:
    ...     simulate(1000)
    >>> print(p.report)
    """

    report: Report

    def __init__(self, title: str = "") -> None:
        self._title = title
        self._folder = ""

    def __enter__(self) -> profile:
        import stator

        if stator._stator is None:
            raise RuntimeError(f"no profile can be made: {stator.unavailable}")
        self._compile_s = stator.stats().get("compile_s", 0.0)
        self._answered = stator._stator.host_calls()
        self._folder = os.getcwd()
        stator._stator.start_profile(*_rules())
        self._began = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        import stator

        found = stator._stator.stop_profile()
        found["compile"] = stator.stats().get("compile_s", 0.0) - self._compile_s
        found["host_calls"] = {
            name: calls - self._answered.get(name, 0) for name, calls in stator._stator.host_calls().items()
        }
        found["title"] = self._title
        self.report = Report(found, stator._stator.functions(), self._folder)

    def __repr__(self) -> str:
        if hasattr(self, "report"):
            return repr(self.report)
        return "stator.profile(): there is a report when the with block has ended"


def _rules() -> tuple[list[str], list[str], str]:
    """Folders of files whose lines nobody asks about; of packages; and NumPy's."""
    import sysconfig

    import numpy

    paths = sysconfig.get_paths()
    own = os.path.dirname(os.path.abspath(__file__))
    internal = {paths["stdlib"], paths["platstdlib"], os.path.dirname(os.__file__), own}
    external = {paths["purelib"], paths["platlib"]}
    external |= {p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")}
    folder = os.path.dirname(os.path.abspath(numpy.__file__))
    return [p + os.sep for p in sorted(internal)], [p + os.sep for p in sorted(external)], folder + os.sep


class Line:
    """One line of the program: seconds by part, and what keeps it in Python."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.parts: dict[str, float] = {}
        self.reasons: list[dict[str, Any]] = []

    def add(self, part: str, seconds: float) -> None:
        self.parts[part] = self.parts.get(part, 0.0) + seconds

    def sum(self, names: Iterable[str]) -> float:
        return sum(self.parts.get(n, 0.0) for n in names)

    @property
    def lost(self) -> float:
        return self.sum(LOST)

    @property
    def seconds(self) -> float:
        return sum(s for n, s in self.parts.items() if n not in ASIDE)


class Function(Line):
    """One function of the program; its own time, without that of functions it calls."""

    def __init__(self, file: str, name: str, first_line: int) -> None:
        super().__init__(first_line)
        self.file, self.name = file, name
        self.lines: dict[int, Line] = {}
        self.why: dict[str, float] = {}  # reasons of the sampler, by seconds
        self.early = 0.0  # of what is lost: before there was code for it
        self.compiled_at: float | None = (
            None  # seconds into the profile at which its code was first seen to run
        )
        self.routines: dict[str, float] = {}  # seconds in NumPy's routines, by what they do
        # Seconds of a call at least, compiled and as plain Python; None where they were not compared.
        self.compared: tuple[float, float] | None = None
        self.group = "own"  # of GROUPS

    def add_row(self, row: dict[str, Any], part: str) -> None:
        self.add(part, row["seconds"])
        self.lines.setdefault(row["line"], Line(row["line"])).add(part, row["seconds"])
        if row["first_line"]:
            self.line = row["first_line"]
        if part == "routines":
            self.routines[row["routine"]] = self.routines.get(row["routine"], 0.0) + row["seconds"]
        if part in LOST and row["early"]:
            self.early += row["seconds"]
        if part in COMPILED:
            self.compiled_at = min(row["first"], self.compiled_at or row["first"])
        if row["spent"] == "plain" and row["reason"] != "None":
            self.why[row["reason"]] = self.why.get(row["reason"], 0.0) + row["seconds"]


class Report:
    """Where a program's time went.

    Attributes
    ----------
    functions : list of Function
        What would pay most to change first.
    parts : dict
        Seconds by part; `PARTS` says what each is.
    captured : float
        Share of the program's time, imports and waiting aside, in generated code, library nodes and answered calls.
    wall, cpu, compile : float
        Seconds: of the clock; of the CPU, on all threads; of these in the compiler, on a thread of its own.
    host_calls : dict
        Calls of NumPy's functions and operators, by Python code that is not compiled, that stator answered: how many, by name.
    """

    def __init__(self, found: dict[str, Any], known: list[dict[str, Any]], folder: str = "") -> None:
        self.title: str = found.get("title", "")
        self.wall: float = found["wall"]
        self.cpu: float = found["cpu"]
        self.compile: float = found["compile"]
        self.threads: int = found["threads"]
        self.interrupted: bool = found["interrupted"]
        answered = found.get("host_calls", {}).items()
        self.host_calls: dict[str, int] = {name: calls for name, calls in answered if calls > 0}
        self.samples = sum(row["samples"] for row in found["rows"])
        self.parts = dict.fromkeys(PARTS, 0.0)
        functions: dict[tuple[str, str], Function] = {}
        for row, part in zip(found["rows"], _parts_of(found["rows"]), strict=True):
            self.parts[part] += row["seconds"]
            if not row["file"]:
                continue
            name = _INNER.sub("", row["function"])
            place = (_path(folder, row["file"]), name)
            functions.setdefault(place, Function(*place, row["line"])).add_row(row | {"function": name}, part)
        _explain(functions, known, folder)
        _group(functions.values())
        self.functions = sorted(functions.values(), key=lambda f: (list(GROUPS).index(f.group), -f.lost))

    @property
    def seconds(self) -> float:
        return sum(s for n, s in self.parts.items() if n not in ASIDE)

    @property
    def captured(self) -> float:
        return sum(self.parts[n] for n in CAPTURED) / self.seconds if self.seconds else 0.0

    def share(self, seconds: float) -> float:
        return seconds / self.seconds if self.seconds else 0.0

    def data(self) -> dict[str, Any]:
        """All of it as numbers and text, for ``json.dump``."""
        return {
            "title": self.title,
            "wall": self.wall,
            "cpu": self.cpu,
            "compile": self.compile,
            "threads": self.threads,
            "samples": self.samples,
            "parts": self.parts,
            "captured": self.captured,
            "host_calls": self.host_calls,
            "functions": [
                {
                    "file": f.file,
                    "function": f.name,
                    "line": f.line,
                    "group": f.group,
                    "parts": f.parts,
                    "lost": f.lost,
                    "compared": f.compared,
                    "reasons": f.reasons,
                    "lines": [
                        {"line": n, "parts": at.parts, "lost": at.lost, "reasons": at.reasons}
                        for n, at in sorted(f.lines.items())
                    ],
                }
                for f in self.functions
            ],
        }

    def __str__(self) -> str:
        from stator import _report

        return _report.text(self)

    __repr__ = __str__

    def html(self) -> str:
        """A page that needs nothing beside it."""
        from stator import _report

        return _report.page(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe style="width:100%;height:36em;border:0" srcdoc="{escape(self.html())}"></iframe>'


def _numeric_files(functions: Iterable[Function]) -> set[str]:
    """Those that use NumPy or stator. What others do, parsing and the like, is no candidate for compiled code."""
    from stator._source import lines_of

    found = set()
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    for f in functions:
        if f.file in found:
            continue
        uses = f.parts.get("numpy", 0.0) > f.parts.get("python", 0.0) or f.file in (main, "<stdin>")
        if uses or any("numpy" in line or "stator" in line for line in lines_of(f.file)):
            found.add(f.file)
    return found


def _group(functions: Iterable[Function]) -> None:
    numeric, (_, external, _) = _numeric_files(functions), _rules()
    for f in functions:
        installed = f.file.startswith(tuple(external))
        f.group = "other" if f.file not in numeric else "installed" if installed else "own"
        if installed:  # nobody is going to decorate it
            f.reasons = [r for r in f.reasons if "decorate" not in r["hint"]]


def _explain(functions: dict[tuple[str, str], Function], known: list[dict[str, Any]], folder: str) -> None:
    """Gives functions and lines the reasons that stator has for leaving them to Python."""
    retired, looked_at = set(), set()
    for k in known:
        place = (_path(folder, k["file"]), k["function"])
        looked_at.add(place)
        if place in functions and k["compared"][1]:
            functions[place].compared = k["compared"]
        if k["retired"]:
            retired.add(place)
        for r in k["remarks"]:
            function = functions.get((_path(folder, r.file), _INNER.sub("", r.function)))
            if function is None or not (r.is_break or r.is_about_region):
                continue
            row = {"reason": r.reason, "text": r.message, "hint": r.hint, "count": r.count, "line": r.line}
            whole = r.reason in ("Unprofitable", "NoArrays", "Generator", "CannotDecode", "Traced")
            rows = function.reasons if whole else function.lines.setdefault(r.line, Line(r.line)).reasons
            if not any(row["text"] == other["text"] for other in rows):
                rows.append(row)
    for place, function in functions.items():
        if place not in retired:  # it was once, and is served now
            function.reasons = [
                r for r in function.reasons if r["reason"] not in ("Unprofitable", "NoArrays")
            ]
        told = any(at.reasons for at in (function, *function.lines.values()))
        if function.compiled_at is not None:
            function.why = {"NotYet": function.early}
            if not told and function.early < function.lost / 4:
                function.why = {"Around": function.lost}
        elif place in looked_at and not told and not function.why:
            function.why = {"NotYet": function.lost}
        for reason, seconds in function.why.items():
            if function.lost and seconds >= function.lost / 4:
                text, hint = _reason_text(reason, function)
                function.reasons.append(
                    {"reason": reason, "text": text, "hint": hint, "count": 1, "line": function.line}
                )


def _reason_text(reason: str, function: Function) -> tuple[str, str]:
    from stator import _report, _stator

    if reason == "NotYet" and function.compiled_at is None:
        return "there was no code for it yet when the program ended", ""
    if reason == "NotYet":
        before, at = _report.duration(function.early), _report.duration(function.compiled_at or 0.0)
        return f"there was code for it from {at} into the program on; {before} of this was before that", ""
    if reason == "Around":
        return "this is what is left around compiled code", ""
    text, hint = _stator.reason_text(reason)
    return text, hint
