"""What "the same as eager" means, and how one call is observed.

`observe` calls a function and freezes everything a program can see of the call: the result, the exception with its
traceback, warnings and printed text in order, and what became of the arguments. Frozen things are nested tuples and
compare with ``==``; `difference` says where two of them part. NaNs are equal whatever their payload and sign.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np


def without_addresses(text: str) -> str:
    """What `repr` says of an object that tells where it lies, without that: it differs from run to run."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


STRICT = os.environ.get("STATOR_TEST_ALL_VARIABLES") == "1"


def may_lack(value: tuple) -> bool:
    """Whether a variable with this value may be missing where a loop was left: an array, a row of something, or an object that
    holds an array; of large ones nothing is certain once unknown code has run."""
    plain = value[0] in ("array", "list", "tuple", "dict", "str")
    return not STRICT and (plain or any("array(" in str(part) for part in value[1:]))


class Variables(tuple):
    """(function, variables) of each frame that an exception passed through.

    A frame that native code of a loop left may lack arrays, and what holds some, that nothing after that place reads.
    ``STATOR_TEST_ALL_VARIABLES=1`` counts these as differences, too.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and len(self) == len(other) and all(map(_agree, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def _agree(a: tuple[str, dict], b: tuple[str, dict]) -> bool:
    both, (one, other) = a[1].keys() & b[1].keys(), (a[1], b[1])
    lacking = [v for name, v in [*one.items(), *other.items()] if name not in both]
    return a[0] == b[0] and all(map(may_lack, lacking)) and all(one[name] == other[name] for name in both)


class Outcome(NamedTuple):
    """One observed call, frozen."""

    result: tuple
    exception: tuple | None
    events: tuple  # warnings and printed text, in order
    arguments: tuple
    locals: Variables = ()  # of the frames that an exception passed through


def _bits(x: np.ndarray) -> bytes:
    """The elements in C order as bytes, NaNs made alike."""
    dense = np.array(x, order="C", copy=True, subok=False).reshape(-1)
    if dense.dtype.kind == "c":
        dense = dense.view(f"{dense.dtype.byteorder}f{dense.dtype.itemsize // 2}")
    if dense.dtype.kind == "f":
        dense[np.isnan(dense)] = np.nan
        if dense.dtype.itemsize == 16:  # x87's ten bytes; the others are whatever was there
            return (
                dense.astype(dense.dtype.newbyteorder("<")).view(np.uint8).reshape(-1, 16)[:, :10].tobytes()
            )
    return dense.tobytes()


def _dtype(x: np.ndarray) -> str:
    """Which dtype it is, and whether the object is NumPy's own: ``asarray(x, dtype)`` returns a view where not."""
    return x.dtype.str if x.dtype is np.dtype(x.dtype.str) else f"a copy of {x.dtype.str}"


def _flags(x: np.ndarray) -> str:
    f = x.flags
    return "".join(
        letter
        for letter, on in zip("OWCFA", (f.owndata, f.writeable, f.c_contiguous, f.f_contiguous, f.aligned))
        if on
    )


class Freezer:
    """Freezes objects; `known` are the objects that results may share memory or identity with (the arguments)."""

    def __init__(self, known: Sequence[Any] = ()) -> None:
        self.names: dict[int, str] = {}
        self.keep: list[Any] = []
        for i, x in enumerate(known):
            self._remember(x, f"argument {i}")
            if isinstance(x, np.ndarray) and x.base is not None:
                self._remember(x.base, f"base of argument {i}")

    def _remember(self, x: Any, name: str) -> None:
        if isinstance(x, np.ndarray | list | dict):
            self.names.setdefault(id(x), name)
            self.keep.append(x)

    def array(self, x: np.ndarray, where: str) -> tuple:
        base = x.base
        if base is None:
            origin: Any = None
        elif isinstance(base, np.ndarray):
            offset = x.__array_interface__["data"][0] - base.__array_interface__["data"][0] if x.size else 0
            name = self.names.get(id(base))
            seen = name or (base.dtype.str, base.shape, base.strides, _flags(base), type(base.base).__name__)
            self._remember(base, f"base of {where}")
            origin = (seen, offset)
        else:
            origin = type(base).__name__
        return (
            "array", ("type", type(x).__name__), ("dtype", _dtype(x)), ("shape", x.shape), ("strides", x.strides),
            ("flags", _flags(x)), ("base", origin), ("values", _bits(x) if x.dtype != object else repr(x.tolist())),
        )  # fmt: skip

    def freeze(self, x: Any, where: str = "result") -> tuple:
        """`x` as nested tuples; an object met before is frozen as a reference to where it was."""
        if id(x) in self.names:
            return ("is", self.names[id(x)])
        self._remember(x, where)
        if isinstance(x, np.ndarray):
            return self.array(x, where)
        if isinstance(x, np.generic):
            return (type(x).__name__, _bits(np.asarray(x)))
        if isinstance(x, tuple | list):
            return (type(x).__name__, *(self.freeze(item, f"{where}[{i}]") for i, item in enumerate(x)))
        if isinstance(x, dict):
            return ("dict", *((repr(k), self.freeze(v, f"{where}[{k!r}]")) for k, v in x.items()))
        if isinstance(x, float):
            return ("float", "nan" if x != x else x.hex())
        if isinstance(x, complex):
            return ("complex", self.freeze(x.real), self.freeze(x.imag))
        if isinstance(x, int):  # decimals of large ones are limited
            return (type(x).__name__, repr(x) if abs(x) < 1 << 200 else hex(x))
        return (type(x).__name__, without_addresses(repr(x)))


def frozen_arguments(args: Iterable[Any]) -> tuple:
    """Arguments and whatever memory they are views of."""
    freezer = Freezer()
    out = []
    for i, x in enumerate(args):
        out.append(freezer.freeze(x, f"argument {i}"))
        base = getattr(x, "base", None)
        out.append(freezer.freeze(base, f"base of argument {i}") if isinstance(base, np.ndarray) else None)
    return tuple(out)


def traceback_lines(tb: TracebackType | None, own: str = __file__) -> tuple:
    """(file, function, line) of each frame below this module's."""
    out = []
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename != own:
            out.append((os.path.basename(code.co_filename), code.co_name, tb.tb_lineno))
        tb = tb.tb_next
    return tuple(out)


NUMPYS_FOLDER = os.path.dirname(np.__file__)


def frozen_locals(tb: TracebackType | None, args: Sequence[Any], own: str = __file__) -> Variables:
    """The variables of each frame below this module's; identity is not compared, as it goes by who is named first.

    Not those of NumPy's own frames, which may hold memory that nothing was written to (np.pad).
    """
    out = []
    while tb is not None:
        frame = tb.tb_frame
        if frame.f_code.co_filename != own and not frame.f_code.co_filename.startswith(NUMPYS_FOLDER):
            values = {
                k: v
                for k, v in frame.f_locals.items()
                if not callable(v) and not isinstance(v, BaseException)
            }
            out.append((frame.f_code.co_name, {k: Freezer(args).freeze(v, k) for k, v in values.items()}))
        tb = tb.tb_next
    return Variables(out)


def frozen_exception(error: BaseException | None, depth: int = 0) -> tuple | None:
    """Type, text, traceback lines, context and cause."""
    if error is None or depth > 4:
        return None
    lines = traceback_lines(error.__traceback__)
    if isinstance(error, UnboundLocalError) and sys.version_info < (3, 12) and lines:
        # 3.11 fuses a store with the load behind it, in code that is hot, and then blames the line of the store.
        lines = (*lines[:-1], lines[-1][:2])
    return (
        ("type", type(error).__name__), ("text", str(error)), ("lines", lines),
        ("context", frozen_exception(error.__context__, depth + 1)), ("cause", frozen_exception(error.__cause__, depth + 1)),
    )  # fmt: skip


class _Recorder(io.TextIOBase):
    """Standard output and warnings of a call, in order."""

    def __init__(self) -> None:
        self.events: list[tuple] = []

    def write(self, text: str) -> int:
        before = self.events.pop()[1] if self.events and self.events[-1][0] == "printed" else ""
        self.events.append(("printed", before + without_addresses(text)))
        return len(text)

    def show(self, message: Any, category: type, filename: str, lineno: int, *_: Any) -> None:
        self.events.append(("warning", category.__name__, str(message), os.path.basename(filename), lineno))


def observe(function: Callable, args: Sequence[Any], keywords: Sequence[str] = ()) -> Outcome:
    """Call `function` and freeze what happened.

    Parameters
    ----------
    function : callable
    args : sequence
        The arguments; the last ``len(keywords)`` of them are passed by these names.
    keywords : sequence of str
    """
    split = len(args) - len(keywords)
    named = dict(zip(keywords, args[split:]))
    recorder = _Recorder()
    result, error, variables = None, None, Variables()
    with warnings.catch_warnings(), contextlib.redirect_stdout(recorder):
        warnings.simplefilter("always")
        warnings.showwarning = recorder.show
        try:
            result = function(*args[:split], **named)
        except Exception as e:
            error = frozen_exception(e)
            variables = frozen_locals(e.__traceback__, args)
            e.__traceback__ = None
    return Outcome(
        Freezer(args).freeze(result), error, tuple(recorder.events), frozen_arguments(args), variables
    )


def difference(expected: Any, found: Any, where: str = "") -> str | None:
    """The first place where two frozen things differ, in words; None when they are the same."""
    if expected == found and type(expected) is type(found):
        return None
    if isinstance(expected, Outcome) and isinstance(found, Outcome):
        for name in Outcome._fields:
            text = difference(getattr(expected, name), getattr(found, name), name)
            if text:
                return text
    if isinstance(expected, Variables) and isinstance(found, Variables) and len(expected) == len(found):
        for (function, a), (_, b) in zip(expected, found):
            for name in sorted(a.keys() | b.keys()):
                if a.get(name) != b.get(name) and not (name not in b and may_lack(a[name])):
                    return difference(a.get(name), b.get(name), f"{where}.{function}.{name}")
    if isinstance(expected, tuple) and isinstance(found, tuple) and len(expected) == len(found):
        label = f"{where}.{expected[0]}" if len(expected) == 2 and isinstance(expected[0], str) else where
        for i, (a, b) in enumerate(zip(expected, found)):
            if a != b:
                return difference(a, b, label if label != where else f"{where}[{i}]")
    if isinstance(expected, bytes) and isinstance(found, bytes):
        return f"{where}: {_first_bytes(expected, found)}"
    return f"{where}: expected {_short(expected)}, found {_short(found)}"


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 400 else text[:400] + "…"


def _first_bytes(a: bytes, b: bytes) -> str:
    if len(a) != len(b):
        return f"expected {len(a)} bytes of elements, found {len(b)}"
    at = next(i for i in range(len(a)) if a[i] != b[i])
    wrong = sum(x != y for x, y in zip(a, b))
    start = at - at % 8
    return f"{wrong} of {len(a)} bytes differ, first at {at}: expected …{a[start : start + 8].hex()}, found …{b[start : start + 8].hex()}"


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same in every respect a program can see."""
    return Freezer().freeze(a) == Freezer().freeze(b)


def report(expected: Outcome, found: Outcome) -> str:
    """The difference, and the exceptions when only one side raised."""
    text = difference(expected, found) or "no difference"
    for label, outcome in (("eager", expected), ("stator", found)):
        if outcome.exception and (expected.exception is None) != (found.exception is None):
            text += f"\n  {label} raised {outcome.exception[0][1]}: {outcome.exception[1][1]}"
    return text


def program_lines(outcome: Outcome, filename: str) -> list[int]:
    """Lines of the program that an exception passed through."""
    if outcome.exception is None:
        return []
    return [line for name, _, line in dict(outcome.exception)["lines"] if name == os.path.basename(filename)]


def interpreter() -> str:
    """The versions a comparison holds for."""
    return f"Python {sys.version.split()[0]}, NumPy {np.__version__}"
