"""Settings of the tests that need no GPU. STATOR_TEST_* stays: STATOR_TEST_CUDA_MUTATE plants a defect in every kernel."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import pytest

if not os.environ.get("STATOR_TEST_KEEP_ENV"):
    for name in [n for n in os.environ if n.startswith("STATOR") and not n.startswith("STATOR_TEST")]:
        if name not in ("STATOR_BLESS", "STATOR_CACHE_DIR"):
            del os.environ[name]
_cache = None
if "STATOR_CACHE_DIR" not in os.environ:
    _cache = os.environ["STATOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="stator-test-cache-")
os.environ["STATOR_RETIRE"] = "0"


def pytest_unconfigure(config: pytest.Config) -> None:
    if _cache:
        shutil.rmtree(_cache, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_is_known_of_functions_made_before() -> Iterator[None]:
    """Functions that are defined in a test are made anew for each of its parameters, and would share what was recorded."""
    yield
    if stator := sys.modules.get("stator"):
        if extension := getattr(stator, "_stator", None):
            extension.forget_kept_states()
