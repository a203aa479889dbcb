"""Pickling of compiled functions: by reference, as plain functions are.

cloudpickle (and joblib through it) pickles functions of ``__main__`` and local ones by value, since the reader cannot
import them. A compiled function is compiled where it arrives, too. It is a function to cloudpickle: it travels as one, and
the handle in its ``__dict__`` as the wish to have that function served. A wrapper (stator/_stator: `disable`, initializers)
travels as the plain function and its options.
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


class _NotServed:
    """Stands for what a compiled function's ``__dict__`` has where stator does not run."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def absent(*args, **kwargs):
            raise RuntimeError(
                f"the function came from a process with stator, which does not run here: no {name}()"
            )

        return absent


def _serves():
    import stator

    return stator._enabled


def reduce_handle(function, inspector):
    """What ``__reduce__`` of a function's handle returns."""
    from stator import _stator

    return adopt, (function, inspector, _stator.function_options(function))


def adopt(function, inspector, options):
    """Have an unpickled function served, and return its handle."""
    if not _serves():
        return _NotServed()
    from stator import _stator

    return _stator.adopt(function, inspector, **options)


def inspector():
    """What an inspector is unpickled as: one without a state, until a function that it came with is adopted."""
    if not _serves():
        return _NotServed()
    from stator import _stator

    return _stator.detached_inspector()


def sequence(inspector, name):
    """A function's ``traces`` or ``regions``."""
    if isinstance(inspector, _NotServed):
        return ()
    from stator import _stator

    return _stator.live_sequence(inspector, name)
