"""See the package's docstring."""

from __future__ import annotations

import argparse
import os
import tempfile

os.environ["STATOR_RETIRE"] = "0"
os.environ.setdefault("STATOR_CACHE_DIR", tempfile.mkdtemp())

from . import page, probe, rank


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.api")
    parser.add_argument("entries", nargs="*", help="functions and methods; all when none is named")
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    options = parser.parse_args()
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


if __name__ == "__main__":
    main()
