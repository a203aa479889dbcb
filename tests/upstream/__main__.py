"""``python -m tests.upstream``; see the package."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from .ways import PLUGIN, WAYS, counted, failures

NUMPY = ["_core", "lib", "linalg", "ma", "polynomial", "fft", "matrixlib", "random", "testing"]

# What differs by design: tests that ask how many references there are while a call is recorded.
KNOWN = {
    "test_api.py::test___array___refcount",
    "test_api.py::test_array_array",
    "test_indexing.py::TestIndexing::test_small_regressions",
    "test_multiarray.py::TestArrayInterface::test_scalar_interface",
    "test_multiarray.py::TestCTypes::test_ctypes_data_as_holds_reference",
    "test_function_base.py::TestLeaks::test_frompyfunc_leaks",
}


def files_of(names: list[str]) -> list[Path]:
    found: list[Path] = []
    for name in names:
        if name.endswith(".py"):
            package, _, rest = name.partition("/")
            found.append(folder_of(package) / rest)
        else:
            found += sorted((folder_of(name) / "tests").glob("test_*.py"))
    return found


def folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        sys.exit(f"no package {package} is installed for {sys.executable}")
    return Path(spec.origin).parent


def run(file: Path, way: str, seconds: int, counts: Counter[str]) -> tuple[set[str], str]:
    """The tests that fail, and how it ended; adds what stator did to `counts`."""
    paths = [str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | WAYS[way] | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "stator_again", "-o", "addopts=",
        "-m", "not slow", "-rfE", f"--timeout={seconds}", str(file),
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    failed = failures(done.stdout)
    last = done.stdout.strip().splitlines()[-1:] or [""]
    counts.update(counted(done.stdout))
    if done.returncode < 0:
        return {*failed, f"{file.name}: died of signal {-done.returncode}"}, done.stderr
    return failed, last[0].strip("= ")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument("names", nargs="*", default=[f"numpy.{part}" for part in NUMPY])
    parser.add_argument("--timeout", type=int, default=100, help="seconds for one test")
    parser.add_argument(
        "--all", action="store_true", help="under STATOR=all, every function in its first call"
    )
    options = parser.parse_args()
    differ, counts, ignored = 0, Counter[str](), Counter[str]()
    for file in files_of(options.names):
        failed, ended = run(file, "all" if options.all else "stator", options.timeout, counts)
        failed = {t for t in failed if t.split("[")[0] not in KNOWN}
        if failed:
            failed -= run(file, "eager", options.timeout, ignored)[0]
        print(
            f"{'DIFFERS' if failed else 'same':8} {file.parent.parent.name}/{file.name}: {ended}", flush=True
        )
        for test in sorted(failed):
            print(f"         {test}", flush=True)
        differ += len(failed)
    print(", ".join(f"{counts[k]} {k.replace('_', ' ')}" for k in counts))
    print(f"{differ} tests fail under stator only")
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main())
