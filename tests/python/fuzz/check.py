"""Runs one program eagerly and under stator, call by call, and reports the first difference."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import math
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .arguments import Spec, build
from .compare import Outcome, difference, observe, report
from .features import features, outcome_features
from .programs import Program


@dataclass
class Verdict:
    """What came of one program.

    `statements` and `replayed` count the statements of calls with argument types seen before, and how many of them
    ran inside compiled segments by the function's own counters. Programs that raise or warn are left out of both, as
    what warns has to run eagerly, and so are "wide" ones.
    """

    failure: str | None = None
    statements: int = 0
    replayed: float = 0
    raised: bool = False
    warned: bool = False
    counters: dict[str, float] | None = None
    reasons: list[str] | None = None  # why something did not replay
    features: list[str] | None = None  # of the program's text and of its calls
    regions: int = 0  # loops that run as native code


class Eager:
    """A stand-in for stator that compiles nothing: the comparator must then find nothing."""

    @staticmethod
    def compile(function: Callable) -> Callable:
        return function

    @staticmethod
    def reset() -> None:
        pass


class Everything:
    """``STATOR=all``: nothing is decorated, functions are found by being called often."""

    rounds = 3

    @staticmethod
    def compile(function: Callable) -> Callable:
        return function

    @staticmethod
    def plain(function: Callable) -> Callable:
        return importlib.import_module("stator").disable(function)

    @staticmethod
    def reset() -> None:
        importlib.import_module("stator").reset()


class Judged:
    """As programs are served that nobody tests: calls are measured, and functions that lose are given back to Python."""

    rounds = 12

    @staticmethod
    def compile(function: Callable) -> Callable:
        stator = importlib.import_module("stator")
        stator.options.retire = True  # with a purse of its own, or the first programs would have emptied it
        return stator.compile(function)

    @staticmethod
    def reset() -> None:
        importlib.import_module("stator").reset()


class Hosted:
    """Nothing is compiled but the calls of NumPy's functions that plain Python makes."""

    rounds = 3

    @staticmethod
    def compile(function: Callable) -> Callable:
        importlib.import_module("stator").compile(lambda: None)
        return function

    @staticmethod
    def reset() -> None:
        importlib.import_module("stator").reset()


def numpys_own() -> contextlib.AbstractContextManager:
    """While it is entered, calls of NumPy's functions are answered by NumPy: what is compared with has nothing of stator."""
    stator = sys.modules.get("stator")
    return stator.options(host_calls=False) if stator else contextlib.nullcontext()


@contextlib.contextmanager
def internal_errors() -> Iterator[list[str]]:
    """What stator says on standard error about its own mistakes, and what STATOR_VERIFY finds, while the body runs; filled in at the end.

    Where standard error is no file that can be read again, it becomes one for that time.
    """
    found: list[str] = []
    with contextlib.ExitStack() as stack:
        readable = fcntl.fcntl(2, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
        if not (readable and stat.S_ISREG(os.fstat(2).st_mode)):
            other = stack.enter_context(tempfile.TemporaryFile())
            before = os.dup(2)
            os.dup2(other.fileno(), 2)

            def put_back() -> None:
                text = os.pread(2, os.fstat(2).st_size, 0)
                os.dup2(before, 2)
                os.close(before)
                os.write(2, text)

            stack.callback(put_back)
        begin = os.fstat(2).st_size
        yield found
        text = os.pread(2, os.fstat(2).st_size - begin, begin).decode(errors="replace")
        says = ("internal error", "differs from Python,", "differs from NumPy,")
        found += [line for line in text.splitlines() if any(s in line for s in says)]


def implementation(mode: str) -> Any:
    """The module under test: `stator`, or what stands for it in some modes."""
    stand_ins = {"eager": Eager, "all": Everything, "judged": Judged, "hosted": Hosted}
    return stand_ins.get(mode) or importlib.import_module("stator")


def _counters(function: Any) -> dict[str, float]:
    return dict(function.stats()) if hasattr(function, "stats") else {}


def _is_large(spec: Spec) -> bool:
    return math.prod(getattr(spec, "shape", ())) > 10_000


def _share(before: dict[str, float], after: dict[str, float]) -> float:
    """The part of one call's statements that ran inside segments, from the function's counters."""
    delta = {k: after[k] - before.get(k, 0) for k in after}
    if not delta or delta.get("replays", 0) < 1 or delta.get("eager_calls", 0):
        return 0.0
    return 1.0 if not delta.get("redone", 0) else delta["opaque_steps"] / (delta["opaque_steps"] + 1)


def _reasons(function: Any) -> list[str]:
    """Why a compiled function left things to Python, each once."""
    if not hasattr(function, "stats"):
        return []
    from stator import _stator

    return sorted({f"{r.reason}: {r.message}" for r in _stator.remarks(function) if r.is_break}) or [
        "no reason given"
    ]


def check(program: Program, module: Any) -> Verdict:
    """Compare all of the program's calls.

    Parameters
    ----------
    program : Program
    module : object
        Has ``compile``; `stator` or a stand-in.

    Returns
    -------
    Verdict
        `failure` is None when every call agreed.
    """
    with internal_errors() as wrong:
        verdict = _check(program, module)
    if wrong and not verdict.failure:
        verdict.failure = f"call 0: log: {wrong[0]}"
    return verdict


def _check(program: Program, module: Any) -> Verdict:
    verdict = Verdict()
    eager = getattr(module, "plain", lambda f: f)(program.load())
    compiled = module.compile(program.load())
    total = program.statements()
    met: set[str] = set()
    rounds = getattr(module, "rounds", 1)
    if rounds > 3 and any(_is_large(spec) for call in program.calls for spec in call):
        rounds = 3
    for k, specs in enumerate(program.calls * rounds):
        with numpys_own():
            expected = observe(eager, build(specs, k), program.keywords)
        before = _counters(compiled)
        found = observe(compiled, build(specs, k), program.keywords)
        verdict.warned |= any(event[0] == "warning" for event in expected.events)
        verdict.raised |= expected.exception is not None
        if found != expected:
            with numpys_own():
                again = observe(eager, build(specs, k), program.keywords)
            if difference(expected, again) is None:
                verdict.failure = f"call {k}: {report(expected, found)}"
                break
        elif (
            hasattr(compiled, "stats")
            and k in (1, 3)
            and not (verdict.raised or verdict.warned or program.wide)
        ):
            after = _counters(compiled)
            opaque = after.get("opaque_steps", 0) - before.get("opaque_steps", 0)
            verdict.statements += total
            verdict.replayed += max(0.0, total - opaque) * _share(before, after)
        met.update(outcome_features(expected))
    verdict.features = sorted(features(program.source()) | met)
    verdict.regions = int(_counters(compiled).get("regions", 0))
    if verdict.replayed < verdict.statements or not verdict.regions:
        verdict.reasons = _reasons(compiled)
    verdict.counters = _counters(compiled)
    return verdict


def run_source(
    source: str,
    calls: Sequence[Sequence[Spec]],
    keywords: Sequence[str] = (),
    function: str = "f",
    seeds: Sequence[int] | None = None,
) -> str | None:
    """What regression tests call: the first difference between eager and stator, or None.

    All calls are made twice, before and after compilation has finished.

    Parameters
    ----------
    source : str
        A module's text that defines `function`.
    calls : sequence
        The argument descriptions of each call.
    keywords : sequence of str
        Names by which the last arguments are passed.
    """
    with internal_errors() as wrong:
        failure = _run_source(source, calls, keywords, function, seeds)
    return failure or (f"call 0: log: {wrong[0]}" if wrong else None)


def _run_source(
    source: str,
    calls: Sequence[Sequence[Spec]],
    keywords: Sequence[str],
    function: str,
    seeds: Sequence[int] | None,
) -> str | None:
    import stator

    def load() -> Callable:
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(source, "<regression>", "exec", dont_inherit=True), namespace)
        return namespace[function]

    eager, compiled = load(), stator.compile(load())
    for tier in ("before", "after"):  # the first round is served by tier 0 unless STATOR_ASYNC=0
        for k, specs in enumerate(calls):
            seed = seeds[k] if seeds else k
            with numpys_own():
                expected: Outcome = observe(eager, build(specs, seed), keywords)
            found = observe(compiled, build(specs, seed), keywords)
            if found != expected:
                return f"call {k}: {report(expected, found)} ({tier} compilation)"
        stator.wait()
    return None
