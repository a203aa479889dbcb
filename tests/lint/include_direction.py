"""Check that includes point one way, that no source names the machine it was written on, and that no downloads are tracked.

The rules, where ``A < B`` means that B may include A::

    graph < guards < frontend < bindings
    graph < kernels < jit < bindings
    kernels (without llvm/ and the printers' own headers) < frontend

Folders within these point one way, too: no folder may be reached from the folders that it includes.

``frontend`` and ``jit`` never include each other. ``Python.h`` and NumPy's headers belong to ``guards/check/``,
``frontend/`` and ``bindings/``; LLVM's to ``kernels/llvm/``, ``jit/orc/``; CUDA's and NVRTC's to
``jit/cuda/``. What is
forbidden directly is forbidden through other headers too, so each file's includes are followed.

Run as a script it prints one line per violation and exits 1 if there are any.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Which folders each folder may include, itself aside.
MAY_INCLUDE = {
    "graph": set(),
    "guards": {"graph"},
    "kernels": {"graph"},
    "jit": {"graph", "kernels"},
    "frontend": {"graph", "guards", "kernels"},
    "bindings": {"graph", "guards", "kernels", "frontend", "jit"},
}
# (including file, included file) pairs that are forbidden although the folders allow them.
FORBIDDEN_FILES = [
    ("frontend/*", "kernels/llvm/*"),
    ("frontend/*", "kernels/*/internal.h"),
    ("frontend/*", "jit/*"),
    ("jit/*", "frontend/*"),
]
# Which of our files may see headers of these families, directly or through other headers.
EXTERNAL = {
    "Python": (
        re.compile(
            r"(Python\.h|numpy/.*|pybind11/.*|internal/pycore_.*|pycore_.*|cpython/.*\.h|structmember\.h)$"
        ),
        ("guards/check/*", "frontend/*", "bindings/*"),
    ),
    "LLVM": (
        re.compile(r"(llvm|llvm-c)/"),
        ("kernels/llvm/*", "jit/orc/*"),
    ),
    # NVIDIA's own headers are not needed anywhere: both libraries are opened at run time.
    "CUDA": (
        re.compile(r"(cuda|nvrtc|cuda_[a-z0-9_]+|cudaTypedefs)\.h$"),
        ("jit/cuda/*",),
    ),
}
SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".cc", ".inc", ".def"}
TEXT_SUFFIXES = SOURCE_SUFFIXES | {
    ".py",
    ".pyi",
    ".txt",
    ".cmake",
    ".toml",
    ".json",
    ".sh",
    ".md",
    ".yml",
    ".cfg",
}
# Assembled so that this file does not contain what it looks for.
MACHINE_PATHS = re.compile(r"(?<![\w.])/(" + "|".join(["work", "root", "home"]) + r")/[\w.]")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


# Larger files are downloads or results, which every clone would carry for ever.
LARGEST = 256 * 1024


def source_files(root: Path) -> list[Path]:
    """All files git tracks or would add, relative to `root`."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        paths = [Path(name) for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {"build", "dist", "stator-demo", ".cache", ".git", ".venv", ".venvs"}
        skipped |= {".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
        paths = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in skipped]
            paths += [(Path(folder) / name).relative_to(root) for name in names]
    return [p for p in paths if (root / p).is_file()]


def includes_of(root: Path, path: Path) -> Iterator[tuple[int, str]]:
    """Line number and name of each include of a file; ours resolve to a path relative to `root`."""
    text = (root / path).read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        name = match[2]
        beside = path.parent / name
        if match[1] == '"' and not (root / name).is_file() and (root / beside).is_file():
            name = str(beside)
        yield text.count("\n", 0, match.start()) + 1, name


def include_violations(root: Path, paths: list[Path]) -> Iterator[str]:
    ours = {str(p): p for p in paths if p.suffix in SOURCE_SUFFIXES and p.parts[0] in MAY_INCLUDE}
    includes = {name: list(includes_of(root, path)) for name, path in ours.items()}

    for name, found in includes.items():
        folder = name.split("/")[0]
        for line, included in found:
            target = included.split("/")[0]
            if target in MAY_INCLUDE and target != folder and target not in MAY_INCLUDE[folder]:
                allowed = ", ".join(sorted(MAY_INCLUDE[folder])) or "no other folder"
                yield f"{name}:{line}: {folder}/ may include {allowed}, not {included}"
            elif any(fnmatch(name, a) and fnmatch(included, b) for a, b in FORBIDDEN_FILES):
                yield f"{name}:{line}: {included} is not for {folder}/"

        # What a file sees through our headers counts as its own.
        seen = {name}
        queue = [(name, [name])]
        while queue:
            current, chain = queue.pop()
            for line, included in includes.get(current, []):
                for family, (pattern, allowed_files) in EXTERNAL.items():
                    if pattern.match(included) and not any(fnmatch(name, a) for a in allowed_files):
                        through = f" through {' > '.join(chain[1:])}" if len(chain) > 1 else f":{line}"
                        where = ", ".join(allowed_files)
                        yield f"{name}{through}: {family} header {included} belongs in {where}"
                if included in ours and included not in seen:
                    seen.add(included)
                    queue.append((included, [*chain, included]))


def cycle_violations(root: Path, paths: list[Path]) -> Iterator[str]:
    """Folders, at whatever depth, that include each other, in a circle of any length."""
    ours = {str(p): p for p in paths if p.suffix in SOURCE_SUFFIXES and p.parts[0] in MAY_INCLUDE}
    arrows: dict[str, dict[str, str]] = {}  # from folder to folder, with an example
    for name, path in ours.items():
        for line, included in includes_of(root, path):
            if included in ours and (target := str(ours[included].parent)) != (folder := str(path.parent)):
                arrows.setdefault(folder, {}).setdefault(target, f"{name}:{line}: includes {included}")

    def reaches(start: str, goal: str) -> bool:
        seen, queue = {start}, [start]
        while queue:
            for target in arrows.get(queue.pop(), {}):
                if target == goal:
                    return True
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return False

    for folder, targets in sorted(arrows.items()):
        for target, example in sorted(targets.items()):
            if reaches(target, folder):
                yield f"{example}, and {target}/ includes files of {folder}/, directly or through others"


def machine_path_violations(root: Path, paths: list[Path]) -> Iterator[str]:
    for path in paths:
        if path.suffix not in TEXT_SUFFIXES and path.name not in {"Makefile", "run"}:
            continue
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            if match := MACHINE_PATHS.search(line):
                yield f"{path}:{number}: names an absolute path of some machine ({match[0]}…)"


def size_violations(root: Path, paths: list[Path]) -> Iterator[str]:
    for path in paths:
        if (size := (root / path).stat().st_size) > LARGEST:
            yield f"{path}: {size} bytes; files that are tracked have at most {LARGEST}"


def violations(root: Path = ROOT) -> list[str]:
    paths = source_files(root)
    return [
        *include_violations(root, paths),
        *cycle_violations(root, paths),
        *machine_path_violations(root, paths),
        *size_violations(root, paths),
    ]


if __name__ == "__main__":
    found = violations()
    print("\n".join(found) or "include directions: as they should be")
    sys.exit(bool(found))
