"""Host time of launches, and time of compilations.

Run as a program of its own (``compile_times``), so that a compilation finds nothing in memory: it prints what it took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import peers as peer_library
from .programs import Case, cases, chain


def launches(gpu: Any, found: list[peer_library.Peer], options: Any) -> list[dict[str, Any]]:
    """Microseconds of host time for one operation on 1,000 elements."""
    import stator
    from stator import _cuda, _gpu

    x = np.ones(1000, "f4")
    f = chain(1, "one_operation")
    times = 10 if options.smoke else 400
    recorded = _cuda.Recorded(stator.compile(f), gpu.arch)
    kernels = recorded(x, x)
    rows: list[dict[str, Any]] = []
    with _gpu.Bound(gpu, kernels, [x, x], recorded.results) as call:
        call.run(times)
        least = min(call.run(times).enqueue for _ in range(options.rounds)) / times
    rows.append({"what": "one launch through stator's driver layer", "seconds": least})
    for n in (1000,) if options.smoke else (1000, 1_000_000):
        a = np.ones(n, "f4")
        g = stator.compile(f, device="cuda")
        for _ in range(5):
            g(a, a)
        spent = min(_calls(g, (a, a), times) for _ in range(options.rounds))
        served = g.stats()["replays"]
        rows.append({
            "what": f'a call with device="cuda", {n:,} elements (copies in, out, waits)',
            "seconds": spent,
            **({} if served else {"error": "was not replayed"}),
        })  # fmt: skip
    case = Case("overhead", "one operation", f, lambda n: [x, x], 1000, 1000)
    for peer in found:
        row = peer_library.measure(peer, case, options)
        rows.append({"what": f"one operation, {peer.name}", **row})
    return rows


def _calls(f: Any, arguments: tuple, times: int) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        f(*arguments)
    return (time.perf_counter() - begun) / times


def in_two_processes(module: str, *arguments: Sequence[str]) -> list[Any]:
    """What a module of this folder, run as a program, prints as JSON in its last line, once for each list of arguments: with a disk
    cache that is empty at first. Raises `RuntimeError` with its last line when it fails."""
    root = Path(__file__).resolve().parents[1]
    found = []
    with tempfile.TemporaryDirectory(prefix="stator-bench-") as cache:
        # The driver keeps a cache of its own, of what it makes from PTX.
        env = {**os.environ, "STATOR_CACHE_DIR": cache, "CUDA_CACHE_DISABLE": "1"}
        env["PYTHONPATH"] = os.pathsep.join([str(root), *[p for p in sys.path if p]])
        for given in arguments:
            command = [sys.executable, "-m", f"{Path(__file__).parent.name}.{module}", *given]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
            if done.returncode:
                raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
            found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def compile_times(arch: str, options: Any) -> list[dict[str, Any]]:
    """Seconds to a cubin for each source: cold, and by another process from the disk cache."""
    given = [arch, str(int(options.smoke))]
    try:
        runs = in_two_processes("overhead", given, given)
    except RuntimeError as error:
        return [{"what": "compilations", "error": str(error)}]
    return [
        {"what": a["what"], "cold": a["seconds"], "disk": b["seconds"], "from_cache": b["from_cache"]}
        for a, b in zip(*runs, strict=True)
    ]


def _compile_all(arch: str, quick: bool) -> list[dict[str, Any]]:
    import stator
    from stator import _cuda

    rows = []
    # The library's own start is not a compilation's time.
    _cuda.Recorded(stator.compile(chain(1, "first")), arch)(np.ones(3, "f4"), np.ones(3, "f4"))
    seen = set()
    for case in cases(1 << 12, quick, ("pointwise", "softmax", "layernorm", "reduction")):
        if (case.function, case.name[-2:]) in seen or "prime" in case.name or "unaligned" in case.name:
            continue
        if case.group in ("softmax", "layernorm") and not case.name.startswith("256 "):
            continue
        seen.add((case.function, case.name[-2:]))
        kernels = _cuda.Recorded(stator.compile(case.function), arch)(*case.arguments(case.check))
        rows.append({
            "what": f"{case.group}: {case.name}",
            "seconds": kernels[0].seconds,
            "from_cache": kernels[0].from_cache,
        })  # fmt: skip
    return rows


if __name__ == "__main__":
    print(json.dumps(_compile_all(sys.argv[1], sys.argv[2] == "1")))
