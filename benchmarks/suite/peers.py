"""The peers: each makes, from a program and its arguments, a callable and the arguments to call it with.

A peer that is not installed is left out; one that refuses a program says so with `Refused`.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .programs import Program

Call = tuple[Callable, Sequence[Any]]


class Refused(Exception):
    """The peer cannot run this program as it stands."""


def numpy(program: Program, args: Sequence[Any]) -> Call:
    return program.load(), args


def stator(program: Program, args: Sequence[Any]) -> Call:
    import stator as module

    f = module.compile(program.load())
    for _ in range(4):
        f(*args)
    module.wait()
    f(*args)
    return f, args


def numba(program: Program, args: Sequence[Any]) -> Call:
    import numba as module

    f = module.njit(program.load())
    try:
        f(*args)
    except module.core.errors.NumbaError as error:
        raise Refused(str(error).splitlines()[0]) from None
    return f, args


def jax(program: Program, args: Sequence[Any]) -> Call:
    import jax as module

    module.config.update("jax_enable_x64", True)
    jitted = module.jit(program.load(module.numpy))
    placed = [module.device_put(a) if isinstance(a, np.ndarray) else a for a in args]

    def call(*arguments: Any) -> Any:
        return jitted(*arguments).block_until_ready()

    call(*placed)
    return call, placed


def numexpr(program: Program, args: Sequence[Any]) -> Call:
    import numexpr as module

    if not program.numexpr:
        raise Refused("not one expression")
    expression, names = program.numexpr, program.parameters()

    def call(*arguments: Any) -> Any:
        return module.evaluate(expression, local_dict=dict(zip(names, arguments, strict=True)))

    call(*args)
    return call, args


def torch(program: Program, args: Sequence[Any]) -> Call:
    import torch as module

    compiled = module.compile(program.load(module))
    placed = [module.from_numpy(np.ascontiguousarray(a)) if isinstance(a, np.ndarray) else a for a in args]
    for _ in range(3):
        compiled(*placed)
    return compiled, placed


def _library(program: Program, dtype: str, threads: int) -> ctypes.CDLL:
    kind = {"f8": "double", "f4": "float"}[dtype]
    pointers = ", ".join(f"const {kind} *restrict {p}" for p in program.parameters())
    parallel = (
        "#pragma omp parallel for simd schedule(static) if (n > 20000)\n"
        if threads > 1 and "+=" not in program.c
        else ""
    )
    if program.c_rows and parallel:
        parallel = "#pragma omp parallel for schedule(static) if (n * m > 20000)\n"
    source = f"void f(long n, long m, {kind} *restrict out, {pointers}) {{\n{parallel}for (long i = 0; i < n; ++i) {{ {program.c} }}\n}}\n"
    folder = Path(tempfile.gettempdir()) / f"stator-bench-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    flags = [
        "-O3",
        "-march=native",
        "-ffp-contract=off",
        "-fPIC",
        "-shared",
        *(["-fopenmp"] if threads > 1 else []),
    ]
    path = folder / (hashlib.sha256((source + str(flags)).encode()).hexdigest()[:16] + ".so")
    if not path.exists():
        path.with_suffix(".c").write_text(source)
        subprocess.run(["cc", *flags, "-o", str(path), str(path.with_suffix(".c"))], check=True)
    return ctypes.CDLL(str(path))


def c(program: Program, args: Sequence[Any], threads: int = 1) -> Call:
    """C with -O3 -march=native -ffp-contract=off on the same inputs, into an output that exists already."""
    if not program.c:
        raise Refused("no C for it")
    expected = program.load()(*args)
    out = np.zeros_like(expected)
    function = _library(program, "f4" if args[0].dtype == np.float32 else "f8", threads).f
    first = args[0]
    n, m = (first.shape[0], first.shape[1]) if program.c_rows else (first.size, 1)
    function.restype = None
    bound = [
        ctypes.c_long(n),
        ctypes.c_long(m),
        ctypes.c_void_p(out.ctypes.data),
        *(ctypes.c_void_p(a.ctypes.data) for a in args),
    ]
    clear = out.fill if "+=" in program.c else None

    def call() -> np.ndarray:
        if clear:
            clear(0)
        function(*bound)
        return out

    return call, ()


PEERS: dict[str, Callable[..., Call]] = {
    "numpy": numpy,
    "stator": stator,
    "c": c,
    "numba": numba,
    "jax": jax,
    "numexpr": numexpr,
    "torch": torch,
}


def installed() -> list[str]:
    """Names of the peers that can be used here."""
    return [name for name in PEERS if name in ("c",) or importlib.util.find_spec(name)]


def calls(program: Program, args: Sequence[Any], names: Sequence[str], threads: int = 1) -> dict[str, Call]:
    """What to time for each peer that takes the program."""
    out = {}
    for name in names:
        try:
            out[name] = c(program, args, threads) if name == "c" else PEERS[name](program, args)
        except Refused:
            continue
    return out


def agreement(expected: Any, found: Any) -> str:
    """``"same"`` bits as NumPy, ``"close"``, or ``"differs"``."""
    a, b = np.asarray(expected), np.asarray(found)
    if a.dtype != b.dtype or a.shape != b.shape:
        return "differs"
    if a.tobytes() == b.tobytes():
        return "same"
    return (
        "close"
        if np.allclose(a, b, rtol=1e-5 if a.dtype == np.float32 else 1e-10, equal_nan=True)
        else "differs"
    )
