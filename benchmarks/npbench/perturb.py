"""The same program, written differently: what is measured must not depend on how its author writes.

Variables, parameters and helper functions get other names, what is stored into a part of an array gets a name of its own
first, floating-point literals become variables, and ranges say their step.
"""

from __future__ import annotations

import ast
import builtins


class _Rename(ast.NodeTransformer):
    """One function's own names, and those of the module's functions."""

    def __init__(self, own: set[str], functions: dict[str, str]) -> None:
        self.names = {name: f"q{k}_{len(name)}" for k, name in enumerate(sorted(own))} | {
            f: g for f, g in functions.items() if f not in own
        }

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return node


class _Rewrite(ast.NodeTransformer):
    """Stores of expressions, literals and ranges."""

    def __init__(self) -> None:
        self.literals: dict[float, str] = {}

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt] | ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not isinstance(node.value, ast.BinOp):
            return node
        # The right-hand side is evaluated before the target's parts, so this is the same program.
        name = "stored_value"
        node_value, node.value = node.value, ast.Name(name, ast.Load())
        return [ast.Assign([ast.Name(name, ast.Store())], node_value), node]

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is not float:
            return node
        return ast.Name(self.literals.setdefault(node.value, f"literal_{len(self.literals)}"), ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "range" and not node.keywords:
            start: list[ast.expr] = [ast.Constant(0)] if len(node.args) == 1 else []
            step: list[ast.expr] = [] if len(node.args) == 3 else [ast.Constant(1)]
            node.args = [*start, *node.args, *step]
        return node


def _own_names(function: ast.FunctionDef) -> set[str]:
    names = {a.arg for a in function.args.args}
    names |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    outside = {n for g in ast.walk(function) if isinstance(g, ast.Global | ast.Nonlocal) for n in g.names}
    return names - outside - set(dir(builtins))


def perturbed(source: str, entry: str) -> str:
    """The text of a module like `source`, whose function `entry` keeps its name."""
    module = ast.parse(source)
    functions = [f for f in module.body if isinstance(f, ast.FunctionDef)]
    keywords = {k.arg for n in ast.walk(module) if isinstance(n, ast.Call) for k in n.keywords}
    names = {f.name: f"helper_{k}" for k, f in enumerate(functions) if f.name != entry}
    for function in functions:
        rewrite = _Rewrite()
        # Defaults belong to the module.
        function.body = [s for old in function.body for s in _as_list(rewrite.visit(old))]
        function.body[:0] = [
            ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
            for value, name in rewrite.literals.items()
        ]
        own = _own_names(function) - keywords
        _Rename(own, names).visit(function)
        function.name = names.get(function.name, function.name)
    return ast.unparse(ast.fix_missing_locations(module))


def _as_list(x: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return x if isinstance(x, list) else [x]
