"""What the tools say about the GPU: explain, doctor and the dump."""

import json
import re
import subprocess
import sys

import pytest

from tests.gpu import machine
from tests.gpu.test_device import ROOT, run


def test_explain_names_the_lines_that_wait():
    run("""
    import linecache
    text = '''def f(x, log):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    w = np.sort(y, axis=-1)
    z = w * 3
    log.append(1)
    return z + 1
'''
    linecache.cache["waits.py"] = (len(text), None, text.splitlines(True), "waits.py")
    exec(compile(text, "waits.py", "exec"))
    c = stator.compile(f, device="cuda")
    for k in range(4):
        c(np.arange(10.0 + k), [])
    e = stator.explain(c)(np.arange(10.0), [])
    assert {w["kind"]: w["line"] for w in e.waits} == {
        "branch": 3, "host call": 5, "python": 7, "return": 0}, e.waits
    assert all(w["now"] == 1 and w["count"] == 4 for w in e.waits), e.waits
    lines = str(e).splitlines()
    at = lines.index("  waits for the GPU")
    assert any("waits.py:3 in f: Python decides with a value of the GPU (4 times, 1 in this call)" in l for l in lines[at:])
    assert any("waits.py:5 in f: sort runs on the host" in l for l in lines[at:])
    assert "hint: np.where" in str(e) and "waits for the GPU" in e._repr_html_()
    clean()
    """)


def test_explain_of_functions_that_stay_on_the_gpu():
    run("""
    def f(x):
        x *= 2
    c = stator.compile(f, device="cuda")
    for k in range(4):
        c(np.arange(10.0))
    e = stator.explain(c)(np.zeros(0))
    assert [w["now"] for w in e.waits] == [0], e.waits
    assert "waits for" not in str(stator.explain(stator.compile(f))(np.arange(5.0)))
    """)


def doctor(**environment):
    import os

    env = {**os.environ, **{k: str(v) for k, v in environment.items()}}
    done = subprocess.run(
        [sys.executable, "-m", "stator", "doctor"], env=env, cwd=ROOT, capture_output=True, text=True
    )
    rows = {line[4:].split()[0]: line for line in done.stdout.splitlines()}
    return done.returncode, rows


@pytest.fixture
def fakes():
    return machine.fake_environment()


def test_doctor_with_a_gpu(fakes):
    status, rows = doctor(FAKE_CUDA_DEVICES=2, **fakes)
    assert status == 0, rows
    assert rows["nvrtc"].startswith("ok ") and "13.0, sm_" in rows["nvrtc"]
    assert rows["gpu"] == "ok  gpu         CUDA 13.0: Fake GPU 0 (sm_90, 64 GiB); Fake GPU 1 (sm_90, 64 GiB)"


def test_doctor_with_an_old_driver(fakes):
    status, rows = doctor(FAKE_CUDA_VERSION=12040, **fakes)
    assert status == 1 and rows["gpu"].startswith("BAD") and "older than NVRTC" in rows["gpu"]


def test_doctor_with_libraries_that_are_not_there():
    status, rows = doctor(STATOR_CUDA_DRIVER="/nonexistent/libcuda.so", STATOR_NVRTC="/nonexistent/nvrtc.so")
    assert status == 1
    assert rows["gpu"].startswith("BAD gpu         none: there is no CUDA driver on this machine")
    assert rows["nvrtc"].startswith("BAD nvrtc       none: ")


def test_doctor_where_no_gpu_is_wanted(fakes):
    # What is installed decides about NVRTC; without a GPU the doctor is content.
    status, rows = doctor()
    assert status == 0 and rows["gpu"][:3] in ("-- ", "ok "), rows


# With lines, which what is given by -c has not.
DUMPED = """
import linecache
text = '''def f(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    if e.sum() > 0:
        return e / e.sum(axis=1, keepdims=True)
    return e
'''
linecache.cache["dumped.py"] = (len(text), None, text.splitlines(True), "dumped.py")
exec(compile(text, "dumped.py", "exec"))
c = stator.compile(f, device="cuda")
for k in range(3):
    c(rows(k, "f4"))
"""


def dumped(tmp_path, **environment):
    run(DUMPED, STATOR_DUMP=tmp_path, **environment)
    page = (tmp_path / "index.html").read_text()
    data = page.split('id="data">')[1].split("</script>")[0].replace("<\\/", "</")
    return json.loads(data)[0], tmp_path / "f-1"


def keys_of(rows, text):
    found = [keys for line, keys in rows if text in line]
    assert found, text
    return set(found[0])


def test_dump_has_the_gpus_stages(tmp_path):
    model, folder = dumped(tmp_path)
    source = (folder / "kernels.cu").read_text()
    assert 'extern "C" __global__' in source and "entry f_1_k0" in (folder / "kernels.ptx").read_text()
    log = (folder / "nvrtc.log").read_text()
    assert log.startswith("sm_90: --gpu-architecture=sm_90") and re.search(r"Used \d+ registers", log)
    schedule = (folder / "schedule.cu.txt").read_text()
    assert "kernel f_1_k0 of segment 0\n  form         rows" in schedule
    assert "vector       4 elements" in schedule and "last launch  grid 1 x 1 x 1, block" in schedule
    assert re.search(r"uses         \d+ registers a thread, 0 bytes spilled", schedule)
    assert list(model["gpu"]) == ["schedule", "CUDA", "PTX", "NVRTC"]
    marks = [m["text"] for line, keys, marks in model["sources"][0]["lines"] for m in marks]
    assert any(text.startswith("waits ×") for text in marks), marks


def test_dump_links_the_gpus_stages(tmp_path):
    model, _ = dumped(tmp_path)
    gpu, nodes = model["gpu"], dict((line.split(" = ")[1].split(" {")[0].split(" :")[0], keys)
                                    for line, keys in model["graphs"][-1]["lines"] if " = " in line)  # fmt: skip
    exp, subtract = set(nodes["loop exp %3"]), set(nodes["subtract %0, %2"])
    assert keys_of(gpu["CUDA"], "= expf(") == exp
    assert keys_of(gpu["CUDA"], "= __fsub_rn(") == subtract
    assert exp | subtract <= keys_of(gpu["CUDA"], "f_1_k0(i64")
    assert exp | subtract <= keys_of(gpu["PTX"], ".entry f_1_k0(")
    assert exp | subtract <= keys_of(gpu["NVRTC"], "'f_1_k0'")
    assert exp | subtract <= keys_of(gpu["schedule"], "kernel f_1_k0")
    assert keys_of(gpu["schedule"], "= loop.exp") == exp
    sums = [set(keys) for line, keys in gpu["CUDA"] if "= sum(a4" in line]
    assert sums and all("n5" in keys for keys in sums), sums


def test_dump_of_cpu_functions_is_as_before(tmp_path):
    run("""
    def f(x):
        return x * 2
    c = stator.compile(f)
    for k in range(3):
        c(np.arange(10.0))
    """, STATOR_DUMP=tmp_path)  # fmt: skip
    names = {p.name for p in (tmp_path / "f-1").iterdir()}
    assert not names & {"kernels.cu", "kernels.ptx", "nvrtc.log", "schedule.cu.txt"}
    assert '"gpu"' not in (tmp_path / "index.html").read_text()


def test_dump_survives_a_compiler_that_fails(tmp_path):
    """The page is written at the end, when NVRTC may have become unusable."""
    run(
        DUMPED + 'stator.options.nvrtc = "/nonexistent/libnvrtc.so"\nos.environ["STATOR_CACHE_SIZE"] = "0"\n',
        STATOR_DUMP=tmp_path,
    )
    assert (tmp_path / "f-1" / "kernels.cu").stat().st_size > 0
    assert (tmp_path / "index.html").exists()
