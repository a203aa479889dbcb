"""Statements with the Python that people write around numbers: lists that grow, dicts of parameters, the module math,
complex numbers, NumPy's types as functions, small arrays spelled out, unpacked rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .programs import Statement

if TYPE_CHECKING:
    from .structured import Body

ONE = ("sin", "cos", "tan", "tanh", "atan", "exp", "fabs", "log1p", "sqrt", "log")


def idiom(b: Body) -> list[Statement]:
    """One such statement or two; none where there is nothing to write it with."""
    return b.c.pick((grows, grows, mathematics, complexes, typed, spelled_out, unpacked, stepped, from_dict))(
        b
    )


def grows(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    if not s.lists:
        return []
    items = [s.number(1), s.integer(1), f"({s.small()}, {s.number(0)})", s.condition(), "None"]
    if (a := s.pick_array("f")) is not None:
        items += [f"{a.name}.copy()", f"{a.name} * 2", f"float({a.name}.sum())"]
    out: list[Statement] = [f"seen.append({c.pick(items)})"]
    if c.chance(0.05):
        out.append(c.pick(("seen = seen[-3:]", "k0 = len(seen)", "seen.pop()")))
    return out


def mathematics(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    x, k = s.new("s"), s.new("k")
    if c.chance(0.2):
        s.ints.append(k)
        return [f"{k} = math.{c.pick(('floor', 'ceil', 'trunc'))}({s.number(1)})"]
    s.floats.append(x)
    one = c.pick(ONE)
    safe = (
        "abs({})" if one in ("sqrt", "log1p") and c.chance(0.9) else "min({}, 4.0)" if one == "exp" else "{}"
    )
    if one == "log" and c.chance(0.9):
        safe = "(1.0 + abs({}))"
    return [c.pick((f"{x} = math.{one}({safe.format(s.number(1))})", f"{x} = math.atan2({s.number(0)}, {s.number(0)})",
                    f"{x} = 0.5 if math.isnan({s.number(1)}) else {s.number(0)}"))]  # fmt: skip


def complexes(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    z, x = s.new("z"), s.new("s")
    s.floats.append(x)
    return [
        f"{z} = complex({s.number(0)}, {s.number(0)})",
        f"{z} = {z} * {z} {c.pick('+-')} {c.pick((s.number(0), z, '(0.5-1j)'))}",
        f"{x} = abs({z})" if c.chance(0.8) else f"{x} = {z}.real",
    ]


def typed(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    if c.chance(0.5):
        x = s.new("s")
        s.floats.append(x)
        return [f"{x} = np.{c.pick(('float32', 'float64'))}({s.number(1)})"]
    k = s.new("k")
    s.ints.append(k)
    return [
        f"{k} = np.{c.pick(('int32', 'int64', 'int8', 'uint8'))}(({s.integer(1)}) % {c.pick((7, 97, 200))})"
    ]


def spelled_out(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    v, x = s.new("w"), s.new("s")
    items = ", ".join(s.number(0) for _ in range(c.integer(2, 4)))
    s.floats.append(x)
    rows = f"np.array([{items}])" if c.chance(0.7) else f"np.array([[{items}], [{items}]])"
    return [f"{v} = {rows}", f"{x} = {v}.sum() + {v}{c.pick(('[0]', '[-1]'))}.max()"]


def unpacked(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    a = s.pick_array("fi", 2) or s.pick_array("f")
    if a is None:
        return []
    x, y = s.new("s"), s.new("s")
    s.floats += [x, y]
    part = f"{a.name}[{s.index(a.extents[0])}]" if len(a.extents) == 2 else a.name
    return [f"{x}, {y} = {part}[{c.pick((':2', '-2:', '1:3', '::3'))}]"]


def stepped(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    a = s.pick_array("f", 1)
    if a is None:
        return []
    step = f"{s.indices[-1].name} + 1" if s.indices else f"{s.small()} % 3 + 1"
    if c.chance(0.5):
        return [f"{a.name}[{c.pick(('', '1', '-3'))}::{step}] *= 0.5"]
    x = s.new("s")
    s.floats.append(x)
    return [f"{x} = {a.name}[{c.pick(('', '1', '2'))}::{step}].sum()"]


def from_dict(b: Body) -> list[Statement]:
    c, s = b.c, b.scope
    if not s.lists:
        return []
    x = s.new("s")
    s.floats.append(x)
    return [f"{x} = table['{c.pick(('u', 'k', 'half'))}'] * {s.number(0)}"]
