"""A part of the op matrix (`python -m tests.matrix` runs all of it): every row of graph/ops.def, every ufunc of NumPy."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.matrix import served  # noqa: E402
from tests.matrix.case import run  # noqa: E402
from tests.matrix.cases import NoCases, cases_of_row, operations, sample  # noqa: E402
from tests.matrix.regressions import FOUND, OPENED, REGRESSIONS, SERVED  # noqa: E402
from tests.matrix.table import rows, ufuncs  # noqa: E402

PER_OP = 24


def differences(cases: list) -> list[str]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            outcome = run(case)
            if outcome.differs:
                found.append(f"{case.name()}\n    {outcome.differs}")
    return found


@pytest.mark.parametrize("name", list(operations()))
def test_op(name: str) -> None:
    cases = sample(name, PER_OP)
    assert len(cases) == PER_OP
    assert not differences(cases)


ALL_REGRESSIONS = (*REGRESSIONS, *FOUND, *OPENED)


@pytest.mark.parametrize("number", range(len(ALL_REGRESSIONS)))
def test_regression(number: int) -> None:
    assert not differences([ALL_REGRESSIONS[number]])


@pytest.mark.parametrize("number", range(len(SERVED)))
def test_regression_is_served(number: int) -> None:
    outcome = run(SERVED[number])
    assert not outcome.differs and outcome.kind != "opaque", outcome


def test_every_ufunc_is_there() -> None:
    assert set(ufuncs()) <= set(operations())


def test_a_row_that_nothing_calls_is_an_error() -> None:
    new = 'OP(Wavelet, "wavelet", 1, Pointwise, same, "-", "f", "wavelet", "a row of somebody\'s")\n'
    (row,) = rows(new)
    assert row.native == "f" and row.doc == "a row of somebody's"
    with pytest.raises(NoCases, match="Wavelet"):
        cases_of_row(row)


# The page knows the ufuncs of the newest NumPy.
@pytest.mark.parametrize("name", [name for name in served.said() if name in served.names()])
def test_served_as_the_page_says(name: str) -> None:
    """Nothing is served worse than docs/ops.md says."""
    said, found = served.said()[name], served.of_op(name)
    assert not served.worse(said, found), (said, found)


def test_page_lists_all() -> None:
    assert [name for name in served.said() if name in served.names()] == served.names()
