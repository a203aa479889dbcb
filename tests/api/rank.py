"""Counts in how many packages, files and places NumPy's functions and methods of its arrays are called.

    python -m tests.api.rank DIR    downloads the wheels of corpus.txt to DIR where they are not there yet

The corpus is corpus.txt: packages of PyPI that use NumPy for something else than making arrays available, each in a
fixed version, chosen to be of many kinds (statistics, images, sound, neuroimaging, astronomy, meteorology, chemistry,
optimization, quantum computing, finance, graphs, plots ...). Their modules are read as text, never run; files of tests,
of benchmarks and of vendored copies are left out.

What counts
* A call of a name that leads to NumPy by the file's imports: ``np.linalg.norm(x)``, ``from numpy import zeros``,
  ``from numpy.fft import fft``. Methods of ufuncs are names, too (``np.add.at``), and so are the objects that are
  indexed instead of called (``np.r_[...]``). Names that NumPy has several of for one object (``abs`` and ``absolute``) are one
  entry under the name that is used most. What the installed NumPy no longer has (``np.float_``) is left out, and so is
  numpy.testing: assertions are not what programs compute with.
* A call of a method that ndarrays have, ``x.sum()``, other than on a module, on ``self`` or ``cls``, or on a literal.
  Names that other common types have as well (COMMON) count only where the receiver is an array as far as this function
  shows: a call of NumPy's, arithmetic on or part of one, or a variable that was assigned one.
  Objects of pandas and xarray have methods of the same names and meaning as arrays (``mean``, ``astype``), and cannot be told
  apart; entries of such names are somewhat too high.

Entries are sorted by packages, then files, then uses, then name.
"""

from __future__ import annotations

import ast
import collections
import functools
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
COUNT = 250
INDEXED = {"r_", "c_", "s_", "index_exp", "mgrid", "ogrid"}
# Methods that lists, dicts, strings, files, queues or figures have, too.
COMMON = {
    "copy",
    "sort",
    "partition",
    "put",
    "fill",
    "view",
    "item",
    "dump",
    "dumps",
    "resize",
    "take",
    "repeat",
}
COMMON |= {
    "round",
    "choose",
    "compress",
    "trace",
    "dot",
    "all",
    "any",
    "transpose",
    "squeeze",
    "conjugate",
    "diagonal",
}
METHODS = {n for n in dir(np.ndarray) if not n.startswith("_") and callable(getattr(np.ndarray, n))}
LEFT_OUT = ("test", "conftest", "benchmark", "vendor", "extern", "_compat", "numpydoc")


@functools.cache
def numpy_object(path: str) -> Any:
    """What ``numpy.<path>`` is, None where there is no such thing."""
    at: Any = np
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # np.str, np.core
        for name in path.split("."):
            try:
                at = getattr(at, name)
            except AttributeError:
                return None
    return at


def counts_as_function(path: str) -> bool:
    if path in INDEXED:
        return True
    private = any(part.startswith("_") for part in path.split(".")) or path.startswith(("core.", "testing."))
    return callable(numpy_object(path)) and not private


class File(ast.NodeVisitor):
    """Uses in one file: names under numpy, and ".name" for methods."""

    def __init__(self, tree: ast.AST) -> None:
        self.uses: collections.Counter[str] = collections.Counter()
        self.names: dict[str, str] = {}  # of this file, to a path under numpy ("" = numpy itself)
        self.modules: set[str] = set()
        self.arrays: list[set[str]] = [set()]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._imported(alias.name, alias.asname)
            elif isinstance(node, ast.ImportFrom):
                self._imported_from(node)
        self.visit(tree)

    def _imported(self, module: str, name: str | None) -> None:
        self.modules.add(name or module.split(".")[0])
        if module == "numpy" or module.startswith("numpy."):
            self.names[name or "numpy"] = module.removeprefix("numpy").lstrip(".") if name else ""

    def _imported_from(self, node: ast.ImportFrom) -> None:
        inside = node.level == 0 and (node.module or "").split(".")[0] == "numpy"
        for alias in node.names:
            if inside:
                parent = (node.module or "").removeprefix("numpy").lstrip(".")
                self.names[alias.asname or alias.name] = f"{parent}.{alias.name}".lstrip(".")
            else:  # `from . import util`: as likely a module as not
                self.modules.add(alias.asname or alias.name)

    def path(self, node: ast.AST) -> str | None:
        """The path under numpy that an expression names."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.path(node.value)
            return None if base is None else f"{base}.{node.attr}".lstrip(".")
        return None

    def is_array(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.arrays[-1]
        if isinstance(node, ast.Subscript):
            return self.is_array(node.value) or bool(self.path(node.value))
        if isinstance(node, ast.BinOp):
            return self.is_array(node.left) or self.is_array(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.is_array(node.operand)
        if isinstance(node, ast.Attribute):
            return node.attr in ("T", "real", "imag", "flat") and self.is_array(node.value)
        if isinstance(node, ast.Call):
            if self.path(node.func):
                return True
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            return method in METHODS and (method not in COMMON or self.is_array(node.func.value))
        return False

    def visit_FunctionDef(self, node: Any) -> None:
        self.arrays.append(set(self.arrays[-1]))
        self.generic_visit(node)
        self.arrays.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                if self.is_array(node.value):
                    self.arrays[-1].add(target.id)
                else:
                    self.arrays[-1].discard(target.id)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        path = self.path(node.value)
        if path in INDEXED:
            self.uses[path] += 1
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        path = self.path(node.func)
        if path:
            if path not in INDEXED and counts_as_function(path):
                self.uses[path] += 1
            return
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and self._method(node.func):
            self.uses["." + node.func.attr] += 1

    def _method(self, function: ast.Attribute) -> bool:
        receiver = function.value
        if isinstance(receiver, (ast.Constant, ast.JoinedStr, ast.Dict, ast.List, ast.ListComp)):
            return False
        if isinstance(receiver, ast.Name) and (
            receiver.id in self.modules or receiver.id in ("self", "cls") or receiver.id in self.names
        ):
            return False
        return function.attr not in COMMON or self.is_array(receiver)


def modules_of(wheel: Path) -> Iterator[str]:
    """The texts of a wheel's modules."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = name.lower().split("/")
            if name.endswith(".py") and not any(p.strip("_").startswith(LEFT_OUT) for p in parts):
                yield archive.read(name).decode("utf-8", "replace")


def wheel_of(requirement: str, folder: Path) -> Path:
    """Downloads it where it is not there yet."""
    target = folder / requirement
    if not list(target.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q", "--no-deps"]
        subprocess.run([*command, "--only-binary=:all:", "-d", str(target), requirement], check=True)
    return next(target.glob("*.whl"))


def one_name_each(packages: dict[str, set[str]]) -> dict[str, str]:
    """Entries to the entry under which they count: of several names of one object the one that most packages use."""
    best: dict[int, str] = {}
    entry = {}
    for name in sorted(packages, key=lambda n: (-len(packages[n]), n)):
        entry[name] = name if name.startswith(".") else best.setdefault(id(numpy_object(name)), name)
    return entry


def rank(folder: Path) -> list[tuple[str, int, int, int]]:
    """(entry, packages, files, uses) of every entry that is used, most used first."""
    found: list[tuple[str, collections.Counter[str]]] = []
    for requirement in corpus():
        for text in modules_of(wheel_of(requirement, folder)):
            try:
                found.append((requirement, File(ast.parse(text)).uses))
            except (SyntaxError, ValueError, RecursionError):
                continue
    packages: dict[str, set[str]] = collections.defaultdict(set)
    for requirement, uses in found:
        for name in uses:
            packages[name].add(requirement)
    entry = one_name_each(packages)
    where: dict[str, set[str]] = collections.defaultdict(set)
    files: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    for requirement, uses in found:
        for name in {entry[n] for n in uses}:
            where[name].add(requirement)
            files[name] += 1
        for name, n in uses.items():
            total[entry[name]] += n
    rows = [(n, len(where[n]), files[n], total[n]) for n in where]
    return sorted(rows, key=lambda row: (-row[1], -row[2], -row[3], row[0]))


def corpus() -> list[str]:
    lines = (HERE / "corpus.txt").read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def ranking() -> list[str]:
    """The entries of ranking.txt, most used first."""
    lines = (HERE / "ranking.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def main() -> None:
    rows = rank(Path(sys.argv[1]))[:COUNT]
    lines = [
        "# NumPy's functions and arrays' methods (with a dot) that the packages of corpus.txt use most; made by",
        "# python -m tests.api.rank, which says what counts. Columns: packages, files, places.",
    ]
    lines += [f"{name:<28} {p:>3} {f:>5} {u:>6}" for name, p, f, u in rows]
    (HERE / "ranking.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
