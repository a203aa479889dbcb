"""Compiles CUDA kernels for the CPU and runs them with their threads as fibers.

    module = shim.compile(source)
    a = shim.array(1000, np.float32)            # NumPy arrays between pages that cannot be accessed
    module.run("kernel", grid, block, [a, out, np.int64(1000)], order="random", seed=1)

``run`` raises `KernelFault` with the reason for whatever would be undefined or a fault on a GPU: see the top of
shim_runtime.cpp for the list. Results that depend on the schedule are found by running under several of them: `SCHEDULES`.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import os
import subprocess
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

__all__ = ["SCHEDULES", "KernelFault", "Module", "array", "compile", "guarded"]

FOLDER = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("SHIM_CACHE_DIR") or FOLDER.parents[2] / "build" / "shim")
RUNTIME = ("runtime", "builtins", "memory", "fiber", "shared", "global", "signals", "build", "c_api")
ORDERS = {"forward": 0, "reverse": 1, "random": 2}
# (order, seed): run a kernel under each and compare.
SCHEDULES = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)]
_MESSAGE = 1 << 16


class KernelFault(Exception):
    """What a kernel did wrong, with the thread that did it."""


class CompileError(Exception):
    """The source does not compile for the CPU."""


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("parameters", ctypes.c_int),
        ("sizes", ctypes.POINTER(ctypes.c_int)),
        ("pointers", ctypes.POINTER(ctypes.c_bool)),
        ("max_threads", ctypes.c_int),
    )


class _Launch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_size_t),
        ("cluster", ctypes.c_int),
        ("order", ctypes.c_int),
        ("seed", ctypes.c_uint64),
        ("seconds", ctypes.c_double),
    )


@functools.cache
def _runtime() -> ctypes.CDLL:
    sources = [FOLDER / f"shim_{name}.cpp" for name in RUNTIME]
    key = hashlib.sha256()
    for path in sorted([*sources, *FOLDER.glob("*.h")]):
        key.update(path.read_bytes())
    library = CACHE / f"runtime-{key.hexdigest()[:16]}.so"
    if not library.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}")
        flags = ["-std=c++20", "-O2", "-g1", "-fPIC", "-shared", "-fvisibility=hidden", "-U_FORTIFY_SOURCE"]
        command = [os.environ.get("CXX") or "g++", *flags, f'-DSHIM_SOURCE_DIR="{FOLDER}"']
        subprocess.run([*command, *map(str, sources), "-o", str(made), "-ldl", "-lpthread"], check=True)
        made.rename(library)
    lib = ctypes.CDLL(str(library))
    for name in ("shim_open", "shim_allocate"):
        getattr(lib, name).restype = ctypes.c_void_p
    lib.shim_kernel.restype = ctypes.POINTER(_Kernel)
    lib.shim_wide_accesses.restype = ctypes.c_ulonglong
    lib.shim_allocate.argtypes = [ctypes.c_size_t] * 3 + [ctypes.c_int]
    for name in ("shim_release", "shim_close"):
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    lib.shim_read_only.argtypes = [ctypes.c_void_p, ctypes.c_int]
    lib.shim_kernel.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return lib


def array(
    shape, dtype=np.float32, *, alignment: int = 256, misalign: int = 0, left: bool = False
) -> np.ndarray:
    """An array in device memory, filled with garbage.

    Parameters
    ----------
    alignment, misalign : int
        The address is `misalign` bytes off a multiple of `alignment`.
    left : bool
        Directly behind a page that cannot be accessed; else as close before one as `alignment` permits.
    """
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(shape) * dtype.itemsize
    lib = _runtime()
    address = lib.shim_allocate(size, alignment, misalign, left)
    if not address:
        raise MemoryError(f"no {size} bytes of device memory")
    memory = (ctypes.c_char * max(size, 1)).from_address(address)
    weakref.finalize(memory, lib.shim_release, address)
    return np.ndarray(shape, dtype, buffer=memory)


def guarded(values, **where) -> np.ndarray:
    """A copy in device memory; `where` as for `array`."""
    values = np.asarray(values)
    copy = array(values.shape, values.dtype, **where)
    copy[...] = values
    return copy


class Module:
    """The kernels of one source, compiled."""

    def __init__(self, path: str) -> None:
        lib = _runtime()
        message = ctypes.create_string_buffer(_MESSAGE)
        self._handle = ctypes.c_void_p(lib.shim_open(path.encode(), message, _MESSAGE))
        if not self._handle.value:
            raise CompileError(message.value.decode())
        self.kernels: dict[str, list[int]] = {}  # bytes of each parameter
        i = 0
        while kernel := lib.shim_kernel(self._handle, i):
            k = kernel.contents
            self.kernels[k.name.decode()] = [k.sizes[j] for j in range(k.parameters)]
            i += 1

    def run(
        self,
        kernel: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        params: Iterable,
        *,
        shared_bytes: int = 0,
        cluster: int = 1,
        order: str = "forward",
        seed: int = 0,
        read_only: Iterable[np.ndarray] = (),
        seconds: float = 30,
    ) -> None:
        """Runs a kernel to its end.

        Parameters
        ----------
        params
            One for each parameter: an array in device memory, a NumPy scalar, a Python number, or packed bytes.
        cluster : int
            Blocks along x that run at the same time and see each other's shared memory.
        order, seed
            One of `SCHEDULES`.
        read_only
            Arrays that the kernel must not write to.
        seconds
            Processor time after which it counts as hanging.

        Raises
        ------
        KernelFault
            With the thread and what it did.
        """
        sizes = self.kernels[kernel]
        packed = [_pack(value, size) for value, size in zip(params, sizes, strict=True)]
        pointers = (ctypes.c_void_p * (len(packed) + 1))(*[ctypes.addressof(p) for p in packed])
        launch = _Launch(_three(grid), _three(block), shared_bytes, cluster, ORDERS[order], seed, seconds)
        message = ctypes.create_string_buffer(_MESSAGE)
        lib = _runtime()
        read_only = [a.ctypes.data for a in read_only]
        for address in read_only:
            lib.shim_read_only(address, 1)
        failed = lib.shim_run(
            self._handle, kernel.encode(), ctypes.byref(launch), pointers, message, ctypes.c_size_t(_MESSAGE)
        )
        for address in read_only:
            lib.shim_read_only(address, 0)
        self.wide = lib.shim_wide_accesses(0), lib.shim_wide_accesses(1)
        if failed:
            raise KernelFault(f"{message.value.decode()} ({order} {seed})")


def compile(source: str) -> Module:  # noqa: A001
    """The module of a CUDA source, from the cache when it was compiled before."""
    path, message = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(_MESSAGE)
    cache = str(CACHE).encode()
    CACHE.mkdir(parents=True, exist_ok=True)
    if _runtime().shim_build(
        source.encode(), cache, path, ctypes.c_size_t(4096), message, ctypes.c_size_t(_MESSAGE)
    ):
        raise CompileError(message.value.decode())
    return _module(path.value.decode())


@functools.cache
def _module(path: str) -> Module:
    return Module(path)


def _three(extents: int | Sequence[int]):
    extents = [extents] if isinstance(extents, int) else list(extents)
    return (ctypes.c_uint * 3)(*extents, *[1] * (3 - len(extents)))


def _pack(value, size: int):
    if isinstance(value, np.ndarray):
        data = value.ctypes.data.to_bytes(8, "little")
    elif isinstance(value, (bytes, bytearray)):
        data = bytes(value)
    elif isinstance(value, np.generic):
        data = value.tobytes()
    elif isinstance(value, float):
        data = np.array(value, {4: np.float32, 8: np.float64}[size]).tobytes()
    else:
        data = int(value).to_bytes(size, "little", signed=value < 0)
    if len(data) != size:
        raise TypeError(f"the kernel's parameter has {size} bytes, {value!r} has {len(data)}")
    return ctypes.create_string_buffer(data, size)
