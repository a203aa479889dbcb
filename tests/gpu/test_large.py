"""Index arithmetic past 2^31 elements and 2^32 bytes, on real addresses.

Kernels do not depend on extents, so those of a small call are run with large ones: memory is reserved without being
backed, and only the blocks around chosen elements run (blockIdx is moved in the source).
"""

import re

import numpy as np
import pytest

from tests.gpu import machine, runner, shim

pytestmark = machine.without_gpu


class Sparse:
    """Device memory of which only what is touched exists."""

    def __init__(self, size):
        self.bytes = shim.array(size, np.uint8)
        self.address = self.bytes.ctypes.data

    def at(self, index, dtype, count=1):
        return np.ndarray((count,), dtype, self.bytes, index * np.dtype(dtype).itemsize)


def run(kernel, extents, memory, grid_from, blocks):
    """Runs `blocks` blocks from `grid_from` on, with other extents: a map from those at hand."""
    source = re.sub(r"\bblockIdx\.x", f"(blockIdx.x + {grid_from}u)", kernel.source)
    source = re.sub(r"\bgridDim\.x", "0x7fffffffu", source)  # no block takes a second turn
    params = []
    for kind, value in kernel.params:
        if kind == "extent":
            params.append(np.int64(extents.get(value, value)))
        elif kind in ("in", "out"):
            params.append(np.uint64(memory[kind, value].address))
        elif kind == "scratch":
            assert value[1] == 0, "nothing is cut into slices here"
            params.append(np.uint64(0))
        else:
            params.append(value)
    module = shim.compile(source)
    module.run(kernel.name, (blocks, 1, 1), kernel.block, params, shared_bytes=kernel.dynamic_shared_bytes)


def double(x):
    return x * 2 + 1


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_flat(dtype):
    small, n = 8209, (1 << 31) + 4099
    (k,) = runner.kernels_of(double, (np.ones(small, dtype),))
    size = np.dtype(dtype).itemsize
    memory = {("in", 0): Sparse(n * size), ("out", 0): Sparse(n * size)}
    width = k.block[0] * k.vector * _unroll(k)
    for index in (0, (1 << 31) - 3, (1 << 31) + 5, n - 1):
        memory["in", 0].at(index, dtype)[:] = 5
        run(k, {small: n}, memory, index // width, 1)
        assert memory["out", 0].at(index, dtype)[0] == 11
    memory["in", 0].at(n - 2, dtype, 2)[:] = 3
    run(k, {small: n}, memory, (n - 1) // width, 1)
    assert (memory["out", 0].at(n - 2, dtype, 2) == 7).all()


def _unroll(k):
    return int(re.search(r"blockDim\.x \* (\d+);", k.source)[1]) // k.vector


def scaled_rows(x, y):
    return x * y[:, None]


def test_rows():
    """More than 2^31 elements, and rows that begin past 2^32 bytes."""
    rows, columns = 37, 1031
    (k,) = runner.kernels_of(scaled_rows, (np.ones((rows, columns)), np.ones(rows)))
    many = (1 << 31) // columns + 10
    memory = {
        ("in", 0): Sparse(many * columns * 8),
        ("in", 1): Sparse(many * 8),
        ("out", 0): Sparse(many * columns * 8),
    }
    width = k.block[0] * k.vector * _unroll(k)
    tiles = -(-columns // width)
    for row, column in ((0, 0), (many // 2, 7), (many - 1, columns - 1), ((1 << 31) // columns, 1000)):
        memory["in", 0].at(row * columns + column, "f8")[:] = 3
        memory["in", 1].at(row, "f8")[:] = 5
        run(k, {rows: many}, memory, row // k.block[1] * tiles + column // width, 1)
        assert memory["out", 0].at(row * columns + column, "f8")[0] == 15


def row_sums(x):
    return x.sum(axis=1)


def test_reduction_of_far_rows():
    rows, columns = 37, 130
    (k,) = runner.kernels_of(row_sums, (np.ones((rows, columns), "f4"),))
    many = (1 << 31) // columns + 5
    memory = {("in", 0): Sparse(many * columns * 4), ("out", 0): Sparse(many * 4)}
    for row in (1, many - 1):
        memory["in", 0].at(row * columns, "f4", columns)[:] = 2
        run(k, {rows: many}, memory, row // k.block[1], 1)
        assert memory["out", 0].at(row, "f4")[0] == 260


def column_sums(x):
    return x.sum(axis=0)


def test_reduction_down_far_columns():
    """Few rows of very many columns."""
    rows, columns = 3, 130
    (k,) = runner.kernels_of(column_sums, (np.ones((rows, columns), "f4"),))
    many = (1 << 31) + 77
    memory = {("in", 0): Sparse(rows * many * 4), ("out", 0): Sparse(many * 4)}
    for column in (1, many - 1):
        for row in range(rows):
            memory["in", 0].at(row * many + column, "f4")[:] = 4
        run(k, {columns: many}, memory, column // k.block[0], 1)
        assert memory["out", 0].at(column, "f4")[0] == 12
