"""A machine with GPUs that are not there: libfakecuda.so, and a host array library on it.

    gpu = fake.Gpu(devices=2)
    a = gpu.array(np.arange(5.0), device=1)      # has __cuda_array_interface__, as CuPy's arrays have
    ...                                          # stator with STATOR_NVRTC and STATOR_CUDA_DRIVER set to the fakes
    a.get()                                      # a NumPy array
    assert not gpu.violations()

Processes that run stator on it set the variables of `environment()`.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import weakref
from pathlib import Path

import numpy as np

__all__ = ["Array", "CudaError", "Gpu", "environment", "library"]

ROOT = Path(__file__).resolve().parents[3]


class CudaError(Exception):
    """A call of the driver failed."""


def library(name: str) -> Path | None:
    """The newest build's libfakecuda.so or libfakenvrtc.so (`name`: "cuda" or "nvrtc"); None when there is none."""
    if chosen := os.environ.get("STATOR_TEST_FAKES"):
        return Path(chosen) / f"libfake{name}.so"
    builds = ROOT.glob(f"build/*/fake/libfake{name}.so")
    return max(builds, key=lambda path: path.stat().st_mtime, default=None)


def environment() -> dict[str, str]:
    """The variables that make stator use the fakes."""
    return {"STATOR_NVRTC": str(library("nvrtc")), "STATOR_CUDA_DRIVER": str(library("cuda"))}


class Gpu:
    """The fake driver, freshly reset. The process has one, whoever opens it.

    Parameters
    ----------
    devices, capability, version, memory, pools
        As FAKE_CUDA_DEVICES and so on (fake_state.cpp).
    """

    _latest = lambda: None  # what was made on an earlier machine is gone

    def __init__(self, **properties) -> None:
        for name in ("DEVICES", "CAPABILITY", "VERSION", "MEMORY", "POOLS"):
            os.environ.pop(f"FAKE_CUDA_{name}", None)
        for name, value in properties.items():
            # The library reads the environment itself, so Python's own must be written through.
            os.environ[f"FAKE_CUDA_{name.upper()}"] = str(value)
        self.lib = ctypes.CDLL(str(library("cuda")))
        for name in ("violations", "leaks"):
            getattr(self.lib, f"fake_cuda_{name}").restype = ctypes.c_char_p
        self.lib.fake_cuda_reset()
        Gpu._latest = weakref.ref(self)
        self._contexts: dict[int, int] = {}
        self.call("cuInit", 0)

    def call(self, name: str, *arguments) -> None:
        if code := getattr(self.lib, name)(*arguments):
            raise CudaError(f"{name}: {code}")

    def context(self, device: int) -> int:
        if device not in self._contexts:
            context = ctypes.c_void_p()
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._contexts[device] = context.value
        return self._contexts[device]

    def on(self, device: int) -> _Current:
        """A with block in which the device's context is current."""
        return _Current(self, device)

    def empty(self, shape, dtype=np.float32, *, device: int = 0) -> Array:
        return Array(self, shape, dtype, device)

    def array(self, values, *, device: int = 0, stream: int = 0) -> Array:
        values = np.ascontiguousarray(values)
        made = self.empty(values.shape, values.dtype, device=device)
        if values.nbytes:
            with self.on(device):
                self.call(
                    "cuMemcpyHtoDAsync_v2",
                    ctypes.c_uint64(made.pointer),
                    ctypes.c_void_p(values.ctypes.data),
                    ctypes.c_size_t(values.nbytes),
                    ctypes.c_void_p(stream),
                )
                self.call("cuStreamSynchronize", ctypes.c_void_p(stream))
        return made

    def stream(self, device: int = 0) -> int:
        handle = ctypes.c_void_p()
        with self.on(device):
            self.call("cuStreamCreate", ctypes.byref(handle), 1)
        return handle.value

    def synchronize(self, stream: int = 0, *, device: int = 0) -> None:
        with self.on(device):
            self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def violations(self) -> list[str]:
        """The rules that were broken: see fake_state.h."""
        return self.lib.fake_cuda_violations().decode().splitlines()

    def leaks(self) -> list[str]:
        """What is still held, this object's own contexts included."""
        return self.lib.fake_cuda_leaks().decode().splitlines()

    def inject(self, function: str, nth: int, code: int) -> None:
        """Makes the nth call of a driver function from now on return `code`."""
        self.lib.fake_cuda_inject(function.encode(), nth, code)

    def calls(self, function: str) -> int:
        return self.lib.fake_cuda_calls(function.encode())

    def schedule(self, order: str, seed: int = 0) -> None:
        """Under which of shim.SCHEDULES kernels run."""
        self.lib.fake_cuda_schedule({"forward": 0, "reverse": 1, "random": 2}[order], ctypes.c_uint64(seed))


class _Current:
    def __init__(self, gpu: Gpu, device: int) -> None:
        self.gpu, self.device = gpu, device

    def __enter__(self) -> None:
        self.gpu.call("cuCtxPushCurrent_v2", ctypes.c_void_p(self.gpu.context(self.device)))

    def __exit__(self, *_) -> None:
        self.gpu.call("cuCtxPopCurrent_v2", None)


class Array:
    """A C-contiguous array in a fake GPU's memory."""

    def __init__(self, gpu: Gpu, shape, dtype, device: int) -> None:
        self.gpu, self.device = gpu, device
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = np.dtype(dtype)
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self.pointer = 0
        if self.nbytes:
            pointer = ctypes.c_uint64()
            with gpu.on(device):
                gpu.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(self.nbytes))
            self.pointer = pointer.value
            weakref.finalize(self, _free, gpu, device, self.pointer)

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "version": 3,
            "strides": None,
            "stream": 1,
        }

    def get(self, *, stream: int = 0) -> np.ndarray:
        values = np.empty(self.shape, self.dtype)
        if self.nbytes:
            with self.gpu.on(self.device):
                self.gpu.call(
                    "cuMemcpyDtoHAsync_v2",
                    ctypes.c_void_p(values.ctypes.data),
                    ctypes.c_uint64(self.pointer),
                    ctypes.c_size_t(self.nbytes),
                    ctypes.c_void_p(stream),
                )
        return values


def _free(gpu: Gpu, device: int, pointer: int) -> None:
    if Gpu._latest() is gpu:
        with contextlib.suppress(CudaError), gpu.on(device):  # the device may be lost
            gpu.call("cuMemFree_v2", ctypes.c_uint64(pointer))
