"""STATOR_VERIFY of regions: agrees with every program, and finds defects that are planted in regions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report
from stator import _verify
from stator._stator import _testing

from .everyday import PROGRAMS
from .programs import CASES
from .whole import function_of


@pytest.fixture
def verifying(monkeypatch, tmp_path):
    monkeypatch.setattr(stator.options, "verify", True)
    monkeypatch.setattr(stator.options, "async", False)
    monkeypatch.setattr(_verify, "_reported", set())
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    _testing.mutate_regions("", "")


@pytest.mark.parametrize("name", CASES)
def test_programs_agree(name, verifying, capfd):
    case = CASES[name]
    compiled = stator.compile(case.function)
    for size in case.sizes:
        for call in range(2):
            arguments = [case.arguments(np.random.Generator(np.random.PCG64(call)), size) for _ in range(2)]
            expected, found = observe(case.function, arguments[0]), observe(compiled, arguments[1])
            assert found == expected, report(expected, found)
    assert sum(r.entries for r in compiled.regions) > 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", PROGRAMS)
def test_everyday_programs_agree(name, verifying, capfd):
    program = PROGRAMS[name]
    eager, compiled = function_of(program.text), stator.compile(function_of(program.text))
    for call in range(3):
        arguments = [program.arguments(np.random.Generator(np.random.PCG64(call)), 8) for _ in range(2)]
        expected, found = observe(eager, arguments[0]), observe(compiled, arguments[1])
        assert found == expected, report(expected, found)
    assert "differs" not in capfd.readouterr().err


SOURCES = {
    "scalars": """
def f(x, n):
    s = 1
    for i in range(n):
        s = s * 3 - i
    return s, i
""",
    "elements": """
def f(x, n):
    for i in range(1, n):
        x[i] = x[i] * 2.0 + x[i - 1]
    return x
""",
    "arrays": """
def f(x, n):
    for i in range(n):
        x[1:] = x[1:] * 2.0 + x[:-1]
    return x, i
""",
    "fresh arrays": """
def f(x, n):
    y = x + 1
    for i in range(n):
        y = y * 2.0 + x
    return y, i
""",
    "a function": """
def step(x, i):
    x[i] = x[i] * 2.0
    return x[i] + i

def f(x, n):
    s = 0.0
    for i in range(n):
        s += step(x, i)
    return s, x
""",
    "a list": """
def f(x, n):
    out = []
    for i in range(n):
        out.append(float(x[i] * 2.0))
    return out
""",
    "while": """
def f(x, n):
    i = 0
    while i < n:
        x[i] = x[i] * 2.0
        i += 1
    return x, i
""",
    "leaves for print": """
def f(x, n):
    for i in range(n):
        x[i] = x[i] * 2.0
        if i == 4:
            print(x[i])
    return x
""",
    "raises": """
def f(x, n):
    for i in range(n + 5):
        x[i] = x[i] * 2.0
    return x
""",
    "rows": """
def f(x, n):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, x[1:])):
        s = s + a * b
    return s, i
""",
    "a list that is stored to": """
def f(x, n):
    w = [1.5] * 9
    for i in range(1, n):
        w[i] = w[i - 1] * 3.0 - i
    return w
""",
}
DEFECTS = {
    "a product": ("= multiply.f64 ", "= subtract.f64 "),
    "a sum": ("= add.f64 ", "= multiply.f64 "),
    "a product of ints": ("= mul! ", "= add! "),
    "the next of a range": ("= add.i64 ", "= subtract.i64 "),
    "how many are left": ("= subtract.i64 ", "= add.i64 "),
}


def _calls(source):
    """Three calls, eager and compiled, the arguments afterwards and what was printed included."""
    eager, compiled = function_of(source), stator.compile(function_of(source))
    for _ in range(3):
        yield (
            observe(eager, [np.arange(1.0, 10.0), 7]),
            observe(compiled, [np.arange(1.0, 10.0), 7]),
            compiled,
        )


@pytest.mark.parametrize("name", SOURCES)
def test_sources_agree(name, verifying, capfd):
    for expected, found, compiled in _calls(SOURCES[name]):
        assert found == expected, report(expected, found)
    assert sum(r.entries for r in compiled.regions) > 0
    assert "differs" not in capfd.readouterr().err


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("name", SOURCES)
def test_a_planted_defect_is_found(name, defect, verifying, capfd):
    """It is reported, the case is kept, and the program goes on as eager's."""
    probe = stator.compile(function_of(SOURCES[name]))
    for _ in range(3):
        observe(probe, [np.arange(1.0, 10.0), 7])
    wrong, right = DEFECTS[defect][1], DEFECTS[defect][0]
    if not any(right in r.graph_text for r in probe.regions):
        pytest.skip("no such instruction")
    _testing.mutate_regions(right, wrong)
    for expected, found, _compiled in _calls(SOURCES[name]):
        assert found == expected, report(expected, found)
    assert "differs from Python" in capfd.readouterr().err
    (kept,) = verifying.glob("stator-verify-*.pickle")
    case = pickle.loads(kept.read_bytes())
    assert case["function"] == "program.f" and case["why"]
    assert case["variables"].keys() >= {"n"} and not _verify.same(case["eager"], case["found"])


def test_without_it_the_defects_are_wrong_results(monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)
    _testing.mutate_regions(*DEFECTS["a product"])
    try:
        assert any(found != expected for expected, found, _ in _calls(SOURCES["arrays"]))
    finally:
        _testing.mutate_regions("", "")


def test_what_empty_leaves_in_memory(verifying, capfd):
    """It is anybody's, also where the region is left before something is stored to it."""

    class Bag:
        pass

    bag = Bag()

    def f(a, b, pick):
        bag.v = t = a
        for i in range(len(b)):
            if pick[i] > 0:
                b -= b * bag.v[i // 2]
            else:
                t = np.empty_like(bag.v)
                t[...] = bag.v
                bag.v, b, t = b, t, bag.v
        return b, bag.v

    compiled = stator.compile(f)
    for seed in range(12):
        a, b, pick = np.random.default_rng(seed).standard_normal((3, 6))
        expected = f(a.copy(), b.copy(), pick)
        found = compiled(a.copy(), b.copy(), pick)
        assert all((e == g).all() for e, g in zip(expected, found, strict=True))
    assert "differs" not in capfd.readouterr().err
