"""Functions as scientists write them: NumPy in the middle, and the rest of Python around it.

Each is a function and what makes its arguments anew, so that state which a call changes can be compared, too.
"""

import functools
import itertools
import logging
import math
import operator
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

PROGRAMS = {}
LOG = logging.getLogger("tests.around")
LOG.setLevel(logging.WARNING)
COUNTS = {"calls": 0}
CALLS = 0


def program(*arguments):
    def add(function):
        PROGRAMS[function.__name__] = (function, arguments)
        return function

    return add


def grid(n=24):
    return lambda: np.linspace(0.1, 2.0, n)


def matrix(n=6, m=None):
    return lambda: np.random.default_rng(3).random((n, m or n)) + np.eye(n, m or n)


def value(v):
    return lambda: v


# ---- objects with attributes


class Oscillator:
    def __init__(self, n=24):
        self.x = np.linspace(0.0, 1.0, n)
        self.v = np.zeros(n)
        self.k = 2.0
        self.t = 0.0
        self.steps = 0

    def acceleration(self, x):
        return -self.k * x - 0.1 * self.v

    def step(self, dt):
        a = self.acceleration(self.x)
        self.v = self.v + dt * a
        self.x = self.x + dt * self.v
        self.t += dt
        self.steps += 1

    @property
    def energy(self):
        return 0.5 * (self.v**2).sum() + 0.5 * self.k * (self.x**2).sum()


@program(Oscillator, value(0.01))
def step_through_self(state, dt):
    state.step(dt)
    state.step(dt)
    return state.energy


class Slotted:
    __slots__ = ("q", "p", "mass")

    def __init__(self):
        self.q, self.p, self.mass = np.linspace(0.0, 1.0, 16), np.ones(16), 2.0

    def kick(self, dt):
        self.p = self.p - dt * self.q

    def drift(self, dt):
        self.q = self.q + dt * self.p / self.mass


@program(Slotted, value(0.1))
def leapfrog_slots(s, dt):
    s.kick(dt / 2)
    s.drift(dt)
    s.kick(dt / 2)
    return s.q.sum(), s.p.sum()


@dataclass
class Config:
    dt: float = 0.01
    nu: float = 0.3
    order: int = 2
    name: str = "upwind"
    weights: tuple = (0.25, 0.5, 0.25)


@program(grid(), Config)
def dataclass_config(u, cfg):
    if cfg.name == "upwind":
        du = u[1:] - u[:-1]
    else:
        du = 0.5 * (u[2:] - u[:-2])
    w0, w1, w2 = cfg.weights
    smooth = w0 * u[:-2] + w1 * u[1:-1] + w2 * u[2:]
    return cfg.nu * du[1:] * cfg.dt**cfg.order + smooth


class Result(NamedTuple):
    x: np.ndarray
    residual: float
    iterations: int = 0


@program(matrix(), grid(6))
def result_namedtuple(a, b):
    x = np.linalg.solve(a, b)
    r = a @ x - b
    return Result(x, float(np.sqrt((r * r).sum())), iterations=1)


Particle = namedtuple("Particle", "x v")


def push_particle(p, dt):
    return p._replace(x=p.x + dt * p.v, v=p.v * 0.99)


@program(grid(), value(0.1))
def namedtuple_state(x, dt):
    p = Particle(x, np.cos(x))
    p = push_particle(p, dt)
    p = push_particle(p, dt)
    return p


@program(lambda: Particle(np.linspace(0, 1, 8), np.ones(8)), value(0.1))
def namedtuple_argument(p, dt):
    x, v = p
    a = -p.x
    return Particle(x + dt * v, v + dt * a)


@program(grid(), value(0.1))
def namedtuple_used_inside(x, dt):
    p = Particle(x, np.cos(x))
    q = Particle(p.x + dt * p.v, p.v - dt * p.x)
    return q.x * q.v + p.x


@dataclass
class State:
    u: np.ndarray
    v: np.ndarray
    t: float = 0.0

    def advanced(self, dt):
        return State(self.u + dt * self.v, self.v - dt * self.u, self.t + dt)

    @property
    def norm(self):
        return np.sqrt((self.u**2 + self.v**2).sum())


@program(grid(), value(0.05))
def dataclass_made_inside(u, dt):
    s = State(u, np.zeros_like(u))
    s = s.advanced(dt)
    s = s.advanced(dt)
    return s.u * s.t + s.norm


@program(lambda: State(np.linspace(0, 1, 12), np.ones(12)), value(0.05))
def dataclass_returned(s, dt):
    return s.advanced(dt).advanced(dt)


@program(lambda: State(np.linspace(0, 1, 12), np.ones(12)))
def dataclass_replaced(s):
    return replace(s, u=s.u * 2.0, t=s.t + 1.0)


@dataclass(frozen=True)
class Vec:
    x: np.ndarray
    y: np.ndarray

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    def dot(self, other):
        return self.x * other.x + self.y * other.y


@program(grid(), grid())
def frozen_vectors(x, y):
    a = Vec(x, y)
    b = Vec(y, -x)
    return (a + b * 2.0).dot(a)


class Layer:
    def __init__(self, n, m, seed):
        rng = np.random.default_rng(seed)
        self.w = rng.normal(size=(n, m))
        self.b = np.zeros(m)

    def forward(self, x):
        return x @ self.w + self.b


class Relu:
    def forward(self, x):
        return np.maximum(x, 0.0)


class Network:
    def __init__(self):
        self.layers = [Layer(6, 8, 1), Relu(), Layer(8, 4, 2)]
        self.history = []
        self.last = None

    def __call__(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        self.last = x
        return x


@program(Network, matrix(6))
def layers_forward(net, x):
    y = net(x)
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class Temperature:
    scale = 2.0

    def __init__(self, data):
        self._data = data
        self.reads = 0

    @property
    def data(self):
        self.reads += 1
        return self._data * self.scale

    @data.setter
    def data(self, new):
        self._data = np.clip(new, 0.0, 10.0)

    @staticmethod
    def celsius(x):
        return x - 273.15

    @classmethod
    def scaled(cls, x):
        return x * cls.scale


@program(lambda: Temperature(np.linspace(0, 20, 9)))
def properties_and_class_methods(t):
    a = t.data + 1.0
    t.data = a
    return t.celsius(a) + t.scaled(t.data)


# ---- functions: closures, callbacks, recursion, decorators


@program(grid(), value(0.1))
def closure_and_nonlocal(u, dt):
    evaluations = 0

    def rhs(y):
        nonlocal evaluations
        evaluations += 1
        return -y * dt

    k1 = rhs(u)
    k2 = rhs(u + 0.5 * k1)
    return u + k2, evaluations


def rk4(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(grid(), value(0.1))
def rk4_callback(y, h):
    y = rk4(lambda t, y: -y + math.sin(t), 0.0, y, h)
    return rk4(lambda t, y: -2.0 * y, h, y, h)


def fft_recursive(x):
    n = x.shape[0]
    if n == 1:
        return x
    even, odd = fft_recursive(x[::2]), fft_recursive(x[1::2])
    w = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + w, even - w])


@program(lambda: np.linspace(0, 1, 8) + 0j)
def recursive_fft(x):
    return fft_recursive(x)


def strassen(a, b):
    n = a.shape[0]
    if n <= 2:
        return a @ b
    h = n // 2
    a11, a12, a21, a22 = a[:h, :h], a[:h, h:], a[h:, :h], a[h:, h:]
    b11, b12, b21, b22 = b[:h, :h], b[:h, h:], b[h:, :h], b[h:, h:]
    m1 = strassen(a11 + a22, b11 + b22)
    m2 = strassen(a21 + a22, b11)
    m3 = strassen(a11, b12 - b22)
    m4 = strassen(a22, b21 - b11)
    m5 = strassen(a11 + a12, b22)
    m6 = strassen(a21 - a11, b11 + b12)
    m7 = strassen(a12 - a22, b21 + b22)
    return np.block([[m1 + m4 - m5 + m7, m3 + m5], [m2 + m4, m1 - m2 + m3 + m6]])


@program(matrix(4), matrix(4))
def recursive_strassen(a, b):
    return strassen(a, b)


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        COUNTS["calls"] += 1
        return function(*args, **kwargs)

    return wrapper


def scaled_by(k):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return k * function(*args, **kwargs)

        return wrapper

    return decorate


@scaled_by(2.0)
def flux(u, *, limiter=1.0):
    return limiter * u * u / 2


@counted
def counted_flux(u):
    return u * u


@program(grid())
def decorated_inner_functions(u):
    return flux(u, limiter=0.5) - flux(u[::-1])


@program(grid())
def counts_in_a_global_dict(u):
    return counted_flux(u) + counted_flux(u * 2.0), COUNTS["calls"] > 0


@program(grid())
def counts_in_a_global(u):
    global CALLS
    CALLS += 1
    return u * 2.0 + 1.0


@program(grid())
def decorator_made_inside(u):
    def twice(f):
        def g(x):
            return f(f(x))

        return g

    @twice
    def relax(x):
        return 0.5 * (x + x[::-1])

    return relax(u)


def weighted(*arrays, weights=None, **options):
    total = np.zeros_like(arrays[0])
    weights = weights or [1.0] * len(arrays)
    for a, w in zip(arrays, weights):
        total = total + w * a
    if options.get("normalize", False):
        total = total / sum(weights)
    return total


@program(grid(), grid())
def star_arguments(u, v):
    params = {"normalize": True}
    return weighted(u, v, weights=[0.3, 0.7], **params) + weighted(*(u, v, u))


def power_law(x, a, b, c=0.0):
    return a * x**b + c


@program(grid(), lambda: (2.0, 1.5), lambda: {"c": 0.1})
def model_with_parameters(x, args, kwargs):
    return power_law(x, *args, **kwargs) - power_law(x, *args)


@program(grid(), value(lambda x: x * 2.0))
def callback_argument(x, f):
    return f(x) + f(x + 1.0)


def newton(f, df, x, tol=1e-10, most=20):
    for i in range(most):
        fx = f(x)
        if np.abs(fx).max() < tol:
            return x, i
        x = x - fx / df(x)
    raise RuntimeError(f"no convergence in {most} steps")


@program(grid())
def newton_callbacks(x):
    root, steps = newton(lambda x: x**3 - 2.0, lambda x: 3.0 * x**2, x + 1.0)
    return root, steps


# ---- dicts and lists of arrays


@program(lambda: {"u": np.linspace(0, 1, 16), "v": np.ones(16), "t": 0.0}, value(0.1))
def dict_state_stored(state, dt):
    state["u"] = state["u"] + dt * state["v"]
    state["v"] = state["v"] - dt * state["u"]
    state["t"] += dt
    return state


@program(grid(), value(0.1))
def dict_made_and_stored(u, dt):
    state = {"u": u, "v": np.cos(u)}
    state["u"] = state["u"] + dt * state["v"]
    state["w"] = state["u"] * state["v"]
    return state


@program(
    lambda: {"w1": np.ones((3, 4)), "b1": np.zeros(4)}, lambda: {"w1": np.ones((3, 4)), "b1": np.ones(4)}
)
def sgd_over_items(params, grads):
    return {k: p - 0.1 * grads[k] for k, p in params.items()}


@program(
    lambda: {"w1": np.ones((3, 4)), "b1": np.zeros(4)}, lambda: {"w1": np.ones((3, 4)), "b1": np.ones(4)}
)
def sgd_in_place(params, grads):
    for key in params:
        params[key] -= 0.1 * grads[key]


@program(lambda: {"alpha": 0.5, "mode": "edge"}, grid())
def parameter_dict(p, u):
    alpha = p["alpha"]
    beta = p.get("beta", 2.0)
    if p["mode"] == "edge" and "gamma" not in p:
        u = np.pad(u, 1, mode="edge")
    return alpha * u[1:] + beta * u[:-1]


@program(grid())
def dict_of_arrays_walked(u):
    fields = {"a": u, "b": u * 2.0, "c": u - 1.0}
    total = np.zeros_like(u)
    for name, f in fields.items():
        total = total + f
    means = {name: float(f.mean()) for name, f in fields.items()}
    return total * sum(means.values()), list(fields.keys())


@program(grid())
def dict_updated_and_popped(u):
    d = dict(a=u, b=u * 2.0)
    d.update(c=u + 1.0)
    d.setdefault("e", u * 3.0)
    b = d.pop("b")
    return b + d["c"], len(d), "a" in d, d


@program(grid())
def list_of_arrays_grows(u):
    history = []
    for k in range(4):
        u = 0.5 * (u + np.roll(u, 1))
        history.append(u)
    return np.stack(history)


@program(grid())
def list_comprehension_of_slices(u):
    parts = [u[i : i + 6] for i in range(0, 24, 6)]
    return np.array([p.sum() for p in parts])


@program(matrix(5))
def comprehension_over_rows(a):
    return [row / row.sum() for row in a]


@program(matrix(5, 3))
def norms_of_rows(a):
    return np.array([np.sqrt((row * row).sum()) for row in a])


@program(grid())
def default_dict_of_lists(u):
    groups = defaultdict(list)
    for i, key in enumerate("abab"):
        groups[key].append(u * i)
    return {k: np.stack(v).sum(axis=0) for k, v in groups.items()}


@program(grid())
def deque_of_states(u):
    last = deque(maxlen=2)
    for k in range(4):
        last.append(u * k)
    return last[0] + last[1]


# ---- consumers of generators, itertools, functools


@program(grid())
def sum_of_generator(u):
    return sum(k * u**k for k in range(1, 5))


@program(lambda: [np.linspace(0, 1, 8) * k for k in range(4)])
def sum_over_list(parts):
    return sum(p * p for p in parts) + sum(parts)


@program(grid())
def any_and_all(u):
    pieces = [u[:8], u[8:16], u[16:]]
    if any(p.max() > 100.0 for p in pieces):
        return -u
    if all(p.min() > 0.0 for p in pieces):
        return u * 2.0
    return u


@program(grid())
def largest_by_key(u):
    candidates = [u, u * 3.0, u - 5.0]
    best = max(candidates, key=lambda c: c.sum())
    worst = min(candidates, key=np.sum)
    return best - worst


@program(grid())
def max_of_generator(u):
    return u / max(abs(u[k]) for k in range(4)), min(float(p.sum()) for p in (u, -u))


@program(grid())
def reduced(u):
    layers = [u, u + 1.0, u * 0.5]
    return functools.reduce(operator.mul, layers) + functools.reduce(lambda a, b: a + b, layers, u)


@program(grid())
def partials(u):
    smooth = functools.partial(power_law, a=2.0, b=0.5)
    return smooth(u) + smooth(u, c=1.0)


@program(grid())
def product_of_offsets(u):
    total = np.zeros(20)
    for i, j in itertools.product(range(-1, 2), repeat=2):
        total = total + u[2 + i : 22 + i] * u[2 + j : 22 + j]
    return total


@program(grid())
def products_in_comprehension(u):
    return sum([u * i + j for i, j in itertools.product((1, 2), (3, 4))])


@program(grid())
def accumulated(u):
    steps = list(itertools.accumulate([u, u * 0.5, u * 0.25]))
    return steps[-1] + steps[1]


@program(grid())
def chained(u):
    return sum(p.sum() for p in itertools.chain([u, u * 2.0], (u[1:],)))


@program(grid())
def pairs_of_layers(u):
    layers = [u, u * 2.0, u * 4.0]
    return [b - a for a, b in itertools.pairwise(layers)]


@program(lambda: [np.linspace(0, 1, 5), np.ones(5), np.zeros(5)])
def sorted_by_norm(arrays):
    ranked = sorted(arrays, key=lambda a: float((a * a).sum()), reverse=True)
    return ranked[0] - ranked[-1]


@program(grid())
def transposed_pairs(u):
    pairs = [(u, 1.0), (u * 2.0, 0.5), (u - 1.0, 0.25)]
    arrays, weights = zip(*pairs)
    return sum(w * a for a, w in zip(arrays, weights)), weights


@program(grid())
def mapped(u):
    a, b = map(np.sqrt, (u, u + 1.0))
    return a * b + sum(map(lambda p: p * 2.0, [u, a]))


@program(grid())
def set_and_dict_of_generator(u):
    d = dict((k, u * i) for i, k in enumerate("abc"))
    names = {k for k in d}
    return d["a"] + d["c"], sorted(names)


@program(grid())
def loop_over_generator_expression(u):
    total = 0.0
    for p in (u * k for k in range(3)):
        total = total + p
    return total


def chunks(u, size):
    for i in range(0, len(u), size):
        yield u[i : i + size]


@program(grid())
def generator_function_consumed(u):
    total = 0.0
    for c in chunks(u, 6):
        total += (c * c).sum()
    return total, [c.mean() for c in chunks(u, 8)]


# ---- messages, exceptions, context managers


@program(grid())
def message_in_f_string(u):
    v = u / u.sum()
    if v.sum() > 2.0:
        raise ValueError(f"not normalized: {v.sum():.3f} of {u.shape}")
    label = f"{u.size} points"
    return v, label


@program(grid())
def formatted_message(u):
    r = float(u.sum())
    return u * 2.0, f"residual {r:.3e} after {3:d}", "{:.2f}".format(r), "%.1f" % r


@program(grid())
def debug_logged(u):
    v = np.sqrt(u)
    LOG.debug("norm %s of %d points", v, len(u))
    w = v * 2.0
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("sum %g", w.sum())
    return w


@program(matrix(4), grid(4))
def linalg_error_handled(a, b):
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        x = np.linalg.lstsq(a, b, rcond=None)[0]
    return x * 2.0


@program(lambda: np.zeros((4, 4)), grid(4))
def linalg_error_raised(a, b):
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError as error:
        return np.full_like(b, np.nan), str(error)
    return x * 2.0, ""


@program(grid())
def errstate_around(u):
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (u - u[0]) / (u - u[0])
    return np.where(np.isnan(r), 0.0, r)


@program(grid())
def try_finally(u):
    done = False
    try:
        v = np.log(u) * 2.0
    finally:
        done = True
    return v, done


@program(grid(), value(None))
def assertions_and_defaults(u, v):
    assert u.ndim == 1, f"one axis, not {u.ndim}"
    if v is None:
        v = np.ones_like(u)
    assert u.shape == v.shape, (u.shape, v.shape)
    if not isinstance(u, np.ndarray):
        raise TypeError(type(u).__name__)
    return u @ v


class Timer:
    def __init__(self, log):
        self.log = log
        self.depth = 0

    def __enter__(self):
        self.depth += 1
        self.log.append("in")
        return self

    def __exit__(self, *error):
        self.depth -= 1
        self.log.append("out")


@program(lambda: Timer([]), grid())
def own_context_manager(timer, u):
    with timer:
        v = np.sqrt(u) + 1.0
    return v * 2.0


@program(grid())
def local_class(u):
    class Box:
        def __init__(self, data):
            self.data = data

        def total(self):
            return self.data.sum()

    return Box(u * 2.0).total()


@dataclass
class Mesh:
    n: int
    spacing: float = 0.1
    fields: dict = field(default_factory=dict)

    def add(self, name, values):
        self.fields[name] = values
        return self


@program(lambda: Mesh(24), grid())
def mesh_with_fields(mesh, u):
    mesh.add("u", u).add("v", u * mesh.spacing)
    return mesh.fields["u"] + mesh.fields["v"]


class Accumulator:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, x):
        self.total = self.total + x
        self.count += 1
        return self

    def mean(self):
        return self.total / self.count


@program(grid())
def object_made_inside(u):
    acc = Accumulator()
    acc.add(u).add(u * 2.0)
    return acc.mean()


@program(grid())
def object_made_and_returned(u):
    acc = Accumulator()
    acc.add(u)
    return acc


@program(matrix(5))
def power_iteration_result(a):
    v = np.ones(a.shape[0])
    for _ in range(5):
        w = a @ v
        v = w / np.sqrt(w @ w)
    return Result(x=v, residual=float(np.abs(a @ v).max()), iterations=5)


@program(grid())
def ordered_layers(u):
    layers = OrderedDict(first=u, second=u * 2.0)
    return layers["first"] + layers["second"]
