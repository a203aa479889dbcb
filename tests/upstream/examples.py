"""The examples in docstrings under stator: ``python -m tests.upstream.examples [MODULE…]``.

The examples of one docstring become the body of one function, whose statements print what the interpreter would show. It is
called some times, plain and compiled: what is printed, warned about and raised must be the same.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import stator

MODULES = ["numpy", "numpy.linalg", "numpy.fft", "numpy.ma", "numpy.lib.stride_tricks", "numpy.polynomial.polynomial", "numpy.polynomial.chebyshev",
           "numpy.polynomial.legendre", "numpy.polynomial.hermite", "numpy.lib.scimath", "numpy.strings", "numpy.char", "numpy.testing"]  # fmt: skip
CALLS = 4
# What opens windows, waits for input or shows times and addresses.
LEFT_OUT = (
    "plt.",
    "matplotlib",
    "input(",
    "timeit",
    "memmap",
    "ctypes",
    "id(",
    "default_rng()",
    "time.",
    "open(",
    "TemporaryFile",
    "StringIO",
    "save",
    "load",
)


def documented(module: str) -> Iterator[tuple[str, str]]:
    """Names and docstrings of what a module offers, methods of its classes included."""
    found = importlib.import_module(module)
    for name in sorted(n for n in dir(found) if not n.startswith("_")):
        value = getattr(found, name)
        if inspect.ismodule(value):
            continue
        yield f"{module}.{name}", inspect.getdoc(value) or ""
        if inspect.isclass(value) and value.__module__.startswith("numpy"):
            for method, what in sorted(vars(value).items()):
                if not method.startswith("_"):
                    yield f"{module}.{name}.{method}", inspect.getdoc(what) or ""


def function_of(name: str, text: str) -> Callable[[], None] | None:
    """The examples as a function without arguments; None where there are none that can be one."""
    statements: list[ast.stmt] = []
    try:
        for example in doctest.DocTestParser().get_examples(text):
            if any(word in example.source for word in LEFT_OUT):
                return None
            for node in ast.parse(example.source).body:
                if isinstance(node, ast.Expr):
                    node = ast.Expr(ast.Call(ast.Name("show", ast.Load()), [node.value], []))
                statements.append(node)
        if not statements:
            return None
        body = ast.FunctionDef("examples", ast.arguments([], [], None, [], [], None, []), statements, [])
        space = {"np": np, "numpy": np, "show": show, "__name__": "examples"}
        exec(compile(ast.fix_missing_locations(ast.Module([body], [])), f"<{name}>", "exec"), space)
    except (SyntaxError, ValueError):
        return None
    return space["examples"]


def show(value: Any) -> None:
    if value is not None:
        print(repr(value))


def observed(function: Callable[[], None]) -> tuple[str, list[tuple[str, str, int]], str]:
    """What is printed, the warnings and the exception."""
    raised = ""
    np.random.seed(0)
    out = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        np.errstate(),
        np.printoptions(),
    ):
        warnings.simplefilter("always")
        try:
            function()
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
    return out.getvalue(), [(w.category.__name__, str(w.message), w.lineno) for w in caught], raised


def main() -> int:
    differ = ran = replayed = 0
    for module in sys.argv[1:] or MODULES:
        for name, text in documented(module):
            function = function_of(name, text)
            if function is None:
                continue
            expected = [observed(function) for _ in range(CALLS)]
            if expected[1] != expected[2]:
                continue  # it changes what it finds, or shows addresses
            compiled = stator.compile(function)
            found = [observed(compiled) for _ in range(CALLS)]
            ran += 1
            replayed += stator.stats(compiled)["served"] > 0
            if found[1:] != expected[1:]:
                differ += 1
                k = next(k for k in range(1, CALLS) if found[k] != expected[k])
                print(
                    f"DIFFERS {name}, call {k + 1}\n  plain    {expected[k]}\n  compiled {found[k]}",
                    flush=True,
                )
    print(f"{ran} docstrings ran, {replayed} were served, {differ} differ")
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main())
