"""The generator of loops that compute with numbers of all types: Python's, NumPy's of every dtype, elements of vectors, mixed.

Which type a name holds may change from one iteration to the next. What is computed are operators, parts, conversions, and
functions of Python's, of ``math`` and of NumPy's.
"""

from __future__ import annotations

from .arguments import Array, Scalar, Spec
from .choices import Choices, Weighted
from .programs import Block, Program, Statement

COMPLEX = Weighted((6, "c16"), (4, "c8"), (3, "f8"), (1, "f4"), (1, "i8"))
REAL = Weighted(
    (8, "f8"), (5, "f4"), (5, "i8"), (3, "i4"), (1, "i2"), (1, "i1"), (1, "u1"), (1, "u2"), (1, "u4"),
    (1, "u8"), (1, "?"), (1, "f2"),
)  # fmt: skip
VALUES = Weighted((10, "tame"), (6, "plain"), (1, "wild"))
LITERALS = ("0.5", "2", "-1", "0", "1.5", "3", "1e10", "True", "7", "2.0", "0.0", "-0.0")
ARITHMETIC = Weighted((6, "+"), (5, "-"), (7, "*"), (4, "/"))
OPERATORS = Weighted((6, "+"), (5, "-"), (7, "*"), (4, "/"), (1, "//"), (1, "%"))  # of real numbers
BITS = ("&", "|", "^", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
POWERS = ("2", "3", "0", "1", "0.5", "-1", "2.0", "-2")
# Products and moduli by ufuncs are not among those of complex numbers: NumPy's loops round the first product or not, depending on how
# far from each other their operands happen to lie in memory (np.square(1.3 - 0.4j) has two results).
FUNCTIONS = (
    "abs({x})", "complex({x})", "bool({x})", "np.sqrt({x})", "np.sin({x})", "np.exp(-abs({x}))", "np.conj({x})", "np.complex128({x})", "np.complex64({x})", "np.isnan({x})", "np.isfinite({x})", "np.real({x})", "np.imag({x})", "{x}.real", "{x}.imag",
    "{x}.conjugate()", "np.add({x}, {y})", "np.angle({x})",
)  # fmt: skip
OF_REAL = (
    *FUNCTIONS,
    "np.abs({x})",
    "np.square({x})",
    "np.multiply({x}, {y})", "float({x})", "int({x})", "round({x})", "round({x}, 1)", "max({x}, {y})", "min({x}, {y})", "divmod({x}, 3)[0]", "math.sqrt(abs({x}))",
    "math.floor({x})", "math.sin({x})", "math.exp({x})", "math.hypot(1.0, {x})", "np.floor({x})", "np.sign({x})", "np.maximum({x}, {y})",
    "np.minimum({x}, {y})", "np.float64({x})", "np.float32({x})", "np.int64({x})", "np.hypot({x}, {y})", "np.where({x} > {y}, {x}, {y})",
    "np.clip({x}, -1, 1)", "math.isclose({x}, {y})", "np.arctan2({x}, {y})", "pow({x}, 2)",
)  # fmt: skip


class _Expressions:
    def __init__(self, c: Choices, names: list[str], real: bool) -> None:
        self.c, self.names, self.real = c, names, real
        self.operators = OPERATORS if real else ARITHMETIC

    def leaf(self) -> str:
        c = self.c
        return c.pick(self.names) if c.chance(0.75) else c.pick(LITERALS if self.real else (*LITERALS, "1j"))

    def value(self, depth: int) -> str:
        c = self.c
        if depth == 0 or c.chance(0.2):
            return self.leaf()
        kind = c.weighted(
            Weighted(
                (30, "binary"), (5, "power"), (4, "negative"), (10, "function"), (1, "bits"), (1, "choice")
            )
        )
        if kind == "binary":
            return f"({self.value(depth - 1)} {c.weighted(self.operators)} {self.value(depth - 1)})"
        if kind == "power":
            return f"(({self.leaf()}) ** {c.pick(POWERS)})"
        if kind == "negative":
            return f"({c.pick(('-', '+'))}{self.value(depth - 1)})"
        if kind == "bits":
            return f"({self.leaf()} {c.pick(BITS)} {c.pick(('1', 'k', 'i'))})"
        if kind == "choice":
            return f"({self.leaf()} if {self.condition()} else {self.leaf()})"
        return (
            c.pick(OF_REAL if self.real else FUNCTIONS)
            .replace("{x}", f"({self.value(depth - 1)})")
            .replace("{y}", self.leaf())
        )

    def condition(self) -> str:
        c = self.c
        if c.chance(0.3):
            return f"i % {c.pick('234')} == {c.pick('01')}"
        if c.chance(0.2):
            return f"abs({self.leaf()}) {c.pick(COMPARISONS)} {c.pick(('1', '2.0', '0.5'))}"
        return f"{self.leaf()} {c.pick(COMPARISONS if self.real else ('==', '!='))} {self.leaf()}"


def _statements(c: Choices, e: _Expressions, depth: int) -> list[Statement]:
    out: list[Statement] = []
    for _ in range(c.integer(1, 4)):
        if depth < 2 and c.chance(0.2):
            out.append(Block(f"if {e.condition()}", _statements(c, e, depth + 1)))
            if c.chance(0.3):
                out.append(Block("else", _statements(c, e, depth + 1)))
        elif c.chance(0.12):
            out.append(f"{c.pick('ab')}[i] = {e.value(2)}")
        elif c.chance(0.15):
            out.append(f"{c.pick('uvw')} {c.weighted(e.operators)}= {e.value(1)}")
        else:
            out.append(f"{c.pick('uvw')} = {e.value(c.integer(1, 3))}")
    return out


def numbers(c: Choices, name: str) -> Program:
    """A loop over the elements of two vectors, with three variables that numbers of all types are bound to."""
    real = c.chance(0.55)
    given = ["x", "y", "k", *(() if real else ("z",))]
    outside = _Expressions(c, ["a[0]", "b[1]", *given], real)
    inside = _Expressions(c, ["a[i]", "b[i]", "u", "v", "w", "u", "v", "w", *given, "i"], real)
    body: list[Statement] = [f"{n} = {outside.value(c.integer(0, 1))}" for n in "uvw"]
    loop = _statements(c, inside, 0)
    if c.chance(0.1):
        loop.append(Block(f"if {inside.condition()}", [c.pick(("break", "continue"))]))
    body.append(
        Block(c.pick(("for i in range(n)", "for i in range(n)", "for i in range(n - 1, -1, -1)")), loop)
    )
    body.append("return u, v, w, a, b")
    return Program(name, ["n", "a", "b", "x", "y", "k", "z"], body, _calls(c, real))


def _calls(c: Choices, real: bool) -> list[list[Spec]]:
    kinds = [c.weighted(REAL if real else COMPLEX) for _ in range(2)]
    if c.chance(0.5):
        kinds[1] = kinds[0]
    x = c.pick(
        (Scalar("float", 0.75), Scalar("f8", 0.75), Scalar("f4", 1.25), Scalar("i2", 3), Scalar("i8", -2), Scalar("bool", True), Scalar("?", True),
         Scalar("int", 5), Scalar("u1", 200), Scalar("f2", 0.5), *(() if real else (Scalar("c8", 1.5 - 0.5j), Scalar("c16", -0.5j))))
    )  # fmt: skip
    y = c.pick((Scalar("float", -1.5), Scalar("f8", 2.5), Scalar("int", -3), Scalar("f4", 0.1)))
    k = c.pick((1, 2, 3, 0, -1, 2**40))
    z = Scalar("complex", 0.3 - 0.4j)

    def call(n: int, k: int, values: str) -> list[Spec]:
        a, b = (Array(kind, (n,), "C", values) for kind in kinds)
        return [Scalar("int", n), a, b, x, y, Scalar("int", k), z]

    n, values = c.pick((5, 9, 16)), c.weighted(VALUES)
    return [
        call(n, k, values),
        call(n, k, values),
        call(n, k, c.weighted(VALUES)),
        call(n + 1, k, values),
        call(n, c.pick((0, 1, 7)), values),
    ]
