"""Calls of the fake driver, and the thread's current device and streams."""

from __future__ import annotations

import ctypes
import os
import threading

lib = ctypes.CDLL(os.environ["STATOR_CUDA_DRIVER"])


class CUDARuntimeError(RuntimeError):
    """A call of the driver failed."""


class OutOfMemoryError(MemoryError):
    """The device has no memory left."""


def call(name: str, *arguments) -> None:
    if code := getattr(lib, name)(*arguments):
        if code == 2:
            raise OutOfMemoryError(f"{name}: out of memory")
        raise CUDARuntimeError(f"{name}: {code}")


class _Thread(threading.local):
    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, object] = {}


thread = _Thread()
_contexts: dict[int, int] = {}


def _context(device: int) -> int:
    if not _contexts:
        call("cuInit", 0)
    if device not in _contexts:
        context = ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        _contexts[device] = context.value
    return _contexts[device]


class on:
    """A with block in which the device's context is current."""

    def __init__(self, device: int) -> None:
        self.device = device

    def __enter__(self) -> None:
        call("cuCtxPushCurrent_v2", ctypes.c_void_p(_context(self.device)))

    def __exit__(self, *_) -> None:
        call("cuCtxPopCurrent_v2", None)


def allocate(size: int, device: int) -> int:
    pointer = ctypes.c_uint64()
    with on(device):
        call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
    return pointer.value


def free(pointer: int, device: int) -> None:
    with on(device):
        call("cuMemFree_v2", ctypes.c_uint64(pointer))


def stream(device: int) -> int:
    current = thread.streams.get(device)
    return current.ptr if current else 0


def copy_in(pointer: int, data, size: int, device: int) -> None:
    with on(device):
        call(
            "cuMemcpyHtoDAsync_v2",
            ctypes.c_uint64(pointer),
            ctypes.c_void_p(data),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream(device)),
        )


def copy_out(data, pointer: int, size: int, device: int) -> None:
    with on(device):
        call(
            "cuMemcpyDtoHAsync_v2",
            ctypes.c_void_p(data),
            ctypes.c_uint64(pointer),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream(device)),
        )
