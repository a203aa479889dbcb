"""STATOR_VERIFY: a call that a trace served is repeated eagerly and compared, bit for bit.

Arrays that the trace stored to are given back what they held first, and compared too. A difference is reported once per
trace on standard error; the function's name, its arguments as they were, and both results are kept ``stator-verify-<trace>.pickle`` in the current directory (load it with `pickle` and call the function again), and the
caller gets NumPy's result.

A region, a loop that is native code, is checked when it is left: plain Python does the same iterations from the same
state, and has to come to the same variables and the same memory (frontend/drive/verify_region.h). Where it does not, the
variables of both are kept in the same way, and the loop is done by Python.
"""

from __future__ import annotations

import inspect
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_reported: set[str] = set()
differences: list[str] = []  # what was said of each trace and loop that differs, in order


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
    if _is_tensor(a):
        return a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride() and _same_tensors(a, b)
    return a is b or bool(a == b)


def same_contents(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays hold the same, wherever their elements lie."""
    return a.dtype == b.dtype and a.shape == b.shape and _same_bits(a, b)


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)  # other modules may have the name
    return isinstance(tensor, type) and isinstance(x, tensor)


def _same_tensors(a: Any, b: Any) -> bool:
    torch = sys.modules["torch"]
    nan = a != a
    if not torch.equal(nan, b != b):
        return False
    zero = torch.zeros((), dtype=a.dtype)
    a, b = torch.where(nan, zero, a).contiguous(), torch.where(nan, zero, b).contiguous()
    return bool(torch.equal(a.view(-1).view(torch.uint8), b.view(-1).view(torch.uint8)))


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind not in "fc":
        return False
    differ = (a != b) & ~((a != a) & (b != b))
    zeros = (a == 0) & (b == 0) & (np.signbit(a.real) != np.signbit(b.real))
    return not bool(np.any(differ | zeros))


class Call:
    """One call, made before it is served: it keeps what the arrays among the arguments hold, to start over from."""

    def __init__(self, function: Callable[..., Any], args: tuple, kwargs: dict) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.begin = [(x, x.copy()) for x in (*args, *kwargs.values()) if type(x) is np.ndarray]

    def _before(self, x: Any) -> Any:
        return next((copy for array, copy in self.begin if array is x), x)

    def check(self, replayed: Any, trace: str, written: list[str]) -> Any:
        """Run the function eagerly from the same arguments; return `replayed` when all agrees, else report and return
        eager's result. `written` are the sources of the arrays that the trace stored to."""
        parameters = inspect.signature(self.function).parameters
        tensors = any(map(_is_tensor, (*self.args, *self.kwargs.values())))
        for source in written:
            if tensors or source not in parameters:
                if trace not in _reported:
                    _reported.add(trace)
                    what = "in a call with tensors" if tensors else "which is no argument"
                    _say(f"STATOR_VERIFY cannot check {trace}: it writes into {source}, {what}")
                return replayed
        after = [x.copy() for x, _ in self.begin] if written else []
        for x, contents in self.begin if written else ():
            if x.flags.writeable:
                x[...] = contents
        eager = self.function(*self.args, **self.kwargs)
        if same(eager, replayed) and all(
            _same_bits(x, y) for (x, _), y in zip(self.begin, after, strict=False)
        ):
            return replayed
        if trace not in _reported:
            _reported.add(trace)
            _differs(
                f"{trace} differs from NumPy, whose result is used; {self._keep(eager, replayed, after, trace)}"
            )
        return eager

    def _keep(self, eager: Any, replayed: Any, after: list, trace: str) -> str:
        path = Path("stator-verify-" + re.sub(r"\W+", "-", trace) + ".pickle")
        try:
            case = {
                "function": f"{self.function.__module__}.{self.function.__qualname__}",
                "args": tuple(map(self._before, self.args)),
                "kwargs": {name: self._before(x) for name, x in self.kwargs.items()},
                "eager": eager,
                "replayed": replayed,
                "arguments_eager": [x for x, _ in self.begin],
                "arguments_replayed": after,
            }
            path.write_bytes(pickle.dumps(case))
        except Exception as problem:  # the program goes on whatever cannot be written or pickled
            return f"the case could not be kept: {problem}"
        return f"kept in {path}"


def kept(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables as they are now: arrays, also those in tuples, lists and dicts, are copied; of iterators, what they
    tell of their state."""
    copies: dict[int, np.ndarray] = {}

    def copy(x: Any) -> Any:
        if type(x) is np.ndarray:
            return copies.setdefault(id(x), x.copy())
        if type(x) in (tuple, list):
            return type(x)(map(copy, x))
        if type(x) is dict:
            return {key: copy(value) for key, value in x.items()}
        if hasattr(type(x), "__next__") and hasattr(type(x), "__reduce__"):
            try:
                return copy(x.__reduce__()[1:])
            except TypeError:  # nothing is known of generators
                return x
        return x

    return {name: copy(x) for name, x in variables.items()}


def _picklable(variables: dict[str, Any] | None) -> dict[str, Any]:
    """What cannot be pickled (iterators of arrays, modules) is shown."""
    shown: dict[str, Any] = {}
    for name, x in (variables or {}).items():
        try:
            pickle.dumps(x)
            shown[name] = x
        except Exception:
            shown[name] = repr(x)
    return shown


def region_differs(
    region: str,
    why: str,
    function: Callable[..., Any],
    line: int,
    before: dict[str, Any] | None,
    eager: dict[str, Any] | None,
    found: dict[str, Any] | None,
) -> None:
    """Report that plain Python does not come to where a region left, which then counts as not run.

    `before` are the variables of the frame at the loop's header, in `line`; `eager` those where Python stopped, for the
    reason `why`, and `found` those where the region left. The loop is Python's from there on.
    """
    if region in _reported:
        return
    _reported.add(region)
    path = Path("stator-verify-" + re.sub(r"\W+", "-", region) + ".pickle")
    case = {
        "function": f"{function.__module__}.{function.__qualname__}",
        "file": function.__code__.co_filename,
        "line": line,
        "variables": _picklable(before),
        "eager": _picklable(eager),
        "found": _picklable(found),
        "why": why,
    }
    try:
        path.write_bytes(pickle.dumps(case))
        where = f"kept in {path}"
    except Exception as problem:
        where = f"the case could not be kept: {problem}"
    _differs(f"region {region} differs from Python, which does the loop: {why}; {where}")


def check_host_call(
    function: Any, arguments: tuple[Any, ...], expected: Any, found: Any, raised: bool
) -> None:
    """Compare what stator has answered to a call of NumPy with what NumPy gives, and report a difference once for each
    function.

    `function` is NumPy's, or the text of an operator; with `raised` NumPy has raised `expected`.
    """
    if not raised and same(expected, found):
        return
    name = function if isinstance(function, str) else getattr(function, "__name__", "array")
    if name in _reported:
        return
    _reported.add(name)
    path = Path("stator-verify-" + (re.sub(r"\W+", "-", name).strip("-") or "operator") + ".pickle")
    case = {"function": name, **_picklable({"arguments": arguments, "numpy": expected, "stator": found})}
    try:
        path.write_bytes(pickle.dumps(case))
        where = f"kept in {path}"
    except Exception as problem:
        where = f"the case could not be kept: {problem}"
    _differs(
        f"a call of NumPy's {name} was answered with other bits than NumPy's, which the program gets; {where}"
    )


def _differs(text: str) -> None:
    differences.append(text)
    _say(text)


def _say(text: str) -> None:
    print(f"stator: {text}", file=sys.stderr)
