"""The fake host library: from a source over NVRTC's and the driver's functions to a result."""

import ctypes

import numpy as np
import pytest

from tests.gpu import fake

pytestmark = pytest.mark.skipif(fake.library("cuda") is None, reason="the fakes are not built")

SCALE = """
extern "C" __global__ void scale(const double* a, double* out, long long n) {
    long long i = blockIdx.x * 64ll + threadIdx.x;
    if (i < n) out[i] = __dmul_rn(a[i], 2.0);
}
"""


def compiled(source, arch="sm_90"):
    lib, program, size = ctypes.CDLL(str(fake.library("nvrtc"))), ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 1)(f"--gpu-architecture={arch}".encode())
    assert lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None) == 0
    assert lib.nvrtcCompileProgram(program, 1, options) == 0
    lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetCUBIN(program, cubin)
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin


def launch(gpu, a, out, *, device=0, stream=0, cubin=None):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    values = [ctypes.c_uint64(a.pointer), ctypes.c_uint64(out.pointer), ctypes.c_int64(a.shape[0])]
    params = (ctypes.c_void_p * 3)(*[ctypes.addressof(v) for v in values])
    with gpu.on(device):
        gpu.call("cuModuleLoadDataEx", ctypes.byref(module), cubin or compiled(SCALE), 0, None, None)
        gpu.call("cuModuleGetFunction", ctypes.byref(function), module, b"scale")
        gpu.call("cuLaunchKernel", function, 2, 1, 1, 64, 1, 1, 0, ctypes.c_void_p(stream), params, None)
        gpu.call("cuModuleUnload", module)


def test_from_source_to_result():
    gpu = fake.Gpu()
    a, out = gpu.array(np.arange(100.0)), gpu.empty(100, np.float64)
    for schedule in [("forward", 0), ("reverse", 0), ("random", 1)]:
        gpu.schedule(*schedule)
        launch(gpu, a, out)
    np.testing.assert_array_equal(out.get(), 2 * np.arange(100.0))
    assert gpu.violations() == []
    del a, out
    assert gpu.leaks() == ["the primary context of device 0 is still retained"]


def test_two_devices_and_empty_arrays():
    gpu = fake.Gpu(devices=2)
    a, out = gpu.array(np.arange(3.0), device=1), gpu.empty(3, np.float64, device=1)
    launch(gpu, a, out, device=1)
    assert out.get().tolist() == [0, 2, 4]
    empty = gpu.array(np.zeros((0, 3)))
    assert empty.get().shape == (0, 3)
    assert gpu.violations() == []
    with pytest.raises(fake.CudaError, match="700"):  # of the call behind the launch
        launch(gpu, a, out, device=0)
    assert "points to memory of another device" in gpu.violations()[0]


def test_a_cubin_of_another_architecture():
    gpu = fake.Gpu(capability="8.0")
    a = gpu.array(np.arange(3.0))
    with pytest.raises(fake.CudaError, match="cuModuleLoadDataEx: 209"):
        launch(gpu, a, a)
    launch(gpu, a, a, cubin=compiled(SCALE, "sm_80"))
    assert a.get().tolist() == [0, 2, 4]


def test_streams_that_nothing_orders():
    gpu = fake.Gpu()
    a, out = gpu.array(np.arange(3.0)), gpu.empty(3, np.float64)
    one, other = gpu.stream(), gpu.stream()
    launch(gpu, a, out, stream=one)
    assert gpu.violations() == []
    out.get(stream=other)
    assert "another stream used last" in gpu.violations()[0]


def test_injected_errors():
    gpu = fake.Gpu()
    a = gpu.array(np.arange(3.0))
    gpu.inject("cuLaunchKernel", 1, 700)
    with pytest.raises(fake.CudaError, match="cuLaunchKernel: 700"):
        launch(gpu, a, a)
    with pytest.raises(fake.CudaError, match="700"):
        a.get()
    assert gpu.calls("cuLaunchKernel") == 1
