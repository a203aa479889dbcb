"""`python -m stator bug-report`: one file with all that somebody needs who is to look at a problem."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "torch", "cupy", "numba", "jax", "ipython", "pytest")
PATIENCE = 600  # seconds that a program may run


def main(arguments: list[str]) -> int:
    """Write stator-bug-report.zip: what doctor says, versions, the processor, options, cases of STATOR_VERIFY.

    With a script, or ``-m`` and a module, that is run first, with STATOR_VERIFY=1; what it printed, and the cases in which
    compiled code differed from plain Python, are added. The zip file is written to the current directory.
    """
    name = Path("stator-bug-report.zip")
    try:
        with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as report:
            if arguments:
                report.writestr("program.txt", _run(arguments))
                if arguments[0] != "-m" and os.path.isfile(arguments[0]):
                    report.write(arguments[0], f"program/{Path(arguments[0]).name}")
            report.writestr("machine.txt", "\n".join(_machine()) + "\n")
            report.writestr("doctor.txt", _doctor())
            cases = sorted(Path().glob("stator-verify-*.pickle"))
            for case in cases:
                report.write(case, f"cases/{case.name}")
    except OSError as error:
        print(f"stator: {name} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    print(
        f"{name}: what doctor says, versions, options{', the program and what it printed' * bool(arguments)}"
    )
    if cases:
        print(f"  and {len(cases)} cases that STATOR_VERIFY kept: they contain the program's data")
    print("Look at what is in it before you attach it to an issue.")
    return 0


def _run(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "stator", "run", "--stats", *arguments]
    print(f"stator: running {' '.join(arguments)} with STATOR_VERIFY=1", file=sys.stderr)
    environment = os.environ | {
        "STATOR_VERIFY": "1",
        "STATOR_LOG": os.environ.get("STATOR_LOG", "opaque,recompiles"),
    }
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE
        )
        said, ended = done.stdout, f"exit status {done.returncode}"
    except subprocess.TimeoutExpired as error:
        said, ended = error.stdout or b"", f"stopped after {PATIENCE} s"
    return f"{' '.join(command)}\n{ended}\n\n{said.decode(errors='backslashreplace')}"


def _doctor() -> str:
    from stator import _doctor

    with contextlib.redirect_stdout(io.StringIO()) as said:
        _doctor.main()
    return said.getvalue()


def _machine() -> Iterator[str]:
    import importlib.metadata

    import stator

    yield f"stator {stator.__version__}"
    yield f"Python {sys.version}"
    yield platform.platform()
    for library in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield f"{library} {importlib.metadata.version(library)}"
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as f:
        lines = f.read().partition("\n\n")[0].splitlines()
        yield from (line for line in lines if line.startswith(("model name", "flags")))
    yield from (f"{name}={value}" for name, value in sorted(os.environ.items()) if _matters(name))


def _matters(name: str) -> bool:
    return name.startswith(("STATOR", "NPY_", "OPENBLAS", "OMP_", "MKL_", "GLIBC_TUNABLES", "PYTHON"))
