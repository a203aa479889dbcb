"""The GPU benchmark and the launcher below it, on the fakes: every row runs and has NumPy's results."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu import machine
from tests.gpu.test_device import run

ROOT = Path(__file__).resolve().parents[2]


def bench(*arguments, folder=ROOT, module="benchmarks.gpu", **environment):
    env = {**os.environ, **{k: str(v) for k, v in environment.items()}}
    command = [sys.executable, "-m", module] if module else [sys.executable]
    return subprocess.run(
        [*command, *arguments], env=env, cwd=folder, capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def fakes():
    return machine.fake_environment()


def test_smoke(fakes, tmp_path):
    done = bench("--smoke", "--peers", "none", "--out", tmp_path, **fakes)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "gpu.json").read_text())
    groups = {r["group"] for r in result["rows"]}
    assert groups == {"pointwise", "softmax", "layernorm", "reduction", "transpose", "stencil", "models"}
    for row in result["rows"]:
        # NumPy adds halves up in another precision than the device: that step stays with it.
        assert ("error" in row) == (row["group"] == "layernorm" and row["name"].endswith("f2")), row
        if "error" not in row:
            assert row["differs"] == "" and row["seconds"] > 0 and row["bytes"] > 0, row
    assert result["copy"]["bandwidth"] > 0
    assert all("error" not in r for r in result["launches"]), result["launches"]
    assert all(r["from_cache"] for r in result["compile"]), result["compile"]


def test_peers_are_measured(tmp_path):
    """A library that computes with NumPy, one that refuses, and one that is not there."""
    out = run(f"""
    from benchmarks.gpu import __main__ as bench, peers
    class Host(peers.Peer):
        def put(self, array): return array
        def function(self, case): return case.function
        def wait(self, result): pass
    class Refuses(Host):
        def function(self, case): raise ValueError("no such function")
    peers.every = lambda: [Host("jax", "numpy"), Refuses("refuses", "numpy"), Host("absent", "no_such_module")]
    assert bench.main(["--smoke", "--groups", "softmax,stencil", "--out", {str(tmp_path)!r}]) == 0
    from benchmarks.gpu import report
    import json
    result = json.load(open({str(tmp_path)!r} + "/gpu.json"))
    assert result["peers"] == ["jax", "refuses"]
    for row in result["rows"]:
        assert row["peers"]["jax"]["seconds"] > 0 and row["peers"]["refuses"]["error"] == "ValueError: no such function"
    goals = report.goals(result)
    assert any("jax / stator" in what for what, *_ in goals) and any(">= 85%" in wanted for _, wanted, *_ in goals)
    report.show(result)
    """)
    assert "absent is left out: not installed" in out and "MISSED" in out


def test_stator_on_arrays_of_cupy(fakes, tmp_path):
    """The fake CuPy as a peer, eager and compiled."""
    modules = ROOT / "tests" / "gpu" / "fake" / "modules"
    done = bench(
        "--smoke", "--groups", "softmax", "--peers", "cupy,stator on cupy", "--out", tmp_path,
        PYTHONPATH=os.pathsep.join([str(ROOT), str(modules), *(p for p in sys.path if p)]), **fakes,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "gpu.json").read_text())
    assert result["peers"] == ["cupy", "stator on cupy"], done.stdout
    for row in result["rows"]:
        assert all(found["seconds"] > 0 for found in row["peers"].values()), row


def test_without_a_gpu():
    done = bench("--smoke", STATOR_CUDA_DRIVER="/nonexistent/libcuda.so")
    assert done.returncode == 2
    assert done.stderr.startswith("bench-gpu: there is no CUDA driver on this machine")
    assert len(done.stderr.splitlines()) == 1 and not done.stdout


def test_the_folder_alone(fakes, tmp_path):
    """A copy of the folder needs nothing else of the checkout."""
    import shutil

    shutil.copytree(
        ROOT / "benchmarks" / "gpu", tmp_path / "gpu", ignore=shutil.ignore_patterns("__pycache__")
    )
    done = bench(
        tmp_path / "gpu",
        "--smoke",
        "--peers",
        "none",
        "--groups",
        "transpose",
        folder=tmp_path,
        module="",
        **fakes,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "benchmarks/results/gpu.json").exists()


def test_torch_computes_the_same():
    """What torch is given is the same function: here on the CPU, which needs no GPU."""
    torch = pytest.importorskip("torch")
    import numpy as np

    from benchmarks.gpu import peers, programs

    eager = next(p for p in peers.every() if p.name == "torch")
    eager.module = torch
    for case in programs.cases(1 << 14, quick=False):
        arguments = case.arguments(case.check)
        found = eager.function(case)(*[torch.from_numpy(np.ascontiguousarray(a)) for a in arguments])
        expected = case.function(*arguments)
        where = f"{case.group}: {case.name}"
        assert found.shape == expected.shape and str(found.dtype).endswith(str(expected.dtype)), where
        np.testing.assert_allclose(
            found.numpy(),
            expected,
            max(case.rtol, 1e-5),
            max(case.rtol, 1e-5),
            err_msg=where,
        )


def test_every_case_has_kernels():
    """At a small size, with the real NVRTC where there is one: no row of the benchmark lacks what it measures."""
    import stator

    from benchmarks.gpu import programs

    try:
        for case in programs.cases(1 << 18, quick=False):
            arguments = case.arguments(case.check)
            kernels = stator.compile(case.function).cuda(*arguments)
            assert all(k.spill_bytes == 0 for k in kernels), case.name
    except RuntimeError as error:
        if "NVRTC, which compiles" in str(error):
            pytest.skip("no NVRTC")
        raise


LAUNCHER = """
from stator import _cuda, _gpu
gpu = _gpu.Gpu()
def bound(f, *args):
    recorded = _cuda.Recorded(stator.compile(f), gpu.arch)
    return _gpu.Bound(gpu, recorded(*args), [a for a in args if isinstance(a, np.ndarray)], recorded.results)
"""


def test_launcher():
    run(
        LAUNCHER
        + """
def f(x, y, k):
    y += x
    return x.sum(), (x * k)[::2], x.T + 1
x, y = rows(0)[:, 1:], np.ones((5, 32))
call = bound(f, x, y, 2.5)
times = call.run(1)
assert times.total >= times.enqueue > 0 and times.device > 0
a, b = x.copy(), y.copy()
for found, wanted in zip(call.results(), f(a, b, 2.5), strict=True):
    assert same(found, wanted if found.shape == np.shape(wanted) else found), (found, wanted)
assert same(call.arguments()[1], b)
call.close()
del call
import gc; gc.collect()
clean()
"""
    )


def test_launcher_reuses_a_recording():
    run(
        LAUNCHER
        + """
def f(x):
    return x * 2 + 1
recorded = _cuda.Recorded(stator.compile(f), gpu.arch)
for n in (10, 1000, 33):
    x = np.arange(float(n))
    with _gpu.Bound(gpu, recorded(x), [x], recorded.results) as call:
        call.run(3)
        assert same(call.results()[0], f(x))
assert len(recorded._codes) == 1
clean()
"""
    )


@pytest.mark.parametrize(
    "function, code",
    [
        ("cuMemcpyHtoDAsync", 1),
        ("cuModuleLoadDataEx", 200),
        ("cuModuleGetFunction", 500),
        ("cuEventCreate", 2),
        ("cuEventRecord", 400),
        ("cuLaunchKernel", 701),
        ("cuLaunchKernel", 719),
        ("cuEventSynchronize", 700),
        ("cuEventElapsedTime", 600),
        ("cuMemcpyDtoHAsync", 1),
    ],
)
def test_failures_are_exceptions(function, code):
    out = run(
        LAUNCHER
        + f"""
def f(x):
    return x * 2 + 1
x = np.arange(100.0)
recorded = _cuda.Recorded(stator.compile(f), gpu.arch)
kernels = recorded(x)
# PTX would be the way out of a refused cubin
kernels[0].ptx = ""
cuda.fake_cuda_inject({function!r}.encode(), 1, {code})
try:
    with _gpu.Bound(gpu, kernels, [x], recorded.results) as call:
        call.run()
        call.results()
except RuntimeError as error:
    print(error)
else:
    raise AssertionError("nothing was raised")
if {code} < 700:
    clean()
"""
    )
    assert "CUDA" in out and " while " in out, out


def test_wrong_parameters():
    run(
        LAUNCHER
        + """
import pytest
from stator import _stator
plan = _stator.GpuPlan(gpu.raw)
def f(x):
    return x * 2
kernels = _cuda.Recorded(stator.compile(f), gpu.arch)(np.ones(5))
sizes = [8] * len(kernels[0].params)
with pytest.raises(RuntimeError, match="parameters of"):
    gpu.raw.load(kernels[0].cubin, kernels[0].ptx, [(kernels[0].name, 0, [4])])
code = gpu.raw.load(kernels[0].cubin, kernels[0].ptx, [(kernels[0].name, 0, sizes)])
with pytest.raises(ValueError, match="parameters, found 0"):
    plan.launch(code, 0, (1, 1, 1), (32, 1, 1), 1, 0, [])
with pytest.raises(ValueError, match="expected 8 bytes"):
    plan.launch(code, 0, (1, 1, 1), (32, 1, 1), 1, 0, [b"1"] * len(sizes))
with pytest.raises(IndexError):
    plan.launch(code, 1, (1, 1, 1), (32, 1, 1), 1, 0, [])
with pytest.raises(ValueError, match="contiguous"):
    gpu.raw.copy_in(0, np.ones((4, 4)).T[1:])
clean()
"""
    )


def test_memory_is_short():
    out = run(
        LAUNCHER
        + """
x = np.ones(1000)
try:
    bound(lambda x: x + 1, x)
except RuntimeError as error:
    print(error)
clean()
""",
        FAKE_CUDA_MEMORY=9000,
    )
    assert "CUDA_ERROR_OUT_OF_MEMORY while allocating 8000 bytes" in out, out
