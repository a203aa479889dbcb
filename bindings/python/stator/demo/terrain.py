"""Runs the terrain pipeline as plain NumPy and through stator, compares, times, draws and dumps.

The relief is the elevation model of the Jacksboro fault that ships inside the matplotlib wheel.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import stator

from . import relief

AZIMUTH, ALTITUDE = math.radians(315), math.radians(40)
CREEP, CRITICAL, YEARS = 0.1, 0.6, 200.0  # m2 per year, tangent of the slope, years per step


class Relief(NamedTuple):
    """An elevation model: heights and cell sizes in metres."""

    z: np.ndarray
    dx: float
    dy: float


class Functions(NamedTuple):
    """The pipeline's three functions, plain or compiled."""

    slope: Callable
    hillshade: Callable
    relax: Callable


def load() -> Relief:
    """The elevation model from matplotlib's sample data."""
    from matplotlib import cbook

    data: Any = cbook.get_sample_data("jacksboro_fault_dem.npz")
    with data:
        z = data["elevation"].astype(np.float64)
        dy = 111_200.0 * float(data["dy"])  # metres per degree of latitude
        dx = dy * math.cos(math.radians(float(data["ymin"]))) * float(data["dx"] / data["dy"])
    return Relief(z, dx, dy)


def pipeline(f: Functions, r: Relief, steps: int) -> dict[str, Any]:
    """Everything the demonstration computes, with the seconds each part took."""
    clock = time.perf_counter
    begun = clock()
    slope = f.slope(r.z, r.dx, r.dy)
    before = f.hillshade(r.z, r.dx, r.dy, AZIMUTH, ALTITUDE)
    shaded = clock()
    z, slides = f.relax(r.z, r.dx, r.dy, CREEP, CRITICAL, YEARS, steps)
    relaxed = clock()
    after = f.hillshade(z, r.dx, r.dy, AZIMUTH, ALTITUDE)
    done = clock()
    return {
        "slope": slope, "before": before, "z": z, "after": after, "slides": slides,
        "seconds": {"slope and hillshade": shaded - begun + done - relaxed, "relaxation": relaxed - shaded, "together": done - begun},
    }  # fmt: skip


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The names of results that are not the same bit for bit (values, dtype, shape, strides)."""
    out = []
    for name in ("slope", "before", "z", "after"):
        a, b = expected[name], found[name]
        if (a.dtype, a.shape, a.strides) != (b.dtype, b.shape, b.strides) or a.tobytes() != b.tobytes():
            out.append(name)
    if expected["slides"] != found["slides"]:
        out.append("slides")
    return out


def draw(r: Relief, result: dict[str, Any], path: Path) -> None:
    """The relief before and after, its slope, and what moved."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    aspect = r.dy / r.dx
    figure, axes = plt.subplots(2, 2, figsize=(12, 10.5), layout="constrained")
    steep = np.degrees(np.arctan(result["slope"]))
    moved = result["z"] - r.z
    span = float(np.abs(moved).max()) or 1.0
    pictures: tuple[tuple[str, np.ndarray, dict[str, Any], str | None], ...] = (
        ("Hillshade of the Jacksboro fault", result["before"], {"cmap": "gray", "vmin": 0, "vmax": 1}, None),
        ("After hillslope diffusion", result["after"], {"cmap": "gray", "vmin": 0, "vmax": 1}, None),
        ("Slope", steep, {"cmap": "magma"}, "degrees"),
        ("Eroded and deposited", moved, {"cmap": "RdBu", "vmin": -span / 3, "vmax": span / 3}, "metres"),
    )
    for ax, (title, image, style, unit) in zip(axes.flat, pictures, strict=True):
        shown = ax.imshow(image, aspect=aspect, **style)
        ax.set_title(title)
        ax.set_xticks([])
        ax.set_yticks([])
        if unit:
            figure.colorbar(shown, ax=ax, label=unit, shrink=0.85)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def dump(folder: Path, steps: int) -> Path | None:
    """The path of ``index.html`` that a process with STATOR_DUMP wrote, or None if it wrote none."""
    env = os.environ | {"STATOR_DUMP": str(folder), "STATOR_ASYNC": "0"}
    command = [sys.executable, "-m", "stator.demo", "--only-run", "--steps", str(steps)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    page = folder / "index.html"
    if done.returncode or not page.exists():
        print(
            "the dump was not written:",
            (done.stderr or "no index.html").strip().splitlines()[-1],
            file=sys.stderr,
        )
        return None
    return page


def measure(plain: Functions, fast: Functions, r: Relief, steps: int, rounds: int) -> tuple[dict, dict]:
    """The least seconds of each part over interleaved rounds, plain and compiled."""
    best: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for _ in range(rounds):
        for least, f in zip(best, (plain, fast), strict=True):
            for part, seconds in pipeline(f, r, steps)["seconds"].items():
                least[part] = min(seconds, least.get(part, math.inf))
    return best


def show_times(plain: dict[str, float], fast: dict[str, float]) -> None:
    """The table of times."""
    print(f"{'':24}{'NumPy':>12}{'stator':>12}{'ratio':>8}")
    for part, seconds in plain.items():
        print(f"{part:24}{1e3 * seconds:9.1f} ms{1e3 * fast[part]:9.1f} ms{seconds / fast[part]:7.1f}x")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m stator demo", description="A terrain pipeline, plain NumPy against stator."
    )
    p.add_argument(
        "--out", type=Path, default=Path("stator-demo"), help="folder for the picture and the dump"
    )
    p.add_argument("--steps", type=int, default=300, help="steps of hillslope diffusion")
    p.add_argument("--rounds", type=int, default=5, help="how often each side is timed")
    p.add_argument("--only-run", action="store_true", help="run the compiled pipeline and nothing else")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m stator demo``; 1 when the results differ."""
    options = parser().parse_args(argv)
    try:
        r = load()
    except ImportError:
        print(
            "stator demo: needs matplotlib, which brings the elevation model: pip install matplotlib",
            file=sys.stderr,
        )
        return 2
    plain = Functions(relief.slope, relief.hillshade, relief.relax)
    fast = Functions(*map(stator.compile, plain))
    if options.only_run:
        for _ in range(3):
            pipeline(fast, r, options.steps)
        stator.wait()
        return 0
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(
            f"stator demo: cannot write to {options.out}: {error.strerror}; choose another folder with --out",
            file=sys.stderr,
        )
        return 2

    print(
        f"Jacksboro fault, {r.z.shape[0]} x {r.z.shape[1]} cells of {r.dx:.0f} m x {r.dy:.0f} m, {options.steps} steps of hillslope diffusion\n"
    )
    begun = time.perf_counter()
    first = pipeline(fast, r, options.steps)
    first_seconds = time.perf_counter() - begun
    stator.wait()
    expected = pipeline(plain, r, options.steps)
    show_times(*measure(plain, fast, r, options.steps, options.rounds))
    print(f"\nfirst compiled run, with recording and compiling: {1e3 * first_seconds:.0f} ms")
    wrong = differences(expected, first) + differences(expected, pipeline(fast, r, options.steps))
    print("identical, bit for bit" if not wrong else f"DIFFERENT from NumPy: {', '.join(sorted(set(wrong)))}")
    picture = options.out / "terrain.png"
    draw(r, expected, picture)
    print(f"something slid in {expected['slides']} of {options.steps} steps")
    print(f"picture  {picture}")
    page = dump(options.out / "dump", min(options.steps, 30))
    if page:
        print(f"dump     {page}   (open it in a browser)")
    return 1 if wrong else 0
