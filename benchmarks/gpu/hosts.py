"""Functions of CuPy's arrays and torch's tensors as programs have them: the library alone beside stator on it.

    python -m benchmarks.gpu --hosts [--out FOLDER]

For each function and size: microseconds of a call, many being waited for together, with the library's own calls, and with
stator; whether both have the same bits; and how long stator's first call took.
"""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np

from . import peers, report
from .programs import Case, black_scholes, chain, equation_of_state, of, over, stencil_2d, stencil_3d, values


def standardized(x):
    """Reductions whose results are used elementwise."""
    d = x - x.mean(axis=1)[:, None]
    return d / np.sqrt((d * d).mean(axis=1) + 1e-5)[:, None]


def leapfrog(position, velocity, force):
    """Stores into arguments, as simulations have them."""
    velocity += 0.01 * force
    position += 0.01 * velocity
    energy = (velocity * velocity).sum()
    return position * 2 - force, energy


def thresholds(x, y):
    """Comparisons, selections and a mixture of dtypes."""
    inside = (x > 0.7) & (y < 1.2)
    return np.where(inside, x * y, x - y), inside * x, np.sqrt(np.abs(x - y)) + inside


SIZES = (1_000, 100_000, 10_000_000)


def _square(n: int) -> tuple[int, int]:
    return (math.isqrt(n),) * 2


def cases(n: int) -> list[Case]:
    cube = (max(4, round(n ** (1 / 3))),) * 3
    rows = [
        ("1 operation, f4", chain(1, "one"), of("f4", "f4"), n),
        ("5 operations, f4", chain(5, "five"), of("f4", "f4"), n),
        ("20 operations, f8", chain(20, "twenty"), of("f8", "f8"), n),
        ("thresholds, f8", thresholds, of("f8", "f8"), n),
        ("black-scholes, f8", black_scholes, of("f8", "f8", "f8"), n),
        ("equation of state, f8", equation_of_state, of("f8", "f8", "f8"), n),
        ("2-D stencil, f8", stencil_2d, of("f8"), _square(n)),
        ("3-D stencil, f4", stencil_3d, of("f4"), cube),
        ("standardized rows, f4", standardized, of("f4"), _square(n)),
        ("leapfrog, f8", leapfrog, lambda s: [values(s, "f8", k) for k in range(3)], n),
    ]
    return [Case("hosts", name, f, arguments, shape, shape) for name, f, arguments, shape in rows]


def _bits(result: Any) -> list[np.ndarray]:
    parts = result if isinstance(result, tuple) else (result,)
    return [p.get() if hasattr(p, "get") else p.cpu().numpy() for p in parts]


def _same(expected: Any, found: Any) -> str:
    """ "yes", or by how much results differ at most."""
    worst = 0.0
    for a, b in zip(_bits(expected), _bits(found), strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{a.shape} became {b.dtype}{b.shape}"
        if a.tobytes() != b.tobytes():
            with np.errstate(all="ignore"):
                worst = max(worst, float(np.nanmax(np.abs(a - b) / (np.abs(a) + 1e-300))))
    return f"no: {worst:.1e}" if worst else "yes"


def measure(peer: peers.Peer, case: Case, options: Any) -> dict[str, Any]:
    import stator

    def put() -> list[Any]:
        return [peer.put(a) for a in case.arguments(case.shape)]

    row: dict[str, Any] = {"host": peer.name, "what": case.name, "n": int(np.prod(case.shape))}
    try:
        eager = over(case.function, peer.module)
        served = stator.compile(over(case.function, peer.module))
        peer.wait(eager(*put()))
        arguments = put()
        begun = time.perf_counter()
        peer.wait(served(*arguments))
        row["first"] = time.perf_counter() - begun
        served(*put())
        row["same"] = _same(eager(*put()), served(*put()))
        row["eager"] = peers.timed(peer, eager, put(), options.rounds, options.seconds)
        row["stator"] = peers.timed(peer, served, put(), options.rounds, options.seconds)
        if not served.stats()["replays"]:
            row["note"] = "was not replayed"
    except Exception as error:  # one row's trouble is not the others'
        text = str(error).splitlines()
        row["note"] = f"{type(error).__name__}: {text[0] if text else ''}"[:200]
    peer.release()
    return row


def main(options: Any) -> int:
    rows = []
    for peer in (peers.CuPy("cupy"), peers.Torch("torch")):
        if why := peer.open():
            print(f"{peer.name} is left out: {why}")
            continue
        for n in (1_000,) if options.smoke else SIZES:
            rows += [measure(peer, case, options) for case in cases(n)]
    cells = [
        [f"{r['host']}: {r['what']}", r["n"], report.microseconds(r.get("eager")), report.microseconds(r.get("stator")),
         r["eager"] / r["stator"] if "stator" in r else None, 1e3 * r["first"] if "first" in r else None, r.get("same"), r.get("note", "")]
        for r in rows
    ]  # fmt: skip
    columns = ["", "elements", "eager, µs", "stator, µs", "ratio", "first call, ms", "same bits", ""]
    print(report.table("functions of a GPU's arrays", columns, cells))
    for host in dict.fromkeys(r["host"] for r in rows):
        ratios = [r["eager"] / r["stator"] for r in rows if r["host"] == host and "stator" in r]
        if ratios:
            print(
                f"{host}: geomean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}"
            )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "hosts.json").write_text(json.dumps(rows, indent=1))
    return 0 if rows else 2
