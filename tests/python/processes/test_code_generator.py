"""The code generator's library is opened when something has to be compiled, and not otherwise."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import stator

PROGRAM = """
import numpy as np, stator

@stator.compile
def f(a, n):
    for i in range(n):
        a[1:-1] = 0.5 * (a[:-2] + a[2:])
        for j in range(3):
            a[j] = a[j + 1] * 0.25
    return (a * 2.0 + 1.0) * a

a = np.linspace(0.0, 1.0, 50)
for _ in range(3):
    r = f(a.copy(), 400)
stator.wait()
r = f(a.copy(), 400)
s = f.stats()
print(s["compiles"] > 0, s["cache_hits"] > 0, s["regions"], "libstator_codegen" in open("/proc/self/maps").read())
print(r.tobytes().hex())
"""


def ran(cache, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("STATOR")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        # What is given up depends on the clock, and with it what is compiled.
        env=clean | {"STATOR_CACHE_DIR": str(cache), "STATOR_RETIRE": "0"} | env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.fixture
def core():
    info = stator._stator.core_info()
    if not info["loaded"]:
        pytest.skip(info["error"])
    return Path(info["path"])


def test_what_the_cache_has_needs_no_code_generator(core, tmp_path):
    # In place: what is compiled does not depend on the clock.
    cold, _ = ran(tmp_path, STATOR_ASYNC="0")
    assert cold[0] == "True False 2 True"
    warm, _ = ran(tmp_path, STATOR_ASYNC="0")
    assert warm[0] == "False True 2 False"
    assert warm[1] == cold[1]


def test_without_it_tier_0_serves(core, tmp_path):
    package = tmp_path / "package" / "stator"
    package.mkdir(parents=True)
    for entry in Path(stator.__file__).parent.iterdir():
        if not entry.name.startswith(("libstator", "_stator")):
            (package / entry.name).symlink_to(entry)
    for library in (core, Path(stator._stator.__file__)):  # beside each other, as files of their own
        shutil.copyfile(library, package / library.name)
    path = os.pathsep.join(filter(None, [str(package.parent), os.environ.get("PYTHONPATH")]))
    lines, errors = ran(tmp_path / "cache", PYTHONPATH=path)
    assert lines[0].startswith("False False") and lines[0].endswith("False")
    assert errors.count("the code generator cannot be opened") == 1
    with_it, _ = ran(tmp_path / "cache")
    assert lines[1] == with_it[1]
