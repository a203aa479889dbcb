"""Random numbers drawn one by one in loops: the program's own stream, and the generator's state afterwards."""

import random
import textwrap
import threading
import weakref

import numpy as np
import pytest
import stator
from process import run_program

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
    "choice": ("rng.choice(7)", "rng.choice(k + 1)", "rng.choice(a=2**40)"),
    "beta": ("rng.beta(0.5, x + 0.1)", "rng.beta(k + 1, b=2)"),
    "chisquare": ("rng.chisquare(k + 1)",),
    "f": ("rng.f(k + 1, 4.0)",),
    "gamma": ("rng.gamma(x)", "rng.gamma(k, scale=0.5)"),
    "geometric": ("rng.geometric(0.01 + x / 8)",),
    "gumbel": ("rng.gumbel()", "rng.gumbel(k, x)"),
    "laplace": ("rng.laplace()", "rng.laplace(-x, 2)"),
    "logistic": ("rng.logistic(scale=x)",),
    "lognormal": ("rng.lognormal()", "rng.lognormal(0.1, sigma=0.2)"),
    "logseries": ("rng.logseries(0.2 + x / 8)",),
    "noncentral_chisquare": ("rng.noncentral_chisquare(3, k)",),
    "pareto": ("rng.pareto(x)",),
    "poisson": ("rng.poisson()", "rng.poisson(x)", "rng.poisson(k * 10)"),
    "power": ("rng.power(x)",),
    "rayleigh": ("rng.rayleigh()", "rng.rayleigh(x)"),
    "standard_cauchy": ("rng.standard_cauchy()",),
    "standard_gamma": ("rng.standard_gamma(x)",),
    "standard_t": ("rng.standard_t(k + 1)",),
    "vonmises": ("rng.vonmises(k, x)",),
    "wald": ("rng.wald(x, k + 1)",),
    "weibull": ("rng.weibull(x)",),
    "zipf": ("rng.zipf(x + 1.5)",),
    "binomial": ("rng.binomial(10, 0.5)", "rng.binomial(k + 1, x / 4)", "rng.binomial(100 * k + 1, 0.4)"),
    "negative_binomial": ("rng.negative_binomial(3, 0.5)", "rng.negative_binomial(x, 0.5)"),
    "triangular": ("rng.triangular(-x, 0.0, x)", "rng.triangular(-x, x, x)"),
    # Arguments that are NumPy's numbers.
    "normal of an element": ("rng.normal(values[k % 7], values[0])", "rng.poisson(values[k % 7])"),
}
LEGACY = {
    "random": ("rng.random()", "rng.random_sample()", "rng.rand()"),
    "uniform": ("rng.uniform(-1.0, x)",),
    "normal": (
        "rng.normal()",
        "rng.normal(k, x)",
        "rng.normal(scale=x)",
        "rng.randn()",
        "rng.standard_normal()",
    ),
    "exponential": ("rng.exponential()", "rng.exponential(x)", "rng.standard_exponential()"),
    "randint": ("rng.randint(7)", "rng.randint(-k - 1, 5)", "rng.randint(0, 2**40)", "rng.randint(k, k + 1)"),
    "choice": ("rng.choice(7)", "rng.choice(k + 1)"),
    "poisson": ("rng.poisson()", "rng.poisson(k)"),
    "binomial": ("rng.binomial(10, 0.5)", "rng.binomial(100 * k + 1, 0.4)"),
    "triangular": ("rng.triangular(-x, 0.0, x)",),
    "others": ("rng.gumbel(k, x)", "rng.laplace(k, x)", "rng.logistic(k, x)", "rng.rayleigh(x)"),
    "through Python": ("rng.gamma(x)", "rng.lognormal()", "rng.standard_t(3)", "rng.pareto(x)"),
}
BITS = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]


def function_of(expression, arguments="rng"):
    space = {"np": np, "random": random, "values": np.linspace(0.5, 4.0, 7)}
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


@pytest.mark.parametrize("bits", BITS, ids=lambda b: b.__name__)
@pytest.mark.parametrize("method", LEGACY)
def test_older_generators(method, bits):
    for expression in LEGACY[method]:
        same(
            function_of(expression),
            lambda: np.random.RandomState(bits(5)),
            lambda g: (g.get_state(legacy=False), g.get_state(legacy=False)["has_gauss"]),
        )


@pytest.mark.parametrize(
    "expression",
    [
        "rng.choice(values)",
        "rng.choice([1.0, x])",
        "rng.choice((1, 2, 5))",
        "rng.choice(5, p=[0.1, 0.2, 0.3, 0.2, 0.2])",
        "rng.choice(5, 3)[0]",
        "rng.choice(5, (2, 3), False)[0, 0] if k % 9 else 0",
        "rng.choice(np.eye(3))[0]",
        "rng.choice(values[:4], 2)[1]",
        "rng.choice(values, replace=False)",
    ],
)
def test_choices_of_anything_else(expression):
    def make():
        return np.random.default_rng(2)

    if "False)[0, 0]" in expression:
        expression = expression.replace("(2, 3)", "(2, 2)")
    same(function_of(expression), make, lambda g: g.bit_generator.state)
    straight = function_of(
        "np.float64(rng.choice(values)) + rng.choice(np.eye(3)).sum() + rng.choice(9, 4).sum()"
    )
    same(straight, make, lambda g: g.bit_generator.state, calls=((1, 1.0),) * 6)


def test_normal_numbers_that_wait():
    """RandomState draws two at a time: the second is in the object, whoever takes it, and goes when the state is set."""
    source = (
        "def f(rng, n, x):\n"
        "    total = 0.0\n"
        "    for k in range(n):\n"
        "        total += rng.randn() * x\n"
        "    return total\n"
    )
    space = {}
    exec(source, space)
    compiled = stator.compile(space["f"])
    rng, same = np.random.RandomState(3), np.random.RandomState(3)
    for n in (31, 31, 64, 1, 5, 33):
        assert compiled(rng, n, 0.5) == space["f"](same, n, 0.5)
        stator.wait()
        assert rng.standard_normal() == same.standard_normal()
        if n == 64:
            rng.seed(4), same.seed(4)
        if n == 5:
            rng.set_state(("MT19937", same.get_state()[1], 11, 1, 0.25))
            same.set_state(("MT19937", same.get_state()[1], 11, 1, 0.25))
        assert repr(rng.get_state()) == repr(same.get_state())


PYTHONS = [
    "rng.random()",
    "rng.uniform(-1.0, x)",
    "rng.gauss(0.0, x)",
    "rng.gauss(k, 2)",
    "rng.gauss()",
    "rng.gauss(sigma=x)",
    "rng.gauss(0.0, values[k % 7])",
    "rng.normalvariate(k, x)",
    "rng.randint(0, k)",
    "rng.randint(-(2**62), 2**62)",
    "rng.randint(k, k)",
    "rng.randrange(k + 1)",
    "rng.randrange(-3, 2**33)",
    "rng.randrange(0, 100, 7)",
    "rng.choice((1.0, 2.0, x))",
]


@pytest.mark.parametrize("expression", PYTHONS)
def test_pythons_own(expression):
    same(function_of(expression), lambda: random.Random(5), lambda g: g.getstate())


@pytest.mark.parametrize(
    "expression", ["rng.gauss(0.0, x)", "rng.randint(0, 9)", "rng.normalvariate(0.0, x)"]
)
@pytest.mark.parametrize("name", ["random", "getrandbits", "gauss_next", "_randbelow", "something"])
def test_a_generators_own_attributes(expression, name):
    """What a program puts into the object stands for the method that the library's function calls."""

    class Counted:
        def __init__(self, f):
            self.f, self.calls = f, 0

        def __call__(self, *args):
            self.calls += 1
            return self.f(*args)

    f = function_of(expression)
    compiled = stator.compile(f)
    for change in (False, False, True, True):
        one, two = random.Random(5), random.Random(5)
        if change:
            for rng in (one, two):
                value = 0.25 if name == "gauss_next" else Counted(getattr(rng, name, abs))
                setattr(rng, name, value)
        assert compiled(two, 40, 1.5) == f(one, 40, 1.5)
        assert two.getstate() == one.getstate()
        assert change is False or name == "gauss_next" or getattr(one, name).calls == getattr(two, name).calls
        stator.wait()


@pytest.mark.parametrize("method", ["random", "getrandbits", "_randbelow", "gauss", "randrange"])
def test_a_class_that_was_changed(method):
    run_program_and_expect_same(
        f"""
        def f(rng, n):
            total = 0.0
            for k in range(n):
                total += rng.gauss(0.0, 1.5) + rng.randint(0, 9) + rng.normalvariate(1.0, 2.0)
            return total
        for round in range(4):
            if round == 2:
                was = getattr(random.Random, {method!r})
                def instead(self, *args):
                    calls.append(args)
                    return was(self, *args)
                random.Random.{method} = instead
            rng = random.Random(3)
            print(f(rng, 50), rng.getstate()[1][::100], rng.getstate()[2], len(calls))
            if hasattr(f, "stats"):
                stator.wait()
        """
    )


def test_arguments_that_python_refuses():
    for expression, bad in [("rng.randint(0, int(x))", -1.0), ("rng.randrange(int(x))", 0.0)]:
        f = function_of(expression)
        compiled = stator.compile(f)
        one, two = random.Random(1), random.Random(1)
        for x in (5.0, 5.0, bad, 3.0):
            outcomes = []
            for g, rng in ((f, one), (compiled, two)):
                try:
                    outcomes.append(g(rng, 40, x))
                except ValueError as error:
                    outcomes.append(str(error))
            assert outcomes[0] == outcomes[1] and one.getstate() == two.getstate()
            stator.wait()


def run_program_and_expect_same(text):
    """The text defines `f`; it prints the same whether that is compiled or not."""
    begin = "import random, stator\ncalls = []\n"
    text = textwrap.dedent(text)
    compiled = text.replace("for round in", "f = stator.compile(f)\nfor round in", 1)
    plain, done = run_program(begin + text), run_program(begin + compiled)
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout and plain.stdout


@pytest.mark.parametrize(
    ("expression", "seed", "state"),
    [
        ("random.random()", random.seed, random.getstate),
        ("random.gauss(0, 1)", random.seed, random.getstate),
        ("random.randint(1, 6)", random.seed, random.getstate),
        ("np.random.random()", np.random.seed, np.random.get_state),
        ("np.random.rand()", np.random.seed, np.random.get_state),
        ("np.random.randn()", np.random.seed, np.random.get_state),
        ("np.random.normal(1, 2)", np.random.seed, np.random.get_state),
        ("np.random.randint(0, 100)", np.random.seed, np.random.get_state),
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
        ("rng.poisson(x)", -1.0),
        ("rng.poisson(x)", np.nan),
        ("rng.poisson(x)", 1e300),
        ("rng.gamma(x, 1.0)", -0.5),
        ("rng.binomial(int(x), 0.5)", 0.0),
        ("rng.binomial(int(x), 0.5)", -1.0),
        ("rng.binomial(x, 0.5)", 1.5),
        ("rng.binomial(9, x / 4)", 4.0),
        ("rng.binomial(9, x / 4)", 5.0),
        ("rng.negative_binomial(3, x / 4)", 1e-300),
        ("rng.negative_binomial(x, 0.5)", 0.0),
        ("rng.triangular(0.0, 1.5, x)", 1.0),
        ("rng.triangular(x, 2.0, 2.0)", 2.0),
        ("rng.beta(x, 1.0)", 0.0),
        ("rng.geometric(x / 4)", 4.0),
        ("rng.geometric(x / 4)", 0.0),
        ("rng.zipf(x)", 1.0),
        ("rng.zipf(x)", 1e300),
        ("rng.vonmises(x, 1.0)", np.inf),
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


@pytest.mark.parametrize("rng", [np.random.default_rng(4), np.random.RandomState(4)], ids=["new", "old"])
def test_a_generator_that_is_locked(rng):
    """While another thread is in the middle of a draw, a loop waits for it, as NumPy does."""
    compiled = stator.compile(function_of("rng.random()"))
    compiled(rng, 50, 0.0)
    stator.wait()
    lock = getattr(rng, "bit_generator", None) or rng._bit_generator
    holds, let_go, done = threading.Event(), threading.Event(), []

    def hold():
        with lock.lock:
            holds.set()
            let_go.wait(20)

    def run():
        compiled(rng, 50, 0.0)
        done.append(True)

    threads = [threading.Thread(target=hold), threading.Thread(target=run)]
    threads[0].start()
    assert holds.wait(20)
    threads[1].start()
    threads[1].join(0.1)
    assert not done
    let_go.set()
    for t in threads:
        t.join(20)
    assert done


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
