"""Names that are no UTF-8: of files that could not be decoded, of attributes, keywords, keys, functions and modules."""

from __future__ import annotations

import os
import textwrap

import numpy as np
import pytest
import stator

from tests.python.process import run_program

LONE = "\ud800"  # a surrogate without its other half
X = np.arange(3.0)


class Holder:
    pass


def keywords(u, **more):
    return u * more.get(LONE, 1.0) + 1


def test_keywords_keys_and_attributes():
    @stator.compile
    def f(u, o):
        d = {LONE: 2.0, "a": u}
        return keywords(u, **d) * d["\ud800"] + getattr(o, LONE)

    @stator.compile
    def loop(u, d):
        total = 0.0
        for i in range(200):
            total += d["\ud800"] * i + u[i % 3]
        return total

    holder = Holder()
    setattr(holder, LONE, 3.0)
    for _ in range(5):
        assert np.array_equal(f(X, holder), (X * 2 + 1) * 2 + 3)
        assert loop(X, {LONE: 2.0}) == loop.__wrapped__(X, {LONE: 2.0})
    delattr(holder, LONE)
    with pytest.raises(AttributeError):
        f(X, holder)
    for g, args in ((f, (X, Holder())), (loop, (X, {}))):
        with pytest.raises((AttributeError, KeyError)):
            g(*args)
        assert str(g.stats())


def test_functions_modules_and_files():
    text = "def f(x):\n  s = 0.0\n  for i in range(100):\n    s += x[i % 3]\n  print(end='')\n  return s + x.sum()"
    space = {}
    exec(compile(text, "a\ud800b.py", "exec"), space)
    f = space["f"]
    f.__qualname__, f.__name__, f.__module__ = "q\udfff", "n\udfff", "m\udfff"
    g = stator.compile(f)
    for _ in range(4):
        assert g(X) == f(X)
    assert r"q\udfff" in str(g.explain(X))


@pytest.mark.parametrize("way", ["all", "dump", "report"])
def test_a_script_whose_name_cannot_be_decoded(tmp_path, way):
    script = os.fsencode(tmp_path) + b"/b\xff.py"
    try:
        with open(script, "w") as f:
            f.write(
                textwrap.dedent(
                    """
                    import numpy as np, stator

                    @stator.compile
                    def f(x):
                        total = 0.0
                        for i in range(len(x)):
                            total += x[i] * i
                        print(end="")
                        return x * total

                    for _ in range(6):
                        r = f(np.arange(3.0))
                    print(r)
                    """
                )
            )
    except OSError:
        pytest.skip("no such names on this file system")
    before = ("-m", "stator", "run", f"--report={tmp_path}/report.html") if way == "report" else ()
    environment = {"STATOR_DUMP": str(tmp_path / "dump")} if way == "dump" else {"STATOR": "all"}
    done = run_program("", *before, os.fsdecode(script), **environment)
    assert done.returncode == 0 and done.stdout.startswith("[ 0.  5. 10.]"), done.stderr
    assert "Error" not in done.stderr
    if way == "report":
        assert r"b\udcff.py" in (tmp_path / "report.html").read_text()
    if way == "dump":
        assert r"b\udcff.py" in (tmp_path / "dump" / "index.html").read_text()
