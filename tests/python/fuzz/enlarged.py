"""Programs that work on large arrays, too.

Into any other random program go some cheap statements on two more arrays of more than 1 MB, or of a size on one side of a
threshold of NumPy's: operators nested so that results go into temporaries, in place, with outputs, on parts and backwards,
sums. They stand between the program's own statements and in its outermost loops.
"""

from __future__ import annotations

from .arguments import Array, Spec, View
from .choices import Choices, Weighted
from .programs import Block, Program, Statement

# Above 1 MB of most dtypes, and on both sides of 256 KiB of 16, 8 and 4 bytes.
SHAPES = Weighted(
    (5, (131_072 + 5,)), (1, (262_144 + 3,)), (2, (3, 45_001)), (2, (300, 450)), (2, (513, 257)), (1, (33_000, 4)),
    (1, (16_384,)), (1, (16_383,)), (1, (32_768,)), (1, (32_767,)), (1, (65_536,)), (1, (65_535,)), (1, (128, 128)), (1, (127, 129)),
)  # fmt: skip
DTYPES = Weighted((5, "f8"), (3, "c16"), (2, "f4"), (2, "c8"), (1, "i8"), (1, "f2"))
LAYOUTS = Weighted((8, "C"), (2, "F"), (2, "every second"), (1, "reversed"), (1, "offset"), (1, "outer rows"))

CALLS = 5  # of a program: they take milliseconds each

# Values stay about as large as they are.
ANY = (
    "{x} = {x} * ({y} + 1) * 0.5",
    "{x} = ({y} - 1) * {x}",
    "{x} = {y} * ({x} * 0.5 + {y} * 0.25)",
    "{x} = ({x} + {y}) * ({x} - {y})",
    "{t} = {y} * 0.5\n{x} = {x} * {t}",
    "{x} = 0.5 * ({x} + {y})",
    "{x} = {x} - ({y} * {x}) * 0.5",
    "{x}[...] = {x} * ({y} * 0.5)",
    "{x} = {x} * {y}[::-1].copy()",
    "{x} = {x}[::-1] * ({y} + 0.5)",
    "{x} = (-{x}) * (-{y})",
    "{x} = {x} * np.sqrt({y} + 0.5)",
    "{x} = {x} * np.conj({y} * 0.5)",
    "{x} = 1.5 * ({x} * 0.5) ** 2",
    "{x} = {x} ** 2 * ({y} * 0.25)",
    "{x} = {x} / ({y} + 2)",
    "{x} = np.multiply({x}, {y} * 0.5)",
    "{t} = np.zeros_like({x})\nnp.multiply({x}, {y}, out={t})\n{x} = {t} * 0.5",
    "{x} = {x} * np.where({y} == 1, {x}, {y})",
    "{x} = {x} * np.abs({y} * 0.5)",
)
INEXACT = (
    "{x} *= {y}",
    "{x} *= 0.5",
    "{x} *= {x} * 0.5",
    "{x} += {y} * 0.25",
    "{x} -= {x} * {y}",
    "{x}[1:] *= {y}[:-1]",
    "{x}[::2] *= {x}[::2] * 0.5",
    "{x}[1:] = {x}[:-1] * 0.5",
    "{x}[::-1] *= {y}",
    "np.multiply({x}, {y}, out={x})",
    "np.multiply({y}, {x}, out={x})",
    "np.multiply({x}, {y} + 0.25, {x})",
    "np.square({x}, out={x})",
    "{x} **= 2",
    "np.negative({x}, out={x})",
    "np.multiply({x}, 0.5, out={x}, where={y} != 1)",
    "{x}.flat[0] = np.sum({x} * {y}) / {x}.size",
    "{x}.flat[1] = ({x} + {y}).mean()",
    "{x} += np.max(np.abs({y})) * 0.25",
)


def enlarged(c: Choices, program: Program) -> Program:
    """The program with statements on large arrays."""
    dtype, shape = c.weighted(DTYPES), c.weighted(SHAPES)
    rows = ANY + (INEXACT if dtype[0] in "fc" else ())
    big = [Array(dtype, shape, c.weighted(LAYOUTS), "tame") for _ in range(2)]
    new = program.copy()
    new.parameters = ["large", "wide", *new.parameters]
    new.calls = [[*big, *map(_behind, specs)] for specs in new.calls[:CALLS]]
    places = list(_places(new.body, 1))
    chosen = sorted((c.integer(0, len(places) - 1) for _ in range(c.integer(2, 5))), reverse=True)
    for k in chosen:  # from the back, so that what comes earlier stays where it is
        body, at = places[k]
        x, y = c.pick((("large", "wide"), ("wide", "large"), ("large", "large")))
        body[at:at] = c.pick(rows).format(x=x, y=y, t="part").split("\n")
    for statement in _leaves(new.body):
        body, at, text = statement
        if text.startswith("return ") and c.chance(0.5):
            body[at] = f"return large, wide, ({text[7:]})"
    return new


def _behind(spec: Spec) -> Spec:
    return spec._replace(of=spec.of + 2) if isinstance(spec, View) else spec


def _places(body: list[Statement], deeper: int):
    """Where a statement may go: lists and positions in them, in the order of the text."""
    for at, following in enumerate(body):
        before = body[at - 1] if at else ""
        head = following.head if isinstance(following, Block) else following
        continues = isinstance(before, str) and (before.endswith(":") or before.startswith(" "))
        if not continues and not head.startswith((" ", "elif", "else", "except", "finally")):
            yield body, at
        if isinstance(following, Block) and deeper and not head.startswith(("def ", "class ")):
            yield from _places(following.body, deeper - 1)


def _leaves(body: list[Statement]):
    for at, statement in enumerate(body):
        if isinstance(statement, Block):
            yield from () if statement.head.startswith(("def ", "class ")) else _leaves(statement.body)
        else:
            yield body, at, statement
