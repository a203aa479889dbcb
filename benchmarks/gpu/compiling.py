"""How long NVRTC takes for every source of the tests' suite, and what it made of it. No device is needed.

    python -m benchmarks.gpu --compile [--arch sm_90] [--rounds 5]

Two processes: the first compiles (the fastest of several compilations that no cache knows, with NVRTC's library loaded), the second
finds everything in the disk cache. Where there is no checkout, the benchmark's own programs are compiled.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from . import overhead, report

POINTWISE = ("scalar", "elementwise", "tiles")
WANTED = {
    "pointwise": 0.100,
    "row reductions": 0.150,
    "other reductions": None,
}  # seconds; no figure was asked for
DISK = 0.003


def programs() -> list[tuple[str, Any, tuple, bool]]:
    """(name, function, arguments, fastmath) of each program."""
    try:
        from tests.gpu.suite import PROGRAMS
    except ImportError:
        from .programs import cases

        return [
            (f"{c.group}: {c.name}", c.function, c.arguments(c.check), False) for c in cases(1 << 12, True)
        ]
    return [
        (p.name, p.function, p.arguments(np.random.default_rng(7), p.largest), p.fastmath) for p in PROGRAMS
    ]


def kind_of(forms: list[str]) -> str:
    if all(form in POINTWISE for form in forms):
        return "pointwise"
    return "row reductions" if all(form in (*POINTWISE, "rows") for form in forms) else "other reductions"


def _first(x: Any) -> Any:
    return x + 1


def compile_all(arch: str, rounds: int) -> list[dict[str, Any]]:
    """One row for each source; `rounds` 0: as the cache has it."""
    import stator
    from stator import _cuda, _stator

    rows = []
    # The library's own start is not a compilation's time.
    _cuda.Recorded(stator.compile(_first), arch)(np.ones(3))
    for name, function, arguments, fastmath in programs():
        kernels = _cuda.Recorded(stator.compile(function, fastmath=fastmath), arch)(*arguments)
        for source in dict.fromkeys(k.source for k in kernels):
            mine = [k for k in kernels if k.source == source]
            spent, used = [mine[0].seconds], []
            for i in range(rounds - 1):
                text = f"{source}\n// {time.time_ns()} {i}\n"
                begun = time.process_time()
                spent.append(_stator.compile_cuda(text, name, arch, [])["seconds"])
                used.append(time.process_time() - begun)
            forms = list({k.name: k.form for k in mine}.values())
            rows.append({
                "what": name, "kind": kind_of(forms), "forms": "+".join(forms), "kernels": len(forms),
                "seconds": min(spent), "first": spent[0], "processor": min(used, default=0.0),
                "from_cache": mine[0].from_cache, "characters": len(source),
                "registers": max(k.registers for k in mine), "spills": max(k.spill_bytes for k in mine),
            })  # fmt: skip
    return rows


def measure(arch: str, rounds: int) -> list[dict[str, Any]]:
    cold, disk = overhead.in_two_processes("compiling", [arch, str(rounds)], [arch, "0"])
    return [
        {**a, "disk": b["seconds"], "in_disk_cache": b["from_cache"]} for a, b in zip(cold, disk, strict=True)
    ]


def goals(rows: list[dict[str, Any]]) -> list[tuple[str, str, str, bool]]:
    """(what, wanted, found, met)."""
    found = []
    for kind, wanted in WANTED.items():
        mine = [r for r in rows if r["kind"] == kind]
        if not mine or not wanted:
            continue
        # All kernels of a trace are one compilation.
        for what, some in (
            ("of one kernel", [r for r in mine if r["kernels"] == 1]),
            ("of several kernels, for each", [r for r in mine if r["kernels"] > 1]),
        ):
            if not some:
                continue
            each = {r["what"]: r["seconds"] / r["kernels"] for r in some}
            worst = max(some, key=lambda r: each[r["what"]])
            seconds = each[worst["what"]]
            said = f"{1e3 * seconds:.1f} ms ({worst['what']}; {1e3 * worst['processor']:.1f} ms of a processor in all)"
            found.append(
                (
                    f"slowest of {len(some)} sources {what}, {kind}",
                    f"<= {1e3 * wanted:.0f} ms",
                    said,
                    seconds <= wanted,
                )
            )
    worst = max(rows, key=lambda r: r["disk"])
    said = f"{1e3 * worst['disk']:.2f} ms ({worst['what']})"
    found.append(("slowest from the disk cache", f"<= {1e3 * DISK:.0f} ms", said, worst["disk"] <= DISK))
    spilling = [r["what"] for r in rows if r["spills"]]
    found.append(("sources that spill registers", "none", ", ".join(spilling) or "none", not spilling))
    return found


def main(arch: str, rounds: int) -> int:
    rows = measure(arch, rounds)
    cells = [
        [r["what"], r["forms"], 1e3 * r["seconds"], 1e3 * r["processor"], 1e3 * r["first"], 1e3 * r["disk"], r["characters"], r["registers"]]
        for r in sorted(rows, key=lambda r: (r["kind"], -r["seconds"]))
    ]  # fmt: skip
    columns = ["", "kernels", "NVRTC", "of CPU", "its first", "disk cache", "characters", "registers"]
    print(report.table(f"compilation for {arch}: ms", columns, cells))
    all_goals = goals(rows)
    cells = [[what, wanted, said, "ok" if met else "MISSED"] for what, wanted, said, met in all_goals]
    print(report.table("goals", ["", "wanted", "found", ""], cells))
    return 0


if __name__ == "__main__":
    print(json.dumps(compile_all(sys.argv[1], int(sys.argv[2]))))
