"""Functions of elements that NumPy's loops compute, in statements of a region: bits, warnings and what `when` leaves out."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import function_of

UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
    "arcsinh", "arccosh", "arctanh", "cbrt",
)  # fmt: skip
BINARY = ("hypot", "arctan2", "logaddexp", "fmod", "nextafter", "copysign", "ldexp")
STATEMENTS = {
    "two that follow each other": "a[:] = np.exp(-b) + np.sin(b) * 2.0",
    "one in another": "a[:] = np.tanh(np.cos(b) * b) - np.exp(np.sin(np.sin(b)))",
    "two statements": "t = np.exp(-b * b)\n        a[:] = t * np.log1p(t) + a",
    "in place": "a *= np.cos(b)",
    "of itself": "a[:] = np.sin(a) + b",
    "of neighbours": "a[1:-1] = np.sin(a[:-2]) + np.cos(a[2:])",
    "selected": "a[b > 0.5] = np.exp(b[b > 0.5])",
    "selected, of what was selected": "a[b > 0] = np.log(np.exp(b[b > 0]) + np.cos(a[b > 0]))",
    "a mask made by one": "m = np.exp(b) > 1.0\n        a[m] = np.sin(b[m]) * b[m]",
    "a mask in the statement": "a[np.cos(b) > 0] = np.sqrt(np.exp(b[np.cos(b) > 0]))",
    "packed": "k = np.exp(b[b > 0.5]).sum()",
    "powers": "a[:] = abs(b) ** 1.5 + abs(b) ** -0.3 - b ** 3",
    "powers by a variable": "e = 1.5\n        a[:] = abs(b) ** -e + abs(b) ** e",
    "selected powers": "a[a > 0] = a[a > 0] ** -1.5",
    "of a number and an array": "a[:] = np.hypot(b, 3.0) + np.arctan2(1.5, b)",
    "of two arrays": "a[:] = np.arctan2(a, b) - np.hypot(a, b)",
    "where": "a[:] = np.where(b > 0.5, np.log(b), a)",
    "rows": "for j in range(len(w)):\n            w[j] = np.exp(-w[j - 1]) + np.sin(w[j])",
    "matrices": "w[:] = np.exp(-w) * np.cos(w.T) + np.sin(w[:, :1])",
    "columns": "w[:, 0] = np.tanh(w[:, 1]) + np.exp(w[:, 2])",
    "an axis that is summed": "a[:9] = np.exp(w[:9] - w[:9].max(axis=1)[:, None]).sum(axis=1)",
    "of integers": "a[:] = np.sqrt(i + np.arange(len(a))) + np.exp(-np.arange(len(a)))",
    "backwards": "a[:] = np.exp(b[::-1]) + np.tan(b[::-1])",
    "every second": "a[::2] = np.exp(b[::2]) + np.tan(b[1::2][:len(b[::2])]) if len(b) % 2 == 0 else 0.0",
    "of nothing": "k = np.exp(b[:0]).sum() + np.exp(b[b > 1e9]).sum()",
}  # fmt: skip
TEXT = """
def f(a, b, w, n):
    k = 0.0
    for i in range(n):
        {}
    return a, w, k
"""


def _arguments(size: int, wild: bool, dtype: str = "f8", step: int = 1) -> list:
    rng = np.random.default_rng(size)
    a, b = (rng.normal(size=size * step).astype(dtype)[::step] for _ in range(2))
    if wild and size > 3:
        b[[0, size // 2, size - 1]] = [np.nan, np.inf, -1e300 if dtype == "f8" else -1e30]
    return [a, b, rng.normal(size=(9, 9)).astype(dtype), 3]


def _check(text: str, **options) -> None:
    eager, compiled = function_of(TEXT.format(text)), stator.compile(function_of(TEXT.format(text)))
    for size in (11, 11, 300, 256, 257, 2, 1, 0):
        for wild in (False, True):
            expected = observe(eager, _arguments(size, wild, **options))
            found = observe(compiled, _arguments(size, wild, **options))
            assert found == expected, f"{size}, {wild}, {options}: {report(expected, found)}"
    assert stator.stats(compiled)["regions"] >= 1


@pytest.fixture(autouse=True)
def _compiled_at_once(monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement):
    for dtype in ("f8", "f4"):
        _check(STATEMENTS[statement], dtype=dtype)
    _check(STATEMENTS[statement], step=3)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    for dtype in ("f8", "f4"):
        _check(f"a[:] = np.{name}(b)\n        a[b > 0] = np.{name}(b[b > 0])", dtype=dtype)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    _check(f"a[:] = np.{name}(a, b) if np.{name} is not np.ldexp else np.ldexp(a, 3)")
    _check(f"a[:] = np.{name}(b, 2)" if name == "ldexp" else f"a[:] = np.{name}(b, 2.5)")


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_lies_behind_the_last_element_raises_nothing(dtype):
    """Buffers have room for whole vectors, in which lanes without an element find what another statement left there."""
    large = -80.0 if dtype == "f4" else -700.0  # whose exponentials' product overflows
    text = "a[:] = np.exp(-a) - np.exp2(-a)\n        a[:] = LARGE\n        b[:] = np.exp(-b) * np.exp2(-b) * 0.25"
    compiled = stator.compile(function_of(TEXT.format(text.replace("LARGE", str(large)))))

    def call():
        compiled(np.full(32, large, dtype), np.full(11, 0.25, dtype), np.zeros((2, 2)), 20)

    for _ in range(3):
        call()
    before = stator.stats(compiled)["exits"]
    call()
    assert stator.stats(compiled)["exits"] == before


def test_no_python_for_a_function_of_arrays():
    """The loop is called as it is: no routine that goes through the interpreter."""
    compiled = stator.compile(function_of(TEXT.format(STATEMENTS["two that follow each other"])))
    for _ in range(3):
        compiled(*_arguments(50, False))
    text = compiled.regions[0].graph_text
    assert 'ufunc "exp"' in text and "library" not in text and "made" not in text
