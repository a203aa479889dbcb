"""Launching the kernels of `f.cuda(...)` on a real GPU, in memory of their own and with nothing but its driver.

    gpu = Gpu()
    recorded = _cuda.Recorded(stator.compile(f), gpu.arch)
    kernels = recorded(x, y)
    with Bound(gpu, kernels, [x, y], recorded.results) as call:
        call.run(100)            # seconds of 100 launches
        call.results()           # NumPy arrays

For measurements and tests: programs use ``stator.compile(device="cuda")``. Every failure of the driver is a
RuntimeError.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stator import _stator


class Seconds(NamedTuple):
    """What launches took in total."""

    device: float  # between the first and the last, as the device measures
    enqueue: float  # of the host, until all were in the stream
    total: float  # of the host, until all were done


class Gpu:
    """One GPU. Raises RuntimeError with the reason where there is none.

    Attributes
    ----------
    info : dict
        ``name``, ``arch`` (what kernels are to be compiled for), ``multiprocessors``, ``memory_bytes``, ``l2_bytes``,
        ``shared_limit`` (bytes of shared memory a block may use), ``memory_pools``.
    """

    def __init__(self, ordinal: int = 0) -> None:
        import sys

        _stator.set_nvrtc_folders([p for p in sys.path if p])
        self.raw = _stator.Gpu(ordinal)
        self.info = self.raw.info()

    @property
    def arch(self) -> str:
        return self.info["arch"]

    def copies(self, nbytes: int, times: int) -> Seconds:
        """Copies `nbytes` from one place on the device to another, `times` times."""
        memory = [self.raw.allocate(nbytes) for _ in range(2)]
        try:
            plan = _stator.GpuPlan(self.raw)
            for pointer in memory:
                plan.fill(pointer, 1, nbytes)
            plan.run(1)
            plan = _stator.GpuPlan(self.raw)
            plan.copy(memory[1], memory[0], nbytes)
            plan.run(1)
            return Seconds(*plan.run(times))
        finally:
            for pointer in memory:
                self.raw.release(pointer)


class _Memory:
    """Device memory of an array: the whole stretch that it lies in, and to 64 bytes as it lies on the host."""

    def __init__(self, gpu: Gpu, array: np.ndarray) -> None:
        self.gpu, self.array = gpu, array
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
        shift = low % 64
        self.first = (array.ctypes.data - low) if array.size else 0
        self.nbytes = high - low
        self.block = gpu.raw.allocate(self.nbytes + shift) if self.nbytes else 0
        self.low = self.block + shift

    def upload(self) -> None:
        import ctypes

        if self.nbytes:
            host = (ctypes.c_uint8 * self.nbytes).from_address(self.array.ctypes.data - self.first)
            self.gpu.raw.copy_in(self.low, host)

    @property
    def pointer(self) -> int:
        return self.low + self.first if self.nbytes else 0

    def get(self) -> np.ndarray:
        room = np.empty(self.nbytes, np.uint8)
        if self.nbytes:
            self.gpu.raw.copy_out(room, self.low)
        return np.ndarray(self.array.shape, self.array.dtype, room, self.first, self.array.strides)

    def release(self) -> None:
        if self.block:
            self.gpu.raw.release(self.block)
        self.block = 0


def _pointer(value: int) -> bytes:
    return int(value).to_bytes(8, "little")


class Bound:
    """The kernels of one call with memory for everything they touch, to be launched any number of times.

    Parameters
    ----------
    gpu : Gpu
    kernels : list of Kernel
        Of a call, compiled for `gpu`.
    arguments : list of arrays
        The array arguments of the call, in order; they are copied to the device.
    results : list of arrays
        As the call's fresh results will be: shape, dtype and strides are used.
    """

    def __init__(self, gpu: Gpu, kernels: list, arguments: list, results: list) -> None:
        self.gpu = gpu
        self._all: list[_Memory] = []
        self._scratch: dict[int, int] = {}
        self._blocks: list[int] = []
        self._plan = _stator.GpuPlan(gpu.raw)
        try:
            self._ins = [self._memory(a, upload=True) for a in arguments]
            self._outs = [self._memory(np.asarray(r), upload=False) for r in results]
            self._allocate_scratch(kernels)
            codes = self._load(kernels)
            for k in kernels:
                code, number = codes[k.source, k.name]
                values = [self._value(p) for p in k.params]
                self._plan.launch(code, number, k.grid, k.block, k.cluster, k.dynamic_shared_bytes, values)
        except BaseException:
            self.close()
            raise

    def _memory(self, array: np.ndarray, *, upload: bool) -> _Memory:
        memory = _Memory(self.gpu, array)
        self._all.append(memory)
        if upload:
            memory.upload()
        return memory

    def _allocate_scratch(self, kernels: list) -> None:
        sizes: dict[int, int] = {}
        zeroed = set()
        for k in kernels:
            for kind, value in k.params:
                if kind in ("scratch", "zeroed"):
                    sizes[value[0]] = max(sizes.get(value[0], 0), value[1])
                    if kind == "zeroed":
                        zeroed.add(value[0])
        for slot, nbytes in sizes.items():
            self._scratch[slot] = self.gpu.raw.allocate(nbytes)
            self._blocks.append(self._scratch[slot])
            if slot in zeroed:
                self._plan.fill(self._scratch[slot], 0, nbytes)

    def _load(self, kernels: list) -> dict:
        found = {}
        for source in dict.fromkeys(k.source for k in kernels):
            mine = {k.name: k for k in kernels if k.source == source}
            rows = []
            for name, k in mine.items():
                shared = max(x.dynamic_shared_bytes for x in kernels if x.name == name)
                rows.append((name, shared, [self._size(p) for p in k.params]))
            first = next(iter(mine.values()))
            code = self.gpu.raw.load(first.cubin, first.ptx, rows)
            found.update({(source, name): (code, i) for i, name in enumerate(mine)})
        return found

    @staticmethod
    def _size(param: tuple) -> int:
        kind, value = param
        return np.asarray(value).nbytes if kind == "scalar" else len(value) if kind == "bytes" else 8

    def _value(self, param: tuple[str, Any]) -> bytes:
        kind, value = param
        if kind == "in":
            return _pointer(self._ins[value].pointer)
        if kind == "out":
            return _pointer(self._outs[value].pointer)
        if kind in ("scratch", "zeroed"):
            return _pointer(self._scratch[value[0]])
        if kind == "const":
            return _pointer(self._memory(value, upload=True).pointer)
        if kind == "extent":
            return int(value).to_bytes(8, "little", signed=True)
        return bytes(value) if kind == "bytes" else np.asarray(value).tobytes()

    def run(self, times: int = 1) -> Seconds:
        """Launch everything `times` times and wait."""
        return Seconds(*self._plan.run(times))

    def results(self) -> list[np.ndarray]:
        return [m.get() for m in self._outs]

    def arguments(self) -> list[np.ndarray]:
        """The array arguments as the kernels left them."""
        return [m.get() for m in self._ins]

    def close(self) -> None:
        """Give the memory back."""
        self._plan = None
        for memory in self._all:
            memory.release()
        for block in self._blocks:
            self.gpu.raw.release(block)
        self._all, self._blocks = [], []

    def __enter__(self) -> Bound:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
