"""Launching and checking what f.cuda() makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import stator
from stator import _cuda, _gpu

from .programs import Case


def moved(arguments: list[np.ndarray], results: list[Any]) -> int:
    """Bytes that must move: each input once, each result once."""
    return sum(a.nbytes for a in arguments) + sum(np.asarray(r).nbytes for r in results)


def check(gpu: _gpu.Gpu, case: Case, recorded: _cuda.Recorded) -> str:
    """Compares with NumPy at a smaller size: "" or what differs."""
    arguments = case.arguments(case.check)
    kernels = recorded(*arguments)
    with _gpu.Bound(gpu, kernels, arguments, recorded.results) as call:
        call.run()
        found = call.results()
    expected = _cuda._fresh(case.function(*arguments), arguments)
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        b = np.asarray(b)
        scale = float(np.max(np.abs(b.astype("f8")), initial=0))
        if a.shape != b.shape or not np.allclose(
            a.astype("f8"), b.astype("f8"), case.rtol, case.rtol * scale
        ):
            worst = np.max(np.abs(a.astype("f8") - b.astype("f8"))) if a.shape == b.shape else "shapes"
            return f"result {number} differs from NumPy's: {worst}"
    return ""


def best_of(run: Any, rounds: int, seconds: float) -> float:
    """Least seconds of one call; ``run(times)`` makes calls and says what they took."""
    times = 1
    spent = run(1)
    while spent < seconds / 4 and times < 1 << 16:
        times *= max(2, min(64, int(seconds / max(spent, 1e-7) / 2)))
        spent = run(times)
    return min([spent, *(run(times) for _ in range(rounds - 1))]) / times


def measure(gpu: _gpu.Gpu, case: Case, options: Any) -> dict[str, Any]:
    """What one case takes on the GPU: seconds, bytes, kernels; or ``error``."""
    row: dict[str, Any] = {"group": case.group, "name": case.name, "x": case.x, "wanted": case.wanted}
    try:
        recorded = _cuda.Recorded(stator.compile(case.function), gpu.arch)
        row["differs"] = check(gpu, case, recorded)
        arguments = case.arguments(case.shape)
        kernels = recorded(*arguments)
        if any(kind == "const" for k in kernels for kind, _ in k.params):
            row["error"] = "a step in between is left to NumPy: not one program of the device"
            return row
        row["bytes"] = moved(arguments, recorded.results)
        row["kernels"] = [
            {
                "name": k.name,
                "form": k.form,
                "vector": k.vector,
                "grid": k.grid,
                "block": k.block,
                "registers": k.registers,
                "spill_bytes": k.spill_bytes,
                "shared_bytes": k.shared_bytes,
            }
            for k in kernels
        ]
        with _gpu.Bound(gpu, kernels, arguments, recorded.results) as call:
            recorded.results = []
            call.run()
            row["seconds"] = best_of(lambda n: call.run(n).device, options.rounds, options.seconds)
    except (RuntimeError, NotImplementedError, MemoryError) as error:
        row["error"] = str(error).splitlines()[0]
    return row


def copy_bandwidth(gpu: _gpu.Gpu, nbytes: int, options: Any) -> dict[str, Any]:
    """Bytes read and written per second by a copy on the device."""
    seconds = best_of(lambda n: gpu.copies(nbytes, n).device, options.rounds, options.seconds)
    return {"bytes": 2 * nbytes, "seconds": seconds, "bandwidth": 2 * nbytes / max(seconds, 1e-12)}
