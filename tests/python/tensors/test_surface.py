"""Calls across torch's surface: replays, also at new shapes and in other layouts, cannot be told from eager torch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
from arguments import LAYOUTS, function_of, make
from calls import CALLS, ERRORS, lines
from sameness import difference, run

ROUNDS = [4, 4, 4, 7, 5, 4]
GOAL = 250  # of these calls: compiled, or torch's own call inside a trace


def way_of(compiled) -> str:
    stats = stator.stats(compiled)
    if stats["opaque_steps"] or not stats["replays"] or stats["redone"]:
        return "opaque"
    nodes = str(compiled.graph()).splitlines()
    return (
        "library" if any("= library " in n and "_increment_version" not in n for n in nodes) else "compiled"
    )


def check(line: str, layout: str, special: bool) -> str:
    function, names = function_of(line)
    compiled = stator.compile(function)
    for seed, n in enumerate(ROUNDS):
        mine, theirs = ([make(name, n, layout, seed, special) for name in names] for _ in range(2))
        want, want_error, warned = run(function, theirs)
        got, got_error, got_warned = run(compiled, mine)
        assert got_error == want_error, f"{line}: {got_error} instead of {want_error}"
        assert got_warned == warned or "only appear once" in str(warned), f"{line}: {got_warned}"
        if want_error is None:
            told = difference(got, want, mine, theirs)
            assert not told, f"{line}, round {seed}: {told}"
        if seed == 1:
            stator.wait()  # the first replay is served by tier 0, the others by compiled code
    return way_of(compiled)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("line", [line for _, line in CALLS])
def test_same_as_eager(line, layout):
    for special in (False, True):
        with torch.no_grad():
            check(line, layout, special)


@pytest.mark.parametrize("line", lines(ERRORS))
def test_same_errors(line):
    check(line, "contiguous", False)


def test_most_calls_stay_in_traces():
    ways: dict[str, list[str]] = {"compiled": [], "library": [], "opaque": []}
    for _, line in CALLS:
        ways[check(line, "contiguous", False)].append(line)
    counts = {way: len(found) for way, found in ways.items()}
    print(counts, *ways["opaque"], sep="\n")
    assert counts["compiled"] + counts["library"] >= GOAL, ways["opaque"]
