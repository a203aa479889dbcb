"""The package as a user meets it: what can be decorated, what a compiled function looks like, options, messages."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest
import stator

X = np.arange(12.0)


@stator.compile
def module_level(u, k=2.0, *, b=1):
    """Scale and shift."""
    return u * k + b


def plain(u):
    return u * 2.0 + 1.0


def run_program(text, *arguments, **environment):
    """Run Python code in a process of its own, with stator's environment variables as given."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("STATOR")} | environment
    return subprocess.run(
        [sys.executable, *arguments, *(["-c", textwrap.dedent(text)] if text else [])],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
    )


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()


# --- what can be decorated ---


def test_decorator_bare_with_options_and_on_a_callable():
    @stator.compile
    def a(u):
        return u + 1.0

    @stator.compile()
    def b(u):
        return u + 1.0

    @stator.compile(fastmath=True)
    def c(u):
        return u + 1.0

    d = stator.compile(lambda u: u + 1.0)
    for f in (a, b, c, d):
        assert isinstance(f, stator.CompiledFunction)
        for _ in range(3):
            assert same_bits(f(X), X + 1.0)
    assert d.__name__ == "<lambda>"


def test_compiling_twice_is_compiling_once():
    f = stator.compile(plain)
    assert stator.compile(f) is f
    g = stator.compile(f, fastmath=True)
    assert g is not f and g.__wrapped__ is plain


class Model:
    scale = 3.0

    def __init__(self):
        self.u = X.copy()

    @stator.compile
    def step(self, k):
        return self.u * k + self.scale

    @stator.compile
    @staticmethod
    def inner_static(u):
        return u * 2.0 - 1.0

    @staticmethod
    @stator.compile
    def outer_static(u):
        return u * 2.0 - 1.0

    @stator.compile
    @classmethod
    def inner_class(cls, u):
        return u * cls.scale

    @classmethod
    @stator.compile
    def outer_class(cls, u):
        return u * cls.scale

    @property
    @stator.compile
    def doubled(self):
        return self.u * 2.0


def test_methods_bind_as_functions_do():
    m = Model()
    for _ in range(4):
        assert same_bits(m.step(2.0), m.u * 2.0 + 3.0)
        assert same_bits(Model.step(m, k=2.0), m.u * 2.0 + 3.0)
        assert same_bits(m.inner_static(X), X * 2.0 - 1.0)
        assert same_bits(Model.outer_static(X), X * 2.0 - 1.0)
        assert same_bits(m.inner_class(X), X * 3.0)
        assert same_bits(Model.outer_class(X), X * 3.0)
        assert same_bits(m.doubled, m.u * 2.0)
    bound = m.step
    assert inspect.ismethod(bound) and bound.__self__ is m and bound.__func__ is Model.__dict__["step"]
    assert bound.__name__ == "step" and bound.__qualname__ == "Model.step"
    assert Model.step is Model.__dict__["step"]
    assert str(inspect.signature(bound)) == "(k)"


def test_bound_methods_partials_and_callable_objects():
    class Plain:
        def method(self, u):
            return u + self.k

        def __call__(self, u):
            return u - self.k

    p = Plain()
    p.k = 2.0
    method = stator.compile(p.method)
    call = stator.compile(p)
    part = stator.compile(functools.partial(plain, u=X))
    for _ in range(3):
        assert same_bits(method(X), X + 2.0)
        assert same_bits(call(X), X - 2.0)
        assert same_bits(part(), plain(X))
    assert isinstance(part, functools.partial) and isinstance(part.func, stator.CompiledFunction)


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (3, "needs a function, found an int: options are given by name"),
        ("fullgraph", "options are given by name, as in @stator.compile(fullgraph=True)"),
        (property(lambda self: 1), "decorate the getter below @property"),
        (Model, "found the class Model: decorate its methods"),
        (np.sin, "needs Python code, and sin has none: compile the function that calls it"),
        (len, "needs Python code, and len has none"),
        (functools.lru_cache(plain), "write @stator.compile below @functools.cache"),
        ([1], "found a list"),
    ],
)
def test_what_cannot_be_compiled_says_what_to_do(thing, says):
    with pytest.raises(TypeError) as error:
        stator.compile(thing)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"fastmth": True}, TypeError, "has no option 'fastmth': did you mean fastmath?"),
        ({"zzz": 1}, TypeError, "the options are fullgraph, fastmath, dynamic, device"),
        ({"fastmath": "yes"}, TypeError, "fastmath is True or False, found 'yes'"),
        ({"dynamic": False}, ValueError, "extents are always symbolic"),
        ({"device": "tpu"}, ValueError, "device is 'cpu' or 'cuda', found 'tpu'"),
    ],
)
def test_unknown_options(options, kind, says):
    with pytest.raises(kind) as error:
        stator.compile(plain, **options)
    assert says in str(error.value)
    with pytest.raises(kind):
        stator.compile(**options)


# --- looking like the function ---


def test_attributes_are_the_functions():
    f = module_level
    assert (f.__name__, f.__qualname__, f.__module__) == ("module_level", "module_level", __name__)
    assert f.__doc__ == "Scale and shift."
    assert f.__defaults__ == (2.0,) and f.__kwdefaults__ == {"b": 1}
    assert f.__code__ is f.__wrapped__.__code__
    assert str(inspect.signature(f)) == "(u, k=2.0, *, b=1)"
    assert inspect.getsource(f).startswith("@stator.compile")
    assert callable(f) and inspect.isroutine(f)
    with pytest.raises(AttributeError, match="no_such_thing"):
        f.no_such_thing
    f.note = "mine"
    assert f.note == f.__wrapped__.note == "mine" and f.__dict__["note"] == "mine"
    del f.note
    assert not hasattr(f, "note")
    with pytest.raises(AttributeError, match=r"stator's own"):
        f.stats = 3


def test_defaults_may_be_reassigned():
    @stator.compile
    def f(u, k=2.0):
        return u * k

    for _ in range(3):
        assert same_bits(f(X), X * 2.0)
    f.__defaults__ = (5.0,)
    for _ in range(3):
        assert same_bits(f(X), X * 5.0)


def test_arguments_bind_as_python_binds_them():
    @stator.compile
    def f(a, /, b, c=3.0, *rest, d, e=5.0, **more):
        return a + b * c + sum(rest) + d * e + sum(more.values())

    g = f.__wrapped__
    calls = [
        ((X, 2.0), {"d": 4.0}),
        ((X, 2.0, 1.0), {"d": 4.0, "e": 6.0}),
        ((X, 2.0, 1.0, 7.0, 8.0), {"d": 4.0}),
        ((X,), {"b": 2.0, "d": 4.0, "z": 9.0, "a": 1.0}),
        ((X,), {"d": 1.0, "c": 2.0, "b": 3.0}),
    ]
    for _ in range(4):
        for args, kwargs in calls:
            assert same_bits(f(*args, **kwargs), g(*args, **kwargs))
    wrong = [((), {}), ((X,), {"d": 1}), ((X, 2), {}), ((X, 2), {"b": 3, "d": 1})]
    for args, kwargs in wrong:
        with pytest.raises(TypeError) as ours:
            f(*args, **kwargs)
        with pytest.raises(TypeError) as theirs:
            g(*args, **kwargs)
        assert str(ours.value) == str(theirs.value)


def test_wraps_and_update_wrapper():
    @functools.wraps(module_level)
    def outer(*args, **kwargs):
        return module_level(*args, **kwargs)

    assert outer.__wrapped__ is module_level
    assert str(inspect.signature(outer)) == "(u, k=2.0, *, b=1)"


def test_repr_names_the_function():
    assert repr(module_level).startswith("<stator.compile of <function module_level at ")


# --- copying and pickling ---


def test_copies_are_the_function_itself():
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy(module_level) is module_level
    assert copy.deepcopy({"f": module_level})["f"] is module_level


def test_pickles_by_reference():
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(module_level, protocol)) is module_level
        assert pickle.loads(pickle.dumps(Model.step, protocol)) is Model.step
    m = pickle.loads(pickle.dumps(Model().step))
    assert same_bits(m(2.0), X * 2.0 + 3.0)

    @stator.compile
    def local(u):
        return u

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(local)


def test_cloudpickle_by_reference_and_by_value():
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(Model.step)) is Model.step
    k = 3.0

    @stator.compile(fastmath=True)
    def local(u):
        return u * k

    again = pickle.loads(cloudpickle.dumps(local))
    assert isinstance(again, stator.CompiledFunction) and again is not local
    assert again.__name__ == "local"
    assert same_bits(again(X), X * 3.0)


def test_joblib_runs_functions_of_main(tmp_path):
    pytest.importorskip("joblib")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import numpy as np, stator, joblib

            @stator.compile
            def f(u, k):
                return u * k + 1.0

            if __name__ == "__main__":
                x = np.arange(5.0)
                got = joblib.Parallel(n_jobs=2)(joblib.delayed(f)(x, k) for k in (1.0, 2.0))
                print([g.tolist() for g in got])
            """
        )
    )
    done = run_program("", str(program))
    assert done.stdout.strip() == str([(np.arange(5.0) * k + 1.0).tolist() for k in (1.0, 2.0)]), done.stderr


# --- memory ---


def test_a_dropped_function_goes_away():
    def make():
        @stator.compile
        def f(u):
            return u + 1.0

        for _ in range(3):
            f(X)
        return f

    f = make()
    code = weakref.ref(f.__wrapped__)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None and code() is None


def test_redefining_in_a_notebook_frees_the_old_function():
    cell = """
import numpy as np, stator
@stator.compile
def step(u):
    return u * SCALE + 1.0
for _ in range(3):
    step(np.arange(5.0))
"""
    namespace = {"__name__": "__main__", "SCALE": 2.0}
    refs = []
    for _ in range(4):
        exec(compile(cell, "<cell>", "exec"), namespace)
        refs.append((weakref.ref(namespace["step"]), weakref.ref(namespace["step"].__wrapped__)))
        gc.collect()
    assert [r() is None and f() is None for r, f in refs] == [True, True, True, False]


def test_a_dropped_namespace_goes_away():
    program = """
import numpy as np, stator
scale = 2.0
def helper(u):
    return u + scale
class Thing:
    pass
thing = Thing(); thing.k = 3.0
@stator.compile
def step(u):
    return helper(u) * scale + thing.k
for _ in range(4):
    step(np.arange(5.0))
"""
    namespace = {"__name__": "gone"}
    exec(compile(program, "<gone>", "exec"), namespace)
    refs = [weakref.ref(namespace[name]) for name in ("step", "helper", "thing", "Thing")]
    del namespace
    gc.collect()
    assert [r() for r in refs] == [None] * 4


def test_no_references_are_left_behind():
    @stator.compile
    def f(u, k):
        return u * k + 1.0

    u, k = X.copy(), 2.5
    for _ in range(3):
        f(u, k)
    before = sys.getrefcount(u), sys.getrefcount(k), sys.getrefcount(f)
    for _ in range(200):
        f(u, k)
        f(k=k, u=u)
    assert (sys.getrefcount(u), sys.getrefcount(k), sys.getrefcount(f)) == before


# --- counters, stances, explanations ---


def test_stats_have_the_documented_names():
    names = {
        "calls", "replays", "eager_calls", "recordings", "traces", "bridges", "exits", "opaque_steps", "redone",
        "retired", "compiles", "cache_hits", "compile_s", "kernels_launched", "regions",
    }  # fmt: skip
    f = stator.compile(lambda u: u * 3.0)
    for _ in range(4):
        f(X)
    assert names <= set(stator.stats()) and names <= set(f.stats())
    own = f.stats()
    assert (own["calls"], own["recordings"], own["traces"], own["replays"]) == (4, 1, 1, 3)
    total = stator.stats()
    assert total["calls"] >= 4
    f.reset()
    assert f.stats()["calls"] == 0 and f.traces == []
    assert same_bits(f(X), X * 3.0)


def test_compilations_are_counted():
    f = stator.compile(lambda u: np.sqrt(u * 3.25 + 1.75))
    for _ in range(3):
        f(X)
    stator.wait()
    core = stator._stator.core_info()
    if not core["loaded"]:
        pytest.skip(core["error"])
    own = f.stats()
    assert own["compiles"] + own["cache_hits"] == 1
    assert own["compile_s"] > 0 or own["cache_hits"]
    assert "define" in f.llvm() and "ret" in f.asm()
    assert f.traces[0].ready() == f.traces[0].segments == 1


def test_reset_drops_all_traces():
    f = stator.compile(lambda u: u - 3.0)
    f(X)
    stator.reset()
    assert stator.stats()["calls"] == 0 and not f.traces
    f(X)
    assert f.stats()["recordings"] == 1


def test_reset_inside_a_call_waits_for_its_end():
    @stator.compile
    def f(u):
        v = u + 1.0
        stator.reset()
        return v * 2.0

    for _ in range(4):
        assert same_bits(f(X), (X + 1.0) * 2.0)


def test_stance_as_call_and_as_context():
    f = stator.compile(lambda u: u + 3.0)
    f(X), f(X)
    with stator.stance("eager"):
        assert same_bits(f(X), X + 3.0)
    assert f.stats()["eager_calls"] == 1
    f(X)
    assert f.stats()["eager_calls"] == 1
    try:
        stator.stance("eager")
        f(X)
        assert f.stats()["eager_calls"] == 2
    finally:
        stator.stance("default")
    with pytest.raises(ValueError, match="unknown stance 'fast': use one of 'default', 'eager'"):
        stator.stance("fast")


def test_fail_on_recompile():
    f = stator.compile(lambda u: u + 4.0)
    with stator.stance("fail_on_recompile"):
        f(X)
        f(X[:5].copy())
        with pytest.raises(stator.RecompileError, match="recorded again"):
            f(X.astype("f4"))
        assert f.stats()["recordings"] == 1
    assert same_bits(f(X.astype("f4")), X.astype("f4") + 4.0)


def test_fail_on_recompile_raises_before_anything_runs(capsys):
    @stator.compile
    def f(u):
        print("in")
        return u + 4.0

    f(X), f(X)
    capsys.readouterr()
    with stator.stance("fail_on_recompile"):
        f(X)
        assert capsys.readouterr().out == "in\n"
        before = f.stats()["recordings"]
        with pytest.raises(stator.RecompileError, match="recorded again"):
            f(X.astype("f4"))
        assert f.stats()["recordings"] == before


def test_disable_keeps_all_below_out():
    inner = stator.compile(lambda u: u * 5.0)

    @stator.disable
    def f(u):
        """Doc."""
        return inner(u) + 1.0

    for _ in range(3):
        assert same_bits(f(X), X * 5.0 + 1.0)
    assert inner.stats()["recordings"] == 0
    assert f.__name__ == "f" and f.__doc__ == "Doc."
    with stator.disable():
        inner(X)
    assert inner.stats()["recordings"] == 0
    assert inner(X) is not None and inner.stats()["recordings"] == 1
    outer = stator.compile(lambda u: f(u) + 2.0)
    for _ in range(4):
        assert same_bits(outer(X), X * 5.0 + 3.0)
    with pytest.raises(TypeError, match="stator.disable needs a function"):
        stator.disable(3)


def test_explain_says_what_stays_in_python():
    @stator.compile
    def f(u):
        v = u * 2.0
        print("between")
        return v + 1.0

    text = str(stator.explain(f)(X))
    here = inspect.getsourcelines(f)[1]
    assert f"test_api.py:{here + 3}" in text and "print" in text
    explanation = f.explain(X)
    assert same_bits(explanation.result, X * 2.0 + 1.0)
    assert 0.0 < explanation.share < 1.0
    assert explanation.reasons[0].line == here + 3
    assert "<dl>" in explanation._repr_html_()
    fresh = stator.explain(plain)(X)
    assert fresh.share == 1.0 and fresh.outcome == "recorded"


def test_explain_says_where_the_time_went():
    f = stator.compile(lambda u: np.sort(u * 2.0) + 1.0)
    assert stator.explain(f)(X).microseconds["replays"] == 0
    for _ in range(3):
        f(X)
    stator.wait()
    explanation = stator.explain(f)(X)
    times = dict(explanation.microseconds)
    assert times.pop("replays") == 1 and times.pop("loops") == 0
    assert times.keys() == {"guards", "launch", "kernels", "numpy"}
    assert all(t > 0 for t in times.values()) and sum(times.values()) < 1e6 * explanation.seconds
    assert "kernels " in str(explanation)
    with pytest.raises(TypeError):
        stator.explain(f)(X, X)
    f(X)  # nobody measures any more
    assert f.traces[0].recorded_ms > 0 and f.traces[0].prepared_ms > 0
    assert len(f.traces[0].compiled_ms) == f.traces[0].segments


def test_explain_tells_the_time_in_native_loops():
    def f(u, n):
        for _ in range(n):
            u = u * 0.5 + 1.0
        return u

    compiled = stator.compile(f)
    for _ in range(3):
        compiled(X, 100)
        stator.wait()
    explanation = stator.explain(compiled)(X, 100)
    assert 0 < explanation.microseconds["loops"] < 1e6 * explanation.seconds
    assert "loops " in str(explanation)


def test_graph_prints_and_renders():
    f = stator.compile(lambda u: u * 2.0 + 1.0)
    with pytest.raises(ValueError, match="has no trace yet"):
        f.graph()
    f(X)
    graph = f.graph()
    assert "multiply" in str(graph) and "return" in str(graph)
    assert '<pre class="stator">' in graph._repr_html_()
    assert f.traces[0].name in str(graph)
    with pytest.raises(ValueError, match="no trace 7: there are 1"):
        f.graph(7)


def test_fullgraph_raises_with_the_reasons(capsys):
    @stator.compile(fullgraph=True)
    def whole(u):
        return u * 2.0

    for _ in range(3):
        assert same_bits(whole(X), X * 2.0)

    @stator.compile(fullgraph=True)
    def broken(u):
        v = u * 2.0
        print("here")
        return v

    for _ in range(3):  # before anything is printed, on the first call as on later ones
        with pytest.raises(stator.GraphBreakError, match="1 place of .*broken cannot be compiled") as error:
            broken(X)
        assert len(error.value.reasons) == 1 and "print" in error.value.reasons[0]
        assert capsys.readouterr().out == ""
    with stator.stance("eager"):
        broken(X)
    assert capsys.readouterr().out == "here\n"


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


def test_import_is_cheap():
    program = """
    import sys, numpy
    before = set(sys.modules)
    import stator
    print(sorted(m for m in set(sys.modules) - before if not m.startswith(("stator", "numpy"))))
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
