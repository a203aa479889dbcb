"""STATOR_VERIFY: a call that a trace served is repeated eagerly and compared, bit for bit.

A difference is reported once per trace on standard error, the call's function name, arguments and both results are kept
in ``stator-verify-<trace>.pickle`` in the current directory (load it with `pickle` and call the function again), and the
caller gets NumPy's result.
"""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_reported: set[str] = set()


def same(a: Any, b: Any) -> bool:
    """Whether two results agree in type, dtype, shape, strides and bits; NaNs agree with each other."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and _same_bits(a, b)
    if isinstance(a, (np.generic, float, complex)):
        return _same_bits(np.asarray(a), np.asarray(b))
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a is b or bool(a == b)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind not in "fc":
        return False
    differ = (a != b) & ~((a != a) & (b != b))
    zeros = (a == 0) & (b == 0) & (np.signbit(a.real) != np.signbit(b.real))
    return not bool(np.any(differ | zeros))


def check(function: Callable[..., Any], args: tuple, kwargs: dict, replayed: Any, trace: str) -> Any:
    """Run `function` eagerly; return `replayed` when it agrees, else report and return eager's result."""
    eager = function(*args, **kwargs)
    if same(eager, replayed):
        return replayed
    if trace not in _reported:
        _reported.add(trace)
        path = Path("stator-verify-" + re.sub(r"\W+", "-", trace) + ".pickle")
        kept = f"kept in {path}"
        try:
            case = {
                "function": f"{function.__module__}.{function.__qualname__}",
                "args": args,
                "kwargs": kwargs,
            }
            path.write_bytes(pickle.dumps({**case, "eager": eager, "replayed": replayed}))
        except Exception as problem:  # the program goes on whatever cannot be written or pickled
            kept = f"the case could not be kept: {problem}"
        print(f"stator: {trace} differs from NumPy, whose result is used; {kept}", file=sys.stderr)
    return eager
