"""Names that `lazy import` binds (from Python 3.15 on): the module is imported where the name is first used."""

import sys
import types

import numpy as np
import pytest
import stator

pytestmark = pytest.mark.skipif(sys.version_info < (3, 15), reason="there are no lazy imports")

X = np.linspace(0.5, 2.0, 9)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A function that makes a namespace by running a program, which may import `later`."""
    (tmp_path / "later.py").write_text("FACTOR = 3.0\n\ndef twice(x):\n    return x * 2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda text: exec(text, namespace := {"__name__": "program", "np": np}) or namespace
    sys.modules.pop("later", None)


LINES = """
lazy import later
def f(x):
    return x * later.FACTOR + later.twice(x)
"""

FROM = """
lazy from later import FACTOR, twice
def f(x):
    return x * FACTOR + twice(x)
"""

LOOP = """
lazy import later
def f(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 1.0:
            total += later.FACTOR * x[i]
    return total
"""

NOT_REACHED = """
lazy import later
def f(x):
    y = x * 5.0
    if x[0] > 100.0:
        return later.twice(y)
    return y
"""


@pytest.mark.parametrize("text", [LINES, FROM, LOOP])
def test_is_imported_by_the_first_use(module, text):
    wanted = module(text)["f"](X)
    sys.modules.pop("later")
    namespace = module(text)
    compiled = stator.compile(namespace["f"])
    assert "later" not in sys.modules
    for _ in range(5):
        assert np.asarray(compiled(X)).tobytes() == np.asarray(wanted).tobytes()
    assert "later" in sys.modules
    held = [v for k, v in namespace.items() if k in ("later", "FACTOR", "twice")]
    assert held and all(isinstance(v, types.ModuleType | float | types.FunctionType) for v in held)


def test_stays_where_it_is_not_reached(module):
    f = stator.compile(module(NOT_REACHED)["f"])
    for _ in range(5):
        assert np.array_equal(f(X), X * 5.0)
    assert "later" not in sys.modules
    assert np.array_equal(f(X + 100.0), (X + 100.0) * 10.0)
