"""Random numbers drawn one by one in loops: the program's own stream, and the generator's state afterwards."""

import random
import threading
import weakref

import numpy as np
import pytest
import stator

NUMPY = {
    "random": ("rng.random()",),
    "standard_normal": ("rng.standard_normal()",),
    "standard_exponential": ("rng.standard_exponential()",),
    "normal": ("rng.normal()", "rng.normal(k)", "rng.normal(0.5, x)", "rng.normal(k, 2)"),
    "exponential": ("rng.exponential()", "rng.exponential(x)"),
    "uniform": ("rng.uniform()", "rng.uniform(-x)", "rng.uniform(-1, x)", "rng.uniform(k, k + 3)"),
    "integers": (
        "rng.integers(7)",
        "rng.integers(k - 3, k)",
        "rng.integers(0, 2**40)",
        "rng.integers(-(2**62), 2**62)",
    ),
}
BITS = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]


def function_of(expression, arguments="rng"):
    space = {"np": np, "random": random}
    exec(
        f"def f({arguments}, n, x):\n"
        "    total, last = 0.0, None\n"
        "    for k in range(n):\n"
        f"        last = {expression}\n"
        "        total += last * 0.5\n"
        "    return total, last\n",
        space,
    )
    return space["f"]


def same(f, make, state, calls=((60, 1.5), (60, 1.5), (300, 0.25), (7, 3.0))):
    compiled = stator.compile(f)
    one, two = make(), make()
    for n, x in calls:
        want, got = f(one, n, x), compiled(two, n, x)
        assert [(type(v), v) for v in got] == [(type(v), v) for v in want]
        assert repr(state(one)) == repr(state(two))
        stator.wait()
    return compiled


@pytest.mark.parametrize("bits", BITS, ids=lambda b: b.__name__)
@pytest.mark.parametrize("method", NUMPY)
def test_generators(method, bits):
    for expression in NUMPY[method]:
        compiled = same(
            function_of(expression), lambda: np.random.Generator(bits(3)), lambda g: g.bit_generator.state
        )
        assert compiled.stats()["regions"] == 1


@pytest.mark.parametrize(
    "expression",
    ["rng.random()", "rng.random_sample()", "rng.rand()", "rng.uniform(-1.0, x)", "rng.normal(k, x)"],
)
def test_older_generators(expression):
    same(function_of(expression), lambda: np.random.RandomState(5), lambda g: g.get_state())


@pytest.mark.parametrize(
    "expression", ["rng.random()", "rng.uniform(-1.0, x)", "rng.gauss(0.0, x)", "rng.randint(0, k)"]
)
def test_pythons_own(expression):
    same(function_of(expression), lambda: random.Random(5), lambda g: g.getstate())


@pytest.mark.parametrize(
    ("expression", "seed", "state"),
    [
        ("random.random()", random.seed, random.getstate),
        ("np.random.random()", np.random.seed, np.random.get_state),
        ("np.random.rand()", np.random.seed, np.random.get_state),
    ],
)
def test_the_hidden_ones(expression, seed, state):
    before = state()
    f = function_of(expression, "unused")
    compiled = stator.compile(f)
    try:
        for n in (50, 50, 700, 50):
            seed(9)
            want = f(None, n, 1.0), repr(state())
            seed(9)
            assert (compiled(None, n, 1.0), repr(state())) == want
            stator.wait()
    finally:
        (random.setstate if expression.startswith("random") else np.random.set_state)(before)


@pytest.mark.parametrize(
    ("expression", "bad"),
    [
        ("rng.normal(0.0, x)", -1.0),
        ("rng.normal(0.0, x)", -0.0),
        ("rng.normal(0.0, x)", np.nan),
        ("rng.normal(x, 1.0)", np.nan),
        ("rng.exponential(x)", -1.0),
        ("rng.uniform(0.0, x)", -1.0),
        ("rng.uniform(0.0, x)", np.inf),
        ("rng.integers(0, int(x))", 0.0),
        ("rng.integers(int(x))", -3.0),
    ],
)
def test_arguments_that_numpy_refuses(expression, bad):
    f = function_of(expression)
    compiled = stator.compile(f)
    one, two = np.random.default_rng(1), np.random.default_rng(1)

    def outcome(g, rng, x):
        try:
            return repr(g(rng, 40, x))
        except Exception as error:
            return type(error), str(error)

    for x in (2.0, 2.0, bad, 3.0, bad):
        assert outcome(f, one, x) == outcome(compiled, two, x)
        assert one.bit_generator.state == two.bit_generator.state
        stator.wait()


def test_other_generators_and_states_set_meanwhile():
    """A loop that was built for one generator draws from whichever it is given, and from the state that was set."""
    f = function_of("rng.standard_normal()")
    compiled = stator.compile(f)
    for k in range(12):
        want, got = f(np.random.default_rng(k), 30, 0.0), compiled(np.random.default_rng(k), 30, 0.0)
        assert got == want
        stator.wait()
    rng = np.random.default_rng(1)
    for k in range(4):
        rng.bit_generator.state = np.random.PCG64(k).state
        assert compiled(rng, 30, 0.0) == f(np.random.default_rng(k), 30, 0.0)
        rng.__init__(np.random.MT19937(k))
        assert compiled(rng, 30, 0.0) == f(np.random.Generator(np.random.MT19937(k)), 30, 0.0)
        rng.__init__(np.random.PCG64(k))


def test_generators_go_when_nobody_has_them():
    f = stator.compile(function_of("rng.random()"))
    for _ in range(3):
        rng = random.Random(1)
        gone = weakref.ref(rng)
        f(rng, 60, 0.0)
        stator.wait()
        del rng
        assert gone() is None


class Loaded(random.Random):
    def random(self):
        return 0.25


def test_methods_of_a_programs_own():
    f = function_of("rng.random()")
    compiled = stator.compile(f)
    for rng in (random.Random(1), random.Random(1), Loaded(), np.random.default_rng(1)):
        again = type(rng)() if isinstance(rng, Loaded) else None
        want = 0.25 * 0.5 * 40 if again else None
        got = compiled(rng, 40, 0.0)
        stator.wait()
        if again:
            assert got == (want, 0.25)


def test_threads_draw_from_one_generator():
    """Each number is given to one of them only."""
    source = "def f(rng, n, out):\n    for k in range(n):\n        out[k] = rng.random()\n"
    space = {}
    exec(source, space)
    compiled = stator.compile(space["f"])
    rng = np.random.default_rng(4)
    outs = [np.zeros(5000) for _ in range(3)]
    for _ in range(3):
        threads = [threading.Thread(target=compiled, args=(rng, 5000, out)) for out in outs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        stator.wait()
    want = np.random.default_rng(4).random(3 * 3 * 5000)[-15000:]
    assert sorted(np.concatenate(outs)) == sorted(want)
