"""A plugin of pytest: a test's function is called several times, compiled where AGAIN=stator.

The first call records, the others replay. Under STATOR=all nothing is compiled by name: every function is a candidate,
and with STATOR_ALL_AFTER=0 from its first call on. A test that changes what it finds may fail the second time: eagerly, too.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

CALLS = int(os.environ.get("AGAIN_CALLS", "3"))
COMPILED = os.environ["AGAIN"] == "stator"
if os.environ.get("STATOR") == "all":
    import stator  # noqa: F401, which starts it
functions: dict[Callable[..., Any], Any] = {}


def prepared(test: Callable[..., Any]) -> Callable[..., Any]:
    plain = test.__func__ if isinstance(test, types.MethodType) else test
    if not COMPILED or not isinstance(plain, types.FunctionType):
        return test
    import stator

    if plain not in functions:
        functions[plain] = stator.compile(plain)
    if isinstance(test, types.MethodType):
        return functools.partial(functions[plain], test.__self__)
    return functions[plain]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    test = prepared(pyfuncitem.obj)
    for call in range(CALLS):
        try:
            test(**arguments)
        except Exception as error:
            if hasattr(error, "add_note"):
                error.add_note(f"in call {call + 1} of {CALLS}")
            raise
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if "stator" not in sys.modules:
        return
    import stator

    total = stator.stats()
    wanted = ("calls", "replays", "served", "eager_calls", "recordings", "regions", "exits")
    terminalreporter.write_line(f"stator: {json.dumps({k: total[k] for k in wanted})}")
