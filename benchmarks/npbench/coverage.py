"""Where the time of steady calls goes, and what of them is still Python's: ``python -m benchmarks.npbench.coverage``.

NPBENCH_DIR=~/npbench python -m benchmarks.npbench.coverage --presets S --programs adi,nbody

For each program, in a process of its own: how many of its loops are regions, and per steady call how often a region was
left in the middle (exits), how many steps were Python's, how many functions regions called through Python and how often
they asked for memory. With Linux perf also the share of samples by what ran: native code is what stator compiled, its
library routines, BLAS, the C library, and NumPy where it was called by one of those; the rest is the interpreter and
stator's own bookkeeping. Samples of the kernel are left out.
"""

from __future__ import annotations

import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import apart, checkouts, variants

SECONDS, MOST_CALLS, MOST_BYTES, WARM = 1.0, 4000, 2 << 30, 16
STEPS = ("exits", "opaque_steps", "redone")
CALLS = ("python_calls", "allocations")
# Routines of stator's that compute: what regions call besides generated code.
ROUTINES = re.compile(r"run_matmul|run_reduce|np_dot|py_mod|py_floordiv|HostLoop|tier0|run_chunks|power")
# Libraries that compute; NumPy's counts as one where no Python function is called from within regions or traces.
NATIVE = re.compile(
    r"perf-\d+\.map|openblas|libm[.-]|libmvec|libc[.-]|libstator_core|_multiarray_umath|vdso|libgcc"
)


def _kind(symbol: str, library: str) -> str:
    if "kernel" in library:
        return "kernel"
    if NATIVE.search(library):
        return "native"
    if "_stator" in library:
        return "native" if ROUTINES.search(symbol) else "stator"
    return "python"


def _shares(recording: Path) -> dict[str, float]:
    """Of the samples outside of the kernel, by kind."""
    command = ["perf", "script", "-i", str(recording), "-F", "ip,sym,dso"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    kinds: collections.Counter[str] = collections.Counter()
    for line in text.splitlines():
        if match := re.match(r"\s*[0-9a-f]+ (.*) \(([^()]*)\)$", line):
            kinds[_kind(match[1], match[2])] += 1
    kinds.pop("kernel", None)
    total = sum(kinds.values())
    return {"samples": total} | {k: kinds[k] / total for k in ("native", "python", "stator") if total}


def _sampled(function: Any, calls: list[list[Any]]) -> dict[str, float]:
    """Makes the calls under perf."""
    if not shutil.which("perf"):
        for arguments in calls:
            function(*arguments)
        return {}
    with tempfile.TemporaryDirectory(prefix="stator-perf-") as folder:
        recording = Path(folder, "perf.data")
        command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "4000"]
        command += ["-p", str(os.getpid()), "-o", str(recording)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as perf:
            time.sleep(0.5)
            for arguments in calls:
                function(*arguments)
            perf.send_signal(signal.SIGINT)
        return _shares(recording) if recording.exists() else {}


def _counted(function: Any) -> dict[str, float]:
    stats, regions = function.stats(), function.regions
    return {k: stats[k] for k in STEPS} | {k: sum(getattr(r, k) for r in regions) for k in CALLS}


def measure(suite: str, folder: str, program: str, preset: str) -> dict[str, Any]:
    import stator

    call = variants.load(checkouts.SUITES[suite](Path(folder)), program, preset, "stator.numpy")
    for _ in range(WARM):
        call.function(*call.fresh())
        stator.wait()
    arguments = call.fresh()
    begun = time.perf_counter()
    call.function(*arguments)
    once = time.perf_counter() - begun
    size = sum(getattr(x, "nbytes", 0) for x in arguments)
    count = max(2, min(MOST_CALLS, int(SECONDS / once), MOST_BYTES // max(size, 1)))
    calls = [call.fresh() for _ in range(count)]
    before = _counted(call.function)
    shares = _sampled(call.function, calls)
    after = _counted(call.function)
    return {
        "regions": call.function.stats()["regions"],
        "ms": 1e3 * once,
        "calls": count,
        **{k: (after[k] - before[k]) / count for k in after},
        **shares,
    }


def line(program: str, preset: str, found: dict[str, Any]) -> str:
    counts = " ".join(f"{found[k]:>9.3g}" for k in (*STEPS, *CALLS))
    shares = "".join(f"{100 * found[k]:>8.1f}" for k in ("native", "python", "stator") if k in found)
    return f"{program:<26}{preset:>3}{found['regions']:>9}{found['ms']:>11.3f} {counts}{shares}"


HEAD = f"{'':<29}{'regions':>9}{'ms':>11} {'exits':>9} {'steps':>9} {'redone':>9} {'Py calls':>9} {'allocs':>9}{'native':>8}{'Python':>8}{'stator':>8}  % of samples"


def main(argv: Sequence[str] | None = None) -> int:
    def found(program: str, preset: str, result: dict[str, Any]) -> None:
        print(line(program, preset, result), flush=True)

    print(HEAD)
    extra = {"STATOR_PERF": "1"}
    return 0 if apart.run("benchmarks.npbench.coverage", __doc__, "loops", measure, found, extra, argv) else 1


if __name__ == "__main__":
    sys.exit(main())
