"""The lint holds for this checkout, and catches what it is there to catch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from include_direction import violations


def test_checkout_is_clean():
    assert violations() == []


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("graph/a.cpp", '#include "kernels/k.h"', "graph/a.cpp:1: graph/ may include no other folder"),
        ("frontend/a.cpp", '#include "jit/orc/orc.h"', "not jit/orc/orc.h"),
        ("jit/a.cpp", '#include "frontend/record.h"', "not frontend/record.h"),
        ("frontend/a.cpp", '#include "kernels/llvm/emit.h"', "kernels/llvm/emit.h is not for frontend/"),
        ("guards/flat.cpp", "#include <Python.h>", "Python header Python.h belongs in"),
        ("jit/cache.cpp", "\n#  include <llvm/IR/Module.h>", "jit/cache.cpp:2: LLVM header"),
        ("graph/a.h", "// /" + "root/x", "names an absolute path"),
        ("tests/a.whl", "x" * 300_000, "tests/a.whl: 300000 bytes; files that are tracked"),
    ],
)
def test_violation_is_found(tmp_path, name, text, expected):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert any(expected in line for line in violations(tmp_path)), violations(tmp_path)


def test_violation_through_a_header_is_found(tmp_path):
    (tmp_path / "guards/check").mkdir(parents=True)
    (tmp_path / "guards/check/check.h").write_text("#include <Python.h>")
    (tmp_path / "guards/flat.cpp").write_text('#include "guards/check/check.h"')
    assert violations(tmp_path) == [
        "guards/flat.cpp through guards/check/check.h: Python header Python.h belongs in guards/check/*, frontend/*, bindings/*"
    ]


def test_folders_in_a_circle_are_found(tmp_path):
    for folder, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / "graph" / folder).mkdir(parents=True)
        (tmp_path / "graph" / folder / "x.h").write_text(f'#include "graph/{other}/x.h"')
    found = violations(tmp_path)
    assert len(found) == 3
    assert found[0] == (
        "graph/a/x.h:1: includes graph/b/x.h, and graph/b/ includes files of graph/a/, directly or through others"
    )


@pytest.mark.parametrize(
    "name, text",
    [
        ("frontend/a.cpp", '#include "kernels/abi.h"\n#include "guards/guard.h"\n#include <Python.h>'),
        ("jit/orc/a.cpp", '#include <llvm/IR/Module.h>\n#include "kernels/llvm/emit.h"'),
        ("bindings/a.cpp", '#include "jit/options.h"\n#include <pybind11/pybind11.h>'),
    ],
)
def test_allowed_includes_pass(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert violations(tmp_path) == []
