"""``python -m benchmarks.suite``: measures, prints tables and writes plots.

python -m benchmarks.suite --quick
python -m benchmarks.suite --sections overhead,cold --peers numpy,stator,jax
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

SECTIONS = ("overhead", "throughput", "cold", "generality", "harm")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m benchmarks.suite", description=__doc__.split("\n")[0])
    p.add_argument("--quick", action="store_true", help="fewer rounds, sizes and repetitions")
    p.add_argument("--sections", default=",".join(SECTIONS), help="comma-separated: " + ", ".join(SECTIONS))
    p.add_argument("--peers", default="", help="comma-separated; all that are installed by default")
    p.add_argument("--rounds", type=int, default=0, help="how often each callable gets its turn")
    p.add_argument("--threads", type=int, default=1, help="threads for everybody in throughput")
    p.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parents[1] / "results",
        help="folder for results.json and plots",
    )
    return p


def limit_threads(count: int) -> None:
    """The same number of threads for everybody; has to come before anything is imported."""
    for name in (
        "STATOR_THREADS",
        "OMP_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    ):
        os.environ[name] = str(count)
    # Plain Python is timed in the same process: it gets NumPy itself.
    os.environ["STATOR_HOST_CALLS"] = "0"
    if count == 1:
        os.environ["XLA_FLAGS"] = (
            os.environ.get("XLA_FLAGS", "")
            + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )


def environment(names: Sequence[str], threads: int) -> dict[str, str]:
    """What was compared on what."""
    out = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": str(os.cpu_count()),
        "threads": str(threads),
    }
    for name in names:
        if name != "c":
            out[name] = getattr(importlib.import_module(name), "__version__", "?")
    return out


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    wanted = options.sections.split(",")
    unknown = [s for s in wanted if s not in SECTIONS]
    if unknown:
        parser().error(f"unknown section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    limit_threads(options.threads)
    from . import peers, report

    installed = peers.installed()
    options.peers = [p for p in (options.peers.split(",") if options.peers else installed) if p in installed]
    options.rounds = options.rounds or (7 if options.quick else 25)
    options.seconds = 0.001 if options.quick else 0.004
    facts = environment(options.peers, options.threads)
    print(", ".join(f"{k} {v}" for k, v in facts.items()))
    print("not installed, left out: " + (", ".join(p for p in peers.PEERS if p not in installed) or "none"))
    sections = []
    for name in wanted:
        section = importlib.import_module(f"{__package__}.{name}").run(options)
        report.show(section)
        sections.append(section)
    paths = report.write(sections, options.out, facts)
    missed = [g for s in sections for g in s.goals if not g.met]
    print(f"\n{sum(len(s.goals) for s in sections) - len(missed)} goals met, {len(missed)} missed")
    print("written:", *paths, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
