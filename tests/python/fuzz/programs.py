"""A random program as data, its source text, and the generator of straight-line programs.

The generator runs each statement eagerly as it adds it, so it knows the shapes and dtypes of everything it names and
most statements fit. A statement that raises is thrown away, or now and then kept as the last one.
"""

from __future__ import annotations

import copy
import linecache
import math
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arguments import Array, Scalar, Spec, View, arguments, build, extents, varied
from .choices import Choices
from .statements import ROWS, Scope


@dataclass
class Block:
    """A compound statement: ``head:`` and an indented body."""

    head: str
    body: list[Statement]


Statement = str | Block


@dataclass
class Program:
    """A function ``f`` and the arguments of the calls that are made of it, in order."""

    name: str
    parameters: list[str]
    body: list[Statement]
    calls: list[list[Spec]]
    keywords: list[str] = field(default_factory=list)  # parameters passed by name, a tail of `parameters`
    helpers: list[Statement] = field(default_factory=list)  # module-level definitions that f uses
    wide: bool = False  # uses functions outside the documented set

    @property
    def filename(self) -> str:
        return f"<{self.name}>"

    def source(self) -> str:
        """The program's text, as it is compiled."""
        lines = ["import numpy as np", ""]
        lines += _render(self.helpers, 0)
        lines += ["", f"def f({', '.join(self.parameters)}):"]
        lines += list(_render(self.body, 1)) or ["    pass"]
        if any("math." in line for line in lines):
            lines[0] = "import math; import numpy as np"
        return "\n".join(lines) + "\n"

    def load(self) -> types.FunctionType:
        """A fresh `f`, whose source tracebacks and warnings can quote."""
        text = self.source()
        linecache.cache[self.filename] = (len(text), None, text.splitlines(True), self.filename)
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(text, self.filename, "exec", dont_inherit=True), namespace)
        return namespace["f"]

    def statements(self) -> int:
        """Statements, blocks not counted."""
        return sum(1 for _ in _leaves(self.body))

    def copy(self) -> Program:
        return copy.deepcopy(self)


def _render(body: list[Statement], depth: int) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, Block):
            yield "    " * depth + statement.head + ":"
            yield from list(_render(statement.body, depth + 1)) or ["    " * (depth + 1) + "pass"]
        else:
            yield "    " * depth + statement


def _leaves(body: list[Statement]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, Block):
            yield from _leaves(statement.body)
        else:
            yield statement


MAX_ELEMENTS = 300_000


class Builder:
    """Grows a straight-line program, running it as it grows."""

    def __init__(self, c: Choices, specs: list[Spec], wide: bool) -> None:
        self.c = c
        names = "abxyz"
        values = build(specs, 0)
        self.scope = Scope(c, {names[i]: v for i, v in enumerate(values)}, wide)
        self.parameters = list(self.scope.values)
        self.body: list[Statement] = []
        self.failed = False

    def _execute(self, text: str) -> bool:
        """Runs the text on the scope's values; False when it raises or grows too large."""
        values = self.scope.values
        namespace = {"np": np, **values}
        try:
            exec(text, namespace)
        except Exception:
            return False
        new = {k: v for k, v in namespace.items() if k in values or (k.startswith("v") and k not in values)}
        if any(isinstance(v, np.ndarray) and v.size > MAX_ELEMENTS for v in new.values()):
            return False
        if any(isinstance(v, int) and abs(v) > 5000 or isinstance(v, tuple | list) for v in new.values()):
            return False
        self.scope.values = new
        return True

    def statement(self, prefix: str = "") -> str | None:
        """One more statement, or None when the tries ran out."""
        for _ in range(8):
            text = self.c.weighted(ROWS)(self.scope)
            if text is None:
                continue
            indented = (
                prefix + "\n" + "\n".join("    " + line for line in text.split("\n")) if prefix else text
            )
            if self._execute(indented):
                return text
            if self.c.chance(0.02):
                self.failed = True
                return text
        return None

    def grow(self, count: int) -> None:
        """Appends up to `count` statements, some of them in errstate blocks."""
        while count > 0 and not self.failed:
            if self.c.chance(0.06):
                head = f"with np.errstate({errstate(self.c)})"
                inner = []
                for _ in range(self.c.integer(1, 3)):
                    if not self.failed and (text := self.statement(head + ":")):
                        inner += text.split("\n")
                if inner:
                    self.body.append(Block(head, list(inner)))
                count -= max(1, len(inner))
            else:
                if text := self.statement():
                    self.body += text.split("\n")
                count -= 1

    def finish(self) -> None:
        """The return statement: the latest value, or several."""
        names = [n for n in self.scope.values if n not in self.parameters] or list(self.parameters)
        if self.c.chance(0.5):
            some = [n for n in self.scope.values if self.c.chance(0.5)] or names
            self.body.append(f"return {', '.join(some)}")
        else:
            self.body.append(f"return {names[-1]}")


def errstate(c: Choices) -> str:
    """Arguments of ``np.errstate``."""
    how = ("ignore", "warn", "raise")
    if c.chance(0.4):
        return f"all={c.pick(how)!r}"
    kinds = [k for k in ("divide", "over", "under", "invalid") if c.chance(0.5)] or ["invalid"]
    return ", ".join(f"{k}={c.pick(how)!r}" for k in kinds)


def call_list(c: Choices, specs: list[Spec], pool: tuple[int, ...]) -> list[list[Spec]]:
    """What the program is called with: twice the same, with other scalars and sizes, and as at first."""
    other = varied(c, specs, pool)
    return [list(specs), list(specs), other, [s for s in specs], other]


def straight_line(c: Choices, name: str, size: int = 12) -> Program:
    """A random program without control flow other than ``with np.errstate``.

    One program in six is "wide": it also uses NumPy functions that nobody expects to be compiled.
    """
    wide = c.chance(0.17)
    pool = extents(c)
    specs = arguments(c, pool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = Builder(c, specs, wide)
        builder.grow(c.integer(1, size))
        if not builder.failed:
            builder.finish()
    keywords = builder.parameters[-1:] if len(specs) > 1 and c.chance(0.15) else []
    return Program(name, builder.parameters, builder.body, call_list(c, specs, pool), keywords, wide=wide)


def simpler_specs(specs: list[Spec]) -> Iterator[list[Spec]]:
    """Argument lists a little simpler than the given one, for the reducer."""
    for i, spec in enumerate(specs):

        def put(new: Spec, at: int = i) -> list[Spec]:
            return [*specs[:at], new, *specs[at + 1 :]]

        if isinstance(spec, Array):
            for layout in ("C",) if spec.layout != "C" else ():
                yield put(spec._replace(layout=layout))
            for values in {"wild": ("tame", "plain"), "plain": ("tame",)}.get(spec.values, ()):
                yield put(spec._replace(values=values))
            if spec.dtype != "f8":
                yield put(spec._replace(dtype="f8"))
            if spec.shape:
                yield put(spec._replace(shape=spec.shape[1:]))
            for axis, n in enumerate(spec.shape):
                for fewer in sorted({1, 2, n // 2, n - 1} - {n}):
                    if 0 < fewer < n:
                        yield put(spec._replace(shape=(*spec.shape[:axis], fewer, *spec.shape[axis + 1 :])))
        elif isinstance(spec, View):
            yield put(Array("f8", (3,)))
        elif isinstance(spec, Scalar) and spec != Scalar("float", 1.0) and math.isfinite(abs(spec.value)):
            yield put(Scalar("float", 1.0))
