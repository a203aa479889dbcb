"""The same program with other idioms: what a user writes who likes helpers, `while`, and names for everything.

Each of the changes leaves the bits as they are; `IDIOMS` names them. Which apply where is decided from the text alone, so
most of them look for array statements: assignments to a part of an array that a slice names.
"""

from __future__ import annotations

import ast
import copy


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _call(path: str, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    return ast.Call(
        ast.parse(path, mode="eval").body, list(args), [ast.keyword(k, v) for k, v in keywords.items()]
    )


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _has_slice(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Slice) for n in ast.walk(node))


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _is_numpy(node: ast.expr, *functions: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "np"
        and node.func.attr in functions
    )


class _Fresh:
    """Names that the program does not have."""

    count = 0

    def name(self, stem: str) -> str:
        _Fresh.count += 1
        return f"{stem}_{_Fresh.count}_"


class While(ast.NodeTransformer, _Fresh):
    """`for i in range(a, b)` counts with a `while`."""

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not _is_range(node.iter) or node.orelse or not isinstance(node.target, ast.Name):
            return node
        assert isinstance(node.iter, ast.Call)
        args = node.iter.args
        step = ast.unparse(args[2]) if len(args) == 3 else "1"
        if step not in ("1", "-1", "2"):
            return node
        at, end = self.name("at"), self.name("end")
        begin = args[0] if len(args) > 1 else ast.Constant(0)
        first = [
            ast.Assign([_store(at)], begin),
            ast.Assign([_store(end)], args[min(len(args), 2) - 1]),
        ]
        head = ast.parse(f"{node.target.id} = {at}\n{at} += {step}").body
        test = ast.Compare(_load(at), [ast.Gt() if step == "-1" else ast.Lt()], [_load(end)])
        return [*first, ast.While(test, head + node.body, [])]


class Functions(ast.NodeTransformer):
    """Operators in array statements are calls of NumPy's functions."""

    NAMES = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}  # noqa: RUF012

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if isinstance(node.targets[0], ast.Subscript) and _has_slice(node.targets[0]):
            node.value = self._called(node.value)
        return node

    def _called(self, e: ast.expr) -> ast.expr:
        if not isinstance(e, ast.BinOp):
            return e
        e.left, e.right = self._called(e.left), self._called(e.right)
        arrays = [
            (isinstance(x, ast.Subscript) and _has_slice(x)) or _is_numpy(x, *self.NAMES.values())
            for x in (e.left, e.right)
        ]
        if type(e.op) in self.NAMES and any(arrays):
            return _call(f"np.{self.NAMES[type(e.op)]}", e.left, e.right)
        return e


class LongForm(ast.NodeTransformer):
    """`a[k] += v` is `a[k] = a[k] + v`."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.target, ast.Subscript):
            return node
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))


class ShortForm(ast.NodeTransformer):
    """`a[k] = a[k] + v` is `a[k] += v`."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Subscript) and isinstance(value, ast.BinOp):
            if ast.unparse(target) == ast.unparse(value.left):
                return ast.AugAssign(target, value.op, value.right)
        return node


class Split(ast.NodeTransformer, _Fresh):
    """What an array statement computes first has a name of its own."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if not (isinstance(node.targets[0], ast.Subscript) and isinstance(node.value, ast.BinOp)):
            return node
        before: list[ast.stmt] = []
        node.value = self._named(node.value, before)
        return [*before, node]

    def _named(self, e: ast.BinOp, before: list[ast.stmt]) -> ast.BinOp:
        # The left operand is computed first anyway; the right one may be when the left one has a name.
        for side in ("left", "right"):
            x = getattr(e, side)
            if not isinstance(x, ast.BinOp):
                if not isinstance(x, ast.Name | ast.Constant | ast.Subscript):
                    break
                continue
            name = self.name("part")
            before.append(ast.Assign([_store(name)], self._named(x, before)))
            setattr(e, side, _load(name))
        return e


class Chained(ast.NodeTransformer):
    """`a[i, j]` of counters is `a[i][j]`."""

    def __init__(self) -> None:
        self.counters: set[str] = set()

    def visit_For(self, node: ast.For) -> ast.AST:
        if _is_range(node.iter) and isinstance(node.target, ast.Name):
            self.counters.add(node.target.id)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.slice, ast.Tuple):
            return node
        parts = node.slice.elts
        if not all(
            isinstance(p, ast.Name | ast.BinOp | ast.Constant) and _names(p, ast.Load) <= self.counters
            for p in parts
        ):
            return node
        value = node.value
        for p in parts[:-1]:
            value = ast.Subscript(value, p, ast.Load())
        return ast.Subscript(value, parts[-1], node.ctx)


class Lengths(ast.NodeTransformer):
    """`a.shape[0]` is `len(a)`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        shape = node.value
        first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
        if first and isinstance(shape, ast.Attribute) and shape.attr == "shape":
            return ast.Call(_load("len"), [shape.value], [])
        return node


class Slices(ast.NodeTransformer):
    """Slices with constant bounds are made once, at the top of the function."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.made = {}
        self.generic_visit(node)
        first = [ast.parse(f"{name} = {text}").body[0] for text, name in self.made.items()]
        node.body[:0] = first
        return node

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        bounds = (node.lower, node.upper, node.step)
        if any(b is not None and not ast.unparse(b).lstrip("-").isdigit() for b in bounds):
            return node
        text = f"slice({', '.join('None' if b is None else ast.unparse(b) for b in bounds)})"
        return _load(self.made.setdefault(text, f"slice_{len(self.made)}_"))


class Swapped(ast.NodeTransformer):
    """Operands of `+` and `*` in array statements change places."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if isinstance(node.targets[0], ast.Subscript) and _has_slice(node.targets[0]):
            for e in ast.walk(node.value):
                if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add | ast.Mult):
                    e.left, e.right = e.right, e.left
        return node


class Keywords(ast.NodeTransformer):
    """Shapes by keyword; `zeros_like` from the shape; sums as methods."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _is_numpy(node, "zeros", "empty", "ones") and len(node.args) == 1:
            node.keywords.append(ast.keyword("shape", node.args.pop()))
        elif _is_numpy(node, "zeros_like", "empty_like", "ones_like") and isinstance(node.args[0], ast.Name):
            assert isinstance(node.func, ast.Attribute)
            a = node.args[0].id
            if not node.keywords:
                return ast.parse(
                    f"np.{node.func.attr.removesuffix('_like')}({a}.shape, dtype={a}.dtype)", mode="eval"
                ).body
        elif _is_numpy(node, "sum", "mean", "max") and isinstance(node.args[0], ast.BinOp | ast.Subscript):
            assert isinstance(node.func, ast.Attribute)
            return ast.Call(
                ast.Attribute(node.args[0], node.func.attr, ast.Load()), node.args[1:], node.keywords
            )
        return node


class Tuples(ast.NodeTransformer):
    """Two names that are assigned one after the other are one assignment to a tuple."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse"):
            if isinstance(statements := getattr(node, field, None), list) and not isinstance(
                node, ast.Module
            ):
                setattr(node, field, self._joined(statements))
        return node

    def _joined(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            last = out[-1] if out else None
            if self._simple(s) and last is not None and self._simple(last):
                assert isinstance(s, ast.Assign) and isinstance(last, ast.Assign)
                if not _names(last.targets[0], ast.Store) & (_names(s, ast.Load) | _names(s, ast.Store)):
                    pair = ast.Tuple([last.targets[0], s.targets[0]], ast.Store())
                    out[-1] = ast.Assign([pair], ast.Tuple([last.value, s.value], ast.Load()))
                    continue
            out.append(s)
        return out

    @staticmethod
    def _simple(s: ast.stmt) -> bool:
        return isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name)


class Helpers(ast.NodeTransformer, _Fresh):
    """Innermost loops' bodies are functions."""

    def __init__(self) -> None:
        self.made: list[ast.FunctionDef] = []
        self.function: ast.FunctionDef | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.function = node
        self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        leaves = ast.Break | ast.Continue | ast.Return | ast.For | ast.While | ast.Global | ast.Yield
        if any(isinstance(n, leaves) for s in node.body for n in ast.walk(s)) or not self._closed(node):
            return node
        assert self.function is not None
        stored = {n for s in node.body for n in _names(s, ast.Store)}
        local = {a.arg for a in self.function.args.args} | _names(self.function, ast.Store)
        read = sorted({n for s in node.body for n in _names(s, ast.Load)} & local - stored)
        name = self.name("inner")
        arguments = ast.arguments([], [ast.arg(n) for n in read], None, [], [], None, [])
        self.made.append(ast.FunctionDef(name, arguments, node.body, [], type_params=[]))
        node.body = [ast.Expr(ast.Call(_load(name), [_load(n) for n in read], []))]
        return node

    def _closed(self, loop: ast.For) -> bool:
        """Whether names that the body stores to are its own, and stored to before they are read."""
        stored = {n for s in loop.body for n in _names(s, ast.Store)}
        inside = {id(n) for s in loop.body for n in ast.walk(s)}
        assert self.function is not None
        outside = {n.id for n in ast.walk(self.function) if isinstance(n, ast.Name) and id(n) not in inside}
        if stored & outside:
            return False
        known: set[str] = set()
        for s in loop.body:
            if _names(s, ast.Load) & stored - known or (
                isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name)
            ):
                return False
            if isinstance(s, ast.Assign):
                known |= _names(s, ast.Store)
            elif _names(s, ast.Store):
                return False
        return True


IDIOMS: dict[str, type[ast.NodeTransformer]] = {
    "chained": Chained,  # looks for `for`
    "helpers": Helpers,
    "while": While,
    "short": ShortForm,
    "long": LongForm,
    "split": Split,
    "swapped": Swapped,
    "functions": Functions,
    "slices": Slices,
    "lengths": Lengths,
    "keywords": Keywords,
    "tuples": Tuples,
}


def rewritten(source: str, entry: str, idioms: tuple[str, ...] = ()) -> str:
    """The text of a module like `source`, with these idioms, or with all that go together."""
    module = ast.parse(source)
    for name, idiom in IDIOMS.items():
        if name in idioms or (not idioms and name not in ("short", "functions")):
            transformer = idiom()
            for k, f in enumerate(module.body):
                if isinstance(f, ast.FunctionDef):
                    module.body[k] = transformer.visit(f)
            if isinstance(transformer, Helpers):
                at = next(k for k, f in enumerate(module.body) if isinstance(f, ast.FunctionDef))
                module.body[at:at] = transformer.made
    assert any(isinstance(f, ast.FunctionDef) and f.name == entry for f in module.body)
    return ast.unparse(ast.fix_missing_locations(module))
