"""What people read: the line is the program's, articles fit, hints help and are not followed already."""

from __future__ import annotations

import glob
import inspect
import json
import re
import shutil
import subprocess
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
import stator
from process import run_program
from stator._stator import _testing

X = np.linspace(0.0, 1.0, 50)


def explained(function, *args):
    """What `explain` says of the third call."""
    compiled = stator.compile(function)
    for _ in range(2):
        compiled(*args)
        stator.wait()
    return str(stator.explain(compiled)(*args))


def check_text(text):
    """What no message may look like."""
    assert not re.search(r":-?0*-1\b|:-\d", text), text
    assert not re.search(r"\ba (?:[aeio]\w*|ndarray)\b(?! to)", text), text
    assert not re.search(r"\ban (?!ndarray\b|f-string)[bcdfgjkmpqtvwyz]\w*\b", text), text
    assert "{}" not in text, text


# --- lines ---


def cells():
    scale = 2.0

    def inner(x):
        return x * scale

    return inner, lambda y: scale + y


def handlers(x):
    with np.errstate(all="ignore"):
        try:
            x = x + 1
        except ValueError as error:
            raise KeyError from error
        finally:
            x = x * 2
    return [y for y in x if y > 0]


def test_each_instruction_has_a_line():
    """Prologues that make cells and the ends of handlers belong to no line for CPython."""
    functions = [cells, handlers, *cells()]
    for module in (inspect, json, textwrap, threading):
        functions += [f for _, f in inspect.getmembers(module, inspect.isfunction)]
    seen = 0
    for f in functions:
        lines, first = inspect.getsourcelines(f)
        rows = _testing.decode(f.__code__)
        if isinstance(rows, str):
            continue  # a generator
        seen += any(line is None for *_, line in f.__code__.co_lines())
        for row in rows:
            assert first <= row["line"] < first + len(lines), (f, row)
    assert seen > 5


def test_functions_with_cells_are_told_of_at_their_own_line():
    offset = 2.0

    def counts(n):
        def more(k):
            return k + n + offset

        return more(1)

    compiled = stator.compile(counts)
    for k in range(40):
        compiled(k)
    text = str(stator.explain(compiled)(1))
    first = counts.__code__.co_firstlineno
    lines = {int(n) for n in re.findall(r"test_messages\.py:(-?\d+)", text)}
    assert lines and all(first <= n < first + 5 for n in lines), text


# --- articles ---


class Estimator:
    def __iter__(self):
        return iter([1.0, 2.0])


class Unit(Estimator):
    pass


@pytest.mark.parametrize(
    ("over", "says"),
    [
        (lambda: Estimator(), "a loop over an Estimator"),
        (lambda: Unit(), "a loop over a Unit"),
        (lambda: {1.0, 2.0}, "a loop over a set"),
    ],
)
def test_articles_of_what_is_looped_over(over, says):
    def f(x, items):
        for k in items:
            x = x + k
        return x

    text = explained(f, X, over())
    assert says in text, text


class Upper:
    pass


def test_articles_of_what_is_refused():
    for thing, says in [
        (Unit(), "a Unit"),
        (Upper(), "an Upper"),
        (Estimator(), "an Estimator"),
        (np.ones(3), "an ndarray"),
        (3, "an int"),
    ]:
        with pytest.raises(TypeError, match=f"{says}\\b"):
            stator.compile(thing)


def test_articles_of_iterators():
    def f(x, items):
        for k in items:
            x = x + k
        return x

    class Old:
        def __getitem__(self, i):
            if i > 3:
                raise IndexError
            return float(i)

    text = explained(f, X, Old())
    assert "a iterator" not in text, text
    check_text(text)


PROGRAMS = r"""
x[Estimator()] = 1.0
x = x + len({1, 2}) * 0 + sorted([3, 1])[0]
print(end="")
x = x * float(f"{1.5}")
d = {}; d[1.5] = x; x = d[1.5]
l = [x]; l.extend(iter([x])); x = l[-1]
s = {1, 2}; s.add(3)
a, *b = x; x = a + X
x = x + sum(Estimator())
del d
assert len(x) > 0, "empty"
x = np.vectorize(abs)(x)
global COUNT; COUNT = 1
import math; x = x * math.pi
x = x + next(iter(Estimator()))
x.flat[0] = 1.0
x = x + (lambda: 1.0)()
x = [*x][0] + X
x = x if Estimator() else X
x = x + complex(1, 2).real
e = Estimator(); e.value = 1; x = x + e.value
x = x + np.random.default_rng(0).random()
x = np.sort(x, kind="stable"); x.sort()
x = x[[True] * len(x)]
match len(x):\n        case 50: x = x + 1
try:\n        x = x + int("1")\n    except ValueError:\n        pass
for k in Estimator():\n        x = x + k
for k in range(3):\n        x = x + k; print(end="")
for k in iter([1.0, 2.0]):\n        x = x + k
k = 0\n    while k < 5:\n        k += 1; d = {k: x}
""".strip().splitlines()


@pytest.mark.parametrize("body", PROGRAMS)
def test_reasons_read_well(body, tmp_path):
    body = body.replace("\\n", "\n")
    source = f"def f(x):\n    d = {{}}\n    {body}\n    return x\n"
    path = tmp_path / "program.py"
    path.write_text(source)
    scope = {"np": np, "X": X, "Estimator": Estimator}
    exec(compile(source, str(path), "exec"), scope)
    compiled = stator.compile(scope["f"])
    for _ in range(3):
        try:
            compiled(X.copy())
        except (TypeError, IndexError):
            pass
        stator.wait()
    try:
        text = str(stator.explain(compiled)(X.copy()))
    except (TypeError, IndexError):
        return
    check_text(text)
    lines = [int(n) for n in re.findall(r"program\.py:(-?\d+)", text)]
    assert all(1 <= n <= source.count("\n") for n in lines), text


# --- hints ---


def leaves(x, y, n):
    total = 0.0
    for i in range(n):
        total += x[i % 8] / y[i % 8]
    return total


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loop_that_is_left_too_often_says_where():
    compiled = stator.compile(leaves)
    x, y = np.ones(8), np.zeros(8)
    for _ in range(30):
        compiled(x, y, 400)
        stator.wait()
    remarks = [r for r in stator.explain(compiled)(x, y, 8).reasons if r.reason == "Faults"]
    for r in remarks:
        assert re.search(r"left in the middle too often: \d+ times at line \d+, for", r.message), r.message
        assert ("np.errstate" in r.hint) == ("floating-point" in r.message)


def test_a_hint_to_use_errstate_is_not_given_where_it_is_used():
    def f(x, items, n):
        with np.errstate(all="ignore"):
            for i in range(n):
                x[0] += 1.0
                items.discard(i)
        return x

    compiled = stator.compile(f)
    for _ in range(30):
        compiled(np.ones(8), {1}, 400)
        stator.wait()
    reasons = stator.explain(compiled)(np.ones(8), {1}, 8).reasons
    assert not [r for r in reasons if "errstate" in r.hint + r.message]


# --- no cache where there is no home ---


CACHED = """
import os, numpy as np, stator
f = stator.compile(lambda x: x * 2 + 1)
for _ in range(3):
    f(np.ones(100))
    stator.wait()
print(f.stats()["replays"], os.path.exists(os.environ["HOME"]))
"""


@pytest.mark.parametrize("given", [None, "cache", "../cache"])
def test_a_home_that_is_not_there_is_not_made(tmp_path, given):
    home = tmp_path / "people" / "nobody"
    environment = {"HOME": str(home), "XDG_CACHE_HOME": ""}
    if given:
        environment["STATOR_CACHE_DIR"] = str(home / given)
    else:
        environment["STATOR_CACHE_DIR"] = ""
    done = run_program(CACHED, **environment, STATOR_LOG="cache")
    assert done.stdout.split() == ["2", "False"], done.stderr
    assert not (tmp_path / "people").exists()
    assert done.stderr.count("the object cache is off") == 1 and "there is no folder" in done.stderr
    # Nobody asked for the default one: only the log tells of it.
    quiet = run_program(CACHED, **environment)
    assert ("the object cache is off" in quiet.stderr) == bool(given)
    doctor = run_program("", "-m", "stator", "doctor", **environment)
    assert "BAD cache" in doctor.stdout and "there is no folder" in doctor.stdout


def test_other_folders_are_made(tmp_path):
    folder = tmp_path / "a" / "b"
    done = run_program(CACHED, HOME=str(tmp_path), STATOR_CACHE_DIR=str(folder))
    assert done.stdout.split() == ["2", "True"] and done.stderr == ""
    assert (folder / "objects-1").is_dir()


# --- where nothing can be compiled ---


def test_programs_run_on_older_pythons(tmp_path):
    """The package's Python, without its extension, under the nearest Python that cannot have one."""
    old = next((p for v in ("3.10", "3.9") if (p := _python(v))), None)
    if old is None:
        pytest.skip("there is no Python 3.10")
    package = Path(stator.__file__).parent
    shutil.copytree(package, tmp_path / "stator", ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
    (tmp_path / "program.py").write_text("import sys; print('ran', sys.argv[1:])\n")
    for option in ((), ("--report",), ("--stats",)):
        command = [old, "-m", "stator", "run", *option, "program.py", "a"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stdout) == (0, "ran ['a']\n"), done.stderr
        assert "Traceback" not in done.stderr and "is needed, found 3." in done.stderr


def _python(version):
    found = [
        shutil.which(f"python{version}"),
        *glob.glob(f"{Path.home()}/.pyenv/versions/{version}.*/bin/python{version}"),
    ]
    for path in found:
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return None


# --- options ---


@pytest.mark.parametrize("value", ["0", "off", "false", "No"])
def test_words_that_switch_it_off(value):
    done = run_program("import stator; print(stator._enabled)", STATOR=value)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_patterns_that_match_nothing_are_told_of():
    program = "import stator; f = stator.compile(lambda x: x); print(isinstance(f, stator.CompiledFunction))"
    for name in ("STATOR_ONLY", "STATOR_SKIP"):
        done = run_program(program, **{name: "["})
        assert f"{name}: expected function name patterns with * and ?" in done.stderr
        assert done.stdout == "True\n"
    assert run_program(program, STATOR_ONLY="a, *.<locals>.b, <lambda>").stderr == ""


def test_doctor_tells_of_variables_that_are_wrong():
    done = run_program("", "-m", "stator", "doctor", STATOR_THREDS="2", STATOR_ASYNC="maybe")
    assert done.returncode == 1
    bad = [line for line in done.stdout.splitlines() if line.startswith("BAD")]
    assert any("did you mean STATOR_THREADS?" in line for line in bad)
    assert any("STATOR_ASYNC: expected 0 or 1, found 'maybe'" in line for line in bad)


# --- the report ---


LATE = """
import time
import numpy as np

def work(x):
    for _ in range(300):
        x = np.sqrt(x * 2.0 + 1.0) - x
    return x

x = np.linspace(0.0, 1.0, 2_000)
end = time.process_time() + 1.0
while time.process_time() < end:
    work(x)
import stator
stator.compile  # the rest of the time it is compiled
work = stator.compile(work)
end = time.process_time() + 0.5
while time.process_time() < end:
    work(x)
"""


def test_the_report_says_when_a_function_was_compiled(tmp_path):
    path = tmp_path / "late.py"
    path.write_text(LATE)
    numbers = tmp_path / "r.json"
    done = run_program(
        "",
        "-m",
        "stator",
        "run",
        "--decorated",
        f"--report={tmp_path / 'r.html'}",
        f"--json={numbers}",
        str(path),
    )
    assert done.returncode == 0, done.stderr
    work = next(f for f in json.loads(numbers.read_text())["functions"] if f["function"] == "work")
    said = [r["text"] for r in work["reasons"] if r["reason"] == "NotYet"]
    assert len(said) == 1, work["reasons"]
    found = re.match(
        r"there was code for it from ([\d.]+) (m?s) into the program on; ([\d.]+ m?s) of this", said[0]
    )
    assert found and 0.9 < float(found[1]) / (1000 if found[2] == "ms" else 1), said
    assert said[0] in " ".join((tmp_path / "r.html").read_text().split())
