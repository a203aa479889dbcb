"""Which features of the language a program exercises, found in its text; campaigns print how many programs have each."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from .compare import Outcome

LOOPS = (ast.For, ast.While)
OPERATORS = {
    ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitXor: "^", ast.BitOr: "|",
    ast.MatMult: "dot", ast.Div: "/",
}  # fmt: skip
CALLS = ("min", "max", "abs", "len", "divmod", "int", "float", "enumerate", "zip", "reversed", "print")
TYPES = ("float32", "float64", "int8", "int32", "int64", "uint8")
REDUCTIONS = ("sum", "mean", "max", "min", "any", "all", "dot")


def features(source: str) -> set[str]:
    """Names of the features that occur inside the loops of `source`, and of kinds of loops."""
    tree = ast.parse(source)
    helpers = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)} - {"f"}
    return set(_of_body(tree.body, 0, helpers))


def _of_body(body: list[ast.stmt], loops: int, helpers: set[str]) -> Iterator[str]:
    for statement in body:
        yield from _of_statement(statement, loops, helpers)
        inner = loops + isinstance(statement, LOOPS)
        for part in ("body", "orelse", "finalbody"):
            yield from _of_body(getattr(statement, part, []), inner if part == "body" else loops, helpers)
        for handler in getattr(statement, "handlers", []):
            yield from _of_body(handler.body, loops, helpers)
        for expression in _expressions(statement):
            yield from _of_expression(expression, loops, helpers)


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, those of statements inside it left out."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr | ast.withitem):
            yield from ast.walk(child)


def _of_statement(s: ast.stmt, loops: int, helpers: set[str]) -> Iterator[str]:
    if isinstance(s, LOOPS):
        yield f"loops nested {loops + 1} deep"
        yield "for" if isinstance(s, ast.For) else "while"
        if s.orelse:
            yield "loop with else"
    if not loops:
        return
    match s:
        case ast.Break():
            yield "break"
        case ast.Continue():
            yield "continue"
        case ast.Return():
            yield "return in a loop"
        case ast.Raise():
            yield "raise in a loop"
        case ast.If():
            yield "if in a loop"
            if s.orelse:
                yield "else in a loop"
        case ast.Try():
            yield "try in a loop"
        case ast.With():
            yield "with in a loop"
        case ast.Assign(targets=[_, _, *_]):
            yield "several targets"
        case ast.AugAssign(target=ast.Subscript()):
            yield "augmented store"
        case ast.AugAssign():
            yield "augmented assignment"
        case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple() as value) if all(
            isinstance(x, ast.Name) for x in value.elts
        ):
            yield "swap"
        case ast.Assign(targets=[ast.Tuple()]):
            yield "unpacking"
    if isinstance(s, ast.Assign | ast.AugAssign):
        target = s.targets[0] if isinstance(s, ast.Assign) else s.target
        if isinstance(target, ast.Subscript):
            yield "slice store" if _has_slice(target) else "element store"


def _has_slice(node: ast.Subscript) -> bool:
    return any(isinstance(x, ast.Slice) for x in ast.walk(node.slice)) or (
        isinstance(node.slice, ast.Constant) and node.slice.value is ...
    )


def _of_expression(e: ast.AST, loops: int, helpers: set[str]) -> Iterator[str]:
    match e:
        case ast.Call(func=ast.Name(id="range"), args=args):
            yield "range with a step" if len(args) == 3 else "range"
            if len(args) == 3 and isinstance(args[2], ast.UnaryOp):
                yield "range downwards"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr="errstate"), keywords=keywords):
            yield from (f"errstate {k.value.value}" for k in keywords if isinstance(k.value, ast.Constant))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="rng") | ast.Attribute(attr="random"))) if loops:
            yield "draw"
        case ast.Call(func=ast.Name(id="Pair")) if loops:
            yield "named tuple"
        case ast.Call(func=ast.Name(id="again")):
            yield "recursion"
        case ast.Compare(ops=[ast.In() | ast.NotIn()]) if loops:
            yield "containment"
        case ast.ListComp() if loops:
            yield "long comprehension"
        case ast.Name(id="w0") if loops:
            yield "complex NumPy scalar"
        case ast.Call(func=ast.Name(id=name)) if name in helpers:
            yield "helper called in a loop" if loops else "helper called"
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"))) if loops:
            yield "math"
        case ast.Call(func=ast.Attribute(attr="append")) if loops:
            yield "append"
        case ast.Call(func=ast.Name(id="complex")) if loops:
            yield "complex"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=name)) if name in TYPES and loops:
            yield "a NumPy type called"
        case ast.Call(func=ast.Attribute(attr=name)) if name in REDUCTIONS and loops:
            yield f"reduction {name}"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"))) if loops:
            yield "ufunc in a loop"
        case ast.BinOp(op=op) if type(op) in OPERATORS and loops:
            yield OPERATORS[type(op)]
        case ast.IfExp() if loops:
            yield "conditional expression"
        case ast.BoolOp() if loops:
            yield "and, or"
        case ast.Compare(ops=ops) if len(ops) > 1:
            yield "chained comparison"
        case ast.Subscript() if loops:
            if _has_slice(e):
                names = [x.id for x in ast.walk(e.slice) if isinstance(x, ast.Name)]
                yield "slice with variable bounds" if names else "slice"
            elif isinstance(e.value, ast.Subscript):
                yield "a[i][j]"
            elif isinstance(e.slice, ast.Compare) or (
                isinstance(e.slice, ast.BinOp) and isinstance(e.slice.op, ast.BitAnd | ast.BitOr)
            ):
                yield "mask"
            elif any(isinstance(x, ast.Attribute) and x.attr == "arange" for x in ast.walk(e.slice)):
                yield "index array"
            else:
                yield "a[i, j]" if isinstance(e.slice, ast.Tuple) else "a[i]"
            if isinstance(e.slice, ast.UnaryOp):
                yield "index from the end"


def outcome_features(outcome: Outcome) -> Iterator[str]:
    """What a call met: the exception that escaped, warnings."""
    if outcome.exception is not None:
        yield f"escapes: {outcome.exception[0][1]}"
    for event in outcome.events:
        if event[0] == "warning":
            yield f"warns: {event[2].split(' encountered')[0][:30]}"


def histogram(counts: Counter[str], programs: int) -> str:
    """The counts as text, several to a line, the most frequent first."""
    cells = [f"{name} {100 * count / programs:.0f}%" for name, count in counts.most_common()]
    lines: list[str] = []
    for cell in cells:
        if lines and len(lines[-1]) + len(cell) < 118:
            lines[-1] += f", {cell}"
        else:
            lines.append(cell)
    return "\n".join(lines)
