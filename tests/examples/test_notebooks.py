"""The notebooks of examples/notebooks: each runs from its first cell to its last in a new kernel, and what is saved in it is what
readers see elsewhere: cells in order, no errors, no folders of whoever ran it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="a notebook draws")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_some():
    assert len(NOTEBOOKS) >= 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, tmp_path):
    book = nbformat.read(path, 4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    # A cell that raises fails here, with its traceback.
    nbclient.NotebookClient(book, timeout=400, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = [o for cell in book.cells for o in cell.get("outputs", [])]
    assert printed
    assert not [o.text for o in printed if o.output_type == "stream" and o.name == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_is_saved(path):
    book = nbformat.read(path, 4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert book.cells[0].cell_type == "markdown" and book.cells[0].source.startswith("# ")
    outputs = [o for cell in code for o in cell.outputs]
    assert outputs and not [o for o in outputs if o.output_type == "error"]
    assert not re.search(r"/home/|/root/|/work/|/Users/", path.read_text(encoding="utf-8"))
