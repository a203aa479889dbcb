"""The generator of loops that fault in the middle: state, exception and line are to be as eager leaves them.

Each program runs a loop with effects before and behind a statement that faults in one iteration: ``at``, a parameter,
beyond the last iteration in calls that are to run through. What faults is in the data (an index, a divisor, a NaN
that is put there before the loop), in the loop's variable, or a number that grew too large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .arguments import Array, Scalar, Spec
from .choices import Choices, Weighted
from .programs import Block, Program, Statement


class Fault(NamedTuple):
    """What is done to the data before the loop, and the statement that then faults where ``i == at``.

    `errstate` is what it needs to raise, when it does not raise by itself.
    """

    prepare: str
    statement: str
    errstate: str = ""


FAULTS: dict[str, tuple[Fault, ...]] = {
    "index": (
        Fault("q[at] = 10 ** 6", "s += a[q[i]]"),
        Fault("q[at] = -10 ** 6", "a[q[i]] = s"),
        Fault("q[at] = n", "b[q[i] - i + i] += a[i]"),
        Fault("", "s = s + a[i + n * (i == at)]"),
        Fault("", "a[i if i != at else n] = s * 0.5"),
        Fault("q[at] = n", "m[q[i], 1] = s"),
        Fault("q[at] = -n - 1", "m[q[i]] = b[:4]"),
        Fault("", "k += q[i * (1 + n * (i == at))]"),
        Fault("", "m[i, 1 + 3 * (i >= at)] += 1.0"),
    ),
    "overflow": (
        Fault("", "k = k + ((i == at) << 70)"),
        Fault("", "k = k * (1 + (2 ** 61) * (i >= at))"),
        Fault("", "q[i] = (i + 1) << (80 * (i == at))"),
        Fault("", "s = s + 10.0 ** (1 + 400 * (i == at))"),
        Fault("", "s += (1.0 + i) ** (2 + 5000 * (i == at)) * 1e-9"),
        Fault("u = np.inf", "k = int(0.5 if i != at else u)"),
        Fault("q[at] = 2 ** 63 - 1", "q[i] = q[i] + q[0] + 1", "over"),
        Fault("q[at] = 2 ** 62", "s += q[i] * np.int64(4)", "over"),
        Fault("a[at] = 1e300", "s += a[i] * a[i]", "over"),
        Fault("a[at] = 1e308", "b = b + np.exp(a[i] * 0.5)", "over"),
    ),
    "division": (
        Fault("", "k += 7 // (i - at)"),
        Fault("", "k = (k + 5) % (at - i)"),
        Fault("", "s += 1.0 / (i - at)"),
        Fault("", "k, r = divmod(k + i, at - i)"),
        Fault("", "s += 2.5 // float(i - at)"),
        Fault("q[at] = 0", "k = int(k) + 12 // int(q[i])"),
        Fault("q[at] = 0", "s += 12 // q[i]", "divide"),
        Fault("a[at] = 0.0", "s += 1.0 / a[i]", "divide"),
        Fault("a[at] = 0.0", "b[1:] = b[:-1] / a[i]", "divide"),
        Fault("m[at, 2] = 0.0", "s += (1.0 / m[i]).sum()", "divide"),
    ),
    "invalid": (
        Fault("a[at] = -1.0", "s += np.sqrt(a[i])", "invalid"),
        Fault("a[at] = -1.0", "s += np.log(a[i])", "invalid"),
        Fault("a[at] = np.inf", "s += a[i] - a[i]", "invalid"),
        Fault("m[at, 0] = -1.0", "m[i] = np.sqrt(m[i])", "invalid"),
        Fault("a[at] = np.inf", "b -= a[i] - a[i]", "invalid"),
        Fault("a[at] = np.nan", "k += int(a[i])"),
        Fault("a[at] = np.nan", "q[i] = a[i]"),
        Fault("", "s += math.sqrt(abs(i - at) - 0.5)"),
        Fault("", "s += (m[i, : 4 * (i != at)]).max()"),
    ),
    "raise": (
        Fault("", "if i == at: raise ValueError(i)"),
        Fault("a[at] = -5.0", "assert a[i] > -1.0, i"),
        Fault("", "s += helper(a, i, at)"),
        Fault("", "store(b, i, at)"),
        Fault("", "s += missing if i == at else 0.25"),
        Fault("", "b[: n - (i == at)] = a"),
        Fault("", "s = s + (None if i == at else 1.0)"),
    ),
}  # fmt: skip

EFFECTS = (
    "a[i] = 0.5 * a[i] + 0.25", "b[i] += a[i]", "s = 0.5 * s + a[i]", "k += 1", "k = (k * 3 + i) % 1000", "m[i, k % 4] = s", "m[i] += 0.5",
    "b[1:-1] = 0.5 * (b[:-2] + b[2:])", "b *= 0.99", "s += b[:i].sum()", "c[i] = k", "c[i] = s > 1.0", "m[:, 1] = b", "a, b = b, a", "t = a[i] * 2.0",
    "s += m[i] @ m[i - 1]", "b = b + 0.125", "pair = (k, s)", "last = i",
)  # fmt: skip
HELPERS: list[Statement] = [
    "import math", "", "",
    Block("def helper(x, i, at)", ["y = x[i] * 0.5", Block("if i == at", ["y = y + x[len(x)]"]), "return y"]), "", "",
    Block("def store(x, i, at)", ["x[i] = 1.0", "x[i + len(x) * (i == at)] = 2.0"]), "", "",
]  # fmt: skip


def _loop(c: Choices, body: list[Statement]) -> list[Statement]:
    """The body in a loop over i."""
    forms: tuple[Callable[[], list[Statement]], ...] = (
        lambda: [Block("for i in range(n)", body)],
        lambda: [Block("for i in range(n - 1, -1, -1)", body)],
        lambda: ["i = 0", Block("while i < n", [*body, "i += 1"])],
        lambda: [Block("for i, x in enumerate(a)", ["s += x * 0.125", *body])],
        lambda: [Block("for w in range(2)", [Block("for i in range(n)", body), "k += 10"])],
        lambda: [Block("for i in range(n)", [Block("for j in range(i % 3)", ["s += b[j]"]), *body])],
        lambda: [Block("for i in range(0, n, 2)", body)],
        lambda: [
            Block("for i in range(n)", [Block("if a[i] > 1.0 or i == at", body), Block("else", ["k += 2"])])
        ],
    )
    return c.pick(forms)()


def _effects(c: Choices, most: int) -> list[Statement]:
    return [c.pick(EFFECTS) for _ in range(c.integer(0, most))]


def leaving(c: Choices, name: str) -> Program:
    """A loop with a fault, called without and with it."""
    fault = c.pick(FAULTS[c.pick(tuple(FAULTS))])
    lines: list[Statement] = [fault.statement]
    if fault.statement.startswith("if "):
        head, _, rest = fault.statement.partition(": ")
        lines = [Block(head, [rest])]
    if c.chance(0.15):
        lines = [
            Block("try", lines),
            Block("except (ArithmeticError, IndexError)", ["k += 100", *_effects(c, 2)]),
        ]
    loop = _loop(c, [*_effects(c, 4), *lines, *_effects(c, 4)])
    if fault.errstate:
        how = c.weighted(Weighted((5, "raise"), (1, "warn"), (1, "ignore")))
        loop = [Block(f"with np.errstate({c.pick((fault.errstate, 'all'))}={how!r})", loop)]
    if c.chance(0.4):
        loop = [
            Block("try", loop),
            Block("except Exception as e", ["print(type(e).__name__, e)", *_effects(c, 1)]),
        ]
    opening: list[Statement] = ["n = len(a)", "s = 0.0", "k = 0", "i = 0"]
    if fault.prepare:
        opening.append(Block("if at < n", [fault.prepare]))
    returned = "return a, b, m, q, c, s, k, i"
    return Program(
        name,
        ["a", "b", "m", "q", "c", "u", "at"],
        [*opening, *loop, returned],
        _calls(c),
        helpers=list(HELPERS),
    )


def _calls(c: Choices) -> list[list[Spec]]:
    n = c.pick((6, 12, 40, 150))
    kinds = [c.pick(("f8", "f8", "f4")), c.pick(("i8", "i4")), c.pick(("i8", "u1", "f8"))]

    def call(n: int, at: int) -> list[Spec]:
        return [Array(kinds[0], (n,), "C", "tame"), Array(kinds[0], (n,), "C", "tame"), Array(kinds[0], (n, 4), "C", "tame"), Array(kinds[1], (n,), "C", "tame"),
                Array(kinds[2], (n,), "C", "tame"), Scalar("float", 1.5), Scalar("int", at)]  # fmt: skip

    through, more = 10**6, n + c.integer(1, 5)
    return [call(n, through), call(n, through), call(n, c.integer(0, n - 1)), call(more, through), call(more, c.integer(0, more - 1)), call(n, c.pick((0, n - 1))),
            call(n, through), call(n, c.integer(0, n - 1))]  # fmt: skip
