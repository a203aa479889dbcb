"""The real CuPy, where it is installed, on the fake driver.

Without a GPU it can be imported, and its arrays made over memory that somebody else allocates: classes, layouts,
lists of types and texts of kernels are CuPy's own. What would need the CUDA runtime (operators, the current device and
stream) stands here instead, so that functions of such arrays can be recorded.
"""

from __future__ import annotations

import ctypes
import operator
import os
import types

import cupy as cp
import cupy.cuda.stream
import numpy as np

lib = ctypes.CDLL(os.environ["STATOR_CUDA_DRIVER"])
lib.fake_cuda_violations.restype = ctypes.c_char_p


def _call(name: str, *arguments) -> None:
    if code := getattr(lib, name)(*arguments):
        raise RuntimeError(f"{name}: {code}")


class _Block:
    """Memory of the fake device; freed blocks of a size serve again."""

    free: dict[int, list[int]] = {}

    def __init__(self, size: int) -> None:
        self.size = max(size, 1)
        if kept := self.free.get(self.size):
            self.pointer = kept.pop()
            return
        pointer = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(self.size))
        self.pointer = pointer.value

    def __del__(self) -> None:
        self.free.setdefault(self.size, []).append(self.pointer)


def _allocate(size: int):
    block = _Block(size)
    return cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(block.pointer, size, block, device_id=0), 0)


def get(a) -> np.ndarray:
    """The elements of a dense array."""
    values = np.empty(a.shape, a.dtype)
    _call(
        "cuMemcpyDtoHAsync_v2",
        ctypes.c_void_p(values.ctypes.data),
        ctypes.c_uint64(a.data.ptr),
        ctypes.c_size_t(values.nbytes),
        None,
    )
    return values


def put(values):
    values = np.ascontiguousarray(values)
    a = cp.ndarray(values.shape, values.dtype)
    _call(
        "cuMemcpyHtoDAsync_v2",
        ctypes.c_uint64(a.data.ptr),
        ctypes.c_void_p(values.ctypes.data),
        ctypes.c_size_t(values.nbytes),
        None,
    )
    return a


def _operator(compute):
    return lambda a, b: put(compute(get(a), get(b) if isinstance(b, cp.ndarray) else b))


def _prepare() -> None:
    context = ctypes.c_void_p()
    _call("cuInit", 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    _call("cuCtxPushCurrent_v2", context)
    cp.cuda.set_allocator(_allocate)
    for name in ("add", "sub", "mul", "truediv"):
        setattr(cp.ndarray, f"__{name}__", _operator(getattr(operator, name)))
    cp.cuda.runtime.getDevice = int
    del cupy.cuda.stream.__pyx_capi__["get_current_stream_ptr"]
    current = types.SimpleNamespace(ptr=0)
    cp.cuda.get_current_stream = lambda: current


_prepare()
