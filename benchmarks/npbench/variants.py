"""How a peer's variant of a program is loaded and called.

A variant's name is its peer's, with NPBench's postfix behind a dot where a peer has several: ``numba.n``.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .checkouts import Call, NPBench, PyHPC
from .perturb import perturbed
from .rewrite import IDIOMS, rewritten

# Peers in the order of the tables. Those with threads are named so and may use all of them.
PEERS = (
    "numpy",
    "stator",
    "cached",
    "tier0",
    "all",
    "perturbed",
    "rewritten",
    "numba",
    "numba-threads",
    "jax",
    "pythran",
    "torch",
)
POSTFIXES = {
    "numba": ("numba_n", "numba_o", "numba"),
    "numba-threads": ("numba_np", "numba_npr", "numba_op", "numba_opr"),
    "jax": ("jax", "jax_lib"),
    "pythran": ("pythran",),
    "torch": ("pytorch",),
}
# The program written differently: by which function of a source and the name of what is called.
WRITTEN: dict[str, Callable[[str, str], str]] = {"perturbed": perturbed, "rewritten": rewritten} | {
    f"rewritten-{idiom}": partial(rewritten, idioms=(idiom,)) for idiom in IDIOMS
}
OURS = ("stator", "cached", "tier0", "all", *WRITTEN)
MODES = ("cached", "tier0", "all")  # stator once more: not peers, but other ways that its bits come about
NEEDS = {"numba": "numba", "numba-threads": "numba", "jax": "jax", "pythran": "pythran", "torch": "torch"}


def installed(peer: str) -> bool:
    return peer not in NEEDS or importlib.util.find_spec(NEEDS[peer]) is not None


def of(checkout: NPBench | PyHPC, program: str, peer: str) -> list[str]:
    """The variants that `peer` has of a program; torch.compile takes NumPy's where there is none for torch."""
    there = checkout.postfixes(program)
    if peer in ("numpy", *OURS):
        return [f"{peer}.numpy"] if "numpy" in there else []
    some = [f"{peer}.{p}" for p in POSTFIXES[peer] if p in there]
    return some or ([f"{peer}.numpy"] if peer == "torch" and "numpy" in there else [])


def load(checkout: NPBench | PyHPC, program: str, preset: str, variant: str) -> Call:
    """The variant, with arguments of the kind it takes; calls end when results are there."""
    peer, _, postfix = variant.partition(".")
    if peer == "pythran":
        return _pythran(checkout, program, preset)
    if peer == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    call = checkout.call(program, preset, postfix)
    if peer in WRITTEN:
        call.function = _written(call.function, WRITTEN[peer])
    if peer in OURS:
        import stator

        if peer != "all":  # STATOR=all finds the functions itself
            call.function = stator.compile(call.function)
    elif peer == "jax":
        _on_jax(call)
    elif peer == "torch":
        _on_torch(call, postfix)
    return call


def _written(function: Callable, differently: Callable[[str, str], str]) -> Callable:
    """The function in its program written differently (perturb.py, rewrite.py)."""
    path = sys.modules[function.__module__].__file__
    assert path is not None
    folder = tempfile.mkdtemp(prefix="written-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    other = Path(folder) / "another_program.py"
    other.write_text(differently(Path(path).read_text(), function.__name__))
    spec = importlib.util.spec_from_file_location(other.stem, other)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[other.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, function.__name__)


def _on_jax(call: Call) -> None:
    import jax
    import numpy as np

    fresh, function = call.fresh, call.function

    def converted() -> list[Any]:
        return [
            jax.block_until_ready(jax.numpy.array(x)) if isinstance(x, np.ndarray) else x for x in fresh()
        ]

    call.fresh = converted
    call.function = lambda *args: jax.block_until_ready(function(*args))


def _on_torch(call: Call, postfix: str) -> None:
    import numpy as np
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    if postfix == "numpy":
        call.function = torch.compile(call.function)
        return
    fresh: Callable[[], list[Any]] = call.fresh
    call.fresh = lambda: [torch.as_tensor(x) if isinstance(x, np.ndarray) else x for x in fresh()]


def _pythran(checkout: NPBench | PyHPC, program: str, preset: str) -> Call:
    """Pythran compiles ahead of time: what that takes is not in the time of the first call."""
    folder = Path(tempfile.mkdtemp(prefix="stator-pythran-"))
    source = checkout.file(program, "pythran")
    name = source.stem
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pythran.run",
            "-O3",
            "-march=native",
            str(source),
            "-o",
            str(folder / f"{name}.so"),
        ],
        check=True,
        capture_output=True,
    )
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.so")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    call = checkout.call(program, preset, "numpy")
    call.function = getattr(module, call.function.__name__)
    return call
