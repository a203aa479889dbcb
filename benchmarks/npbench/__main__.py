"""``python -m benchmarks.npbench``: NPBench's and pyhpc-benchmarks' programs, from the checkouts in NPBENCH_DIR and PYHPC_DIR.

NPBENCH_DIR=~/npbench python -m benchmarks.npbench --presets S,M
NPBENCH_DIR=~/npbench python -m benchmarks.npbench --presets S --programs adi,lu --peers numpy,stator
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.suite import report as suite_report
from benchmarks.suite.without_core import without_core

from . import checkouts, report, variants

ROOT = Path(__file__).resolve().parents[2]


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__.split("\n")[0])
    p.add_argument("--presets", default="S,M", help="comma-separated: S, M, L")
    p.add_argument("--programs", default="loops", help="comma-separated, or 'loops' (the default), or 'all'")
    p.add_argument("--peers", default="", help="comma-separated; all that are installed by default")
    p.add_argument(
        "--seconds", type=float, default=1.0, help="how long each variant is called in steady state"
    )
    p.add_argument(
        "--limit", type=float, default=180, help="seconds after which a variant's process is given up"
    )
    p.add_argument(
        "--rounds",
        type=int,
        default=1,
        help="how often each peer is measured, in turn, in processes of their own: its best time counts. Where a process's "
        "memory lies moves BLAS by a tenth",
    )
    p.add_argument("--threads", type=int, default=1, help="threads for all but the peers that are named so")
    p.add_argument(
        "--out", type=Path, default=ROOT / "benchmarks" / "results", help="folder for npbench.json and plots"
    )
    return p


def environment(variant: str, threads: int, cache: str) -> dict[str, str]:
    """The environment of one variant's process."""
    count = str(os.cpu_count() or 1) if "threads" in variant else str(threads)
    env = {k: v for k, v in os.environ.items() if not k.startswith("STATOR") or k == "STATOR_LOG"}
    env |= dict.fromkeys(
        ("STATOR_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), count
    )
    if count == "1":
        env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if variant.startswith("tier0."):
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [without_core(cache), env.get("PYTHONPATH")]))
    if variant.startswith("all."):
        env["STATOR"] = "all"
    return env | {"STATOR_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}


def run(
    checkout: tuple[str, Any],
    program: str,
    preset: str,
    variant: str,
    options: argparse.Namespace,
    folder: str,
) -> dict[str, Any]:
    """The line of one variant, or ``{"failed": why}``."""
    name, suite = checkout
    command = [sys.executable, "-m", "benchmarks.npbench.worker", name, str(suite.folder), program, preset, variant,
               str(options.seconds), str(Path(folder, "reference"))]  # fmt: skip
    # torch.compile unrolls loops, and most programs are loops.
    limit = min(options.limit, 30) if variant == "torch.numpy" else options.limit
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=limit,
            env=environment(variant, options.threads, str(Path(folder, "cache"))),
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {limit:.0f} s"}
    lines = [x for x in done.stdout.splitlines() if x.startswith("{")]
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    why = [x for x in done.stderr.strip().splitlines() if x.strip()]
    return {"failed": (why[-1] if why else f"status {done.returncode}")[:60], "stderr": done.stderr[-2000:]}


def best(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The fastest of a peer's variants that ran."""
    ran = [x for x in lines if "best" in x]
    return min(ran, key=lambda x: x["best"]) if ran else lines[0]


def repeated(line: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """The faster of two lines of one variant. Bits that differ in either differ, and so does a failure."""
    if "best" not in again:
        return again
    faster = min(line, again, key=lambda x: x["best"])
    if "bits" in line:
        faster = faster | {"bits": line["bits"] + again["bits"]}
    return faster


def measured(options: argparse.Namespace, found: dict[str, Any]) -> list[report.Row]:
    peers = [
        p for p in (options.peers.split(",") if options.peers else variants.PEERS) if variants.installed(p)
    ]
    if "numpy" not in peers:
        peers.insert(0, "numpy")
    rows = []
    for preset in options.presets.split(","):
        for checkout in found.items():
            known = checkout[1].programs("loops" if options.programs == "loops" else "all")
            wanted = (
                known
                if options.programs in ("loops", "all")
                else [p for p in options.programs.split(",") if p in known]
            )
            for program in wanted:
                row = report.Row(checkout[0], program, preset)
                with tempfile.TemporaryDirectory(prefix="stator-npbench-") as folder:
                    for peer in peers:
                        some = [
                            run(checkout, program, preset, v, options, folder) | {"variant": v}
                            for v in variants.of(checkout[1], program, peer)
                        ]
                        if some:
                            row.lines[peer] = best(some)
                    for _ in range(options.rounds - 1):
                        for peer, line in row.lines.items():
                            if "best" in line:
                                v = line["variant"]
                                again = run(checkout, program, preset, v, options, folder) | {"variant": v}
                                row.lines[peer] = repeated(line, again)
                rows.append(row)
                print(_progress(row), file=sys.stderr, flush=True)
    return rows


def _progress(row: report.Row) -> str:
    cells = [
        f"{p} {1e3 * x['best']:.3g} ms" if "best" in x else f"{p}: {x['failed']}"
        for p, x in row.lines.items()
    ]
    return f"{row.program} {row.preset}: {', '.join(cells)}; bits {row.bits('stator')}"


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    found = checkouts.found()
    if not found:
        names = " and ".join(s.variable for s in checkouts.SUITES.values())
        print(f"no checkout to measure: {names} name none")
        return 1
    print(
        "not installed, left out: "
        + (", ".join(p for p in variants.PEERS if not variants.installed(p)) or "none")
    )
    rows = measured(options, found)
    section = report.section(rows)
    suite_report.show(section)
    options.out.mkdir(parents=True, exist_ok=True)
    data = options.out / "npbench.json"
    data.write_text(
        json.dumps(
            [{"suite": r.suite, "program": r.program, "preset": r.preset, "lines": r.lines} for r in rows],
            indent=1,
        )
    )
    print("written:", data, *report.plot(rows, options.out), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
