"""Settings every Python test runs under.

Tests never read or write the user's cache, and none inherits ``STATOR*`` variables of the shell it was started from
(set ``STATOR_TEST_KEEP_ENV=1`` to keep them, e.g. for ``STATOR_LOG``). Goldens are rewritten with ``STATOR_BLESS=1``.
``PARAMETERS=2/4`` runs the second of four shares of the parameters of tests.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator

import hypothesis
import pytest

# Before stator is imported anywhere: it reads its options then.
if not os.environ.get("STATOR_TEST_KEEP_ENV"):
    for name in [
        n
        for n in os.environ
        if n.startswith("STATOR") and n != "STATOR_BLESS" and not n.startswith("STATOR_TEST_CUDA")
    ]:
        del os.environ[name]
_cache = tempfile.mkdtemp(prefix="stator-test-cache-")
os.environ["STATOR_CACHE_DIR"] = _cache
# Which functions are given up depends on the time that this machine happens to take.
os.environ["STATOR_RETIRE"] = "0"
# What plain Python gives is NumPy's own here. tests/python/host_calls has calls that are answered by stator.
os.environ["STATOR_HOST_CALLS"] = "0"

# A compile on a busy machine may take long; examples are the same in every run unless asked otherwise.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=5000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """NumPy's calls are its own at the beginning of each test, also where another test has left them to stator."""
    stator = sys.modules.get("stator")
    if stator is not None and getattr(stator.options, "host_calls", False):
        warnings.warn(f"host_calls was on before {item.nodeid}", stacklevel=1)
        stator.options.host_calls = False


def pytest_report_header(config: pytest.Config) -> list[str]:
    import numpy

    lines = [f"python: {sys.version.split()[0]} at {sys.executable}, numpy {numpy.__version__}"]
    try:
        import stator

        lines.append(f"stator: {getattr(stator, '__version__', '?')} from {os.path.dirname(stator.__file__)}")
    except ImportError as error:
        lines.append(f"stator: cannot be imported: {error}")
    return lines


# What is asked here depends on the Python that is asked, and takes little time.
_ABOUT_PYTHON = {
    "test_closures.py",
    "test_comprehensions.py",
    "test_exceptions_while_judged.py",
    "test_function_object.py",
    "test_generators.py",
    "test_lazy_imports.py",
    "test_stepper.py",
    "test_threads.py",
    "test_zipped_comprehensions.py",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """PARAMETERS=2/4: of each four sets of parameters of a test one, so that four shares are all of them.

    Which one of the four it is moves on, because what varies fastest may have four values. A test with fewer sets of
    parameters than there are shares runs with all of them.
    """
    if not (share := os.environ.get("PARAMETERS")):
        return
    number, shares = map(int, share.split("/"))
    groups: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and item.path.name not in _ABOUT_PYTHON:
            groups.setdefault((str(item.path), getattr(item, "originalname", item.name)), []).append(item)
    left = {
        id(item)
        for group in groups.values()
        if len(group) >= shares
        for i, item in enumerate(group)
        if (i + i // shares + 1 - number) % shares
    }
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left])
    items[:] = [item for item in items if id(item) not in left]


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_cache, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_is_known_of_functions_made_before() -> Iterator[None]:
    """Functions that are defined in a test are made anew for each of its parameters, and would share what was recorded."""
    yield
    if stator := sys.modules.get("stator"):
        if extension := getattr(stator, "_stator", None):
            extension.forget_kept_states()
