"""What a program asks stator about its functions: counters, stances, explanations, graphs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import stator

X = np.arange(12.0)


def plain(u):
    return u * 2.0 + 1.0


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()


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
    assert f"test_introspection.py:{here + 3}" in text and "print" in text
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


def test_loops_in_native_code_are_captured():
    @stator.compile
    def smooth(u, n):
        for _ in range(n):
            for i in range(1, len(u) - 1):
                u[i] = 0.5 * (u[i - 1] + u[i + 1])

    for _ in range(3):
        smooth(np.arange(30.0), 40)
        stator.wait()
    seen = stator.explain(smooth)(np.arange(30.0), 40)
    assert seen.share == 1.0 and len(seen.loops) >= 1
    assert "100% (0 array operations in 0 traces, " in str(seen)
