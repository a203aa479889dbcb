"""What decides how long NVRTC takes: how often it is called, and how much code it is given. How long that is shows
`make bench-gpu BENCH_ARGS=--compile`, which needs no GPU either."""

import re

import numpy as np
import pytest

from benchmarks.gpu import compiling
from tests.gpu import machine, runner
from tests.gpu.suite import PROGRAMS

pytestmark = machine.without_gpu

# Instructions of PTX in a kernel. A thousand take about 60 ms, and 25 ms go by before the first.
MOST = {"scalar": 900, "elementwise": 900, "tiles": 650, "rows": 1400, "columns": 1400, "partial": 1400}
INSTRUCTION = re.compile(r"^\s+(?:@|[a-z])[^;]*;", re.M)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_size_of_code(program):
    kernels = runner.kernels_of(
        program.function,
        program.arguments(np.random.default_rng(7), program.largest),
        "sm_90",
        program.fastmath,
    )
    for k in kernels:
        body = k.ptx.split(f".visible .entry {k.name}(")[1].split(".visible .entry ")[0]
        assert len(INSTRUCTION.findall(body)) <= MOST.get(k.form, 1400), (k.name, k.form)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_one_compilation_for_each_trace(program):
    arguments = program.arguments(np.random.default_rng(7), program.largest)
    sources = {}
    for k in runner.kernels_of(program.function, arguments, fastmath=program.fastmath):
        sources.setdefault(k.name.rsplit("_k", 1)[0], set()).add(k.source)
    assert all(len(found) == 1 for found in sources.values()), sources.keys()


def test_compiled_once():
    """Another process finds everything in the disk cache."""
    rows = compiling.measure("sm_90", 1)
    assert len(rows) >= len(PROGRAMS) - 1 and not any(r["from_cache"] for r in rows)
    assert all(r["in_disk_cache"] for r in rows), [r["what"] for r in rows if not r["in_disk_cache"]]
    assert {what for what, *_ in compiling.goals(rows)} >= {"slowest from the disk cache"}
