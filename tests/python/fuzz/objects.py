"""The generator of programs that make objects in front of loops: whatever a trace can make is alive at a loop's header.

A program makes objects of several types (named tuples, dataclasses, objects, cells, functions, slices, ranges, iterators, views of
dicts, partials, exceptions, methods, and containers of these), runs loops of several kinds in which they are read, rebound, handed on
or only carried, and returns what they have become. A program may call functions that hold loops, and be left in the middle of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .arguments import Array, Scalar, Spec
from .choices import Choices, Weighted
from .programs import Block, Program, Statement

FIELDS = ["self.x = x", "self.y = y"]
HELPERS: list[Statement] = [
    "import collections, dataclasses, functools, itertools, math, types, typing", "",
    "P = collections.namedtuple('P', 'x y')", "",
    Block("class T(typing.NamedTuple)", ["x: float", "y: object = 0.5", Block("def total(self)", ["return self.x + 1.0"])]), "",
    "@dataclasses.dataclass", Block("class D", ["x: float", "y: object = 2.0", Block("def total(self)", ["return self.x * 0.5"])]), "",
    "@dataclasses.dataclass(frozen=True)", Block("class F", ["x: float", "y: object"]), "",
    "@dataclasses.dataclass(slots=True)", Block("class S", ["x: float", "y: object"]), "",
    Block("class O", [Block("def __init__(self, x, y=1.0)", FIELDS), Block("def total(self)", ["return self.x + 0.25"]),
                      "@property", Block("def half(self)", ["return self.x * 0.5"]),
                      Block("def __add__(self, other)", ["return O(self.x + other, self.y)"])]), "",
    Block("class Q", ["__slots__ = ('x', 'y')", Block("def __init__(self, x, y)", FIELDS)]), "",
    Block("class E", ["x = 0.75"]), "",
    Block("class X(Exception)", ["x = 0.125"]), "",
    Block("def add(p=1.5, q=0.5)", ["return p + q"]), "",
    Block("def make(x, y)", ["return P(x, y)"]), "",
    Block("def carry(v, n, o)", ["s = 0.0", Block("for i in range(n)", ["s += v[i] * 0.5"]), "return s, o"]), "",
    Block("def mixed(v, n, o, log)", ["s = 0.0", Block("for i in range(n)", ["s += float(v[i])", "log.append(repr((o, i)))"]), "return s, o"]), "",
    Block("def inner(v, n)", ["o = P(v[0], n)", "g = lambda z: z + n", "s = 0.0", Block("for i in range(n)", ["s += v[i] + o.x"]), "return g(s), o"]), "",
]  # fmt: skip


@dataclass
class Made:
    """An object of the program: its name, the statements that may use it in a loop, and how its end is told."""

    name: str
    uses: tuple[str, ...] = ()
    told: str = "{o}"
    rebinds: tuple[str, ...] = ()


# Of each type: what makes an object (`{e}` is a number or an array, `{k}` a whole number, `{m}` anything), uses of it in a loop, how its
# end is told, and what a loop may bind its name to instead.
FIELD_USES = ("s += float(np.sum({o}.x))", "k += {o}.y is None", "s = s + 0.5 * float(np.sum({o}.x))")
TUPLE_USES = (*FIELD_USES, "x, y = {o}", "s += float(np.sum({o}[0]))", "k += len({o})")
ITERATOR = ("{o}", ("k += next({o}, None) is None", "log.append(repr(next({o}, None)))"), "list({o})[:20]")


def _rows(*groups: tuple[int, tuple[str, ...], tuple[str, ...], str, tuple[str, ...]]):
    return Weighted(
        *((weight, (makes, uses, told, rebinds)) for weight, makes, uses, told, rebinds in groups)
    )


TYPES = _rows(
    (6, ("P({e}, {m})", "P(x={e}, y={m})", "P(*({e}, {k}))", "make({e}, {m})", "P({e}, 1)._replace(y={m})"), TUPLE_USES, "{o}",
     ("P({o}.x, i)", "{o}._replace(y=i)", "P(s, {o})[0:1] and P(s, i)", "make(s, i)")),
    (4, ("T({e}, {m})", "T({e})", "T(x={e}, y={m})"), (*TUPLE_USES, "s += float(np.sum({o}.total()))"), "{o}", ("T({o}.x, i)", "T(s)")),
    (4, ("D({e}, {m})", "D({e})"), (*FIELD_USES, "s += float(np.sum({o}.total()))", "{o}.y = i", "{o}.x = s"), "{o}", ("D(s, i)", "D({o}.x)")),
    (2, ("F({e}, {m})",), FIELD_USES, "{o}", ("F(s, i)",)),
    (2, ("S({e}, {m})",), (*FIELD_USES, "{o}.y = i"), "{o}", ("S({o}.x, i)",)),
    (4, ("O({e}, {m})", "O({e})", "O({e}) + 1.5"), (*FIELD_USES, "s += float(np.sum({o}.half))", "s += float(np.sum({o}.total()))", "{o}.y = i", "{o}.x = a[i % 3]"),
     "vars({o})", ("O(s, i)", "{o} + 0.5")),
    (2, ("Q({e}, {m})",), (*FIELD_USES, "{o}.y = i"), "({o}.x, {o}.y)", ("Q(s, i)",)),
    (1, ("E()",), ("s += {o}.x", "{o}.x = s"), "vars({o})", ("E()",)),
    (5, ("lambda z=1.0: z + 0.5", "lambda z=1.0: z + u", "lambda z=1.0, w={e}: z + np.sum(w)", "add"), ("s += float({o}(s))", "s += float({o}())", "log.append({o}.__name__)"),
     "float({o}(0.5))", ("lambda z=i: z * 0.5", "add")),
    (3, ("slice(None)", "slice(1, {k})", "slice({k}, None, 2)"), ("s += a[{o}].sum()", "k += {o}.step is None", "b[{o}] = a[{o}] * 0.5"), "{o}", ("slice(i, i + 1)",)),
    (3, ("range({k})", "range(1, n + 2, 2)", "range(n, 0, -1)"), ("k += len({o})", "k += i in {o}", "k += {o}[-1] if {o} else 1"), "{o}", ("range(i)",)),
    (6, ("iter(({e}, {m}, 1.5))", "iter([{e}, {m}])", "iter(range({k} + 2))", "enumerate(({e}, 2.5, {m}))", "zip(a, b)", "zip(({e}, {m}), range(5))",
         "reversed(({e}, {m}))", "reversed([{e}, 1.5])", "iter(a)", "iter('letters')", "iter({{'p': {e}, 'q': 1}})", "map(abs, (1.5, -2.5, u))",
         "filter(None, (0, {k}, 2.5))", "(z * 2 for z in (1.5, u, 2.5))", "itertools.count({k})", "itertools.chain((1.5,), range(3))",
         "iter(enumerate(a))", "zip(range(4), enumerate('abc'))"), ITERATOR[1], "[w for w, _ in zip({o}, range(6))]", ("iter((i, s))", "enumerate((s, i))")),
    (3, ("{{'p': {e}, 'q': {m}}}", "dict(p={e}, q=1)", "{{**dict(p={e}), 'r': {m}}}"), ("s += float(np.sum({o}['p']))", "{o}['q'] = i", "k += 'r' in {o}", "k += len({o})"),
     "{o}", ("{{'p': s, 'q': i}}",)),
    (3, ("{{'p': {e}, 'q': {k}}}.items()", "{{'p': {e}, 'q': 2}}.keys()", "dict(p={e}, q=3.0).values()"), ("k += len({o})", "log.append(repr(list({o})))"), "list({o})",
     ("{{'p': s}}.items()",)),
    (3, ("functools.partial(add, {e})", "functools.partial(add, q={e})", "functools.partial(np.add, {e})"), ("s += float(np.sum({o}(0.5)))", "log.append(repr({o}.args))"),
     "{o}(1.5)", ("functools.partial(add, s)",)),
    (3, ("ValueError({m})", "X({e})", "KeyError('name')"), ("log.append(repr({o}.args))", "log.append(type({o}).__name__)"), "({o}.args, {o}.__traceback__ is None)",
     ("ValueError(i)",)),
    (3, ("a.sum", "a[1:].max", "O({e}).total", "D({e}).total", "P({e}, 1).count", "T(0.5).total", "[{e}, 1.5].count", "{{'p': 1.5}}.get", "'name'.join"),
     ("log.append({o}.__name__)",), "{o}.__name__", ("b.sum", "O(s).total")),
    (4, ("({m}, {m})", "({e}, ({m}, 1))"), ("k += len({o})", "log.append(repr({o}[0]))"), "{o}", ("(s, i)", "({o}[0], i)")),
    (4, ("[{m}, {e}]", "[{e}] * 3", "[{m}, [{e}]]"), ("k += len({o})", "{o}.append(i)", "{o}[0] = i", "log.append(repr({o}[-1]))"), "{o}[:30]", ("[s, i]", "{o} + [i]")),
    (2, ("{{1, {k}}}", "frozenset((1, {k}))"), ("k += i in {o}",), "sorted({o})", ("{{i}}",)),
    (3, ("a[1:]", "a * 2.0", "b.reshape(-1, 1)", "np.zeros(3)", "a[::-1]", "np.float64({k})", "a.sum()", "complex(u, {k})", "np.int32({k})"),
     ("s += float(np.sum(np.real({o})))",), "{o}", ("a * 0.5", "np.float64(i)")),
    (2, ("collections.deque((1.5, {m}))", "collections.OrderedDict(p={e})", "types.SimpleNamespace(x=1.5, y={m})", "np.random.default_rng({k})", "memoryview(b'name')",
         "np.dtype('f4')", "np.errstate(all='ignore')", "staticmethod(add)", "type('C', (), {{}})", "f'{{n}}-{{u}}'", "b'name'", "...", "NotImplemented", "None"),
     ("log.append(type({o}).__name__)",), "type({o}).__name__", ("None",)),
)  # fmt: skip

ANY_USE = (
    "log.append(repr(({o}, i)))", "kept = ({o}, i)", "kept = [{o}]", "k += {o} is not None", "other = {o}", "log.append(type({o}).__name__)", "kept = {{'o': {o}}}",
    "last = P({o}, i)", "last = O({o})", "last = lambda: {o}", "_, w = carry(a, 2, {o})", "w = inner(a, 2)", "log.append(repr((i, kept)))",
)  # fmt: skip
NUMBERS = ("s += a[i % len(a)]", "s = 0.5 * s + float(b[0])", "k += 1", "a[i % 3] = 0.5 * s", "b = b * 0.5 + a", "b[1:] = a[:-1] * 0.5", "k = (3 * k + i) % 100",
           "s += (a * 0.25).sum()", "a, b = b, a", "m[i % 2] += 0.5", "s += m[0] @ m[1]", "v = a + i", "q[i % 3] += 1")  # fmt: skip
LEAVES = ("s += a[i + 50 * (i == at)]", "k += 6 // (i - at)", "s += math.sqrt(abs(i - at) - 0.5)", "s += 1.0 if i != at else None",
          "k = k + ((i == at) << 70)", "log.append(str(i)) if i == at else None")  # fmt: skip


class _Maker:
    """Makes the objects of one program."""

    def __init__(self, c: Choices) -> None:
        self.c = c
        self.made: list[Made] = []

    def number(self) -> str:
        return self.c.pick(
            ("u", "0.5", "a[0]", "n", "float(a.sum())", "a * 2.0", "a", "a[1:]", "u * 2", "k", "m.mean()")
        )

    def anything(self) -> str:
        named = [x.name for x in self.made[-3:]]
        return self.c.pick((self.number(), "None", "'text'", "1.5", *named, *named))

    def statements(self) -> list[Statement]:
        """What makes one more object."""
        c, name = self.c, f"o{len(self.made)}"
        if c.chance(0.12):
            return self.captured(name)
        makes, uses, told, rebinds = c.weighted(TYPES)
        text = c.pick(makes).format(e=self.number(), m=self.anything(), k=c.pick(("2", "n", "k", "3")))
        self.made.append(Made(name, uses, told, rebinds))
        if c.chance(0.08):
            return [
                Block("if u > 1.0", [f"{name} = {text}"]),
                Block("else", [f"{name} = {c.pick(makes).format(e='u', m='n', k='2')}"]),
            ]
        if makes[0].startswith("ValueError") and c.chance(0.5):
            return [Block("try", ["raise " + text]), Block("except Exception as error", [f"{name} = error"])]
        return [f"{name} = {text}"]

    def captured(self, name: str) -> list[Statement]:
        """A function with a cell that it, or the program, changes."""
        cell = f"c{name[1:]}"
        rebinding = self.c.chance(0.5)
        body: list[Statement] = (
            [f"nonlocal {cell}", f"{cell} = {cell} + 1", f"return {cell}"]
            if rebinding
            else [f"return z + {cell}"]
        )
        uses = (
            ("k += {o}() > 3", "kept = {o}")
            if rebinding
            else ("s += {o}(0.5)", f"{cell} = {cell} + 0.5", f"{cell} = i", "s += {o}()")
        )
        self.made.append(Made(name, uses, "({o}(), " + cell + ")"))
        return [f"{cell} = {self.c.pick(('u', 'n', '0.5', 'k'))}", Block(f"def {name}(z=1.0)", body)]

    def use(self, loop: bool = True) -> str:
        """A statement with one of the objects."""
        c, x = self.c, self.c.pick(self.made)
        if x.rebinds and c.chance(0.2):
            return (
                f"{x.name} = {c.pick(x.rebinds)}".replace("{o}", x.name).replace("{{", "{").replace("}}", "}")
            )
        return c.pick(x.uses if x.uses and c.chance(0.6) else ANY_USE).format(o=x.name)


def _body(c: Choices, maker: _Maker, leaves: bool) -> list[Statement]:
    """What a loop does: numbers alone, objects alone, or both; some of it under a condition."""
    out: list[Statement] = [c.pick(NUMBERS) for _ in range(c.integer(0, 3))]
    out += [maker.use() for _ in range(c.integer(0, 3))]
    if leaves:
        out.insert(c.integer(0, len(out)), c.pick(LEAVES))
    if c.chance(0.3) and out:
        at = c.integer(0, len(out) - 1)
        condition = c.pick(("i % 3 == 1", "s > 2.0", "i == at", "k < 5", "i"))
        out[at] = Block(f"if {condition}", [out[at]])
        if c.chance(0.3):
            out.insert(at + 1, Block("else", [c.pick((maker.use(), c.pick(NUMBERS)))]))
    if c.chance(0.08):
        out.append(Block("if i == at", [c.pick(("break", "continue"))]))
    return out or ["k += 1"]


def _loop(c: Choices, maker: _Maker) -> list[Statement]:
    leaves = c.chance(0.25)
    body = _body(c, maker, leaves)
    o = c.pick(maker.made).name
    forms: tuple[Callable[[], list[Statement]], ...] = (
        lambda: [Block("for i in range(n)", body)],
        lambda: [Block("for i in range(n)", body)],
        lambda: ["i = 0", Block("while i < n", ["i += 1", *body])],
        lambda: [Block("for i, x in enumerate(a)", ["s += x * 0.125", *body])],
        lambda: [Block("for i, (x, y) in enumerate(zip(a, b))", ["s += x * y", *body])],
        lambda: [Block("for i in range(3)", [maker.use(), Block("for j in range(n)", ["s += a[j % 3] * 0.5", *_body(c, maker, False)])])],
        lambda: [Block("for w in range(2)", [Block("for i in range(n)", body)])],
        lambda: [f"t, w = carry(a, min(n, len(a)), {o})", "s += t"],
        lambda: [f"t, w = mixed(a, min(n, len(a)), {o}, log)", "s += t"],
        lambda: ["t, w = inner(a, min(n, len(a)))"],
        lambda: [f"w = [(a[i % 3] + 0.5, {o}) for i in range(n)]", "log.append(repr(w[-1:]))"],
        lambda: [f"w = [repr(({o}, i)) for i in range(n)]", "log += w[:3]"],
        lambda: ["w = [a[i % 3] * 0.5 for i in range(n)]", "s += sum(w)"],
        lambda: [f"w = {{i: {o} for i in range(n)}}", "k += len(w)"],
        lambda: ["s += sum(a[i % 3] * 2.0 for i in range(n))"],
    )  # fmt: skip
    out = c.pick(forms)()
    if leaves and c.chance(0.7):
        out = [
            Block("try", out),
            Block("except Exception as error", ["log.append(repr(error))", maker.use()]),
        ]
        if c.chance(0.2):
            out.append(Block("finally", ["k += 1"]))
    if c.chance(0.08):
        out = [Block("with np.errstate(all='ignore')", out)]
    return out


def objects(c: Choices, name: str) -> Program:
    """Objects, one to three loops behind them, and the end of all of them."""
    maker = _Maker(c)
    body: list[Statement] = ["s = 0.0", "k = 0", "i = 0", "log = []", "kept = last = other = w = None"]
    for _ in range(c.integer(1, 3)):
        for _ in range(c.integer(1, 3)):
            body += maker.statements()
        if c.chance(0.3):
            body.append(
                c.pick(("b = a * 0.5 + b", "s = float(a.sum())", "m = m + 1.0", "log.append('here')"))
            )
        body += _loop(c, maker)
    told = [f"({x.told.format(o=x.name)})" for x in maker.made]
    if c.chance(0.3):
        told = [x.name for x in maker.made]
    body.append(
        f"return log, s, k, a, b, m, q, type(kept), type(last), type(other), type(w), {', '.join(told)}"
    )
    return Program(name, ["a", "b", "m", "q", "u", "n", "at"], body, _calls(c), helpers=list(HELPERS))


def _calls(c: Choices) -> list[list[Spec]]:
    kind, extent = c.pick(("f8", "f8", "f4")), c.pick((3, 5, 12, 40))

    def call(n: int, at: int, u: float) -> list[Spec]:
        return [Array(kind, (extent,), "C", "tame"), Array(kind, (extent,), "C", "tame"), Array("f8", (2, 3), "C", "tame"), Array("i8", (4,), "C", "tame"),
                Scalar("float", u), Scalar("int", n), Scalar("int", at)]  # fmt: skip

    n, far = c.pick((2, 4, 10, 30)), 10**6
    return [
        call(n, far, 1.5),
        call(n, far, 1.5),
        call(n, c.integer(0, n - 1), 1.5),
        call(n + 1, far, 0.5),
        call(c.pick((0, 1)), far, 2.5),
        call(n, 0, 1.5),
    ]
