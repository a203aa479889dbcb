"""Options, environment variables, the command line, and what STATOR_VERIFY reports."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import stator
from process import run_program


def plain(u):
    return u * 2.0 + 1.0


# --- options and the environment ---


def test_options_are_readable_and_settable():
    assert "threads" in dir(stator.options)
    before = stator.options.threads
    try:
        stator.options.threads = 1
        assert stator.options.threads == 1
        with pytest.raises(ValueError, match="expected a whole number"):
            stator.options.threads = "many"
    finally:
        stator.options.threads = before
    with pytest.raises(AttributeError, match="did you mean threads"):
        stator.options.thread
    assert isinstance(stator.options.async_, bool)
    assert "STATOR_THREADS" in repr(stator.options)


PROGRAM = """
import numpy as np, stator
@stator.compile
def f(u): return u + 1.0
@stator.compile
def g(u): return u + 2.0
for _ in range(3): f(np.ones(3)); g(np.ones(3))
print([isinstance(h, stator.CompiledFunction) for h in (f, g)], stator.stats()["calls"])
"""


@pytest.mark.parametrize(
    ("environment", "prints"),
    [
        ({}, "[True, True] 6"),
        ({"STATOR": "0"}, "[False, False] 0"),
        ({"STATOR_ONLY": "f"}, "[True, False] 3"),
        ({"STATOR_SKIP": "__main__.f"}, "[False, True] 3"),
    ],
)
def test_environment_switches(environment, prints):
    done = run_program(PROGRAM, **environment)
    assert done.stdout.strip() == prints, done.stderr
    assert done.returncode == 0


def test_bad_environment_says_so_and_goes_on():
    done = run_program(PROGRAM, STATOR_THREADS="many", STATOR_ASINC="0")
    assert done.stdout.strip() == "[True, True] 6"
    lines = done.stderr.splitlines()
    assert any("STATOR_THREADS: expected a whole number" in line for line in lines)
    assert any("STATOR_ASINC is ignored; did you mean STATOR_ASYNC?" in line for line in lines)


def test_log_help_lists_the_artifacts():
    done = run_program("import stator", STATOR_LOG="help")
    for name in ("traces", "guards", "exits", "recompiles", "kernels", "cache"):
        assert f"\n  {name} " in done.stderr


def test_all_compiles_undecorated_functions():
    program = """
    import numpy as np, stator
    def f(u, k): return u * k + 1.0
    x = np.arange(50.0)
    for i in range(20):
        assert f(x, float(i)).tobytes() == (x * float(i) + 1.0).tobytes()
    s = stator.stats()
    print(type(f).__name__, s["recordings"], s["kernels_launched"] > 0)
    """
    done = run_program(program, STATOR="all")
    assert done.stdout.split() == ["function", "1", "True"], done.stderr


def test_unsupported_numpy_leaves_functions_alone(tmp_path):
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("__version__ = '1.26.4'\n")
    program = """
    import stator
    @stator.compile
    def f(u): return u + 1
    print(f(1), type(f).__name__, stator.stats()["calls"])
    """
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = run_program(program, PYTHONPATH=path)
    assert done.stdout.split() == ["2", "function", "0"], done.stderr
    assert done.stderr.count("\n") == 1 and "NumPy 2.0 or later, found 1.26.4" in done.stderr


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ("sys.platform = 'darwin'", "Linux is needed, found darwin"),
        ("sys.platform = 'win32'; del os.uname", "Linux is needed, found win32"),
        ("os.uname = lambda: os.uname_result(['Linux', 'n', '6', 'v', 'aarch64'])", "x86-64 processor is needed, found aarch64"),
        ("sys.abiflags = 't'", "free-threaded Python is not supported yet"),
        ("sys.version_info = (3, 16, 0); sys.version = '3.16.0 (main)'", "Python 3.11 to 3.15 is needed, found 3.16.0"),
        ("sys.version_info = (3, 10, 4); sys.version = '3.10.4 (main)'", "Python 3.11 to 3.15 is needed, found 3.10.4"),
        ("sys.implementation.name = 'pypy'", "stator plugs into CPython, not pypy"),
        ("sys.modules['stator._stator'] = None", "reinstall stator"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["1", "all"])
def test_where_it_cannot_run_functions_are_left_alone(found, says, mode):
    program = f"""
    import os, sys
    class VersionInfo(tuple):
        releaselevel = "final"
    {found}
    if not hasattr(sys.version_info, "releaselevel"):
        sys.version_info = VersionInfo(sys.version_info)
    import stator
    @stator.compile
    def f(u): return u + 1
    print(f(1), type(f).__name__, stator.stats()["calls"], [n for n in stator.__all__ if not hasattr(stator, n)])
    stator.wait(), stator.reset(), f.reset()
    assert f.graph() == f.llvm() == f.asm() == "f is not compiled: " + stator.unavailable
    assert stator.unavailable in str(stator.explain(f)(1)) and f.explain(1).result == 2 and not f.traces
    """
    done = run_program(program, STATOR=mode)
    assert done.stdout.strip() == "2 function 0 []", done.stderr
    assert (
        done.stderr.count("\n") == 1
        and says in done.stderr
        and "functions run as plain Python" in done.stderr
    )


def test_what_is_left_alone_has_the_methods_of_what_is_compiled():
    from stator import _absent

    def f(x):
        return x + 1

    compiled, left = stator.compile(f), _absent.leave_alone(f, "why not")
    assert vars(left).keys() == vars(compiled).keys()
    assert left.stats().keys() == stator.stats().keys()
    told = {name for name in vars(stator.explain(compiled)(1)) if not name.startswith("_")}
    assert told <= vars(left.explain(1)).keys()


def test_switched_off_the_methods_are_there():
    program = """
    import inspect, pickle
    import stator
    def f(u: int, *, k=2) -> int:
        "Doubles."
        return u * k
    f.kept = 1
    g = stator.compile(f)
    class C:
        @stator.compile
        def method(self, u): return u + 1
        @stator.compile
        @staticmethod
        def static(u): return u + 2
        @classmethod
        @stator.compile
        def of_class(cls, u): return u + 3
    assert [g(3), C().method(1), C.static(1), C().of_class(1)] == [6, 2, 3, 4]
    assert g.__wrapped__ is f and stator.compile(g) is g and not hasattr(f, "stats")
    assert inspect.signature(g) == inspect.signature(f) and (g.__doc__, g.kept) == (f.__doc__, 1)
    for h in (g, C.method, C().method, C.static, C.of_class):
        assert h.stats()["calls"] == 0 == stator.stats(h)["calls"], h
        assert h.graph() == h.llvm() == h.asm() == h.cuda(1) == h.__qualname__ + " is not compiled: STATOR=0"
        assert (h.traces, h.regions, h.reset()) == ([], [], None)
    g = f = stator.compile(f)
    assert pickle.loads(pickle.dumps(f)) is f
    print(stator.explain(g)(4), g.explain(5).result)
    """
    done = run_program(program, STATOR="0")
    assert (done.stdout, done.stderr) == ("f: plain Python, nothing is compiled: STATOR=0 10\n", "")


def test_import_is_cheap():
    program = """
    import sys, numpy
    before = set(sys.modules)
    import stator
    added = set(sys.modules) - before - set(sys.builtin_module_names)  # those have no file to read
    print(sorted(m for m in added if not m.startswith(("stator", "numpy"))))
    """
    assert run_program(program).stdout.strip() == "[]"


# --- the command ---


def test_run_script_and_module(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import sys\nprint(__name__, sys.argv[1:], sys.path[0] == sys.argv[0].rpartition('/')[0])\n"
    )
    done = run_program("", "-m", "stator", "run", str(script), "a", "-b")
    assert done.stdout.strip() == "__main__ ['a', '-b'] True", done.stderr
    done = run_program("", "-m", "stator", "run", "--stats", "-m", "this")
    assert "Beautiful" in done.stdout and "kernels_launched" in done.stderr
    for arguments, says in [([], "run needs a script"), (["no_such.py"], "no such file")]:
        done = run_program("", "-m", "stator", "run", *arguments)
        assert done.returncode == 2 and says in done.stderr


def test_command_line_mistakes():
    for arguments, says in [
        ([], "say what to do"),
        (["walk"], "unknown command 'walk'"),
        (["doctor", "x"], "no arguments"),
    ]:
        done = run_program("", "-m", "stator", *arguments)
        assert done.returncode == 2 and says in done.stderr and "usage:" in done.stderr


def test_doctor_reports(tmp_path):
    done = run_program("", "-m", "stator", "doctor", STATOR_CACHE_DIR=str(tmp_path))
    for name in ("stator", "python", "numpy", "compiler", "cache", "frame hook", "options"):
        assert f" {name} " in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_verify_reports_a_difference_and_returns_eagers_result(tmp_path, monkeypatch, capsys):
    from stator import _verify

    monkeypatch.chdir(tmp_path)
    x = np.arange(3.0)
    assert _verify.same((x, 1.5, np.float32(np.nan)), (x.copy(), 1.5, np.float32(np.nan)))
    assert not _verify.same(np.array([0.0]), np.array([-0.0]))
    assert not _verify.same(x, x.astype(np.float32))
    call = _verify.Call(plain, (x,), {})
    assert call.check(x + 1, "plain#1", []).tobytes() == plain(x).tobytes()
    assert "plain#1 differs from NumPy" in capsys.readouterr().err
    assert (tmp_path / "stator-verify-plain-1.pickle").exists()


LOGGED = """
import numpy as np, stator

@stator.compile
def f(x):
    y = x * 2
    if y.sum() > 50:
        y = y - 1
    print("here")
    return y + 1

for x in (np.ones(5), np.full(5, 20.0), np.ones(5), np.full(5, 20.0), np.ones(5, "f4")):
    f(x)
stator.wait()
"""


@pytest.mark.parametrize(
    "topic, line",
    [
        ("traces", "recorded f#1 at "),
        ("guards", "f#1: "),
        ("exits", "f: exit at "),
        ("recompiles", "f: recorded again at "),
        ("kernels", "f#1: compiled"),
        ("opaque", "call of print is not modelled"),
        ("timings", "f#1: recorded in "),
    ],
)
def test_every_log_topic_says_something(topic, line, tmp_path):
    env = {"STATOR_LOG": topic, "STATOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LOGGED], env=os.environ | env, capture_output=True, text=True, timeout=120
    )
    lines = done.stderr.splitlines()
    assert any(line in text for text in lines), done.stderr
    assert all(text.startswith(f"stator: [{topic}] ") for text in lines)


def test_functions_that_warn_by_themselves_cost_no_import():
    done = run_program(
        """
        import sys, warnings
        import numpy as np, stator

        @stator.compile
        def f(a):
            return np.sort(a) * np.mean(a)

        for _ in range(3):
            f(np.arange(8.0))
        print("numpy.fft" in sys.modules, f.stats()["replays"])

        def g(a):
            return np.fft.fftn(a, s=(4,)) * 2.0

        for h in (g, stator.compile(g)):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                for _ in range(4):
                    h(np.arange(8.0))
            print(len(seen))
        """
    )
    first, plain_count, count = done.stdout.splitlines()
    # NumPy imports it when a function of it is asked for.
    assert first == "False 2", done.stderr
    assert count == plain_count != "0"


def test_verify_compares_what_was_stored(tmp_path, monkeypatch, capsys):
    from stator import _verify

    def step(x, y):
        x[1:] += y[1:]
        return x

    monkeypatch.chdir(tmp_path)
    for wrong in (False, True):
        x, y = np.arange(3.0), np.ones(3)
        call = _verify.Call(step, (x,), {"y": y})
        step(x, y)
        x[2] += wrong
        assert call.check(x, f"step#{wrong}", ["x"]) is x and x.tolist() == [0, 2, 3]
        assert bool(capsys.readouterr().err) is wrong
    case = pickle.loads((tmp_path / "stator-verify-step-True.pickle").read_bytes())
    assert case["args"][0].tolist() == [0, 1, 2] and case["arguments_replayed"][0].tolist() == [0, 2, 4]


def test_verify_says_what_it_cannot_check():
    program = """
import numpy as np, stator
@stator.compile
def f(x, state):
    x += 1
    state["total"][...] += x
    return x * 2
@stator.compile
def g(x):
    x += 1
    return x * 2
for _ in range(5): f(np.ones(4), {"total": np.zeros(4)})
x = np.ones(4)
for _ in range(5): g(x)
assert x[0] == 6
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"STATOR_VERIFY": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = "stator: STATOR_VERIFY cannot check f#1: it writes into state['total'], which is no argument\n"
    assert done.stderr == said
