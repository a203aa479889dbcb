"""Programs some of whose variables are attributes of objects instead.

Any other random program is rewritten: `v3` becomes `first.v3` or `other.v3`, where both may be one object. What the
objects hold at the end is part of the result, or is printed also where an exception leaves the program.
"""

from __future__ import annotations

import ast

from .choices import Choices
from .closures import _bound
from .programs import Program

CLASSES = """
class State:
    v0 = None
    def told(self): return [(k, v) for k, v in vars(self).items()]
    def __repr__(self): return repr(self.told())
class Slots:
    __slots__ = NAMES
    def told(self): return [(k, getattr(self, k)) for k in self.__slots__ if hasattr(self, k)]
    def __repr__(self): return repr(self.told())
class Watched(State):
    def __setattr__(self, name, value): object.__setattr__(self, name, value)
"""


def attributed(c: Choices, program: Program) -> Program:
    """The program with some of its variables in attributes."""
    tree = ast.parse(program.source())
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "f")
    fixed = set(_fixed(function))
    names = [n for n in sorted({*_bound(function.body), *program.parameters} - fixed) if c.chance(0.5)]
    one = c.chance(0.3)
    owner = {name: c.pick(("first", "first", "other")) for name in names}

    class Move(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in owner:
                return node
            base = c.pick(("first", "other")) if one else owner[node.id]
            return ast.Attribute(ast.Name(base, ast.Load()), node.id, node.ctx)

        def visit_Return(self, node: ast.Return) -> ast.stmt:
            self.generic_visit(node)
            if printed or node.value is None:
                return node
            told = ast.parse("(first.told(), other.told())", mode="eval").body
            return ast.Return(ast.Tuple([node.value, told], ast.Load()))

    printed = c.chance(0.4)
    made = c.pick(("State()", "State()", "State()", "Slots()", "Slots()", "Watched()"))
    head = [f"first = {made}", "other = first" if one else f"other = {made}"]
    moved = [f"{owner[p]}.{p} = {p}" for p in program.parameters if p in owner]
    body = [
        line
        for s in function.body
        for line in ast.unparse(ast.fix_missing_locations(Move().visit(s))).split("\n")
    ]
    new = program.copy()
    new.helpers = [
        line for line in CLASSES.replace("NAMES", repr(tuple(names))).split("\n") if line
    ] + new.helpers
    if not printed:
        new.body = [*head, *moved, *body]
        return new
    given = ", ".join(program.parameters)
    new.helpers += [
        f"def inner(first, other, {given}):",
        *("    " + line for line in [*moved, *body] or ["pass"]),
    ]
    new.body = [*head, "try:", f"    return inner(first, other, {given})", "finally:"]
    new.body += ["    print([(k, repr(v)) for k, v in first.told() + other.told()])"]
    return new


def _fixed(function: ast.FunctionDef):
    """Names that are no plain variables: targets of loops and comprehensions, parameters of inner functions."""
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.comprehension):
            yield from (n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
        elif isinstance(node, ast.arg) and node not in function.args.args:
            yield node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        elif isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
