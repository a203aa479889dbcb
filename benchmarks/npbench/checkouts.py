"""What a checkout holds: programs, their arguments for a preset, and the files of their variants."""

from __future__ import annotations

import copy
import importlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# NPBench's programs whose time goes into loops of Python: the ones that regions are for.
LOOPS = (
    "adi", "cavity_flow", "channel_flow", "deriche", "fdtd_2d", "floyd_warshall", "heat_3d", "jacobi_1d", "jacobi_2d", "vadv", "cholesky", "lu", "ludcmp",
    "trisolv", "trmm", "symm", "syrk", "syr2k", "gramschmidt", "durbin", "seidel_2d", "nussinov", "crc16", "spmv", "scattering_self_energies", "conv2d_bias",
    "azimint_naive", "mandelbrot1", "mandelbrot2", "nbody",
)  # fmt: skip
PYHPC_SIZES = {"S": 16_384, "M": 262_144, "L": 1_048_576}


@dataclass
class Call:
    """A function and how to call it.

    `fresh` makes the arguments of one call; `inout` are the positions of those that count as results.
    """

    function: Callable
    fresh: Callable[[], list[Any]]
    inout: list[int]


class NPBench:
    """A checkout of spcl/npbench."""

    variable = "NPBENCH_DIR"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def programs(self, which: str = "loops") -> list[str]:
        names = sorted(p.stem for p in (self.folder / "bench_info").glob("*.json"))
        return [n for n in LOOPS if n in names] if which == "loops" else names

    def _info(self, program: str) -> dict[str, Any]:
        return json.loads((self.folder / "bench_info" / f"{program}.json").read_text())["benchmark"]

    def _module(self, info: dict[str, Any], postfix: str = "") -> Any:
        if str(self.folder) not in sys.path:
            sys.path.insert(0, str(self.folder))
        path = info["relative_path"].replace("/", ".")
        return importlib.import_module(f"npbench.benchmarks.{path}.{info['module_name']}{postfix}")

    def postfixes(self, program: str) -> list[str]:
        """Which variants there are: ``["numba_n", "numpy", …]``."""
        info = self._info(program)
        start = f"{info['module_name']}_"
        folder = self.folder / "npbench" / "benchmarks" / info["relative_path"]
        return sorted(p.stem.removeprefix(start) for p in folder.glob(f"{start}*.py"))

    def file(self, program: str, postfix: str) -> Path:
        info = self._info(program)
        return (
            self.folder
            / "npbench"
            / "benchmarks"
            / info["relative_path"]
            / f"{info['module_name']}_{postfix}.py"
        )

    def call(self, program: str, preset: str, postfix: str) -> Call:
        info = self._info(program)
        data: dict[str, Any] = dict(info["parameters"][preset])
        if init := info.get("init"):
            made = getattr(self._module(info), init["func_name"])(*(data[a] for a in init["input_args"]))
            names = init["output_args"]
            data.update(zip(names, made if len(names) > 1 else [made]))

        def fresh() -> list[Any]:
            arrays = set(info["array_args"])
            return [copy.deepcopy(data[a]) if a in arrays else data[a] for a in info["input_args"]]

        inout = [k for k, a in enumerate(info["input_args"]) if a in info["output_args"]]
        return Call(getattr(self._module(info, f"_{postfix}"), info["func_name"]), fresh, inout)


class PyHPC:
    """A checkout of dionhaefner/pyhpc-benchmarks."""

    variable = "PYHPC_DIR"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def programs(self, which: str = "loops") -> list[str]:
        return sorted(p.parent.name for p in (self.folder / "benchmarks").glob("*/__init__.py"))

    def postfixes(self, program: str) -> list[str]:
        return sorted(
            p.stem.split("_")[-1]
            for p in (self.folder / "benchmarks" / program).glob("*_*.py")
            if not p.stem.startswith("__")
        )

    def file(self, program: str, postfix: str) -> Path:
        return next((self.folder / "benchmarks" / program).glob(f"*_{postfix}.py"))

    def call(self, program: str, preset: str, postfix: str) -> Call:
        # Its package is called as ours: theirs is imported under its own folder's name.
        folder = str(self.folder / "benchmarks")
        if folder not in sys.path:
            sys.path.insert(0, folder)
        package = importlib.import_module(program)
        module = importlib.import_module(f"{program}.{self.file(program, postfix).stem}")
        inputs = package.generate_inputs(PYHPC_SIZES[preset])

        def fresh() -> list[Any]:
            return copy.deepcopy(list(inputs))

        return Call(module.run, fresh, [])


SUITES: dict[str, type[NPBench] | type[PyHPC]] = {"npbench": NPBench, "pyhpc": PyHPC}


def found() -> dict[str, NPBench | PyHPC]:
    """The checkouts that the environment names."""
    out: dict[str, NPBench | PyHPC] = {}
    for name, suite in SUITES.items():
        if folder := os.environ.get(suite.variable):
            out[name] = suite(Path(folder).resolve())
    return out
