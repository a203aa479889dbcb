"""What the adapter and the fake assume of CuPy, compared with CuPy itself where it is installed (no GPU is needed)."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path

import pytest

from . import test_device

MODULES = Path(__file__).parent / "fake" / "modules"
GOLDEN = Path(__file__).parent / "cupy_kernels.json"
pytest.importorskip("cupy")


def run(body: str) -> str:
    return test_device.run("from tests.gpu.fake.real_cupy import *\n" + body, False, PYTHONPATH=_path())


def _path() -> str:
    import sys

    return os.pathsep.join([str(test_device.ROOT), *(p for p in sys.path if p)])


def test_arrays_are_read_by_their_layout():
    run("""
testing = stator._stator._testing
buffer = put(np.zeros(500))
shapes = [((), ()), ((5,), (8,)), ((5,), (-16,)), ((2, 3), (24, 8)), ((2, 3), (8, 16)), ((0, 3), (0, 0)),
          ((2, 1, 3), (24, 0, 8)), ((1, 1), (8, 8)), ((2,) * 8, (16,) * 8)]
for dtype in "?bBhHiIlLqQefdFD":
    for shape, strides in shapes:
        a = cp.ndarray(shape, dtype, cp.cuda.MemoryPointer(buffer.data.mem, 800), strides=strides)
        fast, slow = testing.read_cupy(a, True), testing.read_cupy(a, False)
        assert fast == slow, (dtype, shape, strides, fast, slow)
        if np.dtype(dtype).itemsize <= 8 and all(s % np.dtype(dtype).itemsize == 0 for s in strides):
            item = np.dtype(dtype).itemsize
            assert fast == (buffer.data.ptr + 800, shape, tuple(s // item for s in strides), 0), (fast, a)
assert testing.read_cupy(cp.ndarray((2,) * 9), True) is None
assert testing.read_cupy(cp.ndarray(3, "c8").T, True) is not None
assert testing.cupy_layout_known()
""")


def test_functions_of_its_arrays_run_as_kernels():
    run("""
def f(x, y):
    return (x * 2.5 + y, x - y)
c = stator.compile(f)
for n in (100, 100, 77, 1000):
    x, y = put(np.arange(float(n))), put(np.ones(n))
    a, b = c(x, y)
    assert type(a) is cp.ndarray and a.shape == (n,) and a.strides == (8,) and a.dtype == np.float64
    assert (get(a) == np.arange(float(n)) * 2.5 + 1).all() and (get(b) == np.arange(float(n)) - 1).all()
assert c.stats()["replays"] == 3, c.stats()
assert not lib.fake_cuda_violations(), lib.fake_cuda_violations()
""")


def test_types_and_texts_of_its_kernels():
    """Generated code has the bits of these texts. A CuPy with other ones wants another look at the table of rules."""
    import cupy

    LOOPS = runpy.run_path(str(MODULES / "cupy" / "_loops.py"))["LOOPS"]
    assert cupy.__version__.split(".")[0] == "14"
    found = {}
    for name, loops in LOOPS.items():
        ufunc = getattr(cupy, name)
        # Those of bfloat16 are there where ml_dtypes is installed.
        own = [(types, op) for types, op in zip(ufunc.types, ufunc._ops.ops, strict=True) if "E" not in types]
        assert " ".join(types for types, _ in own) == loops, name
        found[name] = [str(op.routine) for _, op in own]
    if os.environ.get("STATOR_BLESS"):
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(GOLDEN.read_text())
