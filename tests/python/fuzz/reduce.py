"""Shrinks a failing program: statements, then expressions, then calls and arguments, until nothing smaller fails.

A candidate counts as failing when it differs from eager in the same place (result, exception, events, arguments, or
a crash) as the original. Programs that end the process are tried in processes of their own.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from .check import check, implementation
from .compare import interpreter
from .programs import Block, Program, Statement, simpler_specs

REGRESSIONS = Path(__file__).resolve().parents[1] / "regressions"
ROOT = Path(__file__).resolve().parents[3]


ASPECTS = {"type", "dtype", "shape", "strides", "flags", "base", "text", "lines", "context", "cause"}


def kind_of(failure: str | None) -> str | None:
    """What differs: ``"result.values"``, ``"result.strides"``, ``"exception.type"``, ``"events"``, ``"crash"`` …"""
    if failure is None:
        return None
    match = re.match(r"call \d+: ([\w.\[\]]+):", failure)
    if not match:
        return "crash"
    part, *rest = re.sub(r"\[\d+\]", "", match[1]).split(".")
    aspect = rest[-1] if rest else ""
    return (
        f"{part}.{aspect if aspect in ASPECTS else 'values'}"
        if part in ("result", "arguments", "exception")
        else part
    )


class Endless(BaseException):
    """A candidate without the statement that ended its loop."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `Endless` in the body when it takes longer."""

    def give_up(*_: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def in_process(program: Program, mode: str) -> str | None:
    """The failure of `program` here, or None."""
    module = implementation(mode)
    module.reset()
    try:
        with time_limit(5):
            failure = check(program, module).failure
        # A name whose definition was removed is not the difference we are after.
        return None if failure and re.search(r"NameError|UnboundLocalError", failure) else failure
    except (SyntaxError, NameError, IndexError, ValueError, Endless):
        return None  # not a program any more


def in_subprocess(program: Program, mode: str) -> str | None:
    """The failure of `program` in a process of its own."""
    text = regression_test(program, "")
    script = (
        text
        + "\ndiff = run_source(SOURCE, CALLS, KEYWORDS)\nimport sys\nsys.exit(0 if diff is None else print(diff) or 3)\n"
    )
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(REGRESSIONS.parent), os.environ.get("PYTHONPATH", "")])
    }
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, env=env, timeout=60
        )
    except subprocess.TimeoutExpired:
        return "hung"
    if done.returncode == 3:
        return done.stdout
    return f"status {done.returncode}" if done.returncode < 0 else None


def _without_each(body: list[Statement]) -> Iterator[list[Statement]]:
    """`body` with parts left out: halves first, then single statements, blocks unwrapped and shrunk inside."""
    size = len(body) // 2
    while size > 1:
        for start in range(0, len(body), size):
            yield body[:start] + body[start + size :]
        size //= 2
    for i, statement in enumerate(body):
        yield body[:i] + body[i + 1 :]
        if isinstance(statement, Block):
            yield body[:i] + statement.body + body[i + 1 :]
            for inner in _without_each(statement.body):
                yield [*body[:i], Block(statement.head, inner), *body[i + 1 :]]


HOISTED = (
    ast.BinOp | ast.UnaryOp | ast.Call | ast.Subscript | ast.Compare | ast.Tuple | ast.BoolOp | ast.IfExp
)


class _Hoist(ast.NodeTransformer):
    """Replaces the n-th operation of an expression by its k-th operand."""

    def __init__(self, at: int, operand: int) -> None:
        self.at, self.operand, self.seen, self.done = at, operand, -1, False

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, HOISTED):
            self.seen += 1
            if self.seen == self.at:
                children = [
                    c
                    for c in ast.iter_child_nodes(node)
                    if isinstance(c, ast.expr) and not isinstance(c, ast.Slice)
                ]
                if isinstance(node, ast.Call):
                    children = node.args + [k.value for k in node.keywords]
                if self.operand < len(children):
                    self.done = True
                    return children[self.operand]
        return super().generic_visit(node)


def _parsed(text: str, head: bool) -> tuple[ast.stmt, str] | None:
    """A statement or a block's head, and which of its fields is the expression that may become simpler."""
    try:
        body = ast.parse(text.strip() + (": pass" if head else "")).body
    except SyntaxError:
        return None
    for kind, name in (
        ((ast.Assign, ast.AugAssign, ast.Return, ast.Expr), "value"),
        ((ast.If, ast.While), "test"),
        ((ast.For,), "iter"),
    ):
        if len(body) == 1 and isinstance(body[0], kind) and getattr(body[0], name) is not None:
            return body[0], name
    return None


def _unparsed(statement: ast.stmt, head: bool) -> str:
    text = ast.unparse(ast.fix_missing_locations(statement))
    return text.split("\n")[0].removesuffix(":") if head else text


def _simpler_text(text: str, head: bool = False) -> Iterator[str]:
    """The statement `text` with one operation replaced by one of its operands."""

    def fresh() -> tuple[ast.stmt, str]:
        found = _parsed(text, head)
        assert found is not None
        return found

    if _parsed(text, head) is None:
        return
    statement, name = fresh()
    value = getattr(statement, name)
    if isinstance(value, ast.Tuple) and len(value.elts) > 1:
        for k in range(len(value.elts)):
            fewer, _ = fresh()
            del getattr(fewer, name).elts[k]
            yield _unparsed(fewer, head)
    if isinstance(statement, ast.AugAssign):
        yield _unparsed(ast.Assign([statement.target], statement.value), head)
    for at in range(12):
        for operand in range(3):
            simpler, _ = fresh()
            hoist = _Hoist(at, operand)
            setattr(simpler, name, hoist.visit(getattr(simpler, name)))
            if hoist.done:
                yield _unparsed(simpler, head)


def _simpler_expressions(body: list[Statement]) -> Iterator[list[Statement]]:
    for i, statement in enumerate(body):
        if isinstance(statement, Block):
            for inner in _simpler_expressions(statement.body):
                yield [*body[:i], Block(statement.head, inner), *body[i + 1 :]]
            for head in _simpler_text(statement.head, head=True):
                yield [*body[:i], Block(head, statement.body), *body[i + 1 :]]
        else:
            for text in _simpler_text(statement):
                yield [*body[:i], text, *body[i + 1 :]]


def _rename(body: list[Statement], old: str, new: str) -> list[Statement]:
    pattern = re.compile(rf"\b{old}\b")
    return [
        Block(pattern.sub(new, s.head), _rename(s.body, old, new))
        if isinstance(s, Block)
        else pattern.sub(new, s)
        for s in body
    ]


def _without_copies(body: list[Statement]) -> Iterator[list[Statement]]:
    """`body` with a statement ``a = b`` left out and b written for a from there on."""
    for i, statement in enumerate(body):
        if isinstance(statement, str) and (found := re.fullmatch(r"(\w+) = ([a-z]\w*)", statement)):
            yield body[:i] + _rename(body[i + 1 :], found[1], found[2])


def _candidates(p: Program) -> Iterator[Program]:
    """Programs a little smaller than `p`, the boldest first."""

    def changed(**parts: object) -> Program:
        q = p.copy()
        for name, value in parts.items():
            setattr(q, name, value)
        return q

    for i in range(len(p.calls)):
        if len(p.calls) > 1:
            yield changed(calls=p.calls[:i] + p.calls[i + 1 :])
    for body in _without_each(p.body):
        yield changed(body=body)
    for helpers in _without_each(p.helpers):
        yield changed(helpers=helpers)
    if p.keywords:
        yield changed(keywords=[])
    for i in range(len(p.parameters) - 1, -1, -1):
        if len(p.parameters) > 1 and not p.keywords:
            yield changed(
                parameters=p.parameters[:i] + p.parameters[i + 1 :],
                calls=[c[:i] + c[i + 1 :] for c in p.calls],
            )
    for i in range(1, len(p.calls)):
        if p.calls[i] != p.calls[0]:
            yield changed(calls=[*p.calls[:i], p.calls[0], *p.calls[i + 1 :]])
    for specs in simpler_specs(p.calls[0]):
        if all(c == p.calls[0] for c in p.calls):
            yield changed(calls=[specs for _ in p.calls])
    for i in range(len(p.calls)):
        for specs in simpler_specs(p.calls[i]):
            yield changed(calls=[*p.calls[:i], specs, *p.calls[i + 1 :]])
    for body in _simpler_expressions(p.body):
        yield changed(body=body)
    for helpers in _simpler_expressions(p.helpers):
        yield changed(helpers=helpers)
    for body in _without_copies(p.body):
        yield changed(body=body)


def reduce(program: Program, fails: Callable[[Program], bool], most: int = 3000) -> Program:
    """The smallest failing program found.

    Parameters
    ----------
    program : Program
        One for which `fails` holds.
    fails : callable
    most : int
        How many candidates may be tried.
    """
    tried, progress = 0, True
    while progress and tried < most:
        progress = False
        for candidate in _candidates(program):
            tried += 1
            if tried >= most:
                break
            if fails(candidate):
                program, progress = candidate, True
                break
    return program


def regression_test(program: Program, failure: str) -> str:
    """The text of a pytest file that runs `program`."""
    name = re.sub(r"\W", "_", program.name)
    first = textwrap.shorten(" ".join(failure.split()), 300)
    calls = "\n".join(f"    [{', '.join(map(repr, specs))}]," for specs in program.calls)
    summary = "\n".join(textwrap.wrap(f"Found by {interpreter()}: {first}", 110)) if failure else ""
    return f'''"""Found by the fuzzer as {program.name}.

{summary}
"""

from fuzz.arguments import Array, Scalar, View  # noqa: F401
from fuzz.check import run_source

SOURCE = """\\
{program.source()}"""

CALLS = [
{calls}
]
KEYWORDS = {program.keywords!r}


def test_{name}():
    assert run_source(SOURCE, CALLS, KEYWORDS) is None
'''


def reduce_and_write(program: Program, mode: str, most: int = 3000) -> int:
    """Reduces `program`, writes the test, prints both; 1 when the program did not fail."""
    failure = in_subprocess(program, mode)
    if failure is None:
        print("this program does not fail")
        return 1
    kind = kind_of(failure)
    attempt = in_subprocess if kind == "crash" else in_process
    if attempt is in_process and kind_of(in_process(program, mode)) != kind:
        attempt = in_subprocess
    smallest = reduce(
        program, lambda p: kind_of(attempt(p, mode)) == kind, 400 if attempt is in_subprocess else most
    )
    text = regression_test(smallest, attempt(smallest, mode) or failure)
    REGRESSIONS.mkdir(exist_ok=True)
    path = REGRESSIONS / f"test_{re.sub(r'[^a-z0-9]', '_', program.name)}.py"
    path.write_text(text)
    print(text)
    print(f"written to {path.relative_to(ROOT)}")
    return 0
