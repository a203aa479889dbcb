"""``python -m tests.gpu.fuzz``: random programs under ``device="cuda"`` on the fake driver, or with STATOR_TEST_GPU=1 on a GPU, compared with eager NumPy.

python -m tests.gpu.fuzz --count 500 --seed 1
python -m tests.gpu.fuzz --start 17 --count 1      # program 17, with its text

Kernels add up in another order than NumPy and call other functions, so values are compared within a tolerance; types,
shapes, strides, identities and what became of the arguments exactly. Programs that warn or raise are left out: nothing
warns on a GPU. Numbers of whole arrays that decide about single elements (a comparison of rounded values) may differ in
few of them.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import tempfile

import numpy as np

from tests.gpu import machine
from tests.python.fuzz import campaign
from tests.python.fuzz.arguments import build
from tests.python.fuzz.compare import observe

TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-4, 16: 1e-4}  # doubles may come from single precision
MOST_DIFFERENT = 0.02  # of an array's elements, where rounding decides


def _near(expected: np.ndarray, found: np.ndarray) -> bool:
    kind = expected.dtype.kind
    if kind in "fc":
        rtol = TOLERANCE[expected.dtype.itemsize // (2 if kind == "c" else 1)]
        finite = np.abs(expected[np.isfinite(expected)].astype(np.complex128))
        scale = float(np.max(finite, initial=0))
        with np.errstate(all="ignore"):
            wide = np.complex128 if kind == "c" else np.float64
            close = np.isclose(
                found.astype(wide), expected.astype(wide), rtol=rtol, atol=rtol * scale, equal_nan=True
            )
    else:
        close = expected == found
    return bool(np.count_nonzero(~close) <= MOST_DIFFERENT * close.size)


def near(expected, found) -> bool:
    """Whether two frozen things are the same but for rounding."""
    if expected == found:
        return True
    if not (
        isinstance(expected, tuple) and isinstance(found, tuple) and len(expected) == len(found) and expected
    ):
        return False
    if expected[0] == "array" and found[0] == "array":
        a, b = dict(expected[1:]), dict(found[1:])
        if any(a[k] != b[k] for k in a if k not in ("values", "base")) or not isinstance(a["values"], bytes):
            return False
        dtype = np.dtype(a["dtype"].split()[-1])
        return _near(np.frombuffer(a["values"], dtype), np.frombuffer(b["values"], dtype))
    if len(expected) == 2 and expected[0] == found[0] and isinstance(expected[1], bytes):
        dtype = np.dtype(getattr(np, expected[0]))
        return _near(np.frombuffer(expected[1], dtype), np.frombuffer(found[1], dtype))
    if expected[0] == "float" == found[0]:
        a, b = (float("nan") if x[1] == "nan" else float.fromhex(x[1]) for x in (expected, found))
        return _near(np.array([a]), np.array([b]))
    return all(near(a, b) for a, b in zip(expected, found))


def parting(expected, found, where: str = "") -> str:
    """The first place where two frozen things are not near, with the values there."""
    if isinstance(expected, tuple) and isinstance(found, tuple) and len(expected) == len(found):
        fields = getattr(expected, "_fields", range(len(expected)))
        if not (expected and expected[0] == "array"):
            for name, a, b in zip(fields, expected, found):
                if not near(a, b):
                    return parting(a, b, f"{where}.{name}")
        else:
            a, b = dict(expected[1:]), dict(found[1:])
            dtype = np.dtype(a["dtype"].split()[-1])
            values = [np.frombuffer(x["values"], dtype).reshape(x["shape"]) for x in (a, b)]
            rest = [{k: v for k, v in x.items() if k != "values"} for x in (a, b)]
            return f"{where}: {rest[0]}\n{values[0]}\ninstead: {rest[1] if rest[0] != rest[1] else ''}\n{values[1]}"
    return f"{where}: {expected!r} instead: {found!r}"


def check(program) -> tuple[str, str]:
    """("same" | "left out" | "differs", what was found)."""
    import stator

    eager, compiled = program.load(), stator.compile(program.load(), device="cuda")
    for k, specs in enumerate(program.calls):
        expected = observe(eager, build(specs, k), program.keywords)
        if expected.exception or expected.events:
            return "left out", ""
        found = observe(compiled, build(specs, k), program.keywords)
        if found.exception or found.events:
            return "differs", f"call {k}: {found.exception or found.events}"
        if not (near(expected.result, found.result) and near(expected.arguments, found.arguments)):
            again = observe(eager, build(specs, k), program.keywords)
            if not near(expected.result, again.result):
                return "left out", ""
            return "differs", f"call {k}: {parting(expected, found)}"
    replays = compiled.stats()["replays"]
    return ("same" if replays else "left out"), ""


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.gpu.fuzz", description=__doc__.split("\n")[0])
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--start", type=int, default=0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--kind", choices=campaign.KINDS, default="straight")
    options = p.parse_args()
    os.environ.update(machine.environment())
    os.environ["STATOR_RETIRE"] = "0"
    os.environ.setdefault("STATOR_TEST_REGION_LAUNCH", "2,32,0")
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("STATOR_CACHE_DIR", cache)
        import stator

        counts = dict.fromkeys(("same", "left out", "differs"), 0)
        driver = ctypes.CDLL(os.environ["STATOR_CUDA_DRIVER"])
        driver.fake_cuda_violations.restype = ctypes.c_char_p
        for number in range(options.start, options.start + options.count):
            program = campaign.generate(options.kind, options.seed, number)
            verdict, text = check(program)
            counts[verdict] += 1
            if verdict == "differs" or options.count == 1:
                print(f"program {number}: {verdict}: {text[:3000]}")
                if options.count == 1:
                    print(program.source())
                sys.stdout.flush()
            if number % 25 == 24:
                stator.reset()
        loops = driver.fake_cuda_calls(b"cuLaunchCooperativeKernel")
        launches = driver.fake_cuda_calls(b"cuLaunchKernel") + loops
        broken = driver.fake_cuda_violations().decode().splitlines()
        print(
            f"seed {options.seed}: {counts}, {launches} kernels launched, {loops} of loops, {len(broken)} rules of the driver broken"
        )
        print(*broken[:5], sep="\n")
        if not launches:
            print("nothing ran on the device")
    return 1 if counts["differs"] or broken or not launches else 0


if __name__ == "__main__":
    sys.exit(main())
