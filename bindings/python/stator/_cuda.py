"""`f.cuda(...)`: the CUDA kernels of a call, made on any machine with NVRTC."""

import copy
import ctypes
import re
import sys
from dataclasses import dataclass, field

import numpy as np

from stator import _stator

_SHARED_LIMIT = {75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 103: 227, 120: 99, 121: 99}


@dataclass
class Kernel:
    """One kernel launch of a call.

    Attributes
    ----------
    name : str
        Of the ``extern "C"`` function in `source`.
    source : str
        CUDA C++ of all kernels of the trace; it includes nothing.
    options : list of str
        NVRTC's, as they were used.
    ptx : str
    cubin : bytes
    registers : int
        Per thread.
    spill_bytes : int
        Per thread: register contents that do not fit and go through memory.
    shared_bytes : int
        Shared memory of a block, in bytes; what is dynamic of it is to be given at the launch.
    grid, block : tuple of three ints
    cluster : int
        Blocks along x that form a cluster; 1 without.
    params : list of pairs
        What to pass for each parameter: ``("in", i)`` the i-th array argument, ``("out", i)`` the i-th fresh result,
        ``("scratch", (slot, bytes))`` memory that kernels share, ``("zeroed", (slot, bytes))`` the same, holding zeros,
        ``("const", array)`` an array that is no argument, ``("scalar", value)`` a NumPy scalar by value,
        ``("extent", value)`` a 64-bit integer, ``("bytes", b)``, and in kernels of loops ``("region", what)``: an array,
        memory of the kernel's own, or its state.
    form : str
        How the work is cut up: elementwise, rows, columns, partial, combine, scalar, or region for a loop.
    vector : int
        Elements of one access where memory is aligned.
    dynamic_shared_bytes : int
    log : str
        What NVRTC and ptxas said.
    seconds : float
        That the compilation of the source took.
    """

    name: str
    source: str = field(repr=False)
    options: list
    ptx: str = field(repr=False)
    cubin: bytes = field(repr=False)
    registers: int
    spill_bytes: int
    shared_bytes: int
    grid: tuple
    block: tuple
    cluster: int
    params: list
    form: str
    vector: int
    dynamic_shared_bytes: int
    log: str = field(repr=False)
    seconds: float
    from_cache: bool


def _on_gpu(value):
    """Whether it is an array of a library for GPUs (CuPy, torch)."""
    return hasattr(type(value), "__cuda_array_interface__")


def _is_array(value):
    return type(value) is np.ndarray or _on_gpu(value)


def _copy_on_gpu(a):
    """A copy on the array's device with its strides."""
    if hasattr(a, "is_cuda"):
        torch = sys.modules["torch"]
        with torch.no_grad():
            return torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device=a.device).copy_(a)
    cupy = sys.modules["cupy"]
    if not a.size:
        return a.copy()
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    low = sum(s for s in steps if s < 0)
    with a.device:
        memory = cupy.cuda.alloc(sum(s for s in steps if s > 0) - low + a.itemsize)
        result = cupy.ndarray(a.shape, a.dtype, memory + -low, a.strides)
        result[...] = a
    return result


class _Copies:
    """Copies of arguments that lie in memory as these do: the same strides, and, but on a GPU, the same overlaps."""

    def __init__(self, values):
        self.arrays = []
        self._memo = {}
        found: list[np.ndarray] = []
        self._collect(values, found, set())
        self._blocks = self._copy_memory(found)
        self.values = [self._copy(v) for v in values]
        self.order = []
        self._number(values, set())

    def _collect(self, value, found, seen):
        if id(value) in seen:
            return
        seen.add(id(value))
        if type(value) is np.ndarray:
            found.append(value)
        elif isinstance(value, (list, tuple)):
            for v in value:
                self._collect(v, found, seen)
        elif isinstance(value, dict):
            for v in value.values():
                self._collect(v, found, seen)

    @staticmethod
    def _copy_memory(arrays):
        """(low, high, copy) of each stretch of memory that arrays lie in."""
        bounds = sorted(np.lib.array_utils.byte_bounds(a) for a in arrays if a.size and not a.dtype.hasobject)
        merged: list[list[int]] = []
        for low, high in bounds:
            if merged and low < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], high)
            else:
                merged.append([low, high])
        blocks = []
        for low, high in merged:
            room = np.empty(high - low + 128, np.uint8)
            # where it lies to a cache line decides about vectors
            start = (low - room.ctypes.data) % 64
            part = room[start : start + high - low]
            part[:] = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))
            blocks.append((low, high, part))
        return blocks

    def _copy_array(self, a):
        if not a.size or a.dtype.hasobject:
            return a.copy(order="K")
        low, _ = np.lib.array_utils.byte_bounds(a)
        for first, last, block in self._blocks:
            if first <= low < last:
                offset = a.ctypes.data - first
                result = np.ndarray(a.shape, a.dtype, block, offset, a.strides)
                result.flags.writeable = a.flags.writeable
                return result
        raise AssertionError("an array without memory")

    def _copy(self, value):
        if id(value) in self._memo:
            return self._memo[id(value)][1]
        if type(value) is np.ndarray:
            result = self._copy_array(value)
        elif _on_gpu(value):
            result = _copy_on_gpu(value)
        elif type(value) is list:
            result = [self._copy(v) for v in value]
        elif type(value) is tuple:
            result = tuple(self._copy(v) for v in value)
        elif type(value) is dict:
            result = {k: self._copy(v) for k, v in value.items()}
        else:
            try:
                result = copy.deepcopy(value)
            except Exception:
                result = value
        self._memo[id(value)] = (value, result)
        return result

    def _number(self, values, seen):
        for v in values:
            if id(v) in seen:
                continue
            seen.add(id(v))
            if _is_array(v):
                self.order.append(self._memo[id(v)][1])
            elif isinstance(v, (list, tuple)):
                self._number(v, seen)
            elif isinstance(v, dict):
                self._number(v.values(), seen)


def _copied(args, kwargs):
    copies = _Copies([*args, *kwargs.values()])
    new = copies.values
    return tuple(new[: len(args)]), dict(zip(kwargs, new[len(args) :], strict=True)), copies.order


_MOST_CALLS = 8


def _fresh(result, arguments):
    """The arrays and scalars of a result that are no arguments, depth first, each once: what ("out", i) counts."""
    known = {id(a) for a in arguments}
    found = []

    def visit(x):
        if isinstance(x, (tuple, list)):
            for item in x:
                visit(item)
        elif isinstance(x, dict):
            for item in x.values():
                visit(item)
        elif _on_gpu(x) or isinstance(x, (np.ndarray, np.generic, float, complex)):
            base = getattr(x, "base", None) if hasattr(x, "base") else getattr(x, "_base", None)
            if id(x) not in known and id(base) not in known:
                known.add(id(x))
                found.append(x)

    visit(result)
    return found


def _check_arch(arch):
    match = re.fullmatch(r"(?:sm|compute)_(\d+)[af]?", arch)
    if not match:
        raise ValueError(f"arch: expected a device architecture such as 'sm_90', found {arch!r}")
    return match


class Recorded:
    """The kernels of a function's calls: recorded at the first call, listed at every one.

    Attributes
    ----------
    results : list
        What the last call returned that is no argument, in the order of ``("out", i)``; computed on the CPU.
    """

    def __init__(self, function, arch="sm_90"):
        match = _check_arch(arch)
        self.name = function.__qualname__
        self.arch = arch
        self.results: list = []
        # Bytes of shared memory, blocks of a cluster; the last one makes tests cut up small arrays.
        self._limits = 1024 * _SHARED_LIMIT.get(int(match[1]), 48), 8 if int(match[1]) >= 90 else 1, 1
        state = _stator.function_options(function)
        self._device = _stator.compile_for_cuda(function.__wrapped__, fastmath=state["fastmath"])
        self._recorded = False
        self._codes: dict = {}
        _stator.set_nvrtc_folders([p for p in sys.path if p])

    def __call__(self, *args, **kwargs):
        """The kernels that a call with these arguments launches, in order."""
        # A GPU has no floating-point flags: what divides by zero on the CPU has the same kernels.
        with np.errstate(all="ignore"):
            launches = self._launches(args, kwargs) if self._recorded else None
            if not launches:
                first_args, first_kwargs, _ = _copied(args, kwargs)
                self._device(*first_args, **first_kwargs)
                self._recorded = True
                launches = self._launches(args, kwargs)
        if not launches:
            remarks = [str(r) for r in _stator.remarks(self._device)]
            why = "; ".join(remarks) if remarks else "it does no array work"
            raise NotImplementedError(f"{self.name} has no kernels for these arguments: {why}")
        return [self._kernel(launch) for launch in launches]

    def _launches(self, args, kwargs):
        """The launches of a call that records nothing any more: a call may record what earlier ones did not reach."""
        for _ in range(_MOST_CALLS):
            recorded = _stator.stats(self._device)["recordings"]
            launches, error = self._replayed(args, kwargs)
            if _stator.stats(self._device)["recordings"] == recorded:
                break
        if error:
            raise NotImplementedError(f"{self.name}: {error}")
        return launches

    def _replayed(self, args, kwargs):
        call_args, call_kwargs, arrays = _copied(args, kwargs)

        def call():
            result = self._device(*call_args, **call_kwargs)
            self.results = _fresh(result, arrays)
            return result

        return _stator.launches(call, arrays, *self._limits)

    def _compiled(self, launch):
        source = launch["source"]
        if source not in self._codes:
            text = _stator.mutate_cuda(source)
            code = _stator.compile_cuda(text, launch["trace"], self.arch, [])
            if code["error"]:
                raise RuntimeError(code["error"])
            self._codes[source] = text, code
        return self._codes[source]

    def _kernel(self, launch):
        text, code = self._compiled(launch)
        registers, spill, _, static = code["kernels"].get(launch["name"], (0, 0, 0, 0))
        return Kernel(
            name=launch["name"],
            source=text,
            options=code["options"],
            ptx=code["ptx"],
            cubin=code["cubin"],
            registers=registers,
            spill_bytes=spill,
            shared_bytes=static + launch["dynamic_shared_bytes"],
            grid=launch["grid"],
            block=launch["block"],
            cluster=launch["cluster"],
            params=launch["params"],
            form=launch["form"],
            vector=launch["vector"],
            dynamic_shared_bytes=launch["dynamic_shared_bytes"],
            log=code["log"],
            seconds=code["seconds"],
            from_cache=code["from_cache"],
        )


def kernels(function, /, *args, arch="sm_90", **kwargs):
    """The kernels that a call with these arguments launches, in order; see `CompiledFunction.cuda`."""
    return Recorded(function, arch)(*args, **kwargs)


_REGION_THREADS = 256


def region_kernel(region, arch, name, source, error, parameters):
    """The kernel of a loop; see `Region.cuda`.

    It is launched with all its blocks at once (``cuLaunchCooperativeKernel``), as many as the device holds.
    """
    _check_arch(arch)
    if error:
        raise NotImplementedError(f"{region} has no kernel: there is no CUDA code for {error}")
    _stator.set_nvrtc_folders([p for p in sys.path if p])
    text = _stator.mutate_cuda(source)
    code = _stator.compile_cuda(text, region, arch, [])
    if code["error"]:
        raise RuntimeError(code["error"])
    registers, spill, _, static = code["kernels"].get(name, (0, 0, 0, 0))
    return Kernel(
        name=name,
        source=text,
        options=code["options"],
        ptx=code["ptx"],
        cubin=code["cubin"],
        registers=registers,
        spill_bytes=spill,
        shared_bytes=static,
        grid=(1, 1, 1),
        block=(_REGION_THREADS, 1, 1),
        cluster=1,
        params=[("region", p) for p in parameters],
        form="region",
        vector=1,
        dynamic_shared_bytes=0,
        log=code["log"],
        seconds=code["seconds"],
        from_cache=code["from_cache"],
    )
