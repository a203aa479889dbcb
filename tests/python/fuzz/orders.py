"""Programs of nested operators on arrays in C and Fortran order, above and below the 256 KiB from which NumPy computes
results into temporaries: what a result's strides are depends on what else refers to an operand, and on its size, and so
are the bits of complex products."""

from __future__ import annotations

from .arguments import Array, Scalar, Spec
from .choices import Choices, Weighted
from .programs import Program, Statement

PARAMETERS = ["x", "y", "z", "n", "w", "s"]
SHAPES = ((20, 20), (200, 200), (300, 140), (30, 20), (182, 182), (181, 181), (1, 40_000), (40_000, 1))

NUMBERS = ("2.0", "3", "s", "np.float32(2)", "np.float64(3)", "np.array(2.0)")
COMPLEX = Weighted((4, "+"), (8, "*"), (3, "-"), (1, "/"))
BINARY = Weighted((6, "+"), (6, "*"), (3, "-"), (3, "/"), (1, "//"), (1, "%"))
UNARY = ("(-{})", "(+{})", "abs({})", "({})**2", "({})**0.5", "({})**-1.0", "({})**3")
CALLS = ("np.sqrt({})", "np.add({}, 1.5)", "np.where(x > 0.5, 1.0, {})", "twice({})")
SHAPED = ("({}).T.copy().T", "({})[::-1]", "({}).copy()", "({}).astype(np.float32)", "np.asfortranarray({})")
# The running total is a temporary, and so may be what a generator gives.
SUMS = ("sum([{}, x, y])", "sum([x, {}, w, 1.0])", "sum((y, w), {})", "sum({} * k for k in (1.0, 2, 3))", "sum([y, y * 2.0, {}], x)",
        "sum((v * 2 for v in (y, x, w)), {})", "sum(map(abs, (w, x, {})))")  # fmt: skip
KINDS = Weighted(
    (58, "binary"), (18, UNARY), (6, CALLS), (6, SHAPED), (4, ("(t := {})",)), (4, ("({}).sum()",)), (4, SUMS)
)  # fmt: skip


def expression(c: Choices, depth: int, binary: Weighted[str] = BINARY) -> str:
    """Operators nested at most so deep over the names of a program."""
    if depth == 0 or c.chance(0.15):
        return c.pick(("x", "y", "z", "n", "w", "t", "h"))
    kind = c.weighted(KINDS)
    if kind != "binary":
        return c.pick(kind).format(expression(c, depth - 1, binary))
    left = expression(c, depth - 1, binary)
    right = expression(c, depth - 1, binary) if c.chance(0.7) else c.pick(NUMBERS)
    if c.chance(0.5):
        left, right = right, left
    return f"({left} {c.weighted(binary)} {right})"


def arguments(shape: tuple[int, int], wide: str, narrow: str) -> list[Spec]:
    return [
        Array(wide, shape, "C", "tame"),
        Array(wide, shape, "F", "tame"),
        Array(narrow, shape, "C", "tame"),
        Array("i8", shape, "F", "tame"),
        Array(wide, shape, "inner columns", "tame"),
        Scalar("float", 2.5),
    ]


def orders(c: Choices, name: str) -> Program:
    """A random program of the kind above."""
    body: list[Statement] = ["t = x", "h = y * 1.0"]
    results = []
    dtypes = c.pick((("f8", "f4"), ("f8", "f4"), ("c16", "c8"), ("c8", "c8"), ("c16", "f8")))
    binary = COMPLEX if dtypes[0][0] == "c" else BINARY
    for k in range(c.integer(1, 3)):
        body.append(f"r{k} = {expression(c, c.integer(2, 4), binary)}")
        results.append(f"r{k}")
        if c.chance(0.3):
            body.append(f"{c.pick(('t', 'h'))} = {c.pick(('x', 'y'))} + {c.pick(('1.0', 'y', 'x'))}")
    body.append(f"return {', '.join(results)}")
    first, second = (arguments(c.pick(SHAPES), *dtypes) for _ in range(2))
    helpers: list[Statement] = ["def twice(a):", "    return a * 2.0"]
    return Program(name, list(PARAMETERS), body, [first, second, first, second, first], helpers=helpers)
