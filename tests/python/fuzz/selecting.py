"""Statements of structured programs that select: masks, index arrays, complex numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .choices import Weighted
from .structured_scope import FLOATS, ArrayName

if TYPE_CHECKING:
    from .structured import Body

COMPARISONS = (">", "<", ">=", "!=")


def _twins(b: Body, a: ArrayName) -> list[str]:
    """Arrays of the same extents, `a` among them."""
    return [x.name for x in b.scope.arrays if x.extents == a.extents and x.kind == a.kind]


def _mask(b: Body, a: ArrayName, depth: int = 1) -> str:
    """A mask of a's shape: a comparison, several, or an array that is one."""
    c, s = b.c, b.scope
    masks = [x.name for x in s.arrays if x.kind == "b" and x.extents == a.extents]
    if masks and c.chance(0.4):
        return c.pick(masks) if c.chance(0.7) else f"~{c.pick(masks)}"
    if depth > 0 and c.chance(0.25):
        left, right = _mask(b, a, 0), _mask(b, a, 0)
        return c.pick((f"({left}) & ({right})", f"({left}) | ({right})", f"np.logical_and({left}, {right})"))
    if a.kind == "c":
        return f"abs({c.pick(_twins(b, a))}) {c.pick('<>')} {c.pick(FLOATS)}"
    other = c.pick(_twins(b, a)) if c.chance(0.3) else c.pick(FLOATS) if a.kind == "f" else s.small()
    return f"{c.pick(_twins(b, a))} {c.pick(COMPARISONS)} {other}"


def _indices(b: Body, extent: str) -> str | None:
    """A vector of indices into an axis of the extent, out of range now and then."""
    c, s = b.c, b.scope
    forms = [f"{a.name} % {extent}" for a in s.arrays if a.kind in "iu" and len(a.extents) == 1]
    forms += [f"np.arange({extent})", f"np.arange({extent})[::-1]"]
    if c.chance(0.05):
        forms = [f"np.arange({extent}) + {s.indices[-1].name if s.indices else s.small()}"]
    return c.pick(forms)


def name_mask(b: Body) -> list[str]:
    a = b.scope.pick_array("ffic")
    if a is None:
        return []
    text, name = _mask(b, a), b.scope.new("q")
    b.scope.arrays.append(ArrayName(name, "b", a.extents))
    return [f"{name} = {text}"]


def store_masked(b: Body) -> list[str]:
    c, s = b.c, b.scope
    a = s.pick_array("fffic")
    if a is None:
        return []
    mask, x = _mask(b, a), c.pick(_twins(b, a))
    value = s.integer(1) if a.kind == "i" else s.number(1)
    return [c.pick((f"{a.name}[{mask}] = {value}", f"{a.name}[{mask}] *= {c.pick(('0.5', '2')) if a.kind != 'i' else '2'}", f"{a.name}[{mask}] = {a.name}[{mask}] * {x}[{mask}] - {x}[{mask}]",
                    f"{a.name}[{mask}] = {x}[{mask}] ** 2", f"{a.name}[{mask}] -= {x}[{mask}]", f"{a.name}[{mask}] = 1.0 / {x}[{mask}]" if a.kind != "i" else f"{a.name}[{mask}] = {x}[{mask}]"))]  # fmt: skip


def reduce_masked(b: Body) -> list[str]:
    c, s = b.c, b.scope
    a = s.pick_array("fffi")
    if a is None:
        return []
    mask, name = _mask(b, a), s.new("s")
    s.floats.append(name)
    return [f"{name} = " + c.pick((f"{a.name}[{mask}].sum()", f"np.mean({a.name}[{mask}])", f"np.count_nonzero({mask})", f"({mask}).sum()", f"len({a.name}[{mask}])",
                                   f"np.max({a.name}[{mask}])", f"1.0 * np.any({mask})", f"1.0 * ({mask}).all()", f"({a.name}[{mask}] * 2).sum()"))]  # fmt: skip


def choose(b: Body) -> list[str]:
    c, s = b.c, b.scope
    a = s.pick_array("fffi")
    if a is None:
        return []
    twins = _twins(b, a)
    target = a.name if c.chance(0.5) else f"{a.name}[...]"
    return [f"{target} = np.where({_mask(b, a)}, {c.pick(twins)}, {c.pick((c.pick(twins), s.small()))})"]


def take(b: Body) -> list[str]:
    """Elements, or rows, at a vector of indices; they are reduced, or go to an array of the same shape."""
    c, s = b.c, b.scope
    a = s.pick_array("fffic")
    indices = _indices(b, a.extents[0]) if a else None
    if a is None or indices is None:
        return []
    if len(a.extents) == 1 and c.chance(0.3):
        other = s.pick_array("f", 1)
        if other is not None and a.kind == "f" and other.extents == a.extents:
            name = s.new("s")
            s.floats.append(name)
            return [f"{name} = {other.name} @ {a.name}[{indices}]"]
    if c.chance(0.5):
        name = s.new("v")
        return [f"{name} = {a.name}[{indices}] * 2", f"{a.name}[: len({name})] += {name}[: len({a.name})]"]
    return [f"{a.name}[...] = {a.name}[np.arange({a.extents[0]})[::-1]]"]


def put(b: Body) -> list[str]:
    c, s = b.c, b.scope
    a = s.pick_array("fffic")
    indices = [_indices(b, e) for e in a.extents] if a else []
    if a is None or None in indices:
        return []
    value = s.integer(1) if a.kind == "i" else s.number(1)
    if len(a.extents) == 1:
        forms = [f"{a.name}[{indices[0]}] = {value}", f"{a.name}[{indices[0]}] += {c.pick(('1', '2'))}"]
        if a.kind == "f":
            forms.append(f"{a.name}[{indices[0]}] = np.sqrt(np.abs({a.name}[{indices[0]}]))")
    else:
        forms = [
            f"{a.name}[{indices[0]}] = {value}",
            f"{a.name}[{s.index(a.extents[0])}, {indices[1]}] = {value}",
        ]
        if len(set(a.extents)) == 1:
            forms.append(f"{a.name}[{', '.join(str(x) for x in indices)}] = {value}")
    return [c.pick(forms)]


def compute_complex(b: Body) -> list[str]:
    c, s = b.c, b.scope
    a = s.pick_array("c")
    if a is None:
        return []
    x = c.pick(_twins(b, a))
    rows = [f"{a.name} = 0.5 * {a.name} * {x} + {c.pick(('0.25', '0.5j', '(1 - 2j)'))}", f"np.multiply({a.name}, {x}, {a.name})", f"{a.name}[...] = {x} ** 2 - {a.name}",
            f"{a.name} = {x}.conj() + {a.name}", f"np.add({a.name}, {x}, {a.name})", f"{a.name}[...] = -{x}", f"{a.name} *= 0.5"]  # fmt: skip
    if c.chance(0.3):
        name = s.new("s")
        s.floats.append(name)
        return [f"{name} = " + c.pick((f"abs({x}).sum()", f"{x}.real.sum()", f"({x} == {a.name}).sum() * 1.0", f"np.sum({x}.imag * 0.5)"))]  # fmt: skip
    return [c.pick(rows)]


SELECTING = Weighted(
    (4, store_masked), (3, reduce_masked), (2, name_mask), (2, choose), (3, take), (3, put), (4, compute_complex)
)  # fmt: skip


def select(b: Body) -> list[str]:
    """Nothing where no array fits."""
    return b.c.weighted(SELECTING)(b)
