"""What the tools say about the GPU: explain, doctor and the dump."""

import json
import subprocess
import sys

import pytest

from tests.gpu.test_device import ROOT, _fakes, run


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
    found = _fakes()
    if not found:
        pytest.skip("the fakes are not built here")
    return {"STATOR_NVRTC": found[0], "STATOR_CUDA_DRIVER": found[1]}


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


DUMPED = """
def f(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    if e.sum() > 0:
        return e / e.sum(axis=1, keepdims=True)
    return e
c = stator.compile(f, device="cuda")
for k in range(3):
    c(rows(k, "f4"))
"""
