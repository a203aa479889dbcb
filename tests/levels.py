"""Dispatch levels: running tests as they would run on a processor with less.

NumPy takes its loops by the processor (``NPY_DISABLE_CPU_FEATURES``), and so do OpenBLAS and the C library; stator's own
code has the widest vectors that there are (``STATOR_TEST_VECTORS``). All of these are read when a process begins, so a
level is an environment, and whatever is to run at one runs in a child process::

    python -m tests.python.fuzz --level all
    python -m tests.matrix --level sse --width 256
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

LEVELS = ("native", "avx2", "sse")
WIDTHS = ("512", "256", "128")

# What OpenBLAS would take, and what the C library is told not to have.
OTHERS = {
    "native": {},
    "avx2": {"OPENBLAS_CORETYPE": "Haswell"},
    "sse": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX",
    },
}


def disabled(level: str) -> list[str]:
    """The names by which NumPy is told to do without what lies above the level: those that it has loops for and finds here."""
    from numpy._core import _multiarray_umath as umath

    def is_above(name: str) -> bool:
        wide = name.startswith(("AVX512", "X86_V4"))
        return wide or (level == "sse" and name.startswith(("AVX", "FMA", "F16C", "XOP", "X86_V3")))

    found = umath.__cpu_features__
    return [n for n in umath.__cpu_dispatch__ if found.get(n) and level != "native" and is_above(n)]


def environment(level: str, width: str | None = None) -> dict[str, str]:
    """What a process at the level has in its environment beside what others have."""
    env = dict(OTHERS[level])
    if names := disabled(level):
        env["NPY_DISABLE_CPU_FEATURES"] = " ".join(names)
    if width:
        env["STATOR_TEST_VECTORS"] = width
    return env


def widest() -> int:
    """Bits of this processor's widest vectors."""
    from numpy._core import _multiarray_umath as umath

    found = umath.__cpu_features__
    return 512 if found.get("AVX512_SKX") or found.get("X86_V4") else 256 if found.get("AVX2") else 128


def add_options(parser: argparse.ArgumentParser) -> None:
    """``--level`` and ``--width``."""
    parser.add_argument(
        "--level",
        choices=(*LEVELS, "all"),
        help="NumPy's loops, BLAS and libm as on such a processor; all: each that this one has more than",
    )
    parser.add_argument(
        "--width", choices=(*WIDTHS, "all"), help="bits of the widest vectors in generated code"
    )


def chosen(level: str | None, width: str | None) -> list[tuple[str, str | None]]:
    """The pairs that two options ask for, without those that are the same here as one before them."""
    levels = LEVELS if level == "all" else (level or "native",)
    widths = tuple(w for w in WIDTHS if int(w) <= widest()) if width == "all" else (width,)
    seen, out = set(), []
    for one in levels:
        loops = tuple(disabled(one))
        if level == "all" and loops in seen:
            continue
        seen.add(loops)
        out += [(one, w) for w in widths]
    return out


def run_each(module: str, options: argparse.Namespace) -> int | None:
    """Run ``python -m module`` with this process's arguments once for each chosen level and width.

    Returns
    -------
    int or None
        The worst exit status; None when no level was asked for, and the caller goes on itself.
    """
    if not options.level and not options.width:
        return None
    arguments, skip = [], False
    for text in sys.argv[1:]:
        if not skip and not text.startswith(("--level", "--width")):
            arguments.append(text)
        skip = text in ("--level", "--width")
    worst = 0
    for level, width in chosen(options.level, options.width):
        print(f"=== level {level}, vectors of {width or 'all'} bits", flush=True)
        command = [sys.executable, "-m", module, *arguments]
        worst = max(worst, abs(subprocess.call(command, env={**os.environ, **environment(level, width)})))
    return worst
