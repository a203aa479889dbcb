"""One variant of one program, measured in this process: prints a line of JSON.

python -m benchmarks.npbench.worker npbench FOLDER PROGRAM PRESET VARIANT SECONDS REFERENCE

REFERENCE is where NumPy's results are: the variant of NumPy writes them, the others compare theirs with them.
"""

from __future__ import annotations

import gc
import json
import pickle
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import variants
from .checkouts import SUITES, Call

FEWEST, MOST = 3, 200  # calls in steady state
SETTLING = 8  # at most so many calls between rounds of compilation


def flat(x: Any) -> list[np.ndarray]:
    """The arrays and numbers of a result, in order."""
    if x is None:
        return []
    if isinstance(x, tuple | list):
        return [y for item in x for y in flat(item)]
    return [np.asarray(x)]


def results(call: Call, args: list[Any], returned: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What was returned, and what was written into arguments."""
    return flat(returned), flat([args[k] for k in call.inout])


def difference(expected: list[np.ndarray], found: list[np.ndarray]) -> str:
    """``"same"``, ``"close"``, or how far off; bits, dtype and shape, NaNs alike."""
    if len(expected) != len(found) or any(a.shape != b.shape for a, b in zip(expected, found)):
        return "other results"
    if all(a.dtype == b.dtype and _bits(a) == _bits(b) for a, b in zip(expected, found)):
        return "same"
    off = 0.0
    for a, b in zip(expected, found):
        if a.size:
            with np.errstate(all="ignore"):
                scale = max(1e-300, float(np.nanmax(np.abs(a))))
                off = max(off, float(np.nanmax(np.abs(a.astype(complex) - b.astype(complex)))) / scale)
    return f"off by {off:.0e}"


def _bits(x: np.ndarray) -> bytes:
    dense = np.array(x, order="C").reshape(-1)
    if dense.dtype.kind == "c":
        dense = dense.view(f"f{dense.dtype.itemsize // 2}")
    if dense.dtype.kind == "f":
        dense[np.isnan(dense)] = np.nan
    return dense.tobytes()


def measure(call: Call, seconds: float) -> tuple[float, list[float], Any, list[Any]]:
    """Seconds of the first call, of calls in steady state, and the first call's result and arguments."""
    first_args = call.fresh()
    begun = time.perf_counter()
    returned = call.function(*first_args)
    first = time.perf_counter() - begun
    for _ in range(1 if first > seconds else 3):
        call.function(*call.fresh())
    _settle(call)
    times: list[float] = []
    gc.disable()
    until = time.perf_counter() + seconds
    while len(times) < FEWEST or (time.perf_counter() < until and len(times) < MOST):
        args = call.fresh()
        begun = time.perf_counter()
        call.function(*args)
        times.append(time.perf_counter() - begun)
    return first, times, returned, first_args


def _settle(call: Call) -> None:
    """Calls until nothing is left to be compiled in the background: a loop may be reached only by code that was."""
    stator = sys.modules.get("stator")
    for _ in range(SETTLING):
        before = _compiled()
        if stator is not None:
            stator.wait()
        call.function(*call.fresh())
        if before == _compiled():
            return


def _compiled() -> list[int]:
    stator = sys.modules.get("stator")
    return [] if stator is None else [stator.stats()[k] for k in ("recordings", "compiles", "cache_hits")]


COUNTERS = ("regions", "exits", "opaque_steps", "compile_s", "eager_calls")


def counters(function: Any) -> dict[str, float]:
    stator = sys.modules.get("stator")
    if stator is None or not isinstance(function, stator.CompiledFunction):
        return {}
    return {k: v for k, v in function.stats().items() if k in COUNTERS}


def main(argv: list[str]) -> int:
    suite, folder, program, preset, variant, seconds, reference = argv
    call = variants.load(SUITES[suite](Path(folder)), program, preset, variant)
    first, times, returned, args = measure(call, float(seconds))
    line: dict[str, Any] = {
        "first": first,
        "best": min(times),
        "median": statistics.median(times),
        "calls": len(times),
    }
    before = counters(call.function)
    last_args = call.fresh()
    last = call.function(*last_args)
    after = counters(call.function)
    line["stats"] = after
    line["steady_exits"] = {
        k: after[k] - before[k] for k in ("exits", "opaque_steps", "eager_calls") if k in after
    }
    kept = Path(reference)
    if variant == "numpy.numpy":
        kept.write_bytes(pickle.dumps(results(call, args, returned)))
    else:
        wanted = pickle.loads(kept.read_bytes())
        line["bits"] = [_compared(wanted, results(call, *x)) for x in ((args, returned), (last_args, last))]
    print(json.dumps(line), flush=True)
    return 0


def _compared(wanted: tuple[list, list], got: tuple[list, list]) -> str:
    """JAX returns what NumPy's variant writes into its arguments."""
    verdict = difference(wanted[0] + wanted[1], got[0] + got[1])
    for alternative in (wanted[1], wanted[0]):
        if verdict == "other results" and alternative:
            verdict = difference(alternative, got[0])
    return verdict


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
