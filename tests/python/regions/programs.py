"""The table of programs: how each is called and how many of its loops are regions of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import assorted, factorizations, stencils

Rng = np.random.Generator


class Case(NamedTuple):
    """A program.

    `arguments(rng, size)` makes the arguments of a call; `sizes` are two of them. `regions` is how many outermost loops
    it has, helpers included: each is to be a region with the loops inside it. `open` says why that is not so yet.
    """

    function: Callable
    arguments: Callable[[Rng, int], list[Any]]
    sizes: tuple[int, int]
    regions: int
    open: str = ""


def _square(rng: Rng, n: int) -> np.ndarray:
    return rng.random((n, n))


def _definite(rng: Rng, n: int) -> np.ndarray:
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


def _flow(rng: Rng, n: int) -> list[Any]:
    return [np.zeros((n, n + 2)), np.zeros((n, n + 2)), np.zeros((n, n + 2))]


def _vadv(rng: Rng, n: int) -> list[Any]:
    shape = (n, n + 1, n)
    return [
        rng.random(shape),
        rng.random(shape),
        rng.random((n + 1, n + 1, n)),
        rng.random(shape),
        rng.random(shape),
        3.0 / 20.0,
    ]


def _spmv(rng: Rng, n: int) -> list[Any]:
    counts = rng.integers(0, 5, n)
    rows = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
    return [rows, rng.integers(0, n, rows[-1]).astype(np.uint32), rng.random(rows[-1]), rng.random(n)]


def _complex(rng: Rng, *shape: int) -> np.ndarray:
    return rng.random(shape) + 1j * rng.random(shape)


def _scattering(rng: Rng, n: int) -> list[Any]:
    atoms, near = 4, 2
    return [rng.integers(0, atoms, (atoms, near)).astype(np.int32), _complex(rng, atoms, near, 3, n, n), _complex(rng, 1, 3, atoms, n, n), _complex(rng, 1, 2, atoms, near, 3, 3),
            np.zeros((1, 3, atoms, n, n), np.complex128)]  # fmt: skip


def _nbody(rng: Rng, n: int) -> list[Any]:
    return [
        20.0 * np.ones((n, 1)) / n,
        rng.standard_normal((n, 3)),
        rng.standard_normal((n, 3)),
        6,
        0.05,
        1.0,
        0.1,
    ]


CASES: dict[str, Case] = {
    "adi": Case(stencils.adi, lambda rng, n: [_square(rng, n), 4], (9, 14), 1),
    "cavity_flow": Case(stencils.cavity_flow, lambda rng, n: [*_flow(rng, n), 5, 4, 0.001, 0.1, 0.1, 1.0, 0.1], (8, 12), 1),
    "channel_flow": Case(stencils.channel_flow, lambda rng, n: [*_flow(rng, n), 4, 0.01, 0.2, 0.2, 1.0, 0.1, 1.0], (8, 12), 1),
    "deriche": Case(stencils.deriche, lambda rng, n: [0.25, rng.random((n, n + 3))], (8, 13), 4),
    "fdtd_2d": Case(stencils.fdtd_2d, lambda rng, n: [7, _square(rng, n), _square(rng, n), _square(rng, n), rng.random(7)], (9, 14), 1),
    "heat_3d": Case(stencils.heat_3d, lambda rng, n: [5, rng.random((n, n, n)), rng.random((n, n, n))], (6, 9), 1),
    "jacobi_1d": Case(stencils.jacobi_1d, lambda rng, n: [9, rng.random(n), rng.random(n)], (20, 33), 1),
    "jacobi_2d": Case(stencils.jacobi_2d, lambda rng, n: [6, _square(rng, n), _square(rng, n)], (9, 14), 1),
    "ping_pong": Case(stencils.ping_pong, lambda rng, n: [60, rng.random(n), rng.random(n)], (9, 17), 1),
    "seidel_2d": Case(stencils.seidel_2d, lambda rng, n: [4, _square(rng, n)], (8, 13), 1),
    "vadv": Case(stencils.vadv, _vadv, (5, 8), 2),
    "cholesky": Case(factorizations.cholesky, lambda rng, n: [_definite(rng, n)], (8, 15), 1),
    "lu": Case(factorizations.lu, lambda rng, n: [_definite(rng, n)], (8, 15), 1),
    "ludcmp": Case(factorizations.ludcmp, lambda rng, n: [_definite(rng, n), rng.random(n)], (8, 15), 3),
    "trisolv": Case(factorizations.trisolv, lambda rng, n: [_definite(rng, n), rng.random(n), rng.random(n)], (12, 21), 1),
    "trmm": Case(factorizations.trmm, lambda rng, n: [1.5, _square(rng, n), rng.random((n, n + 2))], (8, 13), 1),
    "symm": Case(factorizations.symm, lambda rng, n: [1.5, 1.2, rng.random((n, n + 2)), _square(rng, n), rng.random((n, n + 2))], (8, 13), 1),
    "syrk": Case(factorizations.syrk, lambda rng, n: [1.5, 1.2, _square(rng, n), rng.random((n, n + 2))], (8, 13), 1),
    "syr2k": Case(factorizations.syr2k, lambda rng, n: [1.5, 1.2, _square(rng, n), rng.random((n, n + 2)), rng.random((n, n + 2))], (8, 13), 1),
    "gramschmidt": Case(factorizations.gramschmidt, lambda rng, n: [rng.random((n + 2, n))], (7, 12), 1),
    "durbin": Case(factorizations.durbin, lambda rng, n: [rng.random(n) / n], (12, 21), 1),
    "floyd_warshall": Case(factorizations.floyd_warshall, lambda rng, n: [rng.integers(1, 99, (n, n)).astype(np.int32)], (9, 15), 1),
    "nussinov": Case(assorted.nussinov, lambda rng, n: [rng.integers(0, 4, n).astype(np.int32)], (10, 17), 1),
    "crc16": Case(assorted.crc16, lambda rng, n: [rng.integers(0, 256, n).astype(np.uint8)], (20, 45), 1),
    "spmv": Case(assorted.spmv, _spmv, (12, 25), 1),
    "scattering_self_energies": Case(assorted.scattering_self_energies, _scattering, (2, 3), 1),
    "conv2d": Case(assorted.conv2d, lambda rng, n: [rng.random((2, n, n + 1, 3)), rng.random((2, 2, 3, 4))], (6, 9), 1),
    "azimint_naive": Case(assorted.azimint_naive, lambda rng, n: [rng.random(n), rng.random(n), 10], (200, 333), 1),
    "mandelbrot_1": Case(assorted.mandelbrot_1, lambda rng, n: [np.linspace(-2, 0.5, n), np.linspace(-1.2, 1.2, n + 3), 12], (9, 15), 1),
    "mandelbrot_2": Case(assorted.mandelbrot_2, lambda rng, n: [np.linspace(-2, 0.5, n), np.linspace(-1.2, 1.2, n + 3), 12], (9, 15), 1),
    "nbody": Case(assorted.nbody, _nbody, (5, 8), 1),
}  # fmt: skip
