"""One object that several variables name: what is done to it in place shows through all of them."""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from .whole import function_of

BODIES = {
    "two targets": "a = b = x * i\na += 1",
    "two targets on some paths": "b[0] += i\nif i % 2:\n    a = b = a * 2\na += 1",
    "three targets": "a = b = c = x + i\nb[1:] *= 2\nc[0] = 7",
    "a target in an expression": "b = (a := x * i) + 1\na += b",
    "the same expression twice": "a, b = x * i, x * i\na += 1",
    "one after the other": "a = x * i\nb = a\nb += 1",
    "an element and a variable": "c[i] = a = x[i] + 1\nb = b * a",
    "a part and a variable": "a = x * c\nc[1:] = a[1:]\na += 1",
    "a conditional": "a = b = x * i if i % 3 else x\nb = b + a",
    "kept in a tuple": "t = (a, b)\na = b = t[0] + t[1]\nb -= 1",
}


@pytest.mark.parametrize("name", BODIES)
def test_arrays(name, monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)
    body = "".join(f"        {line}\n" for line in BODIES[name].split("\n"))
    text = f"def f(x, n):\n    a = b = c = x * 1\n    for i in range(n):\n{body}    return x, a, b, c, a is b, b is c\n"
    eager, compiled = function_of(text), stator.compile(function_of(text))
    for n in (7, 7, 7, 6, 1, 0):
        expected, found = (
            observe(eager, [np.arange(1.0, 9.0), n]),
            observe(compiled, [np.arange(1.0, 9.0), n]),
        )
        assert found == expected, report(expected, found)
    assert sum(r.entries for r in compiled.regions) >= 1
