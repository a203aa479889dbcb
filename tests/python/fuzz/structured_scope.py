"""The names of a structured program, and expressions of them.

Nothing runs while a program is made, so a `Scope` knows of each name what is needed to write things that mostly fit:
an array has a kind of dtype and an extent for each axis, a loop's variable the extent that it runs over and how far
it stays from both ends. Whole numbers that a loop carries are never multiplied by each other, so they stay small
enough to be fast.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .choices import Choices, Weighted


class ArrayName(NamedTuple):
    """An array variable; `kind` is ``"f"``, ``"i"``, ``"u"`` (bytes), ``"b"`` or ``"c"``."""

    name: str
    kind: str
    extents: tuple[str, ...]


class Index(NamedTuple):
    """A variable with ``low <= variable < extent - high``."""

    name: str
    extent: str
    low: int = 0
    high: int = 0


class Window(NamedTuple):
    """Slices of equal length along an axis: one text for each distance they may be shifted by."""

    extent: str
    slices: tuple[str, ...]
    middle: int = 0  # which of them is written to


FLOATS = ("0.5", "2.0", "0.25", "1.5", "-1.0", "0.1", "1e-3", "3.0")
UFUNCS = ("np.sqrt(np.abs({}))", "np.exp(-np.abs({}))", "np.sin({})", "np.abs({})", "np.floor({})", "np.tanh({})", "np.log({})", "np.sqrt({})",
          "np.maximum({}, 0)", "np.minimum({}, 1.5)", "np.square({})", "np.power({}, 2)", "np.isnan({}) * 1.0",
          "np.clip({}, -0.5, 1)", "np.clip({}, 0, 2.5)", "np.round({})")  # fmt: skip
RISKY = 0.005


class Scope:
    """Names in scope and what may be written with them.

    `floats` and `ints` are assignable scalars, `indices` loop variables, `ragged` vectors of data-dependent extent;
    `helpers` are the functions of the module by what they take.
    """

    def __init__(self, c: Choices) -> None:
        self.c = c
        self.arrays: list[ArrayName] = []
        self.floats: list[str] = []
        self.ints: list[str] = []
        self.bools: list[str] = []
        self.indices: list[Index] = []
        self.ragged: list[str] = []
        self.lists: list[str] = []  # the list that grows, and with it a dict of parameters
        self.draws: list[str] = []  # generators of random numbers
        self.tuples: list[str] = []  # classes of named tuples
        self.sequences: list[str] = []  # lists, tuples and strings of scripts.SEQUENCES
        self.complexes: list[str] = []  # complex numbers of NumPy's that variables hold
        self.helpers: dict[str, list[str]] = {"scalar": [], "vector": [], "inplace": [], "reduce": []}
        self.made = 0

    def kept(self) -> tuple[list, ...]:
        """The state to go back to where a block ends: what it binds may be unbound after it."""
        return tuple(map(list, (self.arrays, self.floats, self.ints, self.bools, self.indices, self.ragged)))

    def restore(self, kept: tuple[list, ...]) -> None:
        self.arrays, self.floats, self.ints, self.bools, self.indices, self.ragged = map(list, kept)

    def new(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    # --- extents and indices ----------------------------------------------------------------------------------------

    def extents(self) -> list[str]:
        return sorted({e for a in self.arrays for e in a.extents})

    def extent_text(self, extent: str) -> str:
        """The extent as a name or as something that is asked of an array."""
        c = self.c
        if c.chance(0.75):
            return extent
        forms = [f"{a.name}.shape[{a.extents.index(extent)}]" for a in self.arrays if extent in a.extents]
        forms += [f"len({a.name})" for a in self.arrays if a.extents[0] == extent]
        return c.pick(forms) if forms else extent

    def index(self, extent: str) -> str:
        """An index into an axis of this extent, in range but for one in two hundred."""
        c = self.c
        if c.chance(RISKY):
            return c.pick((extent, f"-{extent} - 1", *(f"{i.name} + 2" for i in self.indices)))
        forms: list[str] = []
        for i in self.indices:
            if i.extent == extent:
                forms += [i.name] * 6
                forms += [f"{i.name} - 1"] * (2 if i.low else 1)
                forms += [f"{i.name} + 1"] * (3 if i.high else 0)
                forms += [f"{extent} - 1 - {i.name}", f"-{i.name} - 1", f"{i.name} // 2"]
            else:
                forms.append(f"{i.name} % {extent}")
        gathered = [a for a in self.arrays if a.kind in "iu" and len(a.extents) == 1]
        if gathered and c.chance(0.15):
            a = c.pick(gathered)
            return f"{a.name}[{self.index(a.extents[0]) if c.chance(0.8) else '0'}] % {extent}"
        if not forms or c.chance(0.08):
            forms = ["0", "-1", f"{extent} // 2"]
            forms += [f"{k} % {extent}" for k in self.ints[-1:]]
        return c.pick(forms)

    def subscript(self, a: ArrayName) -> str:
        """``[i, j]``, or now and then ``[i][j]``."""
        parts = [self.index(e) for e in a.extents]
        if len(parts) > 1 and self.c.chance(0.2):
            return "".join(f"[{p}]" for p in parts)
        return f"[{', '.join(parts)}]"

    def pick_array(self, kinds: str, rank: int | None = None) -> ArrayName | None:
        fitting = [a for a in self.arrays if a.kind in kinds and rank in (None, len(a.extents))]
        return self.c.pick(fitting) if fitting else None

    def element(self, kinds: str) -> str | None:
        a = self.pick_array(kinds)
        return a.name + self.subscript(a) if a else None

    # --- scalars ----------------------------------------------------------------------------------------------------

    def small(self) -> str:
        """A whole number that no loop makes larger."""
        c = self.c
        forms = [str(c.integer(1, 7)), str(c.integer(1, 7)), *(i.name for i in self.indices[-3:])]
        forms += [self.extent_text(e) for e in self.extents()[:1]]
        return c.pick(forms)

    def integer(self, depth: int = 2) -> str:
        """A Python int, or a NumPy one where it comes from an array."""
        c = self.c
        if depth == 0 or c.chance(0.3):
            if c.chance(0.25) and (text := self.element("iu")):
                return text if c.chance(0.6) else f"int({text})"
            return c.pick(self.ints) if self.ints and c.chance(0.5) else self.small()

        def divisor() -> str:
            zero = c.chance(0.08)
            return (
                self.integer(depth - 1)
                if zero
                else str(c.integer(2, 9))
                if c.chance(0.85)
                else f"({self.small()} + 1)"
            )

        return _fill(
            c.weighted(INTEGERS),
            a=lambda: self.integer(depth - 1),
            b=lambda: self.integer(depth - 1),
            s=self.small,
            d=divisor,
            n=lambda: str(c.integer(0, 6)),
            test=lambda: self.condition(0),
        )

    def number(self, depth: int = 2) -> str:
        """A float: Python's, or NumPy's where it comes from an array."""
        c = self.c
        if depth == 0 or c.chance(0.25):
            roll = c.integer(0, 9)
            if roll < 5 and (text := self.element("fff" if c.chance(0.9) else "iub")):
                return text
            if roll < 8 and self.floats:
                return c.pick(self.floats)
            return c.pick(FLOATS) if roll < 9 else self.small()
        if self.helpers["scalar"] and c.chance(0.12):
            return f"{c.pick(self.helpers['scalar'])}({self.number(depth - 1)}, {self.number(depth - 1)})"
        if c.chance(0.1):
            return self.reduction(depth - 1)
        if c.chance(0.08):
            return c.pick(UFUNCS).format(self.number(depth - 1))

        def divisor() -> str:
            b = self.number(depth - 1)
            return b if c.chance(0.15) else c.pick((f"(1.5 + abs({b}))", "3.0", "4", f"({self.small()} + 1)"))

        return _fill(
            c.weighted(NUMBERS),
            a=lambda: self.number(depth - 1),
            b=lambda: self.number(depth - 1),
            k=lambda: self.integer(depth - 1),
            d=divisor,
            n=lambda: str(c.integer(1, 4)),
            test=lambda: self.condition(0),
        )

    def condition(self, depth: int = 1) -> str:
        c = self.c
        if depth > 0 and c.chance(0.3):
            a, b = self.condition(depth - 1), self.condition(depth - 1)
            return c.pick((f"{a} and {b}", f"{a} or {b}", f"not ({a})", f"({a} or {b}) and not {a}"))
        forms = [f"{self.integer(depth)} {c.pick(('<', '>', '==', '!=', '<=', '>='))} {self.integer(depth)}"]
        forms += [
            f"{i.name} {c.pick(('<', '>', '==', '% 2 ==', '>='))} {c.integer(0, 4)}"
            for i in self.indices[-2:]
        ]
        forms += [
            f"{c.integer(-1, 1)} <= {i.name} - 1 < {self.extent_text(i.extent)}" for i in self.indices[-1:]
        ]
        if len(self.indices) > 1:
            forms.append(f"{self.indices[-1].name} == {self.indices[-2].name}")
        forms += [f"{self.number(0)} {c.pick(('<', '>', '<=', '>='))} {self.number(0)}"] * 3
        forms += [f"{x} > {c.pick(FLOATS)}" for x in self.floats[-1:]] + [
            f"{x} != {x}" for x in self.floats[-1:]
        ]
        if c.chance(0.2) and (text := self.element("b")):
            forms += [text, f"not {text}"]
        forms += [*self.bools[-1:], *(f"{k} & 1" for k in self.ints[-1:])]
        if c.chance(0.15) and (a := self.pick_array("fi")):
            forms.append(f"np.{c.pick(('any', 'all'))}({a.name} > {c.pick(FLOATS)})")
        if c.chance(0.1):
            forms.append(f"np.isfinite({self.number(0)})")
        return c.pick(forms)

    def reduction(self, depth: int = 1) -> str:
        """A number made of an array or of a part of one."""
        c = self.c
        window = self.window()
        if window is None:
            return c.pick(FLOATS)
        vector = self.operand((window,), "f", depth)
        roll = c.integer(0, 9)
        if self.helpers["reduce"] and roll == 0:
            return f"{c.pick(self.helpers['reduce'])}({vector}, {self.number(0)})"
        if roll < 5:
            other = self.operand((window,), "f", 0)
            return f"({vector} @ {other})" if c.chance(0.8) else f"np.dot({vector}, {other})"
        return c.pick(
            (
                "np.sum({})",
                "({}).sum()",
                "({}).sum()",
                "np.mean({})",
                "np.max({})",
                "({}).min()",
                "np.sum({} > 1)",
                "np.linalg.norm({})",
                "np.cumsum({})[0]",
                "1.0 * np.argmax({})",
                "({}).argmin() * 0.5",
                "np.var({})",
                "np.std({}, ddof=1)",
                "np.ptp({})",
                "np.sum(np.abs(np.diff({})))",
            )
        ).format(vector)

    # --- arrays -----------------------------------------------------------------------------------------------------

    def window(self, extent: str | None = None) -> Window | None:
        """A part of an axis, which may depend on loop variables."""
        c = self.c
        extents = [extent] if extent else self.extents()
        if not extents:
            return None
        e = c.pick(extents)
        forms = [Window(e, (":",))] * 3 + [Window(e, (":-2", "1:-1", "2:"), 1)] * 3
        forms += [Window(e, ("1:", ":-1")), Window(e, ("::2",)), Window(e, ("::-1", ":"))]
        for i in self.indices:
            if i.extent == e:
                forms += [Window(e, (f":{i.name}",))] * 3 + [
                    Window(e, (f"{i.name}:",)),
                    Window(e, (f"{i.name} + 1:",)),
                ]
                forms += [
                    Window(e, (f"{i.name}:{i.name} + 2",)),
                    Window(e, (f":{i.name}", f"{i.name} - 1::-1")),
                ]
            elif c.chance(0.1):
                forms.append(Window(e, (f"{i.name}:",)))
        return c.pick(forms)

    def operand(self, windows: Sequence[Window], kinds: str, depth: int) -> str:
        """An array expression whose shape is that of the windows."""
        c = self.c
        if depth > 0 and kinds == "f" and c.chance(0.1) and (text := self.composite(windows, depth)):
            return text
        if depth > 0 and c.chance(0.6):
            a, b = self.operand(windows, kinds, depth - 1), self.operand(windows, kinds, depth - 1)
            if kinds == "i":
                return c.weighted(INTEGER_ARRAYS).format(a=a, b=b, n=c.integer(1, 5), s=self.small())
            if c.chance(0.12):
                return c.pick(UFUNCS).format(a)
            return c.weighted(ARRAYS).format(a=a, b=b, x=self.number(0), f=c.pick(FLOATS), n=c.integer(1, 3))
        forms = [text for a in self.arrays if a.kind in kinds and (text := self.part(a, windows))]
        if len(windows) == 2:  # a row is repeated
            forms += [text for a in self.arrays if a.kind in kinds and (text := self.part(a, windows[1:]))][
                :1
            ]
        if not forms:
            return f"np.full({self.shape(windows)}, {self.number(0) if kinds == 'f' else self.small()})"
        return c.pick(forms)

    def composite(self, windows: Sequence[Window], depth: int) -> str | None:
        """A product, a reduction along an axis or a function of whole arrays that has the windows' shape."""
        c = self.c
        other = self.window()
        if other is None or len(windows) > 2:
            return None

        def of(*parts: Window) -> str:
            return self.operand(parts, "f", depth - 1)

        if len(windows) == 1:
            w = windows[0]
            forms = VECTORS
            fill = {
                "v": lambda: of(w),
                "m": lambda: of(w, other),
                "t": lambda: of(other, w),
                "u": lambda: of(other),
            }
        else:
            w, x = windows
            forms = MATRICES
            fill = {
                "m": lambda: of(w, x),
                "t": lambda: of(x, w),
                "l": lambda: of(w, other),
                "r": lambda: of(other, x),
                "v": lambda: of(w),
                "u": lambda: of(x),
            }
        return _fill(c.weighted(forms), n=lambda: str(c.integer(-1, 1)), **fill)

    def shape(self, windows: Sequence[Window]) -> str:
        """What an array of the windows' shape can be made with, where no array fits."""
        return f"len(np.empty({windows[0].extent})[{windows[0].slices[0]}])" if len(windows) == 1 else "1"

    def part(self, a: ArrayName, windows: Sequence[Window], target: bool = False) -> str | None:
        """`a` cut to the windows, its other axes at single indices; None where it does not fit."""
        c = self.c
        axes = self._axes(a, windows)
        if axes is None:
            return None
        parts = []
        for axis, extent in enumerate(a.extents):
            if axis in axes:
                w = windows[axes.index(axis)]
                parts.append(w.slices[w.middle] if target else c.pick(w.slices))
            else:
                parts.append(self.index(extent))
        while parts and parts[-1] == ":" and len(parts) > 1:
            parts.pop()
        if parts == [":"] and not target:
            return a.name
        return f"{a.name}[{', '.join(parts)}]"

    def _axes(self, a: ArrayName, windows: Sequence[Window]) -> list[int] | None:
        """Which axes of `a` are cut, in the windows' order."""
        fitting: list[list[int]] = [[]]
        for w in windows:
            fitting = [
                [*f, k]
                for f in fitting
                for k in range(f[-1] + 1 if f else 0, len(a.extents))
                if a.extents[k] == w.extent
            ]
        return self.c.pick(fitting) if fitting else None


def _fill(form: str, **makers: Callable[[], str]) -> str:
    """The form with its holes filled; only what it needs is made."""
    needed = [name for _, name, _, _ in string.Formatter().parse(form) if name]
    return form.format(**{name: makers[name]() for name in dict.fromkeys(needed)})


INTEGERS = Weighted(
    (8, "({a} + {s})"), (5, "({a} - {b})"), (5, "({a} * {s})"), (4, "({a} // {d})"), (5, "({a} % {d})"), (2, "({a} & {b})"),
    (1, "({a} | {s})"), (2, "({a} ^ {b})"), (2, "({a} << {n})"), (2, "({a} >> {n})"), (1, "({a} >> {s})"), (1, "({s} ** {n})"), (1, "-{a}"),
    (1, "~{a}"), (3, "min({a}, {b})"), (3, "max({a}, {b})"), (2, "abs({a})"), (1, "divmod({a}, {d})[0]"), (1, "divmod({a}, {d})[1]"),
    (3, "({a} if {test} else {b})"), (1, "({a} + 2 ** 62)"), (1, "int({test})"), (1, "({a} * 9007199254740993)"),
)  # fmt: skip
NUMBERS = Weighted(
    (10, "({a} + {b})"), (10, "({a} * {b})"), (8, "({a} - {b})"), (5, "({a} / {d})"), (3, "({a} + {k})"), (2, "({a} * {k})"),
    (2, "({a} ** {n})"), (1, "({a} ** 0.5)"), (1, "({a} ** -{n})"), (1, "({a} // {d})"), (1, "({a} % {d})"), (2, "-{a}"), (3, "abs({a})"), (2, "min({a}, {b})"),
    (2, "max({a}, {b})"), (4, "({a} if {test} else {b})"), (1, "float({k})"), (1, "divmod({a}, {d})[1]"), (6, "0.5 * ({a} + {b})"),
    (1, "({k} / {d})"), (1, "({a} > {b}) * 1.0"),
)  # fmt: skip
ARRAYS = Weighted(
    (8, "({a} + {b})"), (6, "({a} - {b})"), (5, "{f} * {a}"), (4, "({a} * {b})"), (8, "0.5 * ({a} + {b})"), (3, "({a} + {x})"), (3, "{x} * {a}"),
    (2, "({a} / (2.0 + np.abs({b})))"), (1, "({a} / {b})"), (2, "np.maximum({a}, {b})"), (2, "np.where({a} > {b}, {a}, {x})"), (1, "{a} ** {n}"),
    (1, "-{a}"),
)  # fmt: skip
INTEGER_ARRAYS = Weighted(
    (6, "({a} + {b})"), (4, "({a} - {b})"), (4, "({a} * {n})"), (2, "({a} // {n})"), (3, "({a} % {n})"), (2, "({a} & {b})"), (2, "({a} ^ {b})"),
    (2, "({a} + {s})"), (1, "({a} << {n})"), (1, "np.maximum({a}, {b})"), (1, "({a} >> {n})"),
)  # fmt: skip
# v, u: vectors, m: a matrix of the windows (or of a window and another one), t: the same transposed, l and r: factors.
VECTORS = Weighted(
    (4, "({m} @ {u})"), (3, "({u} @ {t})"), (3, "np.dot({m}, {u})"), (3, "np.sum({m}, axis=1)"), (3, "({t}).sum(axis=0)"), (2, "np.max({m}, axis=-1)"),
    (1, "({t}).min(axis=0)"), (2, "np.mean({m}, axis=1)"), (1, "np.mean({t}, axis=0)"), (1, "np.cumsum({v})"), (1, "np.sort({v})"), (1, "({v}) ** 3"),
    (1, "({v}) ** 0.5"), (1, "({v}) // 0.5"), (1, "({v}) % 0.75"), (1, "np.clip({v}, -1, {v})"), (1, "np.ravel({v})"), (1, "np.std({m}, axis=1)"),
    (1, "np.prod({m}, axis=1)"), (1, "np.argmax({m}, axis=1) * 0.5"),
    (1, "np.ptp({m}, axis=1)"), (1, "np.var({t}, axis=0)"), (1, "np.flip({v})"), (1, "np.linalg.norm({m}, axis=1)"), (1, "np.average({m}, axis=1)"),
)  # fmt: skip
MATRICES = Weighted(
    (4, "({l} @ {r})"), (2, "np.dot({l}, {r})"), (1, "np.matmul({l}, {r})"), (2, "({t}).T"), (1, "np.transpose({t})"), (3, "({m} - np.max({m}, axis=1, keepdims=True))"),
    (2, "({m} * np.sum({m}, axis=0))"), (1, "({m}).sum(axis=1, keepdims=True) + {m}"), (2, "np.outer({v}, {u})"), (1, "np.triu({m}, {n})"), (1, "np.tril({m})"),
    (1, "({v})[:, None] * {u}"), (1, "({m}) ** -1"), (1, "np.cumsum({m}, axis=0)"), (1, "({m}).reshape(np.shape({m}))"),
    (1, "np.fliplr({m})"), (1, "np.flip({m}, 0)"), (1, "np.rot90({t})"), (1, "np.swapaxes({t}, 0, 1)"), (1, "np.moveaxis({t}, 0, -1)"), (1, "({m}).clip(-1, {m})"),
    (1, "({m} - np.mean({m}, axis=0, keepdims=True))"),
)  # fmt: skip
