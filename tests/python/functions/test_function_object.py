"""A compiled function is a function object, and CPython's own where plain Python is faster."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import textwrap
import time
import types
import weakref
from typing import Any

import numpy as np
import pytest
import stator
from stator._stator import _testing

from tests.python.process import run_program

X = np.arange(12.0)
served = _testing.is_served
# On 3.11 a subtype while calls are served: the evaluator there looks at the type alone.
EXACT = sys.version_info >= (3, 12)


@pytest.fixture
def judged():
    stator.options.retire = True
    stator.reset()
    yield
    stator.options.retire = False


@stator.compile
def module_level(u: Any, k: float = 2.0, *, b: int = 1) -> Any:
    """Scale and shift."""
    return u * k + b


def add_one(u):
    return u + 1


def wait_until(what, seconds=20.0):
    """Run the program until it is so."""
    end = time.perf_counter() + seconds
    while not what():
        assert time.perf_counter() < end, "it never came"


def given_back(f, *args):
    """Call a function until it is CPython's."""
    for _ in range(5000):
        if not served(f):
            return
        f(*args)
    raise AssertionError(f.stats())


# --- a function like others ---


def test_it_is_a_function():
    f = module_level
    assert isinstance(f, types.FunctionType) and isinstance(f, stator.CompiledFunction)
    assert type(f) is types.FunctionType or not EXACT
    assert type(f).__name__ == "function" and type(f).__module__ == "builtins"
    assert not isinstance(add_one, stator.CompiledFunction)
    assert inspect.isfunction(f) and inspect.isroutine(f) and callable(f)
    assert f.__code__ is f.__wrapped__.__code__ and f.__globals__ is globals()
    assert f.__annotations__ == f.__wrapped__.__annotations__ and getattr(f, "__type_params__", ()) == ()
    assert f.__doc__ == "Scale and shift." and f.__module__ == __name__
    assert str(inspect.signature(f)) == str(inspect.signature(f.__wrapped__))
    assert inspect.getsource(f).startswith("@stator.compile")
    assert repr(f).startswith("<function module_level at ")
    assert sys.getsizeof(f) == sys.getsizeof(add_one)


def test_the_type_is_the_functions_whenever_python_serves_it(judged):
    def f(u):
        return u + 1

    g = stator.compile(f)
    kinds = set()
    for _ in range(3):
        given_back(g, 1)
        kinds.add((served(g), type(g) is types.FunctionType))
        stator.reset()
        kinds.add((served(g), type(g) is types.FunctionType))
    assert kinds == {(False, True), (True, EXACT)}
    # A call site that was specialized for the function sees that it is served again.
    given_back(g, 1)
    calls = lambda: [g(k) for k in range(64)]  # noqa: E731
    assert calls() == calls() == list(range(1, 65))
    stator.reset()
    before = g.stats()["calls"]
    calls()
    assert g.stats()["calls"] > before
    del g.__dict__["explain"], g.__dict__["cuda"]
    assert type(g) is types.FunctionType and g(2) == 3


def test_items_of_a_class_are_served_again(judged):
    class A:
        @stator.compile
        def __getitem__(self, i):
            return i + 1

    a = A()

    def read():
        return [a[i] for i in range(200)]

    given_back(A.__getitem__, a, 1)
    expected = list(range(1, 201))
    assert read() == read() == expected
    stator.reset()
    before = A.__getitem__.stats()["calls"]
    assert read() == expected and A.__getitem__.stats()["calls"] > before


def test_what_it_is_made_of_is_left_alone():
    def f(u, k=2.0, *, b=1):
        return u * k + b

    f.note = "mine"
    g = stator.compile(f)
    assert g.note == "mine" and g is not f and vars(f) == {"note": "mine"} and not served(f)
    g.note = "other"
    g.__name__ = "g"
    assert f.note == "mine" and f.__name__ == "f"
    assert np.array_equal(f(X), g(X))


def test_no_references_are_lost_or_left():
    def make():
        def f(u, k=2.0, *, b=object()) -> float:
            return u * k

        f.__qualname__ = "some.name." + "x" * 10
        f.__doc__ = "text " * 3
        return f

    f = make()
    parts = [f.__code__, f.__defaults__, f.__kwdefaults__, f.__qualname__, f.__doc__, f.__annotations__, f]
    before = [sys.getrefcount(p) for p in parts]
    for _ in range(100):
        g = stator.compile(f)
        g(X)
        del g
    gc.collect()
    stator._stator.forget_kept_states()
    assert [a - b for a, b in zip([sys.getrefcount(p) for p in parts], before, strict=True)] == [0] * len(
        parts
    )


def test_methods():
    class A:
        k = 3.0

        @stator.compile
        def method(self, u):
            return u * self.k

        @classmethod
        @stator.compile
        def of_class(cls, u):
            return u * cls.k

        @staticmethod
        @stator.compile
        def of_none(u):
            return u * 3.0

        @property
        @stator.compile
        def value(self):
            return X * self.k

        @stator.compile
        def __call__(self, u):
            return u * self.k

        @stator.compile
        def __getitem__(self, i):
            return X[i] * self.k

    class B(A):
        def method(self, u):
            return super().method(u)

    a = A()
    for _ in range(200):
        for got in (
            a.method(X),
            A.of_class(X),
            a.of_class(X),
            a.of_none(X),
            A.of_none(X),
            a.value,
            a(X),
            B().method(X),
        ):
            assert np.array_equal(got, X * 3.0)
        assert a[2] == 6.0
    assert inspect.ismethod(a.method) and a.method.__func__ is A.method
    assert A.method.stats()["replays"] > 300 and A.of_class.stats()["replays"] > 300
    if sys.version_info < (3, 14):  # its property sites run a getter's frame themselves
        assert A.value.fget.stats()["replays"] > 190
    assert A.__call__.stats()["replays"] > 190 and A.__getitem__.stats()["calls"] == 200


def test_initializers_are_served():
    class A:
        @stator.compile
        def __init__(self, u):
            self.u = u * 2.0

    for _ in range(200):
        assert np.array_equal(A(X).u, X * 2.0)
    assert A.__init__.stats()["calls"] == 200


def test_defaults_are_its_own():
    @stator.compile
    def f(u, k=2.0, *, b=1.0):
        return u * k + b

    def check(k, b):
        for _ in range(4):
            assert np.array_equal(f(X), X * k + b)

    check(2.0, 1.0)
    f.__defaults__ = (5.0,)
    check(5.0, 1.0)
    f.__kwdefaults__ = {"b": 7.0}
    check(5.0, 7.0)
    assert f.__wrapped__.__defaults__ == (2.0,)
    f.__code__ = add_one.__code__
    assert np.array_equal(f(X), X + 1)


def test_recursion_and_calls_of_each_other_are_served():
    @stator.compile
    def down(u, n):
        return u if n == 0 else down(u * 2.0, n - 1)

    @stator.compile
    def outer(u):
        return down(u, 3) + 1.0

    for _ in range(4):
        assert np.array_equal(outer(X), X * 8.0 + 1.0)
        assert np.array_equal(down(X, 2), X * 4.0)
    assert outer.stats()["replays"] >= 2


def test_compiling_again():
    f = stator.compile(add_one)
    assert stator.compile(f) is f and stator.compile(f) is f
    g = stator.compile(f, fastmath=True)
    assert g is not f and g.__wrapped__ is add_one and stator.compile(g, fastmath=True) is g


def test_wrappers_of_one_are_none():
    f = stator.compile(add_one)

    @functools.wraps(f)
    def h(u):
        return f(u) * 2

    assert not isinstance(h, stator.CompiledFunction) and h.__wrapped__ is f and h.stats() == f.stats()
    with pytest.raises(TypeError, match="expected a function compiled"):
        stator.stats(h)
    c = stator.compile(h)
    assert c is not h and isinstance(c, stator.CompiledFunction)
    for _ in range(3):
        assert np.array_equal(c(X), (X + 1) * 2)
    assert c.stats()["calls"] == 3


def test_methods_of_one_that_nobody_holds():
    k = 3.0

    def f(u):
        return u * k + 1

    said = stator.compile(f).explain(X)
    assert "f (" in str(said) or "f\n" in str(said)
    explain = stator.compile(f, fastmath=True).explain
    gc.collect()
    for _ in range(3):
        explain(X)
    assert str(explain(X))
    made = weakref.ref(f)
    del f, explain, said
    gc.collect()
    assert made() is None


def test_traces_and_regions_are_those_there_are_now():
    f = stator.compile(lambda u: u * 2.0 + 1.0)
    traces, regions = f.traces, f.regions
    assert len(traces) == 0 and traces == [] and not traces and list(regions) == [] and repr(traces) == "[]"
    for _ in range(3):
        f(X)
    assert len(traces) == 1 and traces[0].name == traces[-1].name == next(iter(traces)).name
    assert [t.name for t in traces[:1]] == [t.name for t in reversed(traces)]
    with pytest.raises(IndexError):
        traces[1]
    assert f.traces is traces
    with pytest.raises(TypeError):
        traces[0] = 1


def test_stances_and_options():
    @stator.compile
    def f(u):
        return u + 1

    f(X), f(X)
    replays = f.stats()["replays"]
    with stator.stance("eager"):
        assert np.array_equal(f(X), X + 1) and f.stats()["replays"] == replays
    with stator.stance("fail_on_recompile"):
        f(X)
        with pytest.raises(stator.RecompileError):
            f([1.0])
            f(np.arange(4, dtype=np.float32))
    f(np.arange(4, dtype=np.float32))

    @stator.compile(fullgraph=True)
    def g(u):
        print(end="")
        return u + 1

    for _ in range(3):
        with pytest.raises(stator.GraphBreakError):
            g(X)
    d = stator.disable(f)
    assert isinstance(d, stator.CompiledFunction) and np.array_equal(d(X), X + 1)


def test_verifying_calls_it_as_python_does(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import numpy as np, stator

            @stator.compile
            def f(u, k=2.0):
                return u * k

            x = np.arange(5.0)
            for _ in range(4):
                assert (f(x) == x * 2).all()
            print(f.stats()["replays"])
            """
        )
    )
    done = run_program("", str(program), STATOR_VERIFY="1")
    assert int(done.stdout) >= 2, done.stderr


# --- copies and pickles ---


def test_copies_and_pickles():
    assert copy.copy(module_level) is module_level and copy.deepcopy([module_level])[0] is module_level
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    other_name = stator.compile(add_one)
    with pytest.raises(pickle.PicklingError, match="not the same object"):
        pickle.dumps(other_name)


def test_by_value_it_is_served_where_it_arrives():
    cloudpickle = pytest.importorskip("cloudpickle")
    k = 3.0

    @stator.compile(fastmath=True)
    def local(u, b=1.0):
        return u * k + b

    again = pickle.loads(cloudpickle.dumps(local))
    assert (
        isinstance(again, types.FunctionType) and isinstance(again, stator.CompiledFunction) and served(again)
    )
    assert stator._stator.function_options(again)["fastmath"]
    for _ in range(4):
        assert np.array_equal(again(X), X * 3.0 + 1.0)
    assert again.stats()["replays"] >= 2 and len(again.traces) == 1 and local.stats()["calls"] == 0
    twice = pickle.loads(cloudpickle.dumps(again))
    assert np.array_equal(twice(X), X * 3.0 + 1.0) and twice.stats()["calls"] == 1
    gone = weakref.ref(again)
    del again
    gc.collect()
    assert gone() is None
    twice.__dict__.clear()
    assert not served(twice) and np.array_equal(twice(X), X * 3.0 + 1.0)


# --- the end ---


class Thing:
    k = 2.0


def made_with(thing):
    def f(u):
        return u * thing.k

    g = stator.compile(f)
    for _ in range(3):
        g(X)
    return g


def test_a_dropped_function_takes_all_with_it():
    thing = Thing()
    gone = weakref.ref(thing)
    g = made_with(thing)
    del thing
    assert gone() is not None
    died = []
    ref = weakref.ref(g, lambda _: died.append(1))
    del g
    gc.collect()
    assert gone() is None and ref() is None and died == [1]


@pytest.mark.parametrize("collected", [False, True])
def test_a_method_of_one_that_is_gone(collected):
    g = made_with(Thing())
    stats, explain, traces = g.stats, g.explain, g.traces
    if collected:
        g.itself = g
    del g
    gc.collect()
    assert stats()["calls"] >= 3 and len(traces) == 1
    assert str(explain(X)) and stats()["calls"] >= 4


def test_cycles_through_closures_and_globals_are_collected():
    thing = Thing()
    g = made_with(thing)
    thing.g = g
    refs = [weakref.ref(thing), weakref.ref(g), weakref.ref(g.__wrapped__)]
    del thing, g
    gc.collect()
    assert [r() for r in refs] == [None] * 3

    namespace: dict[str, Any] = {"__name__": "gone", "stator": stator, "X": X}
    exec(
        "@stator.compile\ndef f(u, n=1):\n    return u * 2.0 if n == 0 else f(u, n - 1)\nfor _ in range(4): f(X)",
        namespace,
    )
    ref = weakref.ref(namespace["f"])
    del namespace
    gc.collect()
    assert ref() is None


def test_a_finalizer_may_call_it_and_bring_it_back():
    kept = []

    class Last:
        def __del__(self):
            kept.append((self.g, self.g(X)))

    last = Last()
    last.g = made_with(Thing())
    last.g.itself = last
    del last
    gc.collect()
    (g, result), _ = kept[0], kept.clear()
    assert np.array_equal(result, X * 2.0) and np.array_equal(g(X), X * 2.0)


@pytest.mark.parametrize("how", ["clear", "replace", "within"])
def test_without_its_dict_it_is_a_plain_function(how):
    @stator.compile
    def f(u):
        if how == "within":
            f.__dict__.clear()
        return u * 2.0

    if how != "within":
        for _ in range(3):
            f(X)
    assert served(f)
    if how == "clear":
        f.__dict__.clear()
    elif how == "replace":
        f.__dict__ = {}
    else:
        assert np.array_equal(f(X), X * 2.0)
    gc.collect()
    assert not served(f) and not isinstance(f, stator.CompiledFunction)
    assert np.array_equal(f(X), X * 2.0) and not hasattr(f, "stats")
    again = stator.compile(f)
    assert served(again) and np.array_equal(again(X), X * 2.0)


def test_removed_within_a_checked_call():
    @stator.compile(fullgraph=True)
    def f(u, d):
        d.clear()
        return u * 2.0

    with pytest.raises(stator.GraphBreakError):
        f(X, f.__dict__)
    assert np.array_equal(f(X, {}), X * 2.0) and not served(f)


# --- given back ---


def test_generators_are_given_back_at_once():
    @stator.compile
    def f(n):
        yield n

    assert not served(f) and list(f(3)) == [3] and f.stats()["calls"] == 0
    assert isinstance(f, stator.CompiledFunction)


def test_what_python_serves_is_cpythons(judged):
    f = stator.compile(add_one)
    given_back(f, 1)
    assert [f(i) for i in range(100)] == list(range(1, 101))
    assert isinstance(f, stator.CompiledFunction) and stator.compile(f) is f
    assert f.stats()["calls"] >= 200 and f.stats()["replays"] == 0
    f.__defaults__ = (7,)
    assert f() == 8
    stator.explain(f)(1)


def test_it_is_looked_at_again(judged):
    # Enough operations for the trace to be quicker, whoever answers NumPy's calls in plain Python.
    f = stator.compile(lambda u: ((u + 1) * 2 - 3) / 4 + (u * u - u) * 0.5 + (u - 2) * (u + 3))
    expected = f.__wrapped__(X)
    given_back(f, 1)
    wait_until(lambda: served(f))
    given_back(f, 1)  # and nothing was found
    wait_until(lambda: served(f))

    def is_served():
        assert np.array_equal(f(X), expected)
        stator.wait()
        return f.stats()["replays"] > 20

    wait_until(is_served)


def test_arrays_that_come_while_it_is_cpythons_are_served(judged):
    f = stator.compile(add_one)
    given_back(f, 1)
    x = np.arange(1000.0)

    def replays():
        assert np.array_equal(f(x), x + 1)
        stator.wait()
        return f.stats()["replays"] > 10

    wait_until(replays)


def test_a_recursion_is_given_back_in_the_middle_of_a_call(judged):
    @stator.compile
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib(23) == 28657  # 92,735 calls
    assert fib.stats()["calls"] < 30_000


def test_all_of_a_state_are_given_back_together(judged):
    def make(k):
        def f(u):
            return u + k

        return stator.compile(f)

    many = [make(i) for i in range(5)]
    given_back(many[0], 1)
    assert not any(served(f) for f in many)
    assert not served(make(7)) or served(many[0])  # one that is made meanwhile
    assert [f(1) for f in many] == [1, 2, 3, 4, 5]
    many[2].reset()
    assert all(served(f) for f in many)


def test_options_and_resets_take_it_back(judged):
    f = stator.compile(add_one)
    given_back(f, 1)
    stator.reset()
    assert served(f)
    given_back(f, 1)
    stator.options.retire = False
    assert served(f)
    stator.options.retire = True


def test_checked_functions_are_never_given_back(judged):
    f = stator.compile(add_one, fullgraph=True)
    for _ in range(2000):
        f(X)
    assert served(f)


def test_threads_and_forks(tmp_path):
    """No warning of a fork with threads, and looks go on in both processes."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import os, time, warnings
            import numpy as np, stator
            from stator._stator import _testing
            warnings.simplefilter("error")

            @stator.compile
            def f(u):
                return u + 1

            def look():
                end = time.perf_counter() + 20
                while not _testing.is_served(f) and time.perf_counter() < end:
                    pass
                return _testing.is_served(f)

            while _testing.is_served(f):
                f(1)
            pid = os.fork()
            found = look()
            if pid == 0:
                os._exit(0 if found else 1)
            print(os.waitpid(pid, 0)[1], found)
            """
        )
    )
    done = run_program("", str(program), STATOR_RETIRE="1")
    assert done.stdout.strip() == "0 True", done.stderr
    assert done.stderr == ""


def test_recursion_goes_as_deep_as_without_stator() -> None:
    def depth(n):
        return n if n == 0 else compiled(n - 1)

    compiled = stator.compile(depth)
    room = sys.getrecursionlimit() - len(inspect.stack()) - 40
    for _ in range(4):
        assert compiled(room) == 0
    assert compiled(3) == 0
