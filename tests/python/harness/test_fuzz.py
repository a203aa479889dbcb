"""Random programs compared with eager NumPy bit for bit; ``python -m tests.python.fuzz`` runs many more of them."""

from __future__ import annotations

import os

import hypothesis
import pytest
from fuzz import campaign
from fuzz.branching import branching
from fuzz.check import Eager, check
from fuzz.choices import Choices
from fuzz.programs import straight_line
from hypothesis import strategies as st

COUNT = int(os.environ.get("FUZZ_COUNT", "80"))
# The share of COUNT that is tried here of kinds other than half of it: all of the quickest, few of those that take long.
SHARE = {"straight": 1, "objects": 1 / 6, "rebinding": 1 / 6}


@pytest.mark.parametrize("kind", campaign.KINDS)
@pytest.mark.parametrize("mode", ["tier0", "compiled", "cached", "async", "all", "judged"])
def test_random_programs(kind, mode):
    summary = campaign.campaign(kind, mode, 1, range(int(COUNT * SHARE.get(kind, 1 / 2))))
    assert summary.programs > 0
    assert not summary.failures, summary.failures[0]


@pytest.mark.parametrize("kind", campaign.KINDS)
def test_the_comparison_finds_nothing_in_eager(kind):
    for number in range(60):
        assert check(campaign.generate(kind, 2, number), Eager).failure is None


def _choices(data: st.DataObject) -> Choices:
    return Choices(lambda low, high: data.draw(st.integers(low, high)) if low < high else low)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=60, suppress_health_check=list(hypothesis.HealthCheck))
def test_straight_line_programs(data):
    import stator

    program = straight_line(_choices(data), "hypothesis", 6)
    hypothesis.note(program.source())
    hypothesis.note("\n".join(map(repr, program.calls)))
    assert check(program, stator).failure is None


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=30, suppress_health_check=list(hypothesis.HealthCheck))
def test_branching_programs(data):
    import stator

    program = branching(_choices(data), "hypothesis")
    hypothesis.note(program.source())
    assert check(program, stator).failure is None


def _break_one_bit(function):
    def broken(*args, **named):
        result = function(*args, **named)
        if getattr(result, "size", 0) > 1 and result.dtype.kind == "f" and result.flags.writeable:
            result.flat[1] = -result.flat[1]
        return result

    return broken


def test_the_comparison_finds_a_wrong_sign():
    class Broken:
        compile = staticmethod(_break_one_bit)

    found = [
        number for number in range(200) if check(campaign.generate("straight", 3, number), Broken).failure
    ]
    assert found
