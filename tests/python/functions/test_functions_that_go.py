"""STATOR=all: what was learnt of a function goes when the program has the function no more."""

from __future__ import annotations

import pytest

from tests.python.process import run_program

FORMS = {
    "with a loop": """
def f(x):
    y = x * 2
    for i in range(3):
        y = y + 1
    return y
""",
    "calls another one": """
def g(x, k=held):
    return x * 2 + 1
def f(x):
    for i in range(50):
        x = g(x) * 0.25
    return g(x)
""",
    "calls an object": """
class Model:
    def __init__(self):
        self.w = np.ones(3)
    def __call__(self, x):
        return self.w * x + 1
model = Model()
def f(x):
    return model(x) * 2
""",
    "calls a closure": """
def outer(k):
    def inner(x):
        return x * k + 1
    return inner
inner = outer(2.0)
def f(x):
    return inner(x)
""",
    "calls itself": """
def f(x, n=3):
    return x if n == 0 else f(x * 0.5, n - 1) + 1
""",
}


def ran(program: str, tune: str = "", **options: str) -> list[str]:
    """What the program prints. Each function is begun with, however many there were of the same text."""
    tune = "texts_in_vain=1000,hook_calls=1000000" + tune
    done = run_program(
        program, STATOR="all", STATOR_ASYNC="0", STATOR_RETIRE="0", STATOR_TUNE=tune, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("form", FORMS)
def test_globals_that_exec_was_given_go_with_their_functions(form: str) -> None:
    program = f"""
import gc, weakref
import numpy as np, stator
class Held:
    pass
text = compile({FORMS[form]!r}, "form", "exec")
for k in range(3):
    names = {{"np": np, "held": Held(), "__name__": "form"}}
    exec(text, names)
    for i in range(8):
        names["f"](np.ones(3))
    held = weakref.ref(names["held"])
    gc.collect()
    assert held() is not None
    del names
    gc.collect()
    assert held() is None
s = stator.stats()
print(s["recordings"] >= 3, s["served"] > 10)
"""
    assert ran(program) == ["True", "True"]


def test_they_go_with_young_garbage() -> None:
    program = """
import gc, weakref
import numpy as np, stator
class Held:
    pass
gc.disable()
for k in range(20):
    names = {"held": Held()}
    exec("def f(x): return x * 2 + 1", names)
    for i in range(6):
        names["f"](np.ones(3))
    held = weakref.ref(names["held"])
    del names
    gc.collect(0)
    assert held() is None
print(stator.stats()["recordings"])
"""
    assert ran(program) == ["20"]


def test_they_go_where_nothing_collects_garbage() -> None:
    program = """
import gc, weakref
import numpy as np, stator
gc.disable()
codes = []
for k in range(20):
    f = eval("lambda x: x * 2 + 1")
    for i in range(6):
        f(np.ones(3))
    codes.append(weakref.ref(f.__code__))
    del f
print(stator.stats()["recordings"], sum(code() is not None for code in codes) <= 5)
"""
    assert ran(program, tune=",swept_each=4") == ["20", "True"]


def test_what_was_learnt_of_inner_functions_stays_while_their_code_does() -> None:
    program = """
import gc
import numpy as np, stator
def call(f, x):
    return f(x)
names = {}
exec('''
def make(k):
    def inner(x):
        return x * k + 1
    return inner
''', names)
for k in range(30):
    f = names["make"](float(k))
    assert f(np.ones(3)).tobytes() == (np.ones(3) * k + 1).tobytes()
    del f
    gc.collect()
s = stator.stats()
print(s["recordings"] <= 2, s["replays"] > 20)
"""
    assert ran(program) == ["True", "True"]


def test_finalizers_may_call_functions_that_are_taken() -> None:
    program = """
import gc
import numpy as np, stator
def twice(x):
    return x * 2 + 1
done = []
class Held:
    def __del__(self):
        for k in range(5):
            done.append(twice(np.ones(3)).sum())
        exec("def f(x): return x * 3 + 1", names := {})
        for k in range(5):
            names["f"](np.ones(3))
        gc.collect()
for k in range(5):
    names = {"held": Held()}
    exec("def f(x): return x * 2 + 1", names)
    for i in range(6):
        names["f"](np.ones(3))
    del names
    gc.collect()
print(done == [9.0] * 25)
"""
    assert ran(program) == ["True"]


def test_globals_that_are_in_use_stay() -> None:
    program = """
import gc, types
import numpy as np, stator
def run(x):
    names = {"gc": gc}
    exec('''
def f(x, again=True):
    y = x * 2 + 1
    gc.collect()
    for k in range(3):
        y = y * 0.5
        gc.collect()
    return f(y, False) if again else y
''', names)
    return names.pop("f") if x is None else names["f"](x)
for k in range(12):
    x = np.arange(3.0)
    for again in range(2):
        x = x * 2 + 1
        for k in range(3):
            x = x * 0.5
    assert run(np.arange(3.0)).tobytes() == x.tobytes()
print("done")
"""
    assert ran(program, STATOR_ALL_AFTER="0") == ["done"]
