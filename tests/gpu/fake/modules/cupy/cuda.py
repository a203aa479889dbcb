"""cupy.cuda: devices, streams, memory."""

from __future__ import annotations

import ctypes
import sys
import types

from . import _driver

OutOfMemoryError = _driver.OutOfMemoryError


class BaseMemory:
    __slots__ = ("ptr", "size", "device_id", "__weakref__")


class UnownedMemory(BaseMemory):
    """Memory that somebody else keeps."""

    __slots__ = ("_owner",)

    def __init__(self, ptr, size, owner, device_id=-1) -> None:
        self.ptr, self.size, self._owner = ptr, size, owner
        self.device_id = _driver.thread.device if device_id < 0 else device_id


class Memory(BaseMemory):
    """Memory of the current device: the pool's."""

    __slots__ = ()

    def __init__(self, size: int) -> None:
        self.size, self.device_id, self.ptr = size, _driver.thread.device, 0
        if size:
            self.ptr = _pool.take(size, self.device_id)

    def __del__(self) -> None:
        if self.ptr:
            _pool.give(self.ptr, self.size, self.device_id)


class _Pool:
    """Keeps freed memory per device, stream and size, as CuPy's arenas do."""

    def __init__(self) -> None:
        self.free: dict[tuple, list[int]] = {}
        self.taken = 0

    def take(self, size: int, device: int) -> int:
        size = -(-size // 512) * 512
        self.taken += 1
        kept = self.free.get((device, _driver.stream(device), size))
        return kept.pop() if kept else _driver.allocate(size, device)

    def give(self, pointer: int, size: int, device: int) -> None:
        size = -(-size // 512) * 512
        self.free.setdefault((device, _driver.stream(device), size), []).append(pointer)

    def free_all_blocks(self) -> None:
        for (device, _, _), pointers in self.free.items():
            for pointer in pointers:
                _driver.free(pointer, device)
        self.free.clear()


_pool = _Pool()
_allocator = None


class MemoryPointer:
    __slots__ = ("ptr", "device_id", "mem")

    def __init__(self, mem, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


def get_default_memory_pool() -> _Pool:
    return _pool


def set_allocator(allocator=None) -> None:
    global _allocator
    _allocator = allocator


def alloc(size: int) -> MemoryPointer:
    return _allocator(size) if _allocator else MemoryPointer(Memory(size), 0)


class Stream:
    """A stream of the current device; `with stream:` makes it current."""

    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = True) -> None:
        self.ptr, self.device_id, self._outer = 0, _driver.thread.device, []
        if not null:
            handle = ctypes.c_void_p()
            with _driver.on(self.device_id):
                _driver.call("cuStreamCreate", ctypes.byref(handle), 1)
            self.ptr = handle.value

    def __enter__(self) -> Stream:
        self._outer.append(_driver.thread.streams.get(self.device_id))
        _driver.thread.streams[self.device_id] = self
        return self

    def __exit__(self, *_) -> None:
        _driver.thread.streams[self.device_id] = self._outer.pop()

    use = __enter__

    def synchronize(self) -> None:
        with _driver.on(self.device_id):
            _driver.call("cuStreamSynchronize", ctypes.c_void_p(self.ptr))


Stream.null = Stream(null=True)


def get_current_stream(device_id: int = -1) -> Stream:
    device = _driver.thread.device if device_id < 0 else device_id
    return _driver.thread.streams.get(device) or Stream.null


class Device:
    def __init__(self, device: int | None = None) -> None:
        self.id = _driver.thread.device if device is None else int(device)
        self._outer: list[int] = []

    def __enter__(self) -> Device:
        self._outer.append(_driver.thread.device)
        _driver.thread.device = self.id
        return self

    def __exit__(self, *_) -> None:
        _driver.thread.device = self._outer.pop()

    def use(self) -> None:
        _driver.thread.device = self.id

    def __eq__(self, other) -> bool:
        return isinstance(other, Device) and other.id == self.id

    __hash__ = None

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


def _get_device() -> int:
    return _driver.thread.device


runtime = types.ModuleType("cupy.cuda.runtime")
runtime.getDevice = _get_device
runtime.CUDARuntimeError = _driver.CUDARuntimeError
stream = types.ModuleType("cupy.cuda.stream")
stream.get_current_stream = get_current_stream
sys.modules["cupy.cuda.runtime"] = runtime
sys.modules["cupy.cuda.stream"] = stream
