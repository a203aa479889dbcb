"""Tables, JSON and a plot of what was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [[str(c) for c in columns], *[[_cell(x) for x in row] for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]
    out = [f"\n{title}", "-" * len(title)]
    for row in cells:
        out.append(
            "  ".join(
                x.ljust(w) if k == 0 else x.rjust(w) for k, (x, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
        )
    return "\n".join(out)


def _cell(x: Any) -> str:
    return "-" if x is None else f"{x:.3g}" if isinstance(x, float) else str(x)


def microseconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{1e6 * seconds:,.1f}"


def share(row: dict[str, Any], seconds: float | None, bandwidth: float) -> float | None:
    """Of the copy's bandwidth."""
    return None if not seconds or "bytes" not in row else row["bytes"] / seconds / bandwidth


def group_table(group: str, rows: list[dict[str, Any]], peers: list[str], bandwidth: float) -> str:
    lines = []
    for row in rows:
        mine = share(row, row.get("seconds"), bandwidth)
        cells = [row["name"], f"{row['bytes'] / 1e6:,.0f}" if "bytes" in row else None]
        cells += [microseconds(row.get("seconds")), None if mine is None else f"{100 * mine:.1f}%"]
        for name in peers:
            theirs = share(row, row["peers"].get(name, {}).get("seconds"), bandwidth)
            cells.append(None if theirs is None else f"{100 * theirs:.1f}%")
        forms = "+".join(k["form"] for k in row.get("kernels", ()))
        cells.append(row.get("error") or row.get("differs") or forms)
        lines.append(cells)
    return table(
        f"{group}: share of the copy's bandwidth", ["", "MB", "µs", "stator", *peers, "kernels"], lines
    )


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """(what, wanted, found, met): the figures that were asked for."""
    found = []
    bandwidth = result["copy"]["bandwidth"]
    for row in result["rows"]:
        where = f"{row['group']}: {row['name']}"
        if row.get("differs"):
            found.append((where, "NumPy's results", row["differs"], False))
        if row.get("error"):
            found.append((where, "kernels that run", row["error"], False))
            continue
        mine = share(row, row["seconds"], bandwidth)
        if row["wanted"] and mine is not None:
            found.append(
                (where, f">= {100 * row['wanted']:.0f}%", f"{100 * mine:.1f}%", mine >= row["wanted"])
            )
        if row["group"] in ("softmax", "layernorm"):
            others = {p: row["peers"].get(p, {}).get("seconds") for p in ("torch.compile", "jax")}
            others = {p: s for p, s in others.items() if s}
            if others:
                fastest = min(others, key=others.__getitem__)
                ratio = others[fastest] / row["seconds"]
                found.append((f"{where}: {fastest} / stator", ">= 1", f"{ratio:.2f}", ratio >= 1))
    for row in result["launches"][:1]:
        us = 1e6 * row["seconds"]
        found.append(("host time of a one-kernel replay (its launch alone)", "<= 5 µs", f"{us:.2f}", us <= 5))
    return found


def show(result: dict[str, Any], figures: bool = True) -> None:
    """Prints everything; without `figures` not the goals, which mean nothing at tiny sizes."""
    bandwidth, names = result["copy"]["bandwidth"], result["peers"]
    for group in dict.fromkeys(r["group"] for r in result["rows"]):
        print(
            group_table(group, [r for r in result["rows"] if r["group"] == group], names, bandwidth),
            flush=True,
        )
    rows = [[r["what"], microseconds(r.get("seconds")), r.get("error", "")] for r in result["launches"]]
    print(table("launch overhead: µs of host time per call", ["", "µs", ""], rows))
    rows = [
        [r["what"], 1e3 * r["cold"] if "cold" in r else None, 1e3 * r["disk"] if "disk" in r else None,
         r.get("error") or ("" if r["from_cache"] else "not found in the cache")]
        for r in result["compile"]
    ]  # fmt: skip
    print(table("compilation: ms", ["", "NVRTC", "disk cache", ""], rows))
    all_goals = goals(result) if figures else []
    if all_goals:
        print(
            table(
                "goals",
                ["", "wanted", "found", ""],
                [[w, a, b, "ok" if ok else "MISSED"] for w, a, b, ok in all_goals],
            )
        )


def write(result: dict[str, Any], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "gpu.json"
    data.write_text(json.dumps(result, indent=1, default=str))
    picture = _plot(result, folder / "gpu.png")
    return [data, picture] if picture else [data]


def _plot(result: dict[str, Any], path: Path) -> Path | None:
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no plot")
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    bandwidth = result["copy"]["bandwidth"]
    names = ["stator", *result["peers"]]

    def percent(row: dict[str, Any], name: str) -> float | None:
        seconds = row.get("seconds") if name == "stator" else row["peers"].get(name, {}).get("seconds")
        part = share(row, seconds, bandwidth)
        return None if part is None else 100 * part

    figure, axes = plt.subplot_mosaic(
        [["softmax", "layernorm"], ["others", "others"]], figsize=(16, 11), layout="constrained"
    )
    for group in ("softmax", "layernorm"):
        rows = [r for r in result["rows"] if r["group"] == group and r["name"].endswith("f4")]
        for name in names:
            points = [(r["x"], percent(r, name)) for r in sorted(rows, key=lambda r: r["x"])]
            points = [p for p in points if p[1] is not None]
            if points:
                width = 2.5 if name == "stator" else 1.3
                axes[group].semilogx(*zip(*points, strict=True), "o-", label=name, lw=width, base=2)
        axes[group].set_title(f"{group}, f4")
        axes[group].set_xlabel("columns")
    rows = [r for r in result["rows"] if r["group"] not in ("softmax", "layernorm")]
    for k, name in enumerate(names):
        left = [i + k * 0.8 / len(names) for i in range(len(rows))]
        heights = [percent(r, name) or 0 for r in rows]
        axes["others"].bar(left, heights, 0.8 / len(names), label=name, align="edge")
    labels = [f"{r['group']}: {r['name']}" for r in rows]
    axes["others"].set_xticks(range(len(rows)), labels, rotation=60, ha="right", fontsize=8)
    for place in axes.values():
        place.set_ylabel("% of the copy's bandwidth")
        place.axhline(100, color="gray", lw=0.8)
        place.grid(alpha=0.3)
        if place.has_data() and place.get_legend_handles_labels()[0]:
            place.legend()
    figure.suptitle(f"{result['device']['name']}: copy {bandwidth / 1e12:.2f} TB/s")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
