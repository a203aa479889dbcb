"""Every Python block of the README and the guide runs, in a process for each page, and prints what the page says it prints.

Blocks of a page are one program, on the lines on which they stand in the page, so that a traceback names these. What a block prints
stands below it, after a line that ends with "prints", as a block of text, in which ... stands for anything (`doctest.ELLIPSIS`).
Blocks marked ``py`` need what the tests do not have, a GPU or torch, and only have to be Python.
"""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [p for p in [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))] if p.exists()]
END = "-- end of block --"


class Block:
    def __init__(self, line: int, code: str) -> None:
        self.line, self.code = line, code
        self.prints: str | None = None


def blocks(text: str, language: str) -> list[Block]:
    """The fenced blocks of a page in this language, with what they print."""
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```") and len(line) > 3:
            end = at + 1
            while lines[end] != "```":
                end += 1
            body = "\n".join(lines[at + 1 : end]) + "\n"
            if line == f"```{language}":
                found.append(Block(at + 2, body))
            at = end
        elif re.search(r"\bprints:?$", line) and found and found[-1].prints is None:
            found[-1].prints, at = output(lines, at + 1)
        at += 1
    return found


def output(lines: list[str], at: int) -> tuple[str, int]:
    """The block of text below "prints": fenced or indented."""
    while not lines[at]:
        at += 1
    end = at
    if lines[at].startswith("```"):
        while lines[end + 1] != "```":
            end += 1
        return "\n".join(lines[at + 1 : end + 1]) + "\n", end + 1
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
        end += 1
    return "\n".join(line[4:] for line in lines[at:end]).rstrip() + "\n", end - 1


def program(found: list[Block]) -> str:
    text = ""
    for block in found:
        text += "\n" * (block.line - 1 - text.count("\n")) + block.code.rstrip("\n")
        text += f"; print({END!r})\n" if one_line(block.code) else f"\nprint({END!r})\n"
    return text


def one_line(code: str) -> bool:
    """Whether the last statement may have another one on its line."""
    last = ast.parse(code).body[-1]
    return isinstance(last, ast.Expr | ast.Assign) and last.lineno == last.end_lineno


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_page(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    for block in blocks(text, "py"):
        ast.parse(block.code)
    found = blocks(text, "python")
    if not found:
        pytest.skip("no Python on this page")
    script = tmp_path / f"page_{page.stem}.py"  # no module of that name is hidden
    script.write_text(program(found), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.split(f"{END}\n")
    assert len(said) == len(found) + 1
    for block, printed in zip(found, said, strict=False):
        if block.prints is not None:
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(block.prints, printed, flags), (block.line, printed)


def test_what_pages_print_is_compared():
    (one, two) = blocks("```python\nprint(1)\n```\n\nprints\n\n    1\n\n```python\nx = 2\n```\n", "python")
    assert (one.prints, two.prints) == ("1\n", None)
    assert (one.line, two.line) == (2, 10)
    (fenced,) = blocks("```python\nprint(1)\n```\n\nprints\n\n```text\n1\n2\n```\n", "python")
    assert fenced.prints == "1\n2\n"
