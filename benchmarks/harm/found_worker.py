"""One program in one mode, in this process; see `found`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from .clocks import Time, caller, now, since
from .digest import digest, digest_error
from .found import calls_of
from .processes import Results, decorator

COMPARED = 12  # calls at the end whose results are compared, besides the first ones


def worker_call(function: Callable, args: tuple, results: list[str] | None) -> Time:
    """One call, timed; what it returned or raised, and what it did to its arguments, goes to `results`."""
    begun = now()
    try:
        returned = function(*args)
    except Exception as error:
        spent = since(begun)
        if results is not None:
            results.append(digest_error(error) + digest(args))
    else:
        spent = since(begun)
        if results is not None:
            results.append(digest(returned) + digest(args))
    return spent


def worker_first(function: Callable, arguments: Callable, results: Results) -> list[str]:
    """The first calls, one by one; digests of their results."""
    digests: list[str] = []
    times = [worker_call(function, arguments(k), digests) for k in range(results.task["first"])]
    results.add(
        **{f"first_{clock}": getattr(times[0], clock) for clock in ("wall", "cpu")},
        **{f"ten_{clock}": sum(getattr(t, clock) for t in times) for clock in ("wall", "cpu")},
    )
    return digests


def worker_blocks(function: Callable, arguments: Callable, results: Results) -> None:
    """The calls after them, in blocks, one a turn. A program that raises catches it in a function of its own."""
    loop = caller(len(arguments(0)))
    k, block = results.task["first"], results.task["block"]
    for _ in range(results.task["blocks"]):
        many = [arguments(j) for j in range(k, k + block)]
        k += block
        results.wait()
        begun = now()
        loop(function, many)
        results.add(block=since(begun)._asdict())


def worker_main(argv: list[str]) -> int:
    results = Results(argv)
    compile_ = decorator(results.mode)
    found = {
        name: (function, arguments)
        for name, function, arguments in calls_of(results.task["module"], compile_)
    }
    if results.task.get("list"):
        for name in found:
            results.add(name=name)
        return 0
    function, arguments = found[results.task["name"]]
    if not getattr(function, "whole", False):
        function = compile_(function)
    results.wait()
    digests = worker_first(function, arguments, results)
    worker_blocks(function, arguments, results)
    results.wait()
    for k in range(COMPARED):
        worker_call(function, arguments(k), digests)
    results.add(results=digests)
    return 0


if __name__ == "__main__":
    sys.exit(worker_main(sys.argv))
