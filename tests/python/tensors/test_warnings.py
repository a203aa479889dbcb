"""Warnings that torch's own code gives: at the line of the program, counted and filtered as eager ones are."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("torch.nn", reason="torch is not installed: its tensors are not tested")

import stator
import torch
from sameness import run


def deviations(x, k):
    y = x * 2
    return y.std(correction=k) + y.sum()


def inlined(x, k):
    return deviations(x, k) * 2


def sums(x, k):
    out = torch.zeros(k)
    torch.add(x, 1, out=out)
    return out


def masks(x, k):
    mask = (x > 0).to(torch.uint8)
    return x[mask].sum() + k


FUNCTIONS = [deviations, inlined, sums, masks]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_lines_are_eagers(function):
    compiled = stator.compile(function)
    warned = 0
    with torch.no_grad():
        for k in (1, 2, 3, 30, 40, 2, 50):
            got, error, found = run(compiled, (torch.ones(8), k))
            want, other, expected = run(function, (torch.ones(8), k))
            assert found == expected, k
            assert type(error) is type(other) and str(got) == str(want)
            warned += len(expected)
            stator.wait()
    assert warned > 2


def test_warnings_are_told_of_once_for_each_place():
    compiled = stator.compile(deviations)
    with torch.no_grad():
        for k in (1, 2):
            compiled(torch.ones(8), k)
        counts = []
        for f in (compiled, deviations):
            globals().pop("__warningregistry__", None)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                for _ in range(3):
                    f(torch.ones(8), 40)
            counts.append([str(w.message) for w in caught])
        assert counts[0] == counts[1] and len(counts[0]) == 1
        assert compiled.stats()["redone"] == 0


def test_warnings_that_are_errors():
    compiled = stator.compile(inlined)
    with torch.no_grad():
        for k in (1, 2):
            compiled(torch.ones(8), k)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lines = []
            for f in (compiled, inlined):
                with pytest.raises(UserWarning, match="degrees of freedom") as caught:
                    f(torch.ones(8), 40)
                lines.append([(e.frame.code.name, e.lineno) for e in caught.traceback[1:]])
            assert lines[0] == lines[1]


def test_the_filters_are_as_they_were():
    compiled = stator.compile(deviations)
    before = list(warnings.filters)
    with torch.no_grad():
        for k in (1, 2, 3):
            compiled(torch.ones(8), k)
    assert warnings.filters == before and compiled.stats()["replays"] == 2
