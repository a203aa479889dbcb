"""`stator.compile` of classes and modules, its other name, and what it answers to options of other compilers."""

import dataclasses
import enum
import pickle
import sys
import types
import typing

import numpy as np
import pytest
import stator

X = np.linspace(0.5, 2.0, 30)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@stator.compile
class Body:
    """A body with mass."""

    count = 0

    def __init__(self, mass):
        self.mass = mass
        self.path = X * 0.0

    def __new__(cls, *arguments):
        cls.count += 1
        return super().__new__(cls)

    def step(self, force, dt=0.5):
        self.path = self.path + force / self.mass * dt
        return self.path

    @staticmethod
    def weight(x, g=9.81):
        return x * g

    @classmethod
    def of(cls, x):
        return cls(x + 1.0)

    @property
    def energy(self):
        """Of motion."""
        return self.path * self.path * self.mass / 2.0

    @energy.setter
    def energy(self, value):
        self.path = np.sqrt(value * 2.0 / self.mass)

    def __call__(self, x):
        return x - self.mass


def expected_path(steps, mass):
    path = X * 0.0
    for _ in range(steps):
        path = path + X / mass * 0.5
    return path


def test_a_class_is_compiled_in_place():
    assert isinstance(Body, type) and Body.__doc__ == "A body with mass."
    for name in ("step", "__init__", "__call__"):
        assert isinstance(vars(Body)[name], stator.CompiledFunction), name
    assert isinstance(vars(Body)["weight"].__func__, stator.CompiledFunction)
    assert isinstance(vars(Body)["energy"].fget, stator.CompiledFunction)
    assert Body.energy.__doc__ == "Of motion."
    assert not isinstance(Body.__new__, stator.CompiledFunction)
    before = Body.count
    body = Body(2.0)
    assert Body.count == before + 1
    for _ in range(5):
        body.step(X)
    assert same_bits(body.path, expected_path(5, 2.0))
    assert same_bits(body.energy, body.path * body.path * 2.0 / 2.0)
    body.energy = X
    assert same_bits(body.path, np.sqrt(X * 2.0 / 2.0))
    for _ in range(4):
        assert same_bits(body(X), X - 2.0)
        assert same_bits(Body.weight(X), X * 9.81)
        assert same_bits(Body.of(X).mass, X + 1.0)
    assert Body.step.stats()["replays"] > 0
    assert type(pickle.loads(pickle.dumps(body))) is Body


def test_what_a_class_inherits_stays_as_it_is():
    class Base:
        def plain(self, x):
            return x + 1.0

    @stator.compile(fastmath=False)
    class Derived(Base):
        def both(self, x):
            return super().plain(x) * 2.0

    assert not isinstance(Derived.plain, stator.CompiledFunction)
    for _ in range(4):
        assert same_bits(Derived().both(X), (X + 1.0) * 2.0)


def test_a_dataclass_keeps_what_was_made_from_text():
    @stator.compile
    @dataclasses.dataclass
    class Point:
        x: np.ndarray
        scale: float = 2.0

        def scaled(self):
            return self.x * self.scale

    assert not isinstance(vars(Point)["__init__"], stator.CompiledFunction)
    for _ in range(4):
        assert same_bits(Point(X).scaled(), X * 2.0)
    assert repr(Point(1, 2)) == f"{Point.__qualname__}(x=1, scale=2)"


def test_what_the_standard_library_puts_into_classes_stays():
    class Base:
        def __init__(self):
            self.x = 1

    @stator.compile
    class Shape(typing.Protocol):
        def area(self, x):
            return x * 2.0

    class Square(Shape, Base):
        pass

    assert vars(Square()) == {"x": 1}

    @stator.compile
    class Pair(typing.NamedTuple):
        a: np.ndarray
        b: float = 2.0

        def scaled(self):
            return self.a * self.b

    assert isinstance(Pair.scaled, stator.CompiledFunction)
    assert not isinstance(vars(Pair)["_make"].__func__, stator.CompiledFunction)
    assert same_bits(Pair(X)._replace(b=3.0).scaled(), X * 3.0)

    @stator.compile
    class Kind(enum.Enum):
        SMALL = 1.0
        LARGE = 2.0

        def of(self, x):
            return x * self.value

    for _ in range(4):
        assert same_bits(Kind.LARGE.of(X), X * 2.0)
    assert Kind(1.0) is Kind.SMALL


def test_what_is_compiled_already_keeps_its_options():
    @stator.compile
    class Model:
        @stator.compile(fullgraph=True)
        def strict(self, x):
            print("never")
            return x

        def add(self, x):
            return x + 1.0

        __radd__ = __add__ = add

        @property
        def p(self):
            return 1

    with pytest.raises(stator.GraphBreakError):
        for _ in range(3):
            Model().strict(X)
    assert Model.__add__ is Model.__radd__ is Model.add and isinstance(Model.add, stator.CompiledFunction)
    with pytest.raises(AttributeError, match="property 'p' of .*Model' object has no setter"):
        Model().p = 1


def test_nothing_is_half_compiled():
    class odd(staticmethod):
        pass

    class Refuses(type):
        def __setattr__(cls, name, value):
            raise TypeError("closed")

    @stator.compile
    class WithOdd:
        def first(self, x):
            return x

        other = odd(lambda x: x)

    assert isinstance(WithOdd.first, stator.CompiledFunction) and WithOdd.other(3) == 3

    class Closed(metaclass=Refuses):
        def f(self, x):
            return x

    with pytest.raises(TypeError, match="closed"):
        stator.compile(Closed)
    assert not isinstance(Closed.f, stator.CompiledFunction)


def test_a_module_is_compiled_in_place():
    module = types.ModuleType("whole_module")
    text = (
        "import numpy as np\nfrom math import sin\nfrom textwrap import dedent\n"
        "def f(x): return x * 2.0 + g(x)\ndef g(x): return x - 1.0\nh = g\n"
        "class C:\n    def m(self, x): return f(x) * 3.0\n"
    )
    sys.modules["whole_module"] = module
    try:
        exec(compile(text, "whole_module.py", "exec"), module.__dict__)
        assert stator.compile(module) is module
    finally:
        del sys.modules["whole_module"]
    assert isinstance(module.f, stator.CompiledFunction) and isinstance(module.C.m, stator.CompiledFunction)
    assert module.h is module.g
    assert not isinstance(module.dedent, stator.CompiledFunction)  # it was imported
    for _ in range(4):
        assert same_bits(module.C().m(X), (X * 2.0 + (X - 1.0)) * 3.0)


@pytest.mark.parametrize("thing", [np.ndarray, int, np.float64])
def test_classes_that_are_not_python(thing):
    with pytest.raises(
        TypeError, match=r"needs Python code, and the class \w+ has none: compile the functions that use it"
    ):
        stator.compile(thing)


def test_jit_is_another_name():
    assert stator.jit is stator.compile

    @stator.jit(fastmath=False)
    def f(x):
        return x + 1.0

    for _ in range(3):
        assert same_bits(f(X), X + 1.0)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"nopython": True}, "fullgraph=True raises where something stays in Python"),
        ({"parallel": True}, "shared among STATOR_THREADS threads by themselves"),
        ({"cache": True}, "kept on disk by itself"),
        ({"static_argnums": (0,)}, "found and guarded by themselves"),
        ({"mode": "max-autotune"}, "python -m stator options"),
    ],
)
def test_options_of_other_compilers(option, says):
    (name,) = option
    with pytest.raises(TypeError, match=f"stator.compile has no option '{name}', leave it out: .*{says}"):
        stator.compile(**option)


def test_options_for_a_while():
    before = stator.options.threads
    with stator.options(threads=before + 3) as inside:
        assert inside is stator.options and stator.options.threads == before + 3
        with stator.options(threads=1):
            assert stator.options.threads == 1
        assert stator.options.threads == before + 3
    assert stator.options.threads == before
    with pytest.raises(TypeError, match="has no 'thread': did you mean threads"):
        stator.options(thread=1)
    with pytest.raises(ValueError), stator.options(threads=2, async_="perhaps"):
        pass
    assert stator.options.threads == before


def test_tab_shows_what_there_is():
    shown = [name for name in dir(stator) if not name.startswith("_")]
    assert sorted(shown) == sorted([*stator.__all__, "Explanation", "Graph"])
    assert all(getattr(stator, name) is not None for name in shown)
