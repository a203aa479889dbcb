"""Statements that scripts have around their numbers: random numbers, named tuples, containment, long comprehensions,
items of lists and strings, complex NumPy scalars, numbers and arrays with two names, functions that call themselves.

A program seeds its generators itself, and what it returns has the next number of each: so the states are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .choices import Choices, Weighted
from .programs import Block, Statement
from .structured_scope import FLOATS, Scope

if TYPE_CHECKING:
    from .structured import Body

GENERATORS = {"rng": "rng = np.random.default_rng({})", "np.random": "np.random.seed({})"}
DRAWS = {
    "rng": ("rng.random()", "rng.normal(0.5, {p})", "rng.standard_normal()", "rng.uniform(-1, {p})", "rng.exponential({p})", "rng.standard_normal(3).sum()",
            "rng.gamma(2.0, {p})", "rng.random(size=2)[1]", "rng.normal(size=(2, 2)).max()"),
    "np.random": ("np.random.random()", "np.random.rand()", "np.random.normal(0, {p})", "np.random.randn()", "np.random.uniform(-1.0, {p})", "np.random.randn(3).sum()",
                  "np.random.exponential({p})"),
}  # fmt: skip
WHOLE_DRAWS = {
    "rng": ("rng.integers(0, {n})", "rng.integers({n})", "int(rng.integers(1, 5))", "rng.poisson(2.0)"),
    "np.random": ("np.random.randint(0, {n})", "np.random.randint({n})", "int(np.random.randint(2, 7))"),
}


def _table(c: Choices, lengths: Sequence[int], items: Sequence) -> str:
    """A list of lists; once in a while two of its rows are one list."""
    rows = repr([[c.pick(items) for _ in range(k)] for k in lengths])
    return f"(lambda t: [*t[:-1], t[0]])({rows})" if c.chance(0.1) else rows


SEQUENCES: dict[str, Callable[[Choices, int], str]] = {
    "items": lambda c, n: repr([c.pick((0.5, -1.25, 3.0, 1e300, 2.5e-3)) for _ in range(n)]),
    "codes": lambda c, n: repr(c.pick((list, tuple))(c.integer(-3, 9) for _ in range(n))),
    "counts": lambda c, n: repr([c.integer(-3, 9) for _ in range(n)]),
    "truths": lambda c, n: repr([c.chance(0.5) for _ in range(n)]),
    "grid": lambda c, n: _table(c, [c.pick((3, 4))] * n, (0.5, -1.25, 3.0, 2.5e-3)),
    "paths": lambda c, n: _table(c, [c.integer(0, 4) for _ in range(n)], range(-3, 10)),
    "letters": lambda c, n: repr("".join(c.pick("aabcé") for _ in range(n))),
}


def opening(c: Choices, scope: Scope) -> list[Statement]:
    """What such programs begin with."""
    out: list[Statement] = []
    if c.chance(0.3):
        scope.draws = [g for g in GENERATORS if c.chance(0.6)]
        out += [GENERATORS[g].format(c.integer(0, 9)) for g in scope.draws]
    if c.chance(0.2):
        scope.complexes.append("w0")
        out.append(f"w0 = np.{c.pick(('complex128', 'complex64'))}(complex(u, {c.pick(FLOATS)}))")
    if c.chance(0.25):
        scope.sequences = [kind for kind in SEQUENCES if c.chance(0.6)]
        n = c.pick((1, 3, 9, 14))
        out += [f"{kind} = {SEQUENCES[kind](c, n)}" for kind in scope.sequences]
    return out


def definitions(c: Choices, scope: Scope) -> list[Statement]:
    """A named tuple's class, and functions that call themselves, for the module."""
    out: list[Statement] = []
    if c.chance(0.25):
        scope.tuples.append("Pair")
        out += ["Pair = __import__('collections').namedtuple('Pair', 'x y')", "", ""]
    if c.chance(0.2):
        scope.helpers["scalar"].append("again")
        step = c.pick(("again(p * 0.5, q) + 1", "p + again(p - 1, q)", "again(0.25 * p, q + p) * 0.5"))
        leave = Block("if not 1 <= abs(p) < 40", [f"return {c.pick(('q', 'p', 'p * q'))}"])
        out += [Block("def again(p, q=0.5)", [leave, f"return {step}"]), "", ""]
    return out


def script(b: Body) -> list[Statement]:
    """One such statement or two; none where there is nothing to write it with."""
    return b.c.weighted(SCRIPTS)(b)


def draw(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    if not s.draws:
        return []
    g = c.pick(s.draws)
    if c.chance(0.25):
        k = s.new("k")
        text = c.pick(WHOLE_DRAWS[g]).format(n=f"({s.small()} + 1)")
        s.ints.append(k)
        return [f"{k} = {text}"]
    text = c.pick(DRAWS[g]).format(p=c.pick(("0.5", f"(0.1 + abs({s.number(0)}))")))
    if c.chance(0.3) and (a := s.pick_array("f")):
        return [f"{a.name}{s.subscript(a)} {c.pick(('=', '+='))} {text}"]
    if c.chance(0.2):
        return [Block(f"if {text} < {s.number(0)}", b.nested(2))]
    x = s.new("s")
    s.floats.append(x)
    return [f"{x} = {text}"]


def named(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    if not s.tuples:
        return []
    p, x = s.new("p"), s.new("s")
    out: list[Statement] = [
        f"{p} = Pair({s.number(1)}, {c.pick((f'y={s.number(0)}', s.number(1), s.integer(1)))})"
    ]
    if c.chance(0.15):
        out.append(f"{p} = {p}._replace(x={s.number(0)})")
    if c.chance(0.3):
        y = s.new("s")
        out.append(f"{x}, {y} = {p}")
        s.floats.append(y)
    else:
        out.append(f"{x} = {p}.x {c.pick('+-*')} {p}{c.pick(('.y', '[0]', '[-1]'))}")
    if s.lists and c.chance(0.1):
        out.append(f"seen.append({p})")
    s.floats.append(x)
    return out


def contained(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    what = c.pick((s.integer(1), s.integer(1), s.small(), s.number(0)))
    items = ", ".join(c.pick((str(c.integer(0, 9)), s.small(), s.number(0))) for _ in range(c.integer(1, 4)))
    among = c.pick(
        (f"({items},)", f"[{items}]", f"{{{items}}}", f"range({c.integer(0, 3)}, {c.integer(3, 9)})")
    )
    test = f"{what} {c.pick(('in', 'not in'))} {among}"
    if c.chance(0.3):
        t = s.new("t")
        s.bools.append(t)
        return [f"{t} = {test}"]
    return [Block(f"if {test}", b.nested(2))]


def comprehended(b: Body) -> list[Statement]:
    """A comprehension over a range or an array."""
    c, s = b.c, b.scope
    extents = s.extents()
    if not extents:
        return []
    t, x = s.new("t"), s.new("s")
    kept = s.kept()
    if c.chance(0.3) and (a := s.pick_array("f", 1)):
        s.floats.append(t)
        over = a.name
    else:
        s.ints.append(t)
        over = c.pick(
            (f"range({c.pick(extents)})", f"range({c.integer(9, 14)})", f"range(1, {c.pick(extents)})")
        )
    item = c.pick((s.number(1), f"{t} * {s.number(0)}", f"{s.number(0)} + {t}"))
    test = f" if {s.condition(0)}" if c.chance(0.2) else ""
    s.restore(kept)
    s.floats.append(x)
    text = f"[{item} for {t} in {over}{test}]"
    if s.lists and c.chance(0.15):
        return [f"seen.append({text})", f"{x} = 0.5"]
    return [f"{x} = {c.pick(('sum({})', 'np.array({}).sum()', 'np.sum({})', 'len({})')).format(text)}"]


def complex_number(b: Body) -> list[Statement]:
    """NumPy's complex scalars, which variables carry."""
    c, s = b.c, b.scope
    out: list[Statement] = []
    if not s.complexes:
        a = s.pick_array("c")
        if a is None:
            return []
        z = s.new("z")
        out.append(f"{z} = {a.name}{s.subscript(a)}")
    else:
        z = c.pick(s.complexes)
    if c.chance(0.4):
        out.append(
            f"{z} = {c.pick((f'{z} * 0.5', f'{z} + {s.number(0)}', f'{z} * {z}', f'{z} - 1j', f'-{z}'))}"
        )
    x = s.new("s")
    s.floats.append(x)
    return [
        *out,
        f"{x} = {c.pick((f'abs({z})', f'{z}.real', f'{z}.imag', f'np.abs({z})', f'{z}.imag * {s.number(0)}'))}",
    ]


def two_names(b: Body) -> list[Statement]:
    """`s = t = x[i]`; one of the two may be changed in place later."""
    c, s = b.c, b.scope
    roll = c.integer(0, 5)
    if roll == 0 and (a := s.pick_array("ffi")):
        v = s.new("v")
        text = c.pick((f"{a.name} * 2", f"{a.name}.copy()", f"np.zeros_like({a.name})"))
        s.arrays.append(a._replace(name=v))
        return [f"{v} = {a.name} = {text}" if "." not in a.name else f"{v} = {text}"]
    if roll == 1 and (a := s.pick_array("f")):
        x = s.new("s")
        s.floats.append(x)
        return [f"{x} = {a.name}{s.subscript(a)} = {s.number(1)}"]
    if roll == 2:
        k = s.new("k")
        other = c.pick(s.ints) if s.ints else s.new("k")
        text = s.integer(1)
        s.ints += [k, other]
        return [f"{k} = {other} = {text}"]
    x = s.new("s")
    other = c.pick(s.floats) if s.floats and c.chance(0.6) else s.new("s")
    text = s.element("f") if c.chance(0.5) else None
    text = text or s.number(1)
    s.floats += [x, other]
    return [f"{x} = {other} = {text}"]


def truths(b: Body) -> list[Statement]:
    """A store into the list of bools, or a look at it."""
    c, s = b.c, b.scope
    index = f"({s.integer(1)}) % len(truths)"
    if c.chance(0.5):
        new = c.pick((f"not truths[{index}]", f"{s.integer(1)} > {s.integer(1)}", "True", f"truths[{index}]"))
        return [f"truths[{index}] = {new}"]
    return [Block(f"if truths[{index}]", b.nested(2))]


def sequence(b: Body) -> list[Statement]:
    """An item of a list, a tuple or a string, a store into a list, or a loop over one."""
    c, s = b.c, b.scope
    if not s.sequences:
        return []
    kind = c.pick(s.sequences)
    if kind == "truths":
        return truths(b)
    if kind in ("grid", "paths"):
        return table(b, kind)
    names = {"items": s.floats, "codes": s.ints, "counts": s.ints}.get(kind)
    if c.chance(0.25):
        kept, x = s.kept(), s.new("x")
        if names is not None:
            names.append(x)
        head = c.pick((f"for {x} in {kind}", f"for {s.new('k')}, {x} in enumerate({kind})"))
        inner = b.nested(2)
        if names is None:
            inner = [Block(f"if {x} {c.pick(('==', '!=', 'in'))} 'ab'[{c.integer(0, 1)}:]", inner)]
        s.restore(kept)
        return [Block(head, inner)]
    index = s.integer(1) if c.chance(0.05) else f"({s.integer(1)}) % len({kind})"
    if kind in ("items", "counts") and c.chance(0.5):
        new = s.number(1) if c.chance(0.1) else f"float({s.number(1)})" if kind == "items" else s.integer(1)
        new = c.pick((new, f"{kind}[0] + {new}", f"{kind}[-1] - {kind}[({s.integer(1)}) % len({kind})]"))
        return [f"{kind}[{index}] {c.pick(('=', '=', '+=', '-='))} {new}"]
    if names is not None:
        x = s.new("s")
        names.append(x)
        return [f"{x} = {kind}[{index}] {c.pick('+*')} {c.pick((f'{kind}[0]', '2', f'{kind}[-1]'))}"]
    test = c.pick(("== 'a'", "!= letters[-1]", "in 'bé'", "< 'b'", "not in ('a', 'c')", "== 'ab'"))
    if c.chance(0.3):
        k = s.new("k")
        s.ints.append(k)
        return [f"{k} = ord({kind}[{index}])"]
    return [Block(f"if {kind}[{index}] {test}", b.nested(2))]


def table(b: Body, kind: str) -> list[Statement]:
    """A list of lists: an item read or stored to, a row with a name, a loop over rows; seldom other rows."""
    c, s = b.c, b.scope
    numbers, new = (s.floats, f"float({s.number(1)})") if kind == "grid" else (s.ints, s.integer(1))
    row = f"{kind}[{s.integer(1) if c.chance(0.05) else f'({s.integer(1)}) % len({kind})'}]"
    column = f"({s.integer(1)}) % {c.pick((f'len({kind}[0])', '3', '2'))}" if c.chance(0.9) else s.integer(1)
    if c.chance(0.04):
        other = f"{kind}[({s.integer(1)}) % len({kind})]"
        odd = (
            f"{row}, {other} = {other}, {row}",
            f"{row} = list({other})",
            f"{row}.append({new})",
            f"{row}[{column}] = {s.number(1)}",
        )
        return [c.pick(odd)]
    if c.chance(0.25):
        kept, r, x = s.kept(), s.new("r"), s.new("x")
        numbers.append(x)
        head = c.pick((f"for {r} in {kind}", f"for {s.new('k')}, {r} in enumerate({kind})"))
        inner: list[Statement] = [Block(f"for {x} in {r}", b.nested(2))]
        if c.chance(0.3):
            inner = [f"{x} = {r}[{c.pick(('0', '-1'))}]", *b.nested(2)]
        s.restore(kept)
        return [Block(head, inner)]
    if c.chance(0.3):
        name = s.new("r")
        named: list[Statement] = [f"{name} = {row}"]
        row = name
    else:
        named = []
    if c.chance(0.5):
        value = c.pick((new, f"{row}[{column}] + {new}", f"{kind}[0][0] - {new}"))
        return [*named, f"{row}[{column}] {c.pick(('=', '=', '+=', '-='))} {value}"]
    x = s.new("s")
    numbers.append(x)
    return [*named, f"{x} = {row}[{column}] {c.pick('+*')} {c.pick((f'{kind}[-1][0]', '2', f'len({row})'))}"]


def stored_items(b: Body) -> list[Statement]:
    """A tuple or list of numbers into a part of an array."""
    c, s = b.c, b.scope
    a = s.pick_array(c.pick("ffi"))
    if a is None or len(a.extents) > 2:
        return []
    row = "" if len(a.extents) == 1 else f"{s.index(a.extents[0])}, "
    items = [s.number(1) if c.chance(0.6) else s.integer(1) for _ in range(2)]
    text = c.pick((f"({items[0]}, {items[1]})", f"[{items[0]}, {items[1]}]"))
    return [f"{a.name}[{row}{c.pick((':2', '-2:', '::-1', '1:3', '1:2'))}] = {text}"]


SCRIPTS = Weighted(
    (3, sequence), (2, stored_items), (4, draw), (2, named), (3, contained), (3, comprehended), (3, complex_number), (3, two_names)
)  # fmt: skip
