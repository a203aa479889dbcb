"""One test suite in one mode; see `suites`."""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from typing import Any

from .clocks import now, since
from .processes import Results, decorator


class Counting:
    """A plugin of pytest that counts how tests went."""

    def __init__(self) -> None:
        self.went: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.went[report.outcome] += 1

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.went["not collected"] += 1


def worker_main(argv: list[str]) -> int:
    results = Results(argv)
    import numpy  # noqa: F401
    import pytest

    warnings.simplefilter("ignore")
    decorator(results.mode)
    os.chdir(results.task["source"])
    sys.path[:0] = [os.getcwd(), os.path.join(os.getcwd(), "src")]
    counting = Counting()
    begun = now()
    pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "addopts=", results.task["tests"]],
        plugins=[counting],
    )
    spent = since(begun)
    went = ", ".join(f"{n} {what}" for what, n in sorted(counting.went.items()))
    results.add(went=went or "nothing", **spent._asdict())
    return 0


if __name__ == "__main__":
    sys.exit(worker_main(sys.argv))
