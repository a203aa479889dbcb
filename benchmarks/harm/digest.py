"""A short text that is equal exactly if two results are: types, dtypes, bits, order, exceptions."""

from __future__ import annotations

import hashlib
import types
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice)
_DEEPEST = 12


def digest(x: Any) -> str:
    """Digest of a result. Objects of classes are described by what is in their ``__dict__`` and slots."""
    h = hashlib.blake2b(digest_size=8)
    _feed(h, x, 0)
    return h.hexdigest()


def digest_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _feed(h: Any, x: Any, depth: int) -> None:
    h.update(type(x).__name__.encode() + b"(")
    if depth > _DEEPEST:
        pass
    elif isinstance(x, np.ndarray):
        h.update(f"{x.dtype.str}{x.shape}".encode())
        if x.dtype.hasobject:
            _feed_all(h, x.reshape(-1).tolist(), depth)
        else:
            h.update(np.ascontiguousarray(x).tobytes())
    elif isinstance(x, np.generic):
        h.update(x.dtype.str.encode() + x.tobytes())
    elif isinstance(x, _PLAIN):
        h.update(repr(x).encode(errors="surrogatepass"))
    elif isinstance(x, dict):
        _feed_all(h, [y for item in x.items() for y in item], depth)
    elif isinstance(x, set | frozenset):
        _feed_all(h, sorted(x, key=repr), depth)
    elif isinstance(x, list | tuple):
        _feed_all(h, x, depth)
    elif isinstance(x, BaseException):
        h.update(digest_error(x).encode())
    elif isinstance(x, type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType):
        h.update(getattr(x, "__qualname__", "").encode())
    else:
        _feed(h, getattr(x, "__dict__", None), depth + 1)
        names = [s for t in type(x).__mro__ for s in _slots(t)]
        _feed_all(h, [getattr(x, s, None) for s in names], depth)
    h.update(b")")


def _feed_all(h: Any, items: Any, depth: int) -> None:
    for y in items:
        _feed(h, y, depth + 1)


def _slots(t: type) -> list[str]:
    slots = t.__dict__.get("__slots__", ())
    return [slots] if isinstance(slots, str) else [s for s in slots if not s.startswith("__")]
