"""The same as `mutation.py` for the kernels of loops: defects one at a time, through STATOR_TEST_CUDA_MUTATE and the fake driver.

    python -m tests.gpu.region_mutation [--per-program 6] [--programs jacobi_2d,masks] [--jobs 2] [--seed 1]

A defect counts as found when a call's results differ, when the launch shows in the bits, or when the shim finds a fault. One whose line
the process did not compile counts as not applied.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.gpu.mutation import mutants_of
from tests.gpu.region_kinds import ARGUMENTS
from tests.gpu.test_region_code import KINDS, kernels_of
from tests.gpu.test_region_kinds import CLOSE
from tests.gpu.test_regions import LAUNCHES, ON_DEVICE, run_exact

EXACT = [name for names in ON_DEVICE for name in names]
# The bits of these follow from the launch's products and sums, not from BLAS's.
CLOSE_TO = ["products", "element_products"]

LOOKS = """
if any({after!r} in r.cuda().source for r in c.regions if r.on_device):
    print("APPLIED")
"""
PROGRAM = """
from regions.programs import CASES
case = CASES[{name!r}]
c = stator.compile(case.function, device="cuda")
for i, launch in enumerate({launches!r}):
    os.environ["STATOR_TEST_REGION_LAUNCH"] = launch
    make = lambda: case.arguments(np.random.default_rng(i), case.sizes[0])
    expected, found = observe(case.function, make()), observe(c, make())
    {looks}
    assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
    assert expected == found, report(expected, found)
# A kernel that fails costs the result nothing: Python goes on.
assert stator.stats(c)["exits"] == 0, stator.stats(c)
"""
KIND = """
from tests.gpu.region_kinds import ARGUMENTS
f = next(f for f in ARGUMENTS if f.__name__ == {name!r})
c = stator.compile(f, device="cuda")
for i in range(3):
    for launch in ("1,32,0", "3,64,0", "2,32,20000"):
        os.environ["STATOR_TEST_REGION_LAUNCH"] = launch
        a, b = ARGUMENTS[f](), ARGUMENTS[f]()
        expected, found = f(*a), c(*b)
        {looks}
        assert not cuda.fake_cuda_violations(), cuda.fake_cuda_violations().decode()
        for x, y in zip(numbers((a, expected)), numbers((b, found)), strict=True):
            np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol={rtol}, atol=0)
"""


def rule(before, after):
    """The rule of STATOR_TEST_CUDA_MUTATE that puts one line in the place of another."""
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", before) + "=>" + after.replace("$", "$$")


def tried(name, mutant):
    """(whether the kernels had that line, what was found)."""
    looks = LOOKS.format(after=mutant.after or "\n\n").strip()
    looks = looks.replace("\n", "\n    " if name not in KINDS else "\n        ")
    if name in KINDS:
        body = CLOSE + KIND.format(name=name, looks=looks, rtol=1e-11 if name in CLOSE_TO else 0)
    else:
        body = PROGRAM.format(name=name, looks=looks, launches=LAUNCHES)
    try:
        said = run_exact(
            body, "3,32,0", STATOR_TEST_CUDA_MUTATE=rule(mutant.before, mutant.after), PYTHONPATH=_path()
        )
    except Exception as e:
        return True, f"{type(e).__name__}: {e}".strip().splitlines()[-1][:160]
    return "APPLIED" in said or not mutant.after, ""


def _path():
    return ":".join(["tests/python", *(p for p in sys.path if p)])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.region_mutation", description=__doc__)
    parser.add_argument("--per-program", type=int, default=6)
    parser.add_argument("--programs", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    names = options.programs.split(",") if options.programs else [*EXACT, *(f.__name__ for f in ARGUMENTS)]
    counts: Counter = Counter()
    for name in names:
        sources = dict.fromkeys(source for _, source in kernels_of(name))
        found = [m for s in sources for m in mutants_of(s, prelude=False) if s.count(m.before) == 1]
        random.Random(f"{options.seed} {name}").shuffle(found)
        chosen = found[: options.per_program]
        with ThreadPoolExecutor(options.jobs) as pool:
            for mutant, (applied, said) in zip(
                chosen, pool.map(lambda m: tried(name, m), chosen), strict=True
            ):
                way = "found" if said else "survived" if applied else "not applied"
                counts["planted"] += 1
                counts[way] += 1
                if way == "survived":
                    print(
                        f"SURVIVED {name}:{mutant.line} {mutant.operator}\n    {mutant.before}\n    {mutant.after}",
                        flush=True,
                    )
        print(f"{name}: {len(chosen)} of {len(found)} planted, {dict(counts)} so far", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
