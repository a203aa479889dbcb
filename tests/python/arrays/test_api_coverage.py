"""The functions of docs/coverage.md do what NumPy's do, and are served as well as that page says."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.api import page, probe, rank  # noqa: E402

KINDS = page.kinds()
CALLS = {**probe.calls(), **probe.calls(probe.BEYOND)}


def test_page_lists_the_ranking() -> None:
    assert list(KINDS) == [*rank.ranking(), *probe.calls(probe.BEYOND)]
    assert list(probe.calls()) == rank.ranking()


def is_pythons(call: str) -> bool:
    """Whether the NumPy at hand leaves stator no choice, whatever the page says of another one: the call warns that it is
    deprecated, or gives an argument back."""
    function, names = probe.function_of(call)
    arguments = [probe.arguments(6)[name] for name in names]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, *_ = function(*arguments)
    deprecated = any(issubclass(warning.category, DeprecationWarning) for warning in caught)
    return deprecated or any(result is argument for argument in arguments)


@pytest.mark.parametrize("entry", list(KINDS))
def test_function(entry: str) -> None:
    tried = [probe.try_call(text) for text in CALLS[entry]]
    assert not [call for call in tried if call.differs]
    worse = [c for c in tried if probe.KINDS.index(c.kind) > probe.KINDS.index(KINDS[entry])]
    assert all(is_pythons(call.text) for call in worse), worse
