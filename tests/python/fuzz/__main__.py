"""``python -m tests.python.fuzz``: random programs, compared with eager NumPy bit for bit.

python -m tests.python.fuzz --count 20000 --mode compiled --seed 0
python -m tests.python.fuzz --kind branching --count 1000
python -m tests.python.fuzz --kind structured --count 20000
python -m tests.python.fuzz --kind leaving --count 2000
python -m tests.python.fuzz --kind orders --count 2000
python -m tests.python.fuzz --kind objects --count 2000
python -m tests.python.fuzz --kind rebinding --count 2000
python -m tests.python.fuzz --level all --width all  # as on lesser processors, with wide and narrow vectors
python -m tests.python.fuzz --show 17                # the text of program 17
python -m tests.python.fuzz --reduce 17 --mode tier0  # its smallest form, written to tests/python/regressions
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from tests import levels

from . import campaign as c


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m tests.python.fuzz", description=__doc__.split("\n")[0])
    p.add_argument("--count", type=int, default=1000, help="how many programs")
    p.add_argument("--start", type=int, default=0, help="number of the first program")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--mode", choices=c.MODES, default="compiled")
    p.add_argument("--kind", choices=c.KINDS, default="straight")
    p.add_argument("--show", type=int, metavar="N", help="print program N and its calls")
    p.add_argument(
        "--reduce", type=int, metavar="N", help="shrink program N and write it down as a regression test"
    )
    levels.add_options(p)
    p.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    return p


def main() -> int:
    options = parser().parse_args()
    if options.worker:
        kind, mode, *numbers = options.worker
        seed, start, stop = map(int, numbers)
        c.worker(kind, mode, seed, range(start, stop))
        return 0
    if options.show is not None:
        program = c.generate(options.kind, options.seed, options.show)
        print(program.source(), *map(repr, program.calls), f"keywords: {program.keywords}", sep="\n")
        return 0
    if (status := levels.run_each("tests.python.fuzz", options)) is not None:
        return status
    if options.reduce is not None:
        from .reduce import reduce_and_write

        with tempfile.TemporaryDirectory() as cache:
            os.environ.update(c.environment(options.mode, cache))
            sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
            return reduce_and_write(c.generate(options.kind, options.seed, options.reduce), options.mode)
    summary = c.campaign(
        options.kind, options.mode, options.seed, range(options.start, options.start + options.count)
    )
    print(f"{options.kind}, mode {options.mode}, seed {options.seed}")
    print(summary.text())
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
