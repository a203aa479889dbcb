"""The generator of loops with many conditional rebindings: what versions of a region's code could multiply with.

Up to ten names hold arrays of equal and unequal shapes, numbers, booleans or None when the loop begins. Up to ten branches in it bind
them to something else: new arrays, each other's values, what they were an iteration before, None, what helper methods with defaults
give. ``python -m tests.python.fuzz.first_calls`` measures what such programs cost when they are called for the first time.
"""

from __future__ import annotations

from .arguments import Array, Scalar, Spec
from .choices import Choices, Weighted
from .programs import Block, Program, Statement

HELPERS: list[Statement] = [
    Block("class Backend", [
        Block("def dot(self, x, y)", ["return np.dot(x, y)"]),
        Block("def exp(self, x)", ["return np.exp(x)"]),
        Block("def log(self, x)", ["return np.log(x)"]),
        Block("def any(self, x)", ["return np.any(x)"]),
        Block("def max(self, x, axis=None, keepdims=False)", ["return np.max(x, axis, keepdims=keepdims)"]),
        Block("def sum(self, x, axis=None, keepdims=False)", ["return np.sum(x, axis, keepdims=keepdims)"]),
        Block("def abs(self, x)", ["return np.abs(x)"]),
        Block("def isnan(self, x)", ["return np.isnan(x)"]),
        Block("def where(self, c, x, y)", ["return np.where(c, x, y)"]),
        Block("def ones(self, shape, like=None)", [Block("if like is None", ["return np.ones(shape)"]), "return np.ones(shape, dtype=like.dtype)"]),
        Block("def zeros(self, shape, like=None)", [Block("if like is None", ["return np.zeros(shape)"]), "return np.zeros(shape, dtype=like.dtype)"]),
        Block("def scale(self, x, by=None, power=1)", [Block("if by is None", ["by = 0.5"]), Block("if power != 1", ["x = x ** power"]), "return x * by"]),
        Block("def mix(self, x, y, share=0.25)", ["return x * share + y * (1.0 - share)"]),
    ]), "", "nx = Backend()", "",
]  # fmt: skip

# By what a name holds: "x" arrays of n, "y" of k, "z" of n by k, "s" a number, "w" any of these or None.
NEW = {
    "x": ("nx.exp(-{x})", "{x} * 0.5 + {x}", "nx.ones(n, like=a)", "nx.zeros(n)", "nx.dot({z}, {y})", "nx.scale({x})", "nx.scale({x}, {s})", "nx.mix({x}, {x})", "{z}[:, 0]",
          "{z}[:, 1] * 0.5", "nx.max({z}, 1)", "nx.sum({z}, axis=1)", "{x}[::-1]", "{x}.copy()", "nx.where({x} > {s}, {x}, {x})", "a", "a * {s}", "np.maximum({x}, {s})"),
    "y": ("nx.exp(-{y})", "{y} * 0.25 + {y}", "nx.ones(k, like=b)", "nx.zeros({y}.shape, like={y})", "nx.dot({z}.T, {x})", "nx.scale({y}, power=2)", "{z}[0]", "{z}[1] + {y}",
          "nx.max({z}, 0)", "nx.sum({z}, 0)", "{y}.copy()", "b", "b * {s}", "np.minimum({y}, {s})"),
    "z": ("{x}[:, None] * {y}[None, :]", "{z} * 0.5", "nx.exp(({x}[:, None] + {y}[None, :] - {z}) / 4.0)", "{z} + {x}[:, None]", "m", "nx.abs({z} - m)", "m.copy()", "np.zeros((n, k))"),
    "s": ("nx.max({x})", "nx.any({x} > 1.0)", "float(nx.max({y}))", "nx.sum({z})", "{s} * 0.5", "0.5", "i", "1", "nx.max(nx.abs({x} - {x}))", "{x}[0]", "max(nx.max({x}), 1.0)", "nx.sum({y}) + i",
          "nx.dot({x}, {x})", "n"),
    "w": ("{x}", "{y}", "None", "{s}", "{x} * 2.0", "{y}[:, None]", "{x}[:, None]", "{z}", "(i, {s})", "nx.max({z}, 1, True)", "i", "'text'"),
}  # fmt: skip
FIRST = {
    "x": ("a", "a * 0.5", "nx.ones(n, like=a)", "a.copy()", "m[:, 0]", "np.zeros(n, 'f4')", "a[::-1]"), "y": ("b", "nx.zeros(k)", "b + 1.0", "m[0]"),
    "z": ("m", "m * 0.5", "m.copy()", "np.asfortranarray(m)"), "s": ("u", "1.0", "1", "np.float64(0.5)", "n", "True"), "w": ("None", "a", "u", "m", "1"),
}  # fmt: skip
CONDITIONS = (
    "(i + {c}) % 3 == 0", "i == {c}", "flag", "not flag", "mode == {c}", "nx.any({x} > {t})", "nx.any({x} > {t}) or nx.any({y} > {t})", "nx.any(nx.isnan({x}))", "nx.sum({y}) > {t}",
    "changed", "{w} is None", "{w} is not None", "(i % 3 == 0 and not changed) or i == 1", "nx.max({x}) < {t}", "u > {t}", "{x}[0] > {t}",
)  # fmt: skip


class _Names:
    """The names of a program, by what they hold."""

    def __init__(self, c: Choices) -> None:
        self.c = c
        total = c.integer(4, 10)
        kinds = [c.weighted(Weighted((4, "x"), (3, "y"), (2, "z"), (2, "s"), (2, "w"))) for _ in range(total)]
        self.of: dict[str, list[str]] = {k: [] for k in NEW}
        for kind in [*"xyzsw", *kinds]:
            self.of[kind].append(f"{kind}{len(self.of[kind])}")

    def fill(self, text: str) -> str:
        c = self.c
        while (at := text.find("{")) >= 0:
            kind = text[at + 1]
            value = {
                "c": lambda: c.pick("01234"),
                "t": lambda: c.pick(("0.5", "1.0", "1.5", "3.0", "1e5")),
            }.get(kind, lambda kind=kind: c.pick(self.of[kind]))()
            text = text[:at] + value + text[at + 3 :]
        return text

    def rebind(self) -> list[Statement]:
        """One name bound anew, or several."""
        c = self.c
        kind = c.weighted(Weighted((5, "x"), (4, "y"), (2, "z"), (3, "s"), (3, "w")))
        name = c.pick(self.of[kind])
        if c.chance(0.2) and len(self.of[kind]) > 1:
            return [f"{name} = {c.pick(self.of[kind])}"]
        if c.chance(0.1) and len(self.of[kind]) > 1:
            other = c.pick(self.of[kind])
            return [f"{name}, {other} = {other}, {name}"]
        if kind in "xy" and c.chance(0.15):
            return [
                f"{name} {c.pick(('+=', '*='))} {c.pick(('0.5', self.fill('{s}'), self.fill('{' + kind + '}')))}"
            ]
        return [f"{name} = {self.fill(c.pick(NEW[kind]))}"]


def _branch(c: Choices, names: _Names, depth: int = 0) -> list[Statement]:
    body = [s for _ in range(c.integer(1, 3)) for s in names.rebind()]
    if c.chance(0.3):
        body.append("changed = True")
    if depth < 2 and c.chance(0.2):
        body += _branch(c, names, depth + 1)
    if c.chance(0.05):
        body.append(c.pick(("break", "continue")))
    condition = names.fill(c.pick(CONDITIONS))
    if c.chance(0.2):
        kind = c.pick("xxyzsw")
        one, other = (c.pick((f"{{{kind}}}", c.pick(NEW[kind]))) for _ in range(2))
        return [f"{c.pick(names.of[kind])} = {names.fill(one)} if {condition} else {names.fill(other)}"]
    out: list[Statement] = [Block(f"if {condition}", body)]
    if c.chance(0.35):
        out.append(Block("else", [s for _ in range(c.integer(1, 2)) for s in names.rebind()]))
    return out


def rebinding(c: Choices, name: str) -> Program:
    """A loop with up to ten branches that bind up to ten names."""
    names = _Names(c)
    body: list[Statement] = ["n, k = m.shape", "changed = False", "i = 0"]
    body += [f"{x} = {c.pick(FIRST[kind])}" for kind, of in names.of.items() for x in of]
    inside: list[Statement] = []
    if c.chance(0.5):
        inside.append("old_x, old_y = x0, y0")
        names.of["x"].append("old_x")
        names.of["y"].append("old_y")
    if c.chance(0.5):
        inside.append("changed = False")
    for _ in range(c.integer(2, 10)):
        inside += _branch(c, names) if c.chance(0.75) else names.rebind()
    body += {
        0: [Block("for i in range(rounds)", inside)],
        1: [Block("while i < rounds", ["i += 1", *inside])],
        2: [Block("while u < 1e6 and i < rounds", ["i = i + 1", *inside])],
        3: [Block("for j in range(2)", [Block("for i in range(rounds)", inside)])],
    }[c.pick((0, 0, 1, 2, 3))]
    known = [x for of in names.of.values() for x in of if not x.startswith("old")]
    body.append(f"return i, changed, {', '.join(known)}")
    return Program(
        name, ["a", "b", "m", "u", "flag", "mode", "rounds"], body, _calls(c), helpers=list(HELPERS)
    )


def _calls(c: Choices) -> list[list[Spec]]:
    n, k = c.pick((3, 6, 40)), c.pick((3, 5, 17))
    equal = c.chance(0.3)

    def call(n: int, k: int, flag: int, mode: int, rounds: int) -> list[Spec]:
        k = n if equal else k
        return [Array("f8", (n,), "C", "tame"), Array("f8", (k,), "C", "tame"), Array("f8", (n, k), "C", "tame"), Scalar("float", 1.25), Scalar("int", flag),
                Scalar("int", mode), Scalar("int", rounds)]  # fmt: skip

    flag, mode, rounds = c.integer(0, 1), c.integer(0, 4), c.pick((3, 6, 12))
    return [call(n, k, flag, mode, rounds), call(n, k, flag, mode, rounds), call(n, k, 1 - flag, mode, rounds), call(n + 1, k + 2, flag, c.integer(0, 4), rounds),
            call(n, k, flag, mode, c.pick((0, 1, 30)))]  # fmt: skip
