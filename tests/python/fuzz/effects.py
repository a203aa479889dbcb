"""Programs that change objects which were there before the call: lists, dicts, generators of random numbers.

Any other random program is rewritten: between its statements values are appended, stored and printed into strings, numbers are
drawn and added, and what was appended is read again. What the objects hold at the end is part of the result, or is printed where
an exception leaves the program.
"""

from __future__ import annotations

import ast

from .choices import Choices
from .closures import _bound
from .programs import Program

HELPERS = """
LOG = []
OTHER = []
BOOK = {}
RNG = np.random.default_rng(7)
OLD = np.random.RandomState(7)
START = RNG.bit_generator.state
class Keeper:
    def __init__(self):
        self.log, self.same, self.rng, self.count = OTHER, LOG, RNG, 0
KEEPER = Keeper()
def told():
    return [repr(w) for w in LOG], [repr(w) for w in OTHER], [(k, repr(w)) for k, w in BOOK.items()], KEEPER.count
def reset():
    LOG.clear(), OTHER.clear(), BOOK.clear(), np.random.seed(3), OLD.seed(3)
    RNG.bit_generator.state, KEEPER.count = START, 0
"""

# {v}, {w}: variables of the program, bound or not yet; {n}: a small number.
CHANGES = (
    "LOG.append({v})",
    "LOG.append({v})",
    "OTHER.append({v})",
    "KEEPER.log.append(({v}, {n}))",
    "KEEPER.same.append([{v}, {w}])",
    "LOG.extend(({v}, {n}.5, 'text'))",
    "KEEPER.count += {n}",
    "BOOK['k{n}'] = {v}",
    "BOOK[{n}] = {v}",
    "{v} = {v} + RNG.standard_normal()",
    "{v} = {v} * RNG.normal(0.5, 0.1, np.shape({v}))",
    "{v} = KEEPER.rng.uniform(-1, 1, np.shape({w})) + {w}",
    "{v} = {v} - RNG.random({n})",
    "LOG.append(RNG.integers(0, {n} + 1, size=(2, {n})))",
    "LOG.append(OLD.rand() + {n})",
    "{v} = {v} + np.random.randn()",
    "LOG.append(RNG.normal(np.ravel({v}), 0.25))",
    "LOG.append(f'{{len(LOG)}} of {{np.shape({v})}}')",
    "BOOK['text'] = 'a%d' % {n} + str(len(OTHER))",
    "{v} = LOG[-1] if LOG else {v}",
    "{v} = {v} + len(LOG)",
    "OTHER.append(LOG[0]) if LOG else None",
    "LOG.append(sum(1 for w in OTHER))",
    "[OTHER.append(w) for w in LOG[:2]]",
    "BOOK.setdefault('d{n}', []).append({v})",
    "LOG.pop() if len(LOG) > {n} else None",
)


def effectful(c: Choices, program: Program) -> Program:
    """The program with such changes between its statements."""
    tree = ast.parse(program.source())
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "f")
    names = list(program.parameters)  # that are bound, but for those in branches

    def change() -> list[ast.stmt]:
        # Not what loops count with, which might not end.
        free = [n for n in names if n[0] in "abgsuvxyz"] or ["s0"]
        text = c.pick(CHANGES).format(v=c.pick(free), w=c.pick(names), n=c.integer(0, 3))
        return ast.parse(text).body

    def among(body: list[ast.stmt], depth: int) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            # What fills an array comes directly after what makes it: memory is not the same in two runs.
            filled = bool(out) and "np.empty" in ast.unparse(out[-1])
            if (
                not filled
                and c.chance(0.5 if depth == 0 else 0.2)
                and not isinstance(statement, ast.Global | ast.Nonlocal)
            ):
                out += change()
            for part in ("body", "orelse"):
                inner = getattr(statement, part, None)
                if inner and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                    setattr(statement, part, among(inner, depth + 1))
            out.append(statement)
            if depth == 0 or c.chance(0.2):
                names.extend(n for n in _bound([statement]) if n not in names)
        return out

    body = among(function.body, 0)
    given = ", ".join(program.parameters)
    lines = [line for s in body for line in ast.unparse(ast.fix_missing_locations(s)).split("\n")]
    new = program.copy()
    new.helpers = [*HELPERS.strip().split("\n"), *new.helpers]
    new.helpers += [f"def inner({given}):", *("    " + line for line in lines or ["pass"])]
    new.body = ["reset()", "try:", f"    return inner({given}), told()", "finally:"]
    new.body += ["    print(told(), RNG.random(), OLD.rand(), np.random.rand())"]
    return new
