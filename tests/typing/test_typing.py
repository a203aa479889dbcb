"""Type checkers keep signatures through the decorator, and refuse wrong calls: of mypy here; pyright says the same of program.py."""

from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")


def test_mypy_strict(tmp_path, monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.setenv("MYPYPATH", str(root / "bindings/python"))
    program = Path(__file__).with_name("program.py")
    out, problems, status = api.run(
        ["--strict", "--config-file=", f"--cache-dir={tmp_path}", "--follow-imports=silent", str(program)]
    )
    assert status == 0, out + problems
