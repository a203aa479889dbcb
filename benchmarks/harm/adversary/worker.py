"""Random programs in one mode, in this process, one a turn; see the package."""

from __future__ import annotations

import linecache
import sys
import types
import warnings
from typing import Any

from ..clocks import now, since
from ..digest import digest, digest_error
from ..processes import Results, decorator
from .generator import program


def worker_run(seed: int, jit: Any) -> dict[str, Any]:
    """One program from its text to its results, timed."""
    _, text = program(seed)
    name = f"adversary_{seed}"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    code = compile(text, name, "exec")
    space = types.ModuleType(name).__dict__ | {"jit": jit}
    begun = now()
    try:
        exec(code, space)
        returned = space["program"]()
    except Exception as error:
        spent = since(begun)
        found = digest_error(error)
    else:
        spent = since(begun)
        found = digest(returned)
    return {"seed": seed, "results": found, **spent._asdict()}


def worker_main(argv: list[str]) -> int:
    results = Results(argv)
    jit = decorator(results.mode)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(3000)
    for seed in results.task["seeds"]:
        results.wait()
        results.add(**worker_run(seed, jit))
    return 0


if __name__ == "__main__":
    sys.exit(worker_main(sys.argv))
