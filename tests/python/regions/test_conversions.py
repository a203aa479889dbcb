"""Conversions in loops warn as they do outside: of what is too large for the other dtype, and of what is no number there."""

import warnings

import numpy as np
import pytest
import stator

FORMS = {
    "astype": "    for _ in range(2):\n        v = a.astype('{t}')\n",
    "store": "    v = np.zeros(len(a), '{t}')\n    for _ in range(2):\n        v[:] = a\n",
    "expression": "    for _ in range(2):\n        v = a.astype('{t}') * 1\n",
}
VALUES = [
    0,
    1,
    -1,
    3.5,
    -70000,
    7e4,
    300,
    1e300,
    1e40,
    np.inf,
    np.nan,
    65519,
    65520,
    2**31,
    2**63,
    1e-320,
    1e-9,
]


def run(function, a):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = function(a)
    return result.tobytes(), [str(w.message) for w in told]


@pytest.mark.parametrize("target", ["f2", "f4", "i4", "?"])
@pytest.mark.parametrize("source", ["?", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("form", FORMS)
def test_warnings_of_a_conversion(form, source, target):
    names = {"np": np}
    exec(f"def f(a):\n{FORMS[form].format(t=target)}    return v\n", names)
    f = names["f"]
    compiled = stator.compile(f)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = [np.array([v] * 3).astype(source) for v in VALUES]
    for _ in range(3):
        run(compiled, np.ones(3, source))
        stator.wait()
    assert compiled.stats()["regions"] > 0
    for a in arrays:
        assert run(compiled, a) == run(f, a), a[0]
