"""A pytest plugin: ``pytest --stator=all`` runs a project's tests compiled, ``--stator=verify`` compares each call with plain Python.

pytest loads it wherever stator is installed, so it is a module of its own that imports stator only where the option is given.

========== =====================================================================================================
`off`      nothing is compiled, whatever the environment says
`on`       what is decorated is compiled
`all`      every function that handles arrays is compiled, as under ``STATOR=all``
`verify`   as `all`, and what compiled code did is done again by plain Python; where a bit differs the test fails
========== =====================================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

MODES = {"off": "0", "on": "1", "all": "all", "verify": "all"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("stator").addoption(
        "--stator",
        choices=list(MODES),
        help="run the tests with stator off, on (decorated functions), for all functions, or comparing each call",
    )


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before anything of the project is imported; processes that the tests start do the same."""
    mode = early_config.known_args_namespace.stator
    if mode is None:
        return
    os.environ["STATOR"] = MODES[mode]
    if mode == "verify":
        os.environ["STATOR_VERIFY"] = "1"
    import stator

    if stator._stator is not None:  # it may have been imported before
        stator._stator.set_option("mode", MODES[mode])
        stator._stator.set_option("verify", os.environ.get("STATOR_VERIFY", "0"))
        stator._enabled = mode != "off"
        if mode == "off":
            stator.stance("eager")  # for what was decorated before
        stator._start_all()


def _checked(item: pytest.Item) -> Generator[None, Any, Any]:
    if item.config.getoption("stator") != "verify":
        return (yield)
    from stator import _verify

    before = len(_verify.differences)
    result = yield
    if found := _verify.differences[before:]:
        pytest.fail("\n".join(["compiled code differs from plain Python:", *found]), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _checked(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _checked(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _checked(item))


def pytest_report_header(config: pytest.Config) -> str | None:
    mode = config.getoption("stator")
    if mode is None:
        return None
    import stator

    return f"stator: {mode}{f', but nothing is compiled: {stator.unavailable}' if stator.unavailable else ''}"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if config.getoption("stator") in (None, "off") or getattr(config.option, "numprocesses", None):
        return  # with pytest-xdist the work is done in other processes
    import stator

    counters = stator.stats()
    terminalreporter.write_line(
        f"stator: {counters['traces']} traces and {counters['regions']} loops compiled, {counters['served']} calls served"
    )
