"""One benchmark of pyperformance in one mode, one call a turn.

The benchmark's file runs as the program it is; what it hands to `pyperf.Runner` is measured here instead of there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import runpy
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .clocks import now, since
from .processes import Results, decorator


def folder() -> Path:
    import pyperformance

    return Path(pyperformance.__file__).parent / "data-files" / "benchmarks"


def variants() -> list[dict[str, Any]]:
    """Name, file and arguments of each benchmark and variant of one."""
    out = []
    for path in sorted(folder().glob("bm_*/*.toml")):
        tool = tomllib.loads(path.read_text()).get("tool", {}).get("pyperformance", {})
        name = tool.get("name", path.stem.removeprefix("bm_"))
        if path.name == "pyproject.toml":
            name = tool.get("name", path.parent.name.removeprefix("bm_"))
        script = tool.get("runscript", "run_benchmark.py")
        file = path.parent / script
        if file.exists():
            out.append({"name": name, "file": str(file), "arguments": tool.get("extra_opts", [])})
    return out


class Runner:
    """What benchmarks see of pyperf's runner."""

    def __init__(self, results: Results, add_cmdline_args: Any = None, **_: Any) -> None:
        self.argparser, self.metadata = argparse.ArgumentParser(), {}
        self.args: Any = None
        self._results, self._task = results, results.task

    def parse_args(self) -> Any:
        self.args = self.argparser.parse_args(self._task["arguments"])
        return self.args

    def bench_func(self, name: str, function: Callable, *args: Any, **_: Any) -> None:
        self._bench(name, function, args)

    def bench_time_func(self, name: str, function: Callable, *args: Any, **_: Any) -> None:
        self._bench(name, function, (1, *args))

    def bench_async_func(self, name: str, function: Callable, *args: Any, **_: Any) -> None:
        def run() -> None:
            asyncio.run(function(*args))

        self._bench(name, run, ())

    def _bench(self, name: str, function: Callable, args: tuple) -> None:
        if self._task.get("names"):
            self._results.add(name=name)
        elif name == self._task["only"]:
            worker_calls(self._results, function, args)


def worker_calls(results: Results, function: Callable, args: tuple) -> None:
    """A call each turn, until nobody waits any more."""
    try:
        function = decorator(results.mode)(function)
    except TypeError:
        pass  # a builtin: there is no Python code to compile
    while True:
        results.wait()
        begun = now()
        function(*args)
        results.add(call=since(begun)._asdict(), results="")


def worker_main(argv: list[str]) -> int:
    results = Results(argv)
    if results.task.get("list"):
        for line in variants():
            results.add(**line)
        return 0
    import numpy  # noqa: F401
    import pyperf

    decorator(results.mode)
    pyperf.Runner = lambda *_, **k: Runner(results, **k)
    file = results.task["file"]
    sys.argv = [file, *results.task["arguments"]]
    sys.path.insert(0, os.path.dirname(file))
    runpy.run_path(file, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(worker_main(sys.argv))
