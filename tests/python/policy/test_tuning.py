"""STATOR_TUNE sets thresholds of the policy; ``python -m stator policy`` prints them. Nothing here depends on time."""

from __future__ import annotations

import pytest
import stator
from stator import _stator

from tests.python.process import run_program

# A loop over numbers of three kinds: a region for each, as far as header_regions goes.
KINDS = """
import stator

@stator.compile
def total(x, n):
    for k in range(n):
        x = x + 1
    return x

for start in (0, 0.5, 1j):
    for _ in range(3):
        assert total(start, 200) == total.__wrapped__(start, 200)
        stator.wait()
print(len(total.regions))
"""


def tuned(text: str, program: str = KINDS) -> tuple[str, list[str]]:
    """What the program prints, and the lines that stator warns with."""
    done = run_program(program, STATOR_TUNE=text, STATOR_ASYNC="0", STATOR_RETIRE="0")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.splitlines()


@pytest.mark.parametrize(("text", "regions"), [("", 3), ("header_regions=2", 2), ("header_regions=1", 1)])
def test_a_threshold_decides_how_many_regions_there_are(text: str, regions: int) -> None:
    assert tuned(text) == (str(regions), [])


def test_a_threshold_decides_what_is_too_large_to_build() -> None:
    assert tuned("build_work=5") == ("0", [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("header_regoins=1", "expected the name of a threshold, found 'header_regoins'; it is ignored"),
        (
            "header_regions=few",
            "expected a whole number from 1 to 1000 for header_regions, found 'few'; 4 is used",
        ),
        (
            "header_regions=0",
            "expected a whole number from 1 to 1000 for header_regions, found '0'; 4 is used",
        ),
        ("header_regions", "expected name=value, found 'header_regions'; it is ignored"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_the_program_runs(text: str, told: str) -> None:
    printed, lines = tuned(text)
    assert printed == "3"
    assert len(lines) == 1 and lines[0].startswith(f"stator: STATOR_TUNE: {told}"), lines


def test_what_is_right_beside_what_is_wrong_is_used() -> None:
    printed, lines = tuned("header_regoins=1,header_regions=2")
    assert printed == "2" and len(lines) == 1, lines


def test_the_command_prints_each_threshold_and_marks_what_was_tuned() -> None:
    done = run_program("", "-m", "stator", "policy", STATOR_TUNE="header_regions=2")
    assert done.returncode == 0 and not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert "* header_regions = 2 regions (default 4)" in lines
    assert [line for line in lines if line.startswith("*")] == ["* header_regions = 2 regions (default 4)"]
    for group, name, unit, _, default, _ in _stator.policy_table():
        assert group in lines
        amount = f"1/{default:_}" if unit == "1/n" else f"{default:_} {unit}".rstrip()
        assert name == "header_regions" or f"  {name} = {amount}" in lines


def test_the_command_takes_no_arguments() -> None:
    done = run_program("", "-m", "stator", "policy", "header_regions")
    assert done.returncode == 2 and "policy takes no arguments, found 'header_regions'" in done.stderr


def test_thresholds_do_not_change_later() -> None:
    with pytest.raises(ValueError, match="set STATOR_TUNE before stator is imported"):
        stator.options.tune = "header_regions=2"
    assert stator.options.tune == ""
