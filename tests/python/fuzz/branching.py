"""The generator of programs with branches on array data, loops, prints, exceptions, helpers and early returns.

Every array has one shape, every name keeps its kind (array, float, int, list), and every loop is bounded, so that
nothing needs to run while a program is made. Calls differ in their data and so take different ways.
"""

from __future__ import annotations

from .arguments import Array, Scalar, Spec, View
from .choices import Choices, Weighted
from .programs import Block, Program, Statement

THRESHOLDS = ("0", "0.2", "-0.2", "0.5", "1.0", "-1", "1.2", "2")


class Body:
    """Grows the body of one function.

    `arrays`, `floats`, `ints` and `lists` are the names in scope; `helpers` are functions that take an array and a
    float and return an array.
    """

    def __init__(
        self,
        c: Choices,
        arrays: list[str],
        floats: list[str],
        ints: list[str],
        helpers: list[str],
        helper: bool = False,
    ) -> None:
        self.c = c
        self.arrays, self.floats, self.ints, self.helpers = (
            list(arrays),
            list(floats),
            list(ints),
            list(helpers),
        )
        self.lists: list[str] = []
        self.prints = 0
        self.names = 0
        self.loops = 0
        self.functions = 0
        self.helper = helper

    # Names made inside a block may be unbound after it, so they go out of scope with it.
    def nested(self, depth: int, most: int = 3, looping: bool = False) -> list[Statement]:
        kept = [list(x) for x in (self.arrays, self.floats, self.ints, self.lists)]
        self.loops += looping
        body = self.statements(self.c.integer(1, most), depth + 1)
        self.loops -= looping
        self.arrays, self.floats, self.ints, self.lists = kept
        return body

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def array(self) -> str:
        return self.c.pick(self.arrays)

    def number(self) -> str:
        c = self.c
        if self.ints and c.chance(0.25):
            return c.pick(self.ints)
        return (
            c.pick(self.floats) if self.floats and c.chance(0.6) else c.pick(("2.0", "0.5", "1", "3", "-1.0"))
        )

    def expression(self) -> str:
        c, a, b = self.c, self.array(), self.array()
        forms = (
            f"{a} + {b}", f"{a} * {self.number()}", f"{a} - {b} * {self.number()}", f"np.maximum({a}, {self.number()})", f"-{a}",
            f"np.where({a} > {c.pick(THRESHOLDS)}, {a}, {b})", f"{a} * 0.5 + {self.number()}", f"np.roll({a}, 1)", f"np.tanh({a})",
            f"abs({a}) + 1", f"{a}[::-1]", f"({a} - {b}) / 2", f"{a} - {a}.mean()", f"np.clip({a}, -1, 1)", f"{a} + np.sin({b})",
        )  # fmt: skip
        if self.helpers and c.chance(0.3):
            return f"{c.pick(self.helpers)}({a}, {self.number()})"
        return c.pick(forms)

    def scalar(self) -> str:
        a = self.array()
        return self.c.pick(
            (
                f"float({a}.sum())",
                f"{a}.max()",
                f"{a}.mean()",
                f"float({a}.min())",
                f"{a}.flat[0]",
                f"{a}.sum() * 0.5",
                f"np.abs({a}).max()",
            )
        )

    def condition(self) -> str:
        c, a = self.c, self.array()
        t = c.pick(THRESHOLDS)
        forms = [f"{a}.sum() > {t}", f"{a}.mean() < {t}", f"({a} > {t}).any()", f"({a} > {t}).all()", f"{a}.max() > {t}",
                 f"np.isfinite({a}).all()", f"{a}.flat[0] < {a}.flat[-1]", f"not ({a} < {t}).any()", f"{a}.size > 4",
                 f"{a}.sum() > 0 and {a}.max() > {t}", f"{a}.mean() > 0 or {a}.min() < {t}",
                 f"{a}.ravel()[:1] > {t}", f"{a}.sum(keepdims=True) > {t}", f"not {a}.ravel()[-1:] < {t}",
                 f"{a}.ravel()[1:2].copy() > {t} and {a}.size > 1"]  # fmt: skip
        forms += [f"{x} > {t}" for x in self.floats[-2:]]
        forms += [f"{n} % 2 == 0" for n in self.ints[-2:]] + [f"{n} > 2" for n in self.ints[-1:]]
        return c.pick(forms)

    def print_statement(self) -> str:
        c, a = self.c, self.array()
        self.prints += 1
        tag = f"'p{self.prints}'"
        forms = [
            f"print({tag})",
            f"print({tag}, {a}.shape)",
            f"print({tag}, {a}.sum())",
            f"print({tag}, {a})",
            f"print({tag}, float({a}.flat[0]))",
        ]
        forms += [f"print(f'{x}={{{x}:.3f}}')" for x in self.floats[-1:]] + [
            f"print({tag}, {n})" for n in self.ints[-1:]
        ]
        return c.pick(forms)

    def statements(self, count: int, depth: int) -> list[Statement]:
        out: list[Statement] = []
        for _ in range(count):
            row = self.c.weighted(SIMPLE if depth > 2 or self.c.chance(0.5 + 0.15 * depth) else COMPOUND)
            out += row(self, depth)
        return out

    def finish(self) -> str:
        if self.helper:
            return f"return {self.c.pick(self.arrays)}"
        parts = [self.c.pick(self.arrays), *self.floats[-2:], *self.ints[-1:], *self.lists[-1:]]
        return f"return {', '.join(parts)}" if self.c.chance(0.6) else f"return {self.arrays[-1]}"


# --- simple statements ----------------------------------------------------------------------------------------------


def assign(b: Body, depth: int) -> list[Statement]:
    text = b.expression()
    name = b.c.pick(b.arrays) if b.c.chance(0.5) else b.name("v")
    if name not in b.arrays:
        b.arrays.append(name)
    return [f"{name} = {text}"]


def update(b: Body, depth: int) -> list[Statement]:
    a, other = b.array(), b.array()
    return [b.c.pick((f"{a} += {b.number()}", f"{a} = {a} * {b.number()}", f"{a}[1:] = {a}[:-1] * 0.5", f"{a}[...] = {other}", f"{a} -= {other} * 0.1",
                      f"{a}[{a} > 1] = 0.5", f"{a}[::2] *= 2"))]  # fmt: skip


def take_scalar(b: Body, depth: int) -> list[Statement]:
    text = b.scalar()
    b.floats.append(b.name("s"))
    return [f"{b.floats[-1]} = {text}"]


def count(b: Body, depth: int) -> list[Statement]:
    if b.ints and b.c.chance(0.6):
        return [f"{b.c.pick([n for n in b.ints if n != 'i'] or ['n'])} += 1"] if "n" in b.ints else []
    text = b.c.pick((f"{b.array()}.shape[0]", f"len({b.array()})", f"{b.array()}.size // 2", "3"))
    b.ints.append(b.name("n"))
    return [f"{b.ints[-1]} = {text}"]


def show(b: Body, depth: int) -> list[Statement]:
    return [b.print_statement()]


def collect(b: Body, depth: int) -> list[Statement]:
    if b.lists:
        return [f"{b.c.pick(b.lists)}.append({b.scalar()})"]
    text = b.c.pick(
        ("[]", f"[float(({b.array()} * j).sum()) for j in range(3)]", f"[x for x in {b.array()}.shape]")
    )
    b.lists.append(b.name("out"))
    return [f"{b.lists[-1]} = {text}"]


def leave_loop(b: Body, depth: int) -> list[Statement]:
    if not b.loops:
        return show(b, depth)
    return [Block(f"if {b.condition()}", [b.c.pick(("break", "continue"))])]


def risky(b: Body, depth: int) -> list[Statement]:
    """Statements that may raise."""
    a = b.array()
    return [b.c.pick((f"assert {b.condition()}, 'claim'", f"{a} = {a} / ({a}.size - 4)", f"{a}[{b.c.integer(2, 9)}]", "raise ValueError('made up')",
                      f"{a} = {a} + np.zeros(({b.c.integer(3, 5)},) * {a}.ndim)", f"{a} = np.sqrt({a})"))]  # fmt: skip


# --- compound statements --------------------------------------------------------------------------------------------


def branch(b: Body, depth: int) -> list[Statement]:
    out: list[Statement] = [Block(f"if {b.condition()}", b.nested(depth))]
    if b.c.chance(0.25):
        out.append(Block(f"elif {b.condition()}", b.nested(depth)))
    if b.c.chance(0.5):
        out.append(Block("else", b.nested(depth)))
    return out


def early_return(b: Body, depth: int) -> list[Statement]:
    return [Block(f"if {b.condition()}", [*([b.print_statement()] if b.c.chance(0.4) else []), b.finish()])]


def for_range(b: Body, depth: int) -> list[Statement]:
    variable = b.name("i")
    limit = b.c.pick(
        ("2", "3", "1, 4")
        if b.loops
        else ("2", "3", "5", "n % 4 + 1", "1, 4", "12")
        if "n" in b.ints
        else ("4", "9")
    )
    b.ints.append(variable)
    body = b.nested(depth, looping=True)
    b.ints.remove(variable)
    out: list[Statement] = [Block(f"for {variable} in range({limit})", body)]
    if b.c.chance(0.1):
        out.append(Block("else", b.nested(depth, 1)))
    return out


def for_items(b: Body, depth: int) -> list[Statement]:
    variable = b.name("t")
    head = b.c.pick((f"for {variable} in (0.5, 1.0, k)", f"for _, {variable} in enumerate((1.0, 2.0))", f"for {variable} in {b.array()}.shape",
                     f"for {variable} in {b.array()}.ravel().tolist()[:3]"))  # fmt: skip
    b.floats.append(variable)
    body = b.nested(depth, looping=True)
    b.floats.remove(variable)
    return [Block(head, body)]


def while_loop(b: Body, depth: int) -> list[Statement]:
    counter = b.name("w")
    condition = f"{counter} < {b.c.integer(1, 6)}" + (f" and ({b.condition()})" if b.c.chance(0.4) else "")
    return [
        f"{counter} = 0",
        Block(f"while {condition}", [f"{counter} += 1", *b.nested(depth, looping=True)]),
    ]


def attempt(b: Body, depth: int) -> list[Statement]:
    c = b.c
    body = [*b.nested(depth, 2), *risky(b, depth)]
    if c.chance(0.4):
        body = [Block("with np.errstate(all='raise')", body)]
    out: list[Statement] = [Block("try", body)]
    caught = c.pick(("(ValueError, ArithmeticError, IndexError, AssertionError)", "Exception", "ValueError"))
    handler: list[Statement] = ["print(type(e).__name__, e)", *b.nested(depth, 2)]
    if c.chance(0.15):
        handler.append("raise")
    out.append(Block(f"except {caught} as e", handler))
    if c.chance(0.2):
        out.append(Block("else", b.nested(depth, 1)))
    if c.chance(0.3):
        out.append(Block("finally", b.nested(depth, 1)))
    return out


def ignoring(b: Body, depth: int) -> list[Statement]:
    return [
        Block(
            f"with np.errstate({b.c.pick(('all', 'over', 'invalid'))}={b.c.pick(('ignore', 'warn', 'raise'))!r})",
            b.nested(depth),
        )
    ]


def closure(b: Body, depth: int) -> list[Statement]:
    """A function defined inside, with a variable of the outer one."""
    b.functions += 1
    name = f"inner{b.functions}"
    captured = b.array()
    inner = Body(b.c, ["p", captured], ["q"], [], [], helper=True)
    inner.prints = 100 * b.functions
    body = [*inner.statements(b.c.integer(1, 2), depth + 2)]
    body = [
        s
        for s in body
        if not (isinstance(s, str) and s.startswith((f"{captured} =", f"{captured} +=", f"{captured} -=")))
    ]
    result = b.array()
    return [Block(f"def {name}(p, q=1.5)", [*body, f"return p + q * {captured}[...]"]) if not _rebinds(body, captured) else "pass",
            f"{result} = {name}({result}, {b.number()})" if not _rebinds(body, captured) else "pass"]  # fmt: skip


def _rebinds(body: list[Statement], name: str) -> bool:
    return any(
        _rebinds(s.body, name)
        if isinstance(s, Block)
        else s.startswith((f"{name} = ", f"{name} += ", f"{name} -= "))
        for s in body
    )


SIMPLE = Weighted(
    (10, assign),
    (5, update),
    (4, take_scalar),
    (2, count),
    (4, show),
    (2, collect),
    (2, leave_loop),
    (1, risky),
)
COMPOUND = Weighted(
    (10, branch), (3, early_return), (5, for_range), (2, for_items), (3, while_loop), (4, attempt), (2, ignoring), (2, closure),
)  # fmt: skip


def _helpers(c: Choices) -> tuple[list[Statement], list[str]]:
    """Up to three functions, each of which may call the ones before it."""
    out: list[Statement] = []
    names: list[str] = []
    for i in range(c.integer(0, 3)):
        body = Body(c, ["p"], ["q"], [], names[-1:], helper=True)
        body.prints = 1000 * (i + 1)
        inner = body.statements(c.integer(1, 3), 2)
        if names:
            inner.append(f"p = {names[-1]}(p, q)")
        if c.chance(0.6):
            inner.append(Block(f"if {body.condition()}", [body.print_statement(), "p = p * 0.5"]))
        name = f"h{i + 1}"
        out += [Block(f"def {name}(p, q)", [*inner, f"return {c.pick(body.arrays)}"]), "", ""]
        names.append(name)
    return out, names


def branching(c: Choices, name: str) -> Program:
    """A random program with control flow and eight calls with different data."""
    helpers, names = _helpers(c)
    extents = c.pick(((6,), (5,), (8,), (3, 4), (2,), (40,), (1,), (3000,)))
    dtype = c.pick(("f8", "f8", "f8", "f4"))
    specs: list[Spec] = [
        Array(dtype, extents),
        Array(dtype, extents),
        Scalar("float", c.pick((0.5, 1.5, -1.0))),
        Scalar("int", c.integer(0, 5)),
    ]
    if c.chance(0.1):
        specs[1] = View(0, "same")
    body = Body(c, ["a", "b"], ["k"], ["n"], names)
    statements = [*body.statements(c.integer(2, 6), 0), body.finish()]
    calls = []
    for i in range(8):
        now = list(specs)
        if i in (3, 6):
            now[2:] = [Scalar("float", c.pick((0.5, 2.5, -3.0))), Scalar("int", c.integer(0, 5))]
        if i == 5:
            bigger = tuple(n + 1 for n in extents)
            now[:2] = [
                Array(dtype, bigger),
                View(0, "same") if isinstance(specs[1], View) else Array(dtype, bigger),
            ]
        calls.append(now)
    return Program(name, ["a", "b", "k", "n"], statements, calls, helpers=helpers)
