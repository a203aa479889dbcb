"""How a test is run, and what pytest's output says of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

# The folder of the plugin that calls tests again: alone, because a program may have a package `tests` of its own.
PLUGIN = Path(__file__).with_name("plugin")

# Compiled by name; under STATOR=all with every function compiled in its first call; eagerly.
WAYS = {
    "stator": {"AGAIN": "stator", "STATOR_RETIRE": "0"},
    "all": {"AGAIN": "all", "STATOR": "all", "STATOR_ALL_AFTER": "0", "STATOR_RETIRE": "0"},
    "eager": {"AGAIN": "eager", "STATOR": "0"},
}


def failures(output: str) -> set[str]:
    """Names of the tests that failed, from a run with ``-rfE``."""
    found = re.findall(r"^(?:FAILED|ERROR) (?:\S*/)?([^\s/]+\.py(?:::.*?)?)(?: - .*)?$", output, re.MULTILINE)
    return set(found)


def counted(output: str) -> Counter[str]:
    """How many tests passed and so on, and what stator says it did."""
    counts: Counter[str] = Counter()
    last = output.strip().splitlines()[-1:] or [""]
    for number, what in re.findall(r"(\d+) (passed|failed|skipped|xfailed|errors?)", last[0]):
        counts[what] += int(number)
    if did := re.search(r"^stator: ({.*})$", output, re.MULTILINE):
        counts.update(json.loads(did[1]))
    return counts
