"""Runs the examples, with stator and without: ``python examples/run.py [NAME …]``.

Each example is a module with ``load()``, which gives the data, ``work(*data)``, which gives named arrays, and
``draw(figure, data, results)``. Its work is done a few times in a process with stator and in one with STATOR=0; all results have
to have the same bits, in the first call and in the last. With ``--pictures FOLDER`` the results are drawn.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(p.stem for p in HERE.glob("*.py") if p.stem != "run")


def one(name: str, calls: int, output: Path) -> None:
    """What a child process does: seconds of each call, and the results of the first and the last one."""
    import numpy as np
    import stator

    example = importlib.import_module(name)
    seconds, kept = [], {}
    for k in range(calls):
        data = example.load()
        start = time.perf_counter()
        results = example.work(*data)
        seconds.append(time.perf_counter() - start)
        if k == 0:
            kept.update({f"first {key}": value for key, value in results.items()})
        stator.wait()  # later calls show what the code does, not what it costs to make
    kept.update({f"last {key}": value for key, value in results.items()})
    np.savez(output / "results.npz", **kept)
    (output / "seconds.json").write_text(json.dumps(seconds))


def in_process(name: str, calls: int, on: bool) -> tuple[list[float], dict]:
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "STATOR": "1" if on else "0", "STATOR_CACHE_DIR": folder}
        command = [sys.executable, str(HERE / "run.py"), name, "--calls", str(calls), "--child", folder]
        subprocess.run(command, env=environment, check=True)
        with np.load(Path(folder) / "results.npz") as file:
            results = dict(file)
        return json.loads((Path(folder) / "seconds.json").read_text()), results


def differing(plain: dict, compiled: dict) -> list[str]:
    """The names of results that have not the same bits."""
    assert plain.keys() == compiled.keys()
    return [
        key
        for key, value in plain.items()
        if (value.dtype, value.shape, value.tobytes())
        != (compiled[key].dtype, compiled[key].shape, compiled[key].tobytes())
    ]


def draw(name: str, results: dict, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    example = importlib.import_module(name)
    figure = Figure(figsize=(8, 5), dpi=80, layout="constrained")
    last = {key.removeprefix("last "): value for key, value in results.items() if key.startswith("last ")}
    example.draw(figure, example.load(), last)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; all if none is given"
    )
    parser.add_argument("--calls", type=int, default=5, help="how often the work is done (5)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="where the results are drawn")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.names:
        if name not in NAMES:
            parser.error(f"there is no example {name!r}: there are {', '.join(NAMES)}")
    if options.calls < 2:
        parser.error(
            f"--calls {options.calls}: the first call is recorded and a later one is compared, so at least 2"
        )
    if options.child:
        one(options.names[0], options.calls, options.child)
        return 0
    print(f"{'example':12} {'plain':>9} {'stator':>9} {'times':>6} {'first call':>11}   results")
    failed = 0
    for name in options.names or NAMES:
        plain_seconds, plain = in_process(name, options.calls, on=False)
        seconds, results = in_process(name, options.calls, on=True)
        wrong = differing(plain, results)
        failed += bool(wrong)
        before, after = min(plain_seconds), min(seconds[1:])
        print(
            f"{name:12} {before * 1e3:6.0f} ms {after * 1e3:6.1f} ms {before / after:6.1f} {seconds[0] * 1e3:8.0f} ms"
            f"   {'differ: ' + ', '.join(wrong) if wrong else 'identical'}",
            flush=True,
        )
        if options.pictures:
            draw(name, results, options.pictures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
