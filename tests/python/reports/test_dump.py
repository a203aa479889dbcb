"""The dump: folders of stages and the page that links them, made from invented traces."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from stator import _dump
from stator._dump import graphtext, links, page
from stator._dump.layout import Drawing


def scale(x, k):
    y = x * k
    return y + 1.0


GRAPH = """\
trace scale#1 sym(s0=9 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = input L['k'] {slot=1, kind=float} : f64 as float
  %2 = multiply %0, %1 : f64[s0] @ FILE:LINE scale
  %3 = reduce add %2 {axes=(0), order=c} : f64 as npscalar @ FILE:LINE scale
  %4 = const 0.0 : f64
  %5 = greater %3, %4 : b1 as npscalar @ FILE:LINE scale
  guard %5 == True else n0 @ FILE:LINE scale
  %7 = const 1.0 : f64
  %8 = add %2, %7 : f64[s0] @ FILE:NEXT scale
  snap n0 code=0 unit=12 [%2, null]
  return %8
}
"""
LOOP_IR = """\
program {
  b0 = input L['x'] : f64[s0] contiguous
  b1 = output %8 : f64[s0] contiguous written
  c0 = input L['k'] : f64
  c1 = const 1.0 : f64
  nest 0 i0<s0 {
    v0 = scalar c0 : f64
    v1 = scalar c1 : f64
      v2 = load b0[i0] : f64
      v3 = multiply v2, v0 : f64
      v4 = add v3, v1 : f64
      store b1[i0], v4
  }
}
"""
LLVM = "define i32 @scale_1_nest0(ptr %a) {\n  %x = fmul <8 x double> %v, %w\n  ret i32 0\n}\n"
ASSEMBLY = "scale_1_nest0:\n\tvmulpd\t%zmm0, %zmm1, %zmm0\n\tretq\n\t.size\tscale_1_nest0, .-scale_1_nest0\n"


@pytest.fixture
def trace():
    texts = _dump.function_texts(scale)
    line = texts["first_line"] + 1
    graph = GRAPH.replace("FILE", texts["file"]).replace("LINE", str(line)).replace("NEXT", str(line + 1))
    remark = {"reason": "UnknownCall", "message": "call of print is not modelled", "hint": "move it", "file": texts["file"],
              "function": "scale", "line": line + 1, "count": 2}  # fmt: skip
    return texts | {
        "name": "scale#1", "place": f"test_dump.py:{line - 1}", "recorded": graph, "passes": [("dce", graph)], "graph": graph,
        "guards": ["L['x'] is an ndarray"], "remarks": [remark], "exits_taken": 1, "timings": {"entries": 3},
        "segments": [{"loop_ir": LOOP_IR, "llvm_ir": LLVM, "assembly": ASSEMBLY, "error": ""}],
    }  # fmt: skip


def data_of(index) -> list[dict]:
    found = re.search(r'id="data">(.*?)</script>', index.read_text(), re.S)
    return json.loads(found[1].replace("<\\/", "</"))


def relaxed(u, steps):
    seen = []
    for t in range(steps):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        if t % 5 == 0:
            seen.append(str(t))
    return u, seen


def test_regions_have_pages(tmp_path):
    """Native lines, exits with their counts, and what Python does, of a loop that ran."""
    import numpy as np
    import stator

    compiled = stator.compile(relaxed)
    for _ in range(3):
        compiled(np.linspace(0.0, 1.0, 9) ** 2, 20)
        stator.wait()
    index = _dump.write_dump(tmp_path, [*_dump.gather(compiled), *_dump.gather_regions(compiled)])
    (region,) = [t for t in data_of(index) if t.get("kind") == "region"]
    first = relaxed.__code__.co_firstlineno
    assert {f"s0:{first + 2}", f"s0:{first + 3}"} <= set(region["native"])
    assert f"s0:{first + 6}" not in region["native"]
    marks = {
        text.strip(): [m["kind"] for m in marks] for text, _, marks in region["sources"][0]["lines"] if marks
    }
    assert marks == {f"{first + 5}              seen.append(str(t))": ["exit", "python"]}
    folder = tmp_path / region["folder"]
    assert sorted(p.name for p in folder.iterdir()) == ["bytecode.txt", "exits.txt", "region.ll", "region.s", "region.txt", "source.py", "timings.json"]  # fmt: skip
    exits = (folder / "exits.txt").read_text()
    assert re.search(
        r"x\d+ to test_dump.py:%d, [1-9]\d* times: Python does this statement" % (first + 5), exits
    )
    assert f"test_dump.py:{first + 5} in relaxed: no code for" in exits
    assert "vmulpd" in (folder / "region.s").read_text() or "mulpd" in (folder / "region.s").read_text()


def test_every_stage_is_a_file(tmp_path, trace):
    assert _dump.write_dump(tmp_path, [trace, trace]) == tmp_path / "index.html"
    names = sorted(p.name for p in (tmp_path / "scale-1").iterdir())
    assert names == ["asm.0.s", "bytecode.txt", "exits.txt", "graph.0-recorded.txt", "graph.1-dce.txt", "guards.txt",
                     "llvm.0.ll", "loop_ir.0.txt", "source.py", "timings.json"]  # fmt: skip
    assert (tmp_path / "scale-1.2").is_dir()
    assert (
        "UnknownCall: call of print is not modelled (move it), twice"
        in (tmp_path / "scale-1" / "exits.txt").read_text()
    )
    assert f"{trace['first_line']:5}  def scale(x, k):\n" in (tmp_path / "scale-1" / "source.py").read_text()


def test_the_same_traces_give_the_same_text(tmp_path, trace):
    _dump.write_dump(tmp_path / "a", [trace])
    _dump.write_dump(tmp_path / "b", [trace | {"timings": {"entries": 99}}])
    for path in sorted((tmp_path / "a").rglob("*")):
        if path.is_file() and path.name != "timings.json":
            assert path.read_text() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_text()


def test_the_page_needs_no_network(tmp_path, trace):
    text = _dump.write_dump(tmp_path, [trace]).read_text()
    assert not re.search(
        r"(src|href)\s*=|url\(|@import|fetch\(", text.replace("http://www.w3.org/2000/svg", "")
    )


def test_lines_are_linked(tmp_path, trace):
    (model,) = data_of(_dump.write_dump(tmp_path, [trace]))
    multiply = next(keys for text, keys in model["segments"][0]["loop IR"] if "multiply" in text)
    source = next(keys for text, keys, _ in model["sources"][0]["lines"] if "y = x * k" in text)
    machine = next(keys for text, keys in model["segments"][0]["assembly"] if "vmulpd" in text)
    assert multiply == ["n2", *source]
    assert {"n2", "n8", *source} <= set(machine)
    byte = [keys for text, keys in model["bytecode"] if "BINARY_OP" in text]
    assert source in byte


def test_exits_and_python_steps_stand_out(tmp_path, trace):
    (model,) = data_of(_dump.write_dump(tmp_path, [trace]))
    marks = [
        (text[7:].strip(), [m["kind"] for m in found])
        for text, _, found in model["sources"][0]["lines"]
        if found
    ]
    assert marks == [("y = x * k", ["exit"]), ("return y + 1.0", ["python"])]
    assert [r["hint"] for r in model["left"]] == ["", "move it"]


def test_debug_locations_link_single_instructions():
    nests = [[2, 8]]
    assembly = "k_nest0:\n\t.loc\t1 3 0\n\tvmulpd\n\t.loc\t1 9 0\n\tvaddpd\n"
    assert [keys for text, keys in links.of_assembly(assembly, nests, {}) if "pd" in text] == [["n2"], ["n8"]]
    llvm = "define i32 @k_nest0() {\n  %1 = fmul, !dbg !5\n}\n!5 = !DILocation(line: 3, scope: !4)\n"
    assert links.of_llvm(llvm, nests, {})[1][1] == ["n2"]


def test_named_statements_are_preferred():
    graph = graphtext.parse(GRAPH)
    lines, nest_of, nests = links.of_loop_ir(
        "  nest 0 i0<s0 {\n      v0 = multiply v1, v1 : f64  ; %8\n  }\n", graph, {}
    )
    assert lines[1][1] == ["n8"] and nest_of == {8: "nest 0"} and nests == [[8]]


def test_nodes_of_the_drawing_do_not_overlap():
    rows = ["  %0 = input L['x'] {slot=0} : f64[s0]"] + [
        f"  %{i} = add %{i // 2}, %{i // 3} : f64[s0]" for i in range(1, 80)
    ]
    drawing = Drawing(graphtext.parse("trace t {\n" + "\n".join(rows) + "\n  return %79\n}\n"))
    for row in drawing.rows.values():
        ends = [(drawing.x[x] - drawing._width(x) / 2, drawing.x[x] + drawing._width(x) / 2) for x in row]
        assert all(a[1] <= b[0] + 0.01 for a, b in zip(ends, ends[1:]))
    assert drawing.svg({}) == Drawing(
        graphtext.parse("trace t {\n" + "\n".join(rows) + "\n  return %79\n}\n")
    ).svg({})


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, trace, capsys):
    (tmp_path / "file").write_text("")
    assert _dump.write_dump(tmp_path / "file", [trace]) is None
    assert re.fullmatch(
        r"stator: cannot write the dump to .*; set STATOR_DUMP to a folder that can be written\n",
        capsys.readouterr().err,
    )


def test_texts_that_look_like_markup_stay_texts(tmp_path, trace):
    index = _dump.write_dump(tmp_path, [trace | {"guards": ["x == '</script><b>'"]}])
    assert data_of(index)[0]["guards"] == ["x == '</script><b>'"]
    assert page.exits_text({}) == "exits taken: 0\n"


PROGRAM = """
import numpy as np
import stator

@stator.compile
def f(x, y):
    z = x * y + 2
    print(z.shape)
    return np.sqrt(z) - x

x = np.arange(1.0, 9.0)
for _ in range(4):
    f(x, x)
"""


def run_program(tmp_path, name):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = os.environ | {"STATOR_DUMP": str(tmp_path / name)}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "(8,)\n" * 4
    return tmp_path / name


def test_a_program_is_dumped_when_it_ends(tmp_path):
    folder = run_program(tmp_path, "a")
    traces = data_of(folder / "index.html")
    assert traces and all(t["segments"] for t in traces)
    assert any("print" in row["text"] for row in traces[0]["left"])
    for trace in traces:
        names = {p.name for p in (folder / trace["folder"]).iterdir()}
        assert {"source.py", "bytecode.txt", "graph.0-recorded.txt", "guards.txt", "loop_ir.0.txt", "llvm.0.ll", "asm.0.s",
                "exits.txt", "timings.json"} <= names  # fmt: skip
        assert "define" in (folder / trace["folder"] / "llvm.0.ll").read_text()
    again = run_program(tmp_path, "b")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "timings.json":
            assert path.read_text() == (again / path.relative_to(folder)).read_text()


def test_a_dump_may_be_asked_for_by_the_program(tmp_path):
    program = PROGRAM.replace("import stator\n", "import stator\nstator.options.dump = 'a'\n", 1)
    (tmp_path / "program.py").write_text(program)
    env = {k: v for k, v in os.environ.items() if k != "STATOR_DUMP"}
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=env, capture_output=True, check=True)
    assert data_of(tmp_path / "a" / "index.html")
