"""Runs the kernels of a call on the CPU, through the shim, with memory bound as `f.cuda` says."""

import ctypes

import numpy as np
import stator
from stator import _cuda

from tests.gpu import shim


class Mismatch(AssertionError):
    pass


def fresh_results(result, arguments):
    """The results that are no arguments, depth first, each once: what `("out", i)` counts."""
    found = []

    def visit(x):
        if isinstance(x, (tuple, list)):
            for item in x:
                visit(item)
        elif isinstance(x, dict):
            for item in x.values():
                visit(item)
        elif isinstance(x, (np.ndarray, np.generic, float, complex)):
            known = any(x is a for a in arguments) or any(x is f for f in found)
            if isinstance(x, np.ndarray) and x.base is not None and any(x.base is a for a in arguments):
                known = True
            if not known:
                found.append(x)

    visit(result)
    return found


def _copy(a, like_memory=False):
    """A copy with the same strides."""
    low, high = np.lib.array_utils.byte_bounds(a) if a.size else (a.ctypes.data, a.ctypes.data)
    memory = np.empty(high - low, np.uint8)
    ctypes.memmove(memory.ctypes.data, low, high - low)
    return (
        np.ndarray(a.shape, a.dtype, memory, a.ctypes.data - low, a.strides) if a.size else a.copy(order="K")
    )


# Where buffers lie to the pages around them: whole vectors, the last element at a page's end, the first one at its start.
PLACES = {
    "aligned": {"alignment": 16},
    "right": {},  # as far right as the element size permits
    "left": {"alignment": 256, "left": True},
}


ALL = -2  # all buffers lie one element beside whole vectors


class Device:
    """The memory of one run of a call's kernels; the buffer with the number `off` lies one element beside whole vectors."""

    def __init__(self, arguments, results, place, off=-1):
        self.place = place
        self.off = off
        self.count = 0
        self.ins = [self._array(a) for a in arguments]
        self.outs = [self._empty(np.asarray(r)) for r in results]
        self.scratch = {}
        self.kept = []

    def _where(self, itemsize):
        where = dict(PLACES[self.place])
        where.setdefault("alignment", itemsize)
        if self.off in (self.count, ALL):
            where.update(alignment=16, misalign=max(4, itemsize) if itemsize < 16 else 0)
        self.count += 1
        return where

    def _array(self, a):
        low, high = np.lib.array_utils.byte_bounds(a) if a.size else (a.ctypes.data, a.ctypes.data)
        room = shim.array(high - low, np.uint8, **self._where(a.itemsize))
        if not a.size:
            return np.ndarray(a.shape, a.dtype, room)
        ctypes.memmove(room.ctypes.data, low, high - low)
        return np.ndarray(a.shape, a.dtype, room, a.ctypes.data - low, a.strides)

    def _empty(self, like):
        room = shim.array(like.nbytes, np.uint8, **self._where(like.itemsize))
        return np.ndarray(like.shape, like.dtype, room, 0, like.strides)

    def bind(self, param):
        kind, value = param
        if kind == "in":
            return np.uint64(self.ins[value].ctypes.data)
        if kind == "out":
            return np.uint64(self.outs[value].ctypes.data)
        if kind in ("scratch", "zeroed"):
            slot, size = value
            if slot not in self.scratch:
                self.scratch[slot] = shim.array(size, np.uint8, alignment=256, left=self.place == "left")
                if kind == "zeroed":
                    self.scratch[slot][:] = 0
            return np.uint64(self.scratch[slot].ctypes.data)
        if kind == "const":
            self.kept.append(self._array(value))
            return np.uint64(self.kept[-1].ctypes.data)
        if kind == "extent":
            return np.int64(value)
        if kind == "scalar":
            return value if not isinstance(value, np.bool_) else np.uint8(value)
        return value


def launch(kernels, device, order, seed, sources=None, seconds=30):
    """Gives how often each kernel read and wrote 16 bytes at once."""
    wide = {}
    for k in kernels:
        module = shim.compile((sources or {}).get(k.source, k.source))
        module.run(
            k.name,
            k.grid,
            k.block,
            [device.bind(p) for p in k.params],
            shared_bytes=k.dynamic_shared_bytes,
            cluster=k.cluster,
            order=order,
            seed=seed,
            seconds=seconds,
        )
        reads, writes = wide.get((k.source, k.name), (0, 0))
        wide[k.source, k.name] = reads + module.wide[0], writes + module.wide[1]
    return wide


def _arrays(arguments):
    return [a for a in arguments if isinstance(a, np.ndarray)]


def _same(found, expected, exact, rtol):
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype == bool:  # of a byte that is neither 0 nor 1 NumPy's comparisons say that it is True
        found, expected = found.view(np.uint8), expected.view(np.uint8)
    if exact or expected.dtype.kind in "biu":
        with np.errstate(all="ignore"):
            nan = (found != found) & (expected != expected)
            equal = (found == expected) | nan
            if expected.dtype.kind == "f":  # zeros have signs
                equal &= nan | (np.signbit(found) == np.signbit(expected))
        return bool(np.all(equal))
    scale = float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0))
    return np.allclose(found.astype(expected.dtype), expected, rtol=rtol, atol=rtol * scale, equal_nan=True)


def kernels_of(function, arguments, arch="sm_90", fastmath=False):
    return stator.compile(function, fastmath=fastmath).cuda(*arguments, arch=arch)


GRAIN = 8  # what divides the sizes from which on blocks share rows and columns


def launched(program, arguments):
    """The launches of a call: as they are, and where kernels allow it by clusters of blocks and in slices, although the arrays are
    small."""
    recorded = _cuda.Recorded(stator.compile(program.function, fastmath=program.fastmath))
    lists = [recorded(*arguments)]
    if any(k.form in ("rows", "columns") for k in lists[0]):
        shared = recorded._limits[0]
        for cluster in 8, 1:
            recorded._limits = shared, cluster, GRAIN
            kernels = recorded(*arguments)
            if all(
                [(k.grid, k.cluster) for k in kernels] != [(k.grid, k.cluster) for k in known]
                for known in lists
            ):
                lists.append(kernels)
    return lists


def compare(program, arguments, results, expected, eager, where):
    """Arguments and results as kernels left them, beside eager's."""
    pairs = [("result", results, expected), ("argument", arguments, _arrays(eager))]
    for what, all_found, all_wanted in pairs:
        for i, (found, wanted) in enumerate(zip(all_found, all_wanted, strict=True)):
            if not _same(found, wanted, program.exact, program.rtol):
                raise Mismatch(f"{program.name}, {where}: {what} {i}: {found!r} instead of {wanted!r}")


# Where buffers lie, and in which order threads run.
RUNS = [("aligned", "forward", 0), ("right", "reverse", 0), ("left", "random", 1), ("aligned", "random", 2)]


class Case:
    """A call of a program: its kernels, and what eager NumPy makes of it.

    `lists` holds the ways in which the same kernels are launched, `wide` how often a kernel read and wrote 16 bytes at once where
    buffers were aligned.
    """

    def __init__(self, program, arguments, kernels=None):
        self.program, self.arguments = program, arguments
        with np.errstate(all="ignore"):
            self.eager = [_copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
            result = program.function(*self.eager)
            self.lists = [kernels] if kernels else launched(program, arguments)
        self.expected = fresh_results(result, _arrays(self.eager))
        self.wide = {}

    def check(self, runs=None, sources=None, seconds=30):
        """Runs the kernels under several schedules and places in memory, and compares with eager. `sources` says which sources are
        replaced by which."""
        runs = list(runs or RUNS)
        arrays = _arrays(self.arguments)
        sizeable = max(np.size(a) for a in (*self.arguments, *self.expected)) > 1000
        buffers = len(arrays) + len(self.expected)
        runs += [
            ("aligned", "forward", 0, off) for off in [*range(buffers), *[ALL] * (buffers > 1)] if sizeable
        ]
        for kernels in self.lists:
            # Where elements lie makes no difference to how rows are shared.
            for place, order, seed, *off in runs if kernels is self.lists[0] else runs[1:3]:
                device = Device(arrays, self.expected, place, *off)
                wide = launch(kernels, device, order, seed, sources, seconds)
                where = f"{place}, {order} {seed}, off: {off}"
                compare(self.program, device.ins, device.outs, self.expected, self.eager, where)
                if place == "aligned" and not off:
                    for name, counts in wide.items():
                        self.wide[name] = tuple(
                            map(sum, zip(counts, self.wide.get(name, (0, 0)), strict=True))
                        )


def check(program, arguments, kernels=None, runs=None):
    """Runs a call's kernels and compares with eager; returns them."""
    case = Case(program, arguments, kernels)
    case.check(runs)
    return case.lists[0]


def narrow(cases):
    """The kernels with vectors of the largest of the cases that were checked that never moved 16 bytes at once, although memory was
    aligned. Tiles have to do it both ways."""
    largest = max(cases, key=lambda c: sum(np.size(a) for a in (*c.arguments, *c.expected)))
    found = []
    for k in largest.lists[0]:
        counts = [case.wide.get((k.source, k.name), (0, 0)) for case in cases]
        reads, writes = (any(both) for both in zip(*counts, strict=True))
        moved = (reads and writes) if k.form == "tiles" else (reads or writes)
        if k.vector > 1 and k.form != "combine" and not moved:
            found.append(k.name)
    return found
