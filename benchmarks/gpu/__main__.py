"""``python -m benchmarks.gpu``, or ``python benchmarks/gpu`` for a copy of the folder alone. Exit status 2: no GPU to use."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:  # the folder itself was run
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    __package__ = Path(__file__).resolve().parent.name


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description="stator's CUDA kernels on this GPU."
    )
    p.add_argument("--groups", default="", help="comma-separated; all by default")
    p.add_argument("--peers", default="", help="comma-separated; all that are installed by default; 'none'")
    p.add_argument("--elements", type=int, default=1 << 26, help="of four bytes in each array")
    p.add_argument(
        "--copy-bytes", type=int, default=1 << 30, help="of the copy that others are compared with"
    )
    p.add_argument("--rounds", type=int, default=5, help="of which the fastest counts")
    p.add_argument(
        "--limit", type=float, default=0, help="seconds after which no more rows are begun; 0: none"
    )
    p.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    p.add_argument("--smoke", action="store_true", help="tiny sizes, once: whether everything runs")
    p.add_argument("--compile", action="store_true", help="times of compilations alone, which need no GPU")
    p.add_argument(
        "--hosts", action="store_true", help="functions of CuPy's arrays and torch's tensors alone"
    )
    p.add_argument("--arch", default="sm_90", help="for which --compile does it")
    p.add_argument(
        "--out", type=Path, default=Path("benchmarks/results"), help="folder of gpu.json and gpu.png"
    )
    return p


def settle(options: argparse.Namespace) -> None:
    from .programs import GROUPS

    unknown = [g for g in options.groups.split(",") if g and g not in GROUPS]
    if unknown:
        parser().error(f"unknown group {unknown[0]!r}: choose from {', '.join(GROUPS)}")
    options.seconds = 0.05
    if options.quick:
        options.rounds = min(options.rounds, 3)
    if options.smoke:
        options.quick = True
        options.elements, options.copy_bytes, options.rounds, options.seconds = 1 << 12, 1 << 16, 1, 0.0


def open_gpu() -> Any:
    """The GPU, or None after one line that says what is missing."""
    try:
        import stator
        from stator import _gpu
    except ImportError as error:
        print(f"bench-gpu: stator cannot be imported: {error}", file=sys.stderr)
        return None
    if stator.unavailable:
        print(f"bench-gpu: stator cannot be used here: {stator.unavailable}", file=sys.stderr)
        return None
    try:
        return _gpu.Gpu()
    except RuntimeError as error:
        print(f"bench-gpu: {' '.join(str(error).split())}", file=sys.stderr)
        return None


def open_peers(wanted: str) -> list[Any]:
    from . import peers

    found = []
    for peer in peers.every():
        if wanted and peer.name not in wanted.split(","):
            continue
        why = peer.open()
        if why:
            print(f"{peer.name} is left out: {why}")
        else:
            found.append(peer)
    return found


def measure(gpu: Any, found: list[Any], options: argparse.Namespace) -> dict[str, Any]:
    import numpy as np
    import stator

    from . import kernels, overhead, peers, programs, report

    result: dict[str, Any] = {
        "device": gpu.info,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "stator": stator.__version__}
        | {p.module_name: p.module.__version__ for p in found},
        "peers": [p.name for p in found],
        "copy": kernels.copy_bandwidth(gpu, options.copy_bytes, options),
        "rows": [],
    }  # fmt: skip
    print(
        f"copy of {options.copy_bytes / 2**20:,.2f} MiB: {result['copy']['bandwidth'] / 1e9:,.1f} GB/s read and written"
    )
    started = time.perf_counter()
    groups = [g for g in options.groups.split(",") if g]
    for case in programs.cases(options.elements, options.quick, groups):
        begun = time.perf_counter()
        if options.limit and begun - started > options.limit:
            print(f"  {case.group}: {case.name}: left out, the time is up")
            continue
        row = kernels.measure(gpu, case, options)
        row["peers"] = {p.name: peers.measure(p, case, options) for p in found}
        result["rows"].append(row)
        mine = report.share(row, row.get("seconds"), result["copy"]["bandwidth"])
        text = row.get("error") or row.get("differs") or f"{100 * (mine or 0):.1f}%"
        print(f"  {case.group}: {case.name}: {text} ({time.perf_counter() - begun:.1f} s)", flush=True)
    result["launches"] = overhead.launches(gpu, found, options)
    result["compile"] = overhead.compile_times(gpu.arch, options)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    settle(options)
    if options.compile:
        from . import compiling

        return compiling.main(options.arch, options.rounds)
    if options.hosts:
        from . import hosts

        return hosts.main(options)
    gpu = open_gpu()
    if gpu is None:
        return 2
    from . import report

    facts = ", ".join(f"{k} {v}" for k, v in gpu.info.items())
    print(f"{facts}")
    result = measure(gpu, open_peers(options.peers), options)
    report.show(result, figures=not options.smoke)
    print("\nwritten:", *report.write(result, options.out), sep="\n  ")
    return 1 if any(r.get("differs") for r in result["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
