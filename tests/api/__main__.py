"""See the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

os.environ["STATOR_RETIRE"] = "0"
os.environ.setdefault("STATOR_CACHE_DIR", tempfile.mkdtemp())

from tests import levels

from . import page, probe, rank


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.api")
    parser.add_argument("entries", nargs="*", help="functions and methods; all when none is named")
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    levels.add_options(parser)
    options = parser.parse_args()
    if (status := levels.run_each("tests.api", options)) is not None:
        return status
    ranked = rank.ranking()
    tried = probe.probe(options.entries or [*ranked, *probe.calls(probe.BEYOND)])
    for entry, found in tried.items():
        for call in found:
            if call.differs:
                print(f"differs {entry:<24} {call.text}\n    {call.differs}")
            elif call.kind == "opaque":
                print(f"opaque  {entry:<24} {call.text}    {call.why}")
    print(page.summary(tried))
    if options.write and not options.entries:
        page.PATH.write_text(page.text(tried, set(ranked)))
    return 1 if any(call.differs for found in tried.values() for call in found) else 0


if __name__ == "__main__":
    sys.exit(main())
