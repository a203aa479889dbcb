"""Pickling of compiled functions: by reference, as plain functions are.

cloudpickle (and joblib through it) pickles functions of ``__main__`` and local ones by value, since the reader cannot
import them. A compiled function then travels as the plain function and its options, and is compiled where it arrives.
"""

import sys


def _by_cloudpickle():
    """Whether the pickler that is asking is cloudpickle's. Its C base class calls us from CloudPickler.dump."""
    frame = sys._getframe(2)
    name = frame.f_globals.get("__name__", "")
    return name.rpartition(".")[2] in ("cloudpickle", "cloudpickle_fast")


def _importable(f):
    """Whether another process would find this object under its name."""
    if f.__module__ == "__main__":
        return False
    found = sys.modules.get(f.__module__)
    for part in f.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is f


def reduce(f):
    """What ``__reduce__`` returns: a qualified name, or a call that rebuilds the function."""
    if _by_cloudpickle() and not _importable(f):
        from stator import _stator

        options = _stator.function_options(f)
        return rebuild, (f.__wrapped__, options)
    return f.__qualname__


def rebuild(function, options):
    """Compile an unpickled function again."""
    import stator

    return stator.compile(function, **options)
