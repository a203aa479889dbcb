"""See the package's docstring."""

from __future__ import annotations

import os
import sys
import tempfile

os.environ["STATOR_RETIRE"] = "0"
os.environ.setdefault("STATOR_CACHE_DIR", tempfile.mkdtemp())

from . import probe, rank


def main() -> None:
    entries = rank.ranking()
    chosen = [a for a in sys.argv[1:] if not a.startswith("--")]
    tried = probe.probe(chosen or entries)
    count = dict.fromkeys(probe.KINDS, 0)
    differ = 0
    for entry, found in tried.items():
        kind = probe.kind_of(found)
        count[kind] += 1
        differ += any(call.differs for call in found)
        for call in found:
            if call.differs:
                print(f"DIFFERS {entry:<24} {call.text}\n    {call.differs}")
            elif call.kind == "opaque":
                print(f"opaque  {entry:<24} {call.text}    {call.why}")
    print(len(tried), count, "differ:", differ, "calls:", sum(map(len, tried.values())))


if __name__ == "__main__":
    main()
