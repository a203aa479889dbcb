"""The generator of structured programs: what numerical Python written with loops looks like.

Nested loops over scalars and elements, array statements inside loops with bounds that depend on loop variables,
branches on data, early exits, calls of small helpers, and faults at random iterations. Loops are bounded by the
extents of small arrays or by counters. `structured_scope` writes the expressions; here are the statements.
"""

from __future__ import annotations

from .arguments import Array, Scalar, Spec, View
from .choices import Choices, Weighted
from .idioms import idiom
from .programs import Block, Program, Statement, errstate
from .scripts import definitions, script
from .scripts import opening as begin
from .selecting import select
from .structured_scope import FLOATS, UFUNCS, ArrayName, Index, Scope

DEEPEST = 3  # loops inside each other


class Body:
    """Grows the body of one function.

    `loops` is how many loops surround the place that grows, `result` what the function returns in the words of
    `Scope.helpers`.
    """

    def __init__(self, c: Choices, scope: Scope, result: str = "all", deepest: int = DEEPEST) -> None:
        self.c, self.scope, self.result, self.deepest = c, scope, result, deepest
        self.loops = 0
        self.inner: list[str] = []  # kinds of the blocks around: only a loop's own body may break
        self.budget = c.integer(4, 26)  # statements that may still be nested

    def nested(self, most: int = 3, loop: bool = False) -> list[Statement]:
        kept = self.scope.kept()
        self.loops += loop
        self.inner.append("loop" if loop else "block")
        body = self.statements(self.c.integer(1, most))
        self.inner.pop()
        self.loops -= loop
        self.scope.restore(kept)
        return body

    def statements(self, count: int) -> list[Statement]:
        out: list[Statement] = []
        for _ in range(count):
            self.budget -= 1
            compound = (
                (0.75, 0.4, 0.25, 0.12)[min(self.loops, 3)]
                if len(self.inner) < 5 and self.budget > 0
                else 0.0
            )
            out += self.c.weighted(COMPOUND if self.c.chance(compound) else SIMPLE)(self)
        return out

    def leave(self) -> str:
        """A return statement."""
        s, c = self.scope, self.c
        if self.result == "scalar":
            return f"return {s.number(1)}"
        if self.result in ("vector", "inplace", "reduce"):
            vector = next(a.name for a in s.arrays)
            return {
                "vector": f"return {vector}",
                "inplace": "return None",
                "reduce": f"return {c.pick(s.floats)}",
            }[self.result]
        names = [*(a.name for a in s.arrays), *s.floats, *s.ints, *s.bools, *s.ragged, *s.lists]
        if c.chance(0.15) and self.loops == 0 and s.indices:
            names += [s.indices[-1].name]
        some = names if c.chance(0.5) else [n for n in names if c.chance(0.5)] or names[-1:]
        some = [*some, *s.complexes, *s.sequences, *(f"{g}.random()" for g in s.draws)]
        return f"return {', '.join(some)}"


# --- simple statements ----------------------------------------------------------------------------------------------


def accumulate(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    if s.ints and c.chance(0.4):
        k = c.pick(s.ints)
        wide = s.integer(2)
        return [c.pick((f"{k} += 1", f"{k} += {s.small()}", f"{k} = ({wide}) % {c.pick((7, 97, 1000003))}", f"{k} ^= {s.integer(1)}", f"{k} = {wide}",
                        f"{k} = {k} * 3 + {s.small()}", f"{k} -= {s.integer(1)}"))]  # fmt: skip
    if not s.floats:
        return define(b)
    x = c.pick(s.floats)
    return [c.pick((f"{x} += {s.number(1)}", f"{x} = {s.number(2)}", f"{x} = 0.5 * {x} + {s.number(1)}", f"{x} *= {c.pick(FLOATS)}", f"{x} = max({x}, {s.number(1)})",
                    f"{x} -= {s.number(1)}", f"{x} = {x} / {s.small()}", f"{x} = {s.reduction()}"))]  # fmt: skip


def define(b: Body) -> list[Statement]:
    """A new scalar: its type may change from the first iteration to the next."""
    c, s = b.c, b.scope
    roll = c.integer(0, 9)
    if roll < 2:
        text, names, letter = s.condition(), s.bools, "t"
    elif roll < 5:
        text, names, letter = s.integer(), s.ints, "k"
    else:
        text, names, letter = s.number(), s.floats, "s"
    name = s.new(letter)
    names.append(name)
    return [f"{name} = {text}"]


def store_element(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    a = s.pick_array("fffiub" if c.chance(0.96) else "c")
    if a is None:
        return define(b)
    value = {"b": s.condition, "c": s.number}.get(
        a.kind, s.number if a.kind == "f" or c.chance(0.1) else s.integer
    )()
    if a.kind == "u" and c.chance(0.9):
        value = f"({s.integer(1)}) % 256"
    operator = c.pick(("=", "=", "=", "+=", "-=", "*=")) if a.kind in "fic" else "="
    if a.kind == "i" and c.chance(0.1):
        operator = c.pick(("//=", "%=", "<<=", "^="))
    return [f"{a.name}{s.subscript(a)} {operator} {value}"]


def store_part(b: Body) -> list[Statement]:
    """An array statement on a part of an array, as stencils and factorizations have them."""
    c, s = b.c, b.scope
    a = s.pick_array("ffffi")
    if a is None:
        return define(b)
    rank = c.integer(1, len(a.extents))
    windows = [w for e in a.extents[-rank:] if (w := s.window(e))]
    target = s.part(a, windows, target=True)
    if target is None:
        return define(b)
    value = s.operand(windows, "f" if a.kind == "f" or c.chance(0.1) else "i", 2)
    if c.chance(0.08):
        value = s.number(1)
    operator = c.weighted(Weighted((6, "="), (3, "+="), (2, "-="), (1, "*=")))
    return [f"{target} {operator} {value}"]


def update_whole(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    a = s.pick_array("ffffi")
    if a is None:
        return define(b)
    same = [
        x
        for x in s.arrays
        if x.extents == a.extents and (x.kind == a.kind or (a.kind == "f" and x.kind != "c"))
    ]
    x, y = c.pick(same).name, c.pick(same).name
    if a.kind == "i":
        return [
            c.pick(
                (
                    f"{a.name} += {x}",
                    f"{a.name} = {a.name} + {s.small()}",
                    f"{a.name}[...] = {x}",
                    f"{a.name} = np.maximum({x}, {y})",
                )
            )
        ]
    return [c.pick((f"{a.name} += {x}", f"{a.name} = 0.5 * ({x} + {y})", f"{a.name}[...] = {x}", f"{a.name} *= {c.pick(FLOATS)}", f"{a.name} = {x} + {s.number(0)} * {y}",
                    f"{a.name}[:] = {c.pick(UFUNCS).format(x)}", f"{a.name} = {x}.copy()", f"{a.name} -= {x} * {s.number(0)}", f"{a.name} = {x}"))]  # fmt: skip


def define_array(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    a = s.pick_array("ffi")
    if a is None:
        return define(b)
    name = s.new("v")
    text = c.pick(
        (
            f"{a.name}.copy()",
            f"np.zeros_like({a.name})",
            f"np.empty_like({a.name})",
            f"{a.name} + 1",
            f"np.zeros({a.name}.shape, dtype={a.name}.dtype)",
            f"{a.name} * 2",
        )
    )
    s.arrays.append(ArrayName(name, a.kind, a.extents))
    return [f"{name} = {text}", f"{name}[...] = {a.name}"] if "empty" in text else [f"{name} = {text}"]


def swap(b: Body) -> list[Statement]:
    """Ping-pong buffers, rotations of scalars."""
    c, s = b.c, b.scope
    a = s.pick_array("fi")
    twins = [x for x in s.arrays if a and x[1:] == a[1:] and x != a]
    if a and twins and c.chance(0.7):
        x, y = a.name, c.pick(twins).name
        if len(twins) > 1 and c.chance(0.2):
            z = c.pick([t.name for t in twins if t.name != y])
            return [f"{x}, {y}, {z} = {y}, {z}, {x}"]
        return [f"{x}, {y} = {y}, {x}"] if c.chance(0.8) else [f"tmp = {x}", f"{x} = {y}", f"{y} = tmp"]
    if len(s.floats) > 1:
        x, y = s.floats[-1], s.floats[-2]
        return [f"{x}, {y} = {y}, {x} + {s.number(1)}"]
    return define(b)


def use_tuple(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    k, x, p = s.new("k"), s.new("s"), s.new("p")
    roll = c.integer(0, 3)
    if roll == 0:
        r = s.new("k")
        out: list[Statement] = [f"{k}, {r} = divmod({s.integer(1)}, {c.integer(2, 5)})"]
        s.ints += [k, r]
        return out
    if roll == 1:
        out = [f"{p} = ({s.integer(1)}, {s.number(1)})", f"{k}, {x} = {p}"]
    elif roll == 2:
        out = [
            f"{p} = ({s.number(1)}, {s.number(1)}, {s.number(0)})",
            f"{x} = {p}[{s.small()} % 3]",
            f"{k} = len({p})",
        ]
    else:
        out = [f"{k}, {x} = {s.integer(1)}, {s.number(1)}"]
    s.ints.append(k)
    s.floats.append(x)
    return out


def call_helper(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    vector = s.pick_array("f", 1)
    matrix = s.pick_array("f", 2)
    kind = c.pick([k for k, names in s.helpers.items() if names] or ["none"])
    if kind == "none":
        return define(b)
    helper = c.pick(s.helpers[kind])
    if kind == "scalar" or (vector is None and matrix is None):
        return accumulate(b)
    if matrix is not None and (vector is None or c.chance(0.4)):
        argument = f"{matrix.name}[{s.index(matrix.extents[0])}]"
    else:
        assert vector is not None
        argument = vector.name
    call = f"{helper}({passed(c, argument, s.number(0))})"
    if kind == "inplace":
        return [call]
    if kind == "vector" and vector is not None and argument == vector.name:
        return [f"{vector.name} = {call}"]
    x = s.new("s")
    s.floats.append(x)
    return [f"{x} = np.sum({call})"]


def passed(c: Choices, p: str, q: str) -> str:
    """The arguments of a helper: by position, by name, in another order, or with the default."""
    return c.pick((f"{p}, {q}", f"{p}, {q}", f"{p}, q={q}", f"q={q}, p={p}", p))


def small_sequence(b: Body) -> list[Statement]:
    """A tuple or list of a few numbers that is read, written and unpacked."""
    s, c = b.scope, b.c
    name, total = s.new("g"), s.new("s")
    items = [s.number(0) for _ in range(c.integer(2, 3))]
    if c.chance(0.5):
        out = [
            f"{name} = [{', '.join(items)}]",
            f"{name}[{c.pick(('0', '1', '-1'))}] {c.pick(('=', '+=', '*='))} {s.number(0)}",
        ]
    else:
        out = [f"{name} = ({', '.join(items)})"]
    if c.chance(0.3):
        names = [s.new("s") for _ in items]
        out.append(f"{', '.join(names)} = {name}")
        s.floats += names
    out.append(f"{total} = {name}[{c.pick(('0', '1', '-1'))}] * 0.5 + {name}[0]")
    s.floats.append(total)
    return out


def for_few(b: Body) -> list[Statement]:
    """A loop over a few things of several kinds."""
    s, c = b.scope, b.c
    w = s.new("w")
    items = [c.pick(("0.5", "2", "True", *s.floats[:2], *s.ints[:1])) for _ in range(c.integer(1, 3))]
    text = ", ".join(items) + ("," if len(items) == 1 else "")
    over = c.pick((f"({text})", f"[{text}]", f"reversed(({text}))"))
    kept = s.kept()
    s.floats.append(w)
    body = b.nested(2, loop=True)
    s.restore(kept)
    return [Block(f"for {w} in {over}", body)]


def leave_loop(b: Body) -> list[Statement]:
    if not b.loops or "loop" not in b.inner:
        return accumulate(b)
    roll = b.c.integer(0, 9)
    word = "break" if roll < 4 else "continue" if roll < 8 else b.leave()
    return [Block(f"if {b.scope.condition()}", [*(accumulate(b) if b.c.chance(0.3) else []), word])]


def risky(b: Body) -> list[Statement]:
    """Statements that raise or warn in some iterations."""
    c, s = b.c, b.scope
    a = s.pick_array("f")
    e = c.pick(s.extents())
    i = s.indices[-1].name if s.indices else s.small()
    k, x = s.new("k"), s.new("s")
    rows = [f"{k} = {s.integer(1)} // ({i} - {c.integer(0, 4)})", f"{k} = {s.integer(1)} % ({i} - {c.integer(0, 4)})", f"{x} = {s.number(0)} / ({i} - {c.integer(0, 4)})",
            f"{k} = 3 ** (20 * {i}) - 1", f"{k} = 1 << (16 * {i})", f"{k} = {s.integer(1)} << ({i} - 2)", f"{k} = int({s.number(0)} / {s.number(0)})",
            f"{x} = 10.0 ** (100 * {i})", f"{x} = (0.5 - {i}) ** 0.5"]  # fmt: skip
    if a is not None:
        rows += [f"{a.name}[{i} + {c.integer(1, 3)}] = {s.number(0)}", f"{x} = {a.name}[{'0, ' * (len(a.extents) - 1)}{i} * 2]", f"{a.name}[{s.index(a.extents[0])}] /= {s.number(0)}",
                 f"{a.name} = {a.name} / ({i} - 1)", f"{a.name}[:{i}] = {a.name}[:{e} - {i}]", f"{x} = np.max({a.name}.ravel()[:{i}])", f"{x} = {a.name}.flat[{i}] / 0"]  # fmt: skip
    text = c.pick(rows)
    if text.startswith(k):
        s.ints.append(k)
    elif text.startswith(x):
        s.floats.append(x)
    if c.chance(0.1):
        return [Block(f"if {s.condition()}", [f"raise ValueError({i})"])]
    return [text]


def compress(b: Body) -> list[Statement]:
    """Arrays whose extents depend on data."""
    c, s = b.c, b.scope
    if not s.ragged:
        a = s.pick_array("f", 1)
        if a is None:
            return define(b)
        s.ragged.append(s.new("r"))
        return [f"{s.ragged[-1]} = {a.name}[{a.name} > {c.pick(FLOATS)}]"]
    r = c.pick(s.ragged)
    if s.floats and c.chance(0.3):
        return [f"{c.pick(s.floats)} += {r}.sum()"]
    return [
        c.pick(
            (
                f"{r} = {r}[{r} < {c.pick(('1.5', '4.0', '0.9'))}]",
                f"{r} = {r} * 1.25",
                f"{r} = {r}[1:]",
                f"{r} *= 0.75",
                f"{r} = {r}[{r} != {s.number(0)}]",
            )
        )
    ]


def choosing(b: Body) -> list[Statement]:
    """Masks, index arrays, complex numbers; a scalar where no array fits."""
    return [*select(b)] or define(b)


def around(b: Body) -> list[Statement]:
    """Lists, dicts, math, complex numbers; a scalar where none fits."""
    return [*idiom(b)] or define(b)


def scripted(b: Body) -> list[Statement]:
    """Draws, named tuples, containment and the like; a scalar where none fits."""
    return [*script(b)] or define(b)


def show(b: Body) -> list[Statement]:
    if b.c.chance(0.6):
        return accumulate(b)
    names = [*b.scope.floats[-1:], *b.scope.ints[-1:], *(i.name for i in b.scope.indices[-2:])]
    return [f"print('at', {', '.join(names)})" if names else "print('here')"]


# --- compound statements --------------------------------------------------------------------------------------------


def branch(b: Body) -> list[Statement]:
    out: list[Statement] = [Block(f"if {b.scope.condition()}", b.nested())]
    while b.c.chance(0.25) and len(out) < 3:
        out.append(Block(f"elif {b.scope.condition()}", b.nested(2)))
    if b.c.chance(0.5):
        out.append(Block("else", b.nested(2)))
    return out


def _range(b: Body, e: str) -> tuple[str, int, int]:
    """Arguments of a range over an axis of extent `e`, and how far its values stay from both ends."""
    c, s = b.c, b.scope
    n = s.extent_text(e)
    forms = [(f"{n}", 0, 0)] * 4 + [(f"1, {n}", 1, 0), (f"1, {n} - 1", 1, 1), (f"1, {n} - 1", 1, 1), (f"{n} - 1", 0, 1), (f"{n} - 1, -1, -1", 0, 0), (f"{n} - 2, -1, -1", 0, 1),
             (f"0, {n}, 2", 0, 0), (f"{n} - 1, 0, -2", 1, 0), (f"2, {n}", 2, 0)]  # fmt: skip
    for i in s.indices:
        if i.extent == e:
            forms += [(i.name, 0, 1 + i.high)] * 2 + [(f"{i.name} + 1, {n}", 1 + i.low, 0), (f"{i.name}, {n}", i.low, 0), (f"{i.name} + 1", 0, i.high),
                      (f"{i.name}, -1, -1", 0, i.high), (f"{n} - 1, {i.name}, -1", 1 + i.low, 0)]  # fmt: skip
    if s.ints and c.chance(0.1):
        forms = [
            (f"{s.ints[-1]} % ({n} + 1)", 0, 0),
            (f"min({n}, {abs(c.integer(2, 6))})", 0, 0),
            (f"0, {n}, {s.ints[-1]} % 3 + 1", 0, 0),
        ]
    if c.chance(RISKY_RANGE):
        forms = [
            (f"{n} + 1", 0, 0),
            (f"{n}, 0, -1", 1, 0),
            (f"0, {n}, {c.pick(('0', '-1'))}", 0, 0),
            (f"-1, {n}", 0, 0),
        ]
    return c.pick(forms)


RISKY_RANGE = 0.02


def for_range(b: Body) -> list[Statement]:
    if b.loops >= b.deepest:
        return branch(b)
    c, s = b.c, b.scope
    kept = s.kept()
    variable = c.pick("ijl") + str(len(s.indices)) if c.chance(0.9) else "i0"
    if c.chance(0.08):
        head, index = f"for {variable} in range({c.integer(0, 4)})", None
    else:
        e = c.pick(s.extents())
        text, low, high = _range(b, e)
        head, index = f"for {variable} in range({text})", Index(variable, e, low, high)
    s.indices = [i for i in s.indices if i.name != variable]
    if index:
        s.indices.append(index)
    out: list[Statement] = [Block(head, b.nested(4, loop=True))]
    if c.chance(0.12):
        out.append(Block("else", b.nested(2)))
    after = [i for i in s.indices if i.name == variable]
    s.restore(kept)
    if c.chance(0.1) and not b.loops:
        s.indices += after  # unbound after a loop that did not run
    return out


def for_items(b: Body) -> list[Statement]:
    """Loops over rows, elements, pairs and tuples."""
    c, s = b.c, b.scope
    a = s.pick_array("ffi")
    if b.loops >= b.deepest or a is None:
        return branch(b)
    kept = s.kept()
    e = a.extents[0]
    item = s.new("w" if len(a.extents) > 1 else "s")

    def bind(name: str, of: ArrayName) -> None:
        if len(of.extents) > 1:
            s.arrays.append(ArrayName(name, of.kind, of.extents[1:]))
        else:
            (s.floats if of.kind == "f" else s.ints).append(name)

    others = [x for x in s.arrays if x.kind in "fi"]
    roll = c.integer(0, 7)
    if roll < 2:
        head = f"for {item} in {a.name}"
    elif roll < 4:
        variable = s.new("i")
        s.indices.append(Index(variable, e))
        head = f"for {variable}, {item} in enumerate({a.name}{', 1' if c.chance(0.04) else ''})"
    elif roll < 6:
        other = c.pick(others)
        second = s.new("w")
        head = f"for {item}, {second} in zip({a.name}, {other.name})"
        bind(second, other)
    elif roll < 7:
        head = f"for {item} in reversed({c.pick((a.name, f'{a.name}[:-1]'))})"
    else:
        same = [x.name for x in s.arrays if x[1:] == a[1:]]
        s.arrays.append(ArrayName(item, a.kind, a.extents))
        out: list[Statement] = [Block(f"for {item} in ({c.pick(same)}, {a.name})", b.nested(3, loop=True))]
        s.restore(kept)
        return out
    bind(item, a)
    out = [Block(head, b.nested(3, loop=True))]
    s.restore(kept)
    return out


def while_loop(b: Body) -> list[Statement]:
    """Loops with a counter, and loops until something is small."""
    if b.loops >= b.deepest:
        return branch(b)
    kept = b.scope.kept()
    w = b.scope.new("w")
    out = b.c.weighted(WHILES)(b, w)
    b.scope.restore(kept)
    if b.c.chance(0.5):
        b.scope.ints.append(w)
    return [f"{w} = 0", *out]


def _converging(b: Body, w: str) -> list[Statement]:
    c, s = b.c, b.scope
    x, start = s.new("s"), s.number(0)
    s.floats.append(x)
    step = c.pick(
        (f"{x} = 0.5 * {x}", f"{x} = abs({s.number(1)}) * 0.5 ** {w}", f"{x} *= 0.25", f"{x} -= 0.75")
    )
    head = c.pick(
        (
            f"while {x} > 0.01 and {w} < 9",
            f"while abs({x}) > 1e-3 and {w} < 12",
            f"while {w} < 8 and not {x} < 0.1",
        )
    )
    return [f"{x} = {start}", Block(head, [f"{w} += 1", *b.nested(3, loop=True), step])]


def _counting(b: Body, w: str) -> list[Statement]:
    c, s = b.c, b.scope
    e, first, step = c.pick(s.extents()), c.chance(0.3), f"{w} += {c.integer(1, 2)}"
    if not first:
        s.indices.append(Index(w, e))
    body = b.nested(3, loop=True)
    body.insert(0 if first or _continues(body) else len(body), step)
    return [Block(f"while {w} < {s.extent_text(e)}", body)]


def _bounded(b: Body, w: str) -> list[Statement]:
    c, s = b.c, b.scope
    head = c.pick(
        (
            f"while {w} < {c.integer(1, 6)}",
            f"while {w} < 6 and {s.condition(0)}",
            f"while not ({w} >= 5 or {s.condition(0)})",
        )
    )
    out: list[Statement] = [Block(head, [f"{w} += 1", *b.nested(3, loop=True)])]
    return [*out, Block("else", b.nested(1))] if c.chance(0.15) else out


def _endless(b: Body, w: str) -> list[Statement]:
    """``while True`` that is left by a break."""
    body = b.nested(2, loop=True)
    guard: list[Statement] = [Block(f"if {w} > 9", ["break"])] if _continues(body) else []
    end = Block(f"if {w} > {b.c.integer(1, 5)} or {b.scope.condition(0)}", ["break"])
    return [Block("while True", [f"{w} += 1", *guard, *body, end])]


WHILES = Weighted((6, _bounded), (5, _counting), (5, _converging), (3, _endless))


def _continues(body: list[Statement]) -> bool:
    return any(_continues(x.body) if isinstance(x, Block) else x == "continue" for x in body)


def attempt(b: Body) -> list[Statement]:
    c = b.c
    body = [*b.nested(2), *risky(b)]
    caught = c.pick(
        (
            "(IndexError, ArithmeticError, ValueError)",
            "IndexError",
            "ZeroDivisionError",
            "ArithmeticError",
            "Exception",
        )
    )
    handler: list[Statement] = [c.pick(("print(type(e).__name__, e)", "pass", "pass")), *b.nested(2)]
    if c.chance(0.1):
        handler.append("raise")
    out: list[Statement] = [Block("try", body), Block(f"except {caught} as e", handler)]
    if c.chance(0.15):
        out.append(Block("else", b.nested(1)))
    if c.chance(0.2):
        out.append(Block("finally", [f"{x} = {x} + 1" for x in b.scope.ints[:1]] or ["pass"]))
    return out


def attempt_loop(b: Body) -> list[Statement]:
    """A loop that faults in the middle, caught outside: what it did so far stays."""
    loop = (for_range if b.c.chance(0.7) else for_items)(b)
    if isinstance(loop[0], Block) and loop[0].head.startswith("for"):
        loop[0].body += risky(b)
    return [
        Block("try", loop),
        Block(
            "except (IndexError, ArithmeticError, ValueError) as e",
            [b.c.pick(("print(type(e).__name__, e)", "pass", *accumulate(b)))],
        ),
    ]


def under_errstate(b: Body) -> list[Statement]:
    return [
        Block(f"with np.errstate({errstate(b.c)})", [*b.nested(2), *(for_range(b) if b.loops == 0 else [])])
    ]


SIMPLE = Weighted(
    (14, accumulate), (5, define), (14, store_element), (10, store_part), (6, update_whole), (2, define_array), (3, swap), (3, use_tuple), (3, call_helper), (2, small_sequence),
    (4, leave_loop), (1, risky), (1, compress), (1, show), (5, choosing), (8, around), (6, scripted),
)  # fmt: skip
COMPOUND = Weighted(
    (16, for_range),
    (5, for_items),
    (1, for_few),
    (6, while_loop),
    (9, branch),
    (2, attempt),
    (2, attempt_loop),
    (2, under_errstate),
)


# --- whole programs -------------------------------------------------------------------------------------------------


def _helpers(c: Choices, scope: Scope) -> list[Statement]:
    """Up to three functions of the module, with a loop at most, each of which may call scalar ones before it."""
    out: list[Statement] = []
    for k in range(c.integer(0, 3)):
        inner = Scope(c)
        kind = c.pick(("scalar", "scalar", "vector", "inplace", "reduce"))
        inner.helpers["scalar"] = list(scope.helpers["scalar"])
        inner.floats = ["q"]
        opening: list[Statement] = []
        if kind == "scalar":
            inner.floats.insert(0, "p")
        else:
            inner.arrays.append(ArrayName("p", "f", ("size",)))
            opening = ["size = len(p)"] if kind != "reduce" else ["size = len(p)", "total = 0.0"]
            inner.floats += ["total"] if kind == "reduce" else []
        if kind == "vector":
            opening.append("p = p * 1.0")
        body = Body(c, inner, kind, deepest=1)
        statements = body.statements(c.integer(1, 2)) if kind != "scalar" else _scalar_helper(body)
        name = f"h{k + 1}"
        default = c.pick(("q=0.5", "q=2"))
        out += [Block(f"def {name}(p, {default})", [*opening, *statements, body.leave()]), "", ""]
        scope.helpers[kind].append(name)
    return out


def _scalar_helper(b: Body) -> list[Statement]:
    """Nothing, a branch, or a short loop over whole numbers."""
    roll = b.c.integer(0, 3)
    if roll == 0:
        return [Block(f"if {b.scope.condition(0)}", [b.leave()])]
    if roll == 1:
        return [Block(f"for t in range({b.c.integer(1, 3)})", accumulate(b))]
    return [] if roll == 2 else accumulate(b)


DTYPES = {
    "f": ("f8", "f8", "f8", "f4"),
    "i": ("i8", "i8", "i4"),
    "u": ("u1",),
    "b": ("?",),
    "c": ("c16", "c8"),
}
KINDS = Weighted((16, "f"), (5, "i"), (1, "u"), (1, "b"), (2, "c"))
LAYOUTS = Weighted(
    (30, "C"), (3, "F"), (1, "reversed"), (1, "every second"), (1, "inner columns"), (1, "outer rows")
)


def _arguments(c: Choices, scope: Scope) -> tuple[list[str], list[ArrayName]]:
    """Names of the parameters; arrays over the extents n and m, then scalars."""
    shapes: list[tuple[str, ...]] = [("n",), ("n", "n"), ("n",), ("n", "m"), ("m",), ("n", "n", "n")]
    arrays: list[ArrayName] = []
    for name in "abxyz"[: c.integer(1, 4) + 1]:
        if arrays and c.chance(0.4):
            kind, extents = arrays[-1].kind, arrays[-1].extents
        else:
            kind = "f" if not arrays else c.weighted(KINDS)
            extents = shapes[min(c.integer(0, len(shapes) - 1), c.integer(0, len(shapes) - 1))]
        arrays.append(ArrayName(name, kind, extents))
    scope.arrays += arrays
    scope.floats.append("u")
    scope.ints.append("k")
    return [*(a.name for a in arrays), "u", "k"], arrays


def structured(c: Choices, name: str) -> Program:
    """A random structured program and eight calls: with the same, other data, other sizes, another dtype."""
    scope = Scope(c)
    helpers = definitions(c, scope) + _helpers(c, scope)
    parameters, arrays = _arguments(c, scope)
    body = Body(c, scope, deepest=c.pick((3, 3, 2)))
    opening = [
        f"{e} = {c.pick([f'{a.name}.shape[{a.extents.index(e)}]' for a in arrays if e in a.extents])}"
        for e in scope.extents()
    ]
    if c.chance(0.7):
        scope.floats.append("total")
        opening.append("total = 0.0")
    if c.chance(0.6):
        scope.ints.append("count")
        opening.append("count = 0")
    if "f" in {a.kind for a in arrays} and c.chance(0.4):
        a = c.pick([a for a in arrays if a.kind == "f"])
        scope.arrays.append(ArrayName("out", "f", a.extents))
        opening.append(f"out = np.{c.pick(('zeros_like', 'ones_like', 'copy'))}({a.name})")
    if c.chance(0.5):
        scope.lists.append("seen")
        opening += ["seen = []", "table = {'u': u, 'k': k, 'half': 0.5}"]
    opening += begin(c, scope)
    if c.chance(0.15):  # a closure
        opening += [Block("def near(p, q=0.5)", [f"return p * q + {c.pick(('u', 'n', 'k'))}"])]
        scope.helpers["scalar"].append("near")
    if c.chance(0.2):  # attributes of an object
        helpers += [Block("class Bag", ["pass"]), "", "bag = Bag()", "", ""]
        scope.floats.append("bag.w")
        opening.append(f"bag.w = {c.pick(('u', '0.5', '2'))}")
        if c.chance(0.5):
            a = c.pick(arrays)
            scope.arrays.append(ArrayName("bag.v", a.kind, a.extents))
            opening.append(f"bag.v = {a.name}")
    statements = [*for_range(body), *body.statements(c.integer(1, 4))]
    statements = [*opening, *statements, body.leave()]
    if c.chance(0.12):
        statements = [*opening, Block(f"with np.errstate({errstate(c)})", statements[len(opening) :])]
    return Program(name, parameters, statements, _calls(c, arrays, body.deepest), helpers=helpers)


def _calls(c: Choices, arrays: list[ArrayName], deepest: int) -> list[list[Spec]]:
    pool = (4, 5, 6, 3, 7, 2, 1, 0, 9) if deepest == 3 else (6, 5, 9, 12, 3, 17, 2, 1, 0)
    at = min(c.integer(0, 8), c.integer(0, 8)), min(c.integer(0, 8), c.integer(0, 8))
    n, m = pool[at[0]], pool[at[1] if c.chance(0.5) else at[0]]
    values = c.weighted(Weighted((8, "tame"), (4, "plain"), (1, "wild")))
    dtypes = {kind: c.pick(names) for kind, names in DTYPES.items()}
    others = {kind: c.pick(names) for kind, names in DTYPES.items()}
    layouts = [c.weighted(LAYOUTS) for _ in arrays]
    shared = c.chance(0.05) and len(arrays) > 1 and arrays[0][1:] == arrays[1][1:]

    def call(n: int, m: int, dtypes: dict[str, str], values: str, u: float, k: int) -> list[Spec]:
        sizes = {"n": n, "m": m}
        out: list[Spec] = [
            Array(dtypes[a.kind], tuple(sizes[e] for e in a.extents), layout, values)
            for a, layout in zip(arrays, layouts)
        ]
        if shared:
            out[1] = View(0, "same")
        return [*out, Scalar("float", u), Scalar("int", k)]

    u, k = c.pick((0.5, 1.5, -1.0, 0.0)), c.integer(0, 5)
    same = call(n, m, dtypes, values, u, k)
    bigger = call(n + c.integer(1, 3), m + c.integer(1, 2), dtypes, values, u, k)
    return [
        same,
        same,
        call(n, m, dtypes, values, u * 2 + 0.25, k + 1),
        bigger,
        same,
        call(n, m, others, values, u, k),
        bigger,
        call(n, m, dtypes, "plain", u, k + 2),
    ]
