"""What the tests of this folder run on: the fakes of NVRTC and of the driver, or, with STATOR_TEST_GPU=1, this machine's GPU."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import levels


def has_gpu() -> bool:
    """Whether tests are to use the machine's own GPU, and CuPy and torch as they are installed."""
    return bool(os.environ.get("STATOR_TEST_GPU"))


# Tests of what the fake driver alone says or can be made to do.
fake_only = pytest.mark.skipif(has_gpu(), reason="the fake driver tells more than a real one")


# Tests of what is found without a GPU: by the shim, and in the code of the NVRTC whose version is pinned.
without_gpu = pytest.mark.skipif(
    has_gpu(), reason="a machine without a GPU tells the same, with its own NVRTC"
)


# Kernels are made before the next call, so that each test knows which calls they serve. In processes of the tests' own
# only: other folders' tests, which share this process, have code made in the background.
AT_ONCE = {"STATOR_ASYNC": "0"}


def folder() -> Path:
    """Where the libraries of tests/gpu/fake are built; STATOR_TEST_FAKES where the package is installed elsewhere."""
    if chosen := os.environ.get("STATOR_TEST_FAKES"):
        return Path(chosen)
    # Without an import: options are read then, and the caller is about to set them.
    package = importlib.util.find_spec("stator")
    assert package and package.origin
    extension = next(Path(package.origin).parent.glob("_stator.*.so"), Path(package.origin))
    return extension.resolve().parents[2] / "fake"


def fakes() -> list[Path] | None:
    """The fakes of NVRTC and of the driver."""
    found = [folder() / "libfakenvrtc.so", folder() / "libfakecuda.so"]
    return found if all(f.exists() for f in found) else None


def environment(properties: Iterable[str] = ()) -> dict[str, str]:
    """The variables that make stator use what tests run on. `properties` names what else a test sets: a test that gives the
    fake GPU properties (FAKE_CUDA_*) is skipped on a real one."""
    if has_gpu():
        counted = folder() / "libcountedcuda.so"
        if any(name.startswith("FAKE_CUDA") for name in properties):
            pytest.skip("a GPU with other properties is needed")
        return {"STATOR_CUDA_DRIVER": str(counted), **AT_ONCE}
    return fake_environment()


def fake_environment() -> dict[str, str]:
    """The variables that make stator use the fakes, whether or not there is a GPU."""
    found = fakes()
    if not found:
        pytest.skip("the fakes are not built here")
    env = {"STATOR_NVRTC": str(found[0]), "STATOR_CUDA_DRIVER": str(found[1]), **AT_ONCE}
    # The fake CuPy computes with NumPy, whose AVX-512 loops have an exp and a log of their own. Kernels on the fake GPU call the
    # C library's, as NumPy does without AVX-512.
    if above := levels.disabled("avx2"):
        env["NPY_DISABLE_CPU_FEATURES"] = " ".join(
            [os.environ.get("NPY_DISABLE_CPU_FEATURES", ""), *above]
        ).strip()
    return env
