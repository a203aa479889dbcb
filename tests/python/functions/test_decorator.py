"""What can be decorated, and what a compiled function looks like: its attributes, copies, pickles, and its end."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import textwrap
import weakref

import numpy as np
import pytest
import stator
from process import run_program

X = np.arange(12.0)


@stator.compile
def module_level(u, k=2.0, *, b=1):
    """Scale and shift."""
    return u * k + b


def plain(u):
    return u * 2.0 + 1.0


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
    assert f.note == "mine" and f.__dict__["note"] == "mine"
    del f.note
    assert not hasattr(f, "note")


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
    assert repr(module_level).startswith("<function module_level at ")


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
