"""Programs whose statements are moved into functions made on the spot, so that their variables are cells.

Any other random program is rewritten: runs of statements become functions without parameters that are called at once,
values become calls of lambdas or items of comprehensions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .choices import Choices
from .programs import Program

# What would mean something else inside another function.
LEAVING = (ast.Return, ast.Break, ast.Continue, ast.FunctionDef, ast.Nonlocal)


def captured(c: Choices, program: Program) -> Program:
    """The program with some of its statements in closures."""
    tree = ast.parse(program.source())
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "f")
    names = sorted(set(_bound(function.body)) - set(program.parameters))
    body = _moved(c, function.body, [0])
    if names:  # whoever moved, all stay variables of f
        never = ast.parse(f"if False:\n    {' = '.join(names)} = None").body
        body = never + body
    new = program.copy()
    new.body = [line for statement in body for line in ast.unparse(statement).split("\n")]
    return new


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Names that the statements bind, functions inside them left out."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            yield statement.name
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id
            if isinstance(node, ast.ExceptHandler) and node.name:
                yield node.name


def _moved(c: Choices, body: list[ast.stmt], count: list[int]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    rest = list(body)
    while rest:
        run = rest[: c.integer(1, 3)]
        del rest[: len(run)]
        if c.chance(0.35) and not any(isinstance(node, LEAVING) for s in run for node in ast.walk(s)):
            count[0] += 1
            name = f"moved{count[0]}"
            names = sorted(set(_bound(run)))
            header = f"def {name}():\n" + (f"    nonlocal {', '.join(names)}\n" if names else "") + "    pass"
            function = ast.parse(header).body[0]
            assert isinstance(function, ast.FunctionDef)
            function.body[-1:] = run
            out += [function, *ast.parse(f"{name}()").body]
            continue
        for statement in run:
            for part in ("body", "orelse"):
                inner = getattr(statement, part, None)
                if inner and not isinstance(statement, ast.FunctionDef):
                    setattr(statement, part, _moved(c, inner, count))
            if isinstance(statement, ast.Assign | ast.AugAssign) and c.chance(0.35):
                statement.value = _wrapped(c, statement.value)
            out.append(statement)
    return out


def _wrapped(c: Choices, value: ast.expr) -> ast.expr:
    form = c.pick(
        (
            "(lambda: HOLE)()",
            "[HOLE for _ in (0,)][0]",
            "[HOLE for _ in range(2)][1]",
            "(lambda given: given)(HOLE)",
            "(lambda *, given=HOLE: given)()",
            "{name: HOLE for name in ('x', 'y')}['y']",
            "[item for item in [HOLE]][0]",
        )
    )
    tree = ast.parse(form, mode="eval").body

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return value if node.id == "HOLE" else node

    filled = Fill().visit(tree)
    assert isinstance(filled, ast.expr)
    return filled
