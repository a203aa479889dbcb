"""stator: a tracing JIT compiler for NumPy programs::

    import stator

    @stator.compile
    def step(u, k):
        return u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1))

The first call runs as always and is recorded; later calls replay compiled code. Results are the same bits as NumPy's.
`python -m stator doctor` says whether everything is in place, `STATOR_LOG=help` lists what can be logged.

Where stator cannot run (an unsupported Python, NumPy, system or processor), importing it prints one line, and decorated functions run
as plain Python.
"""

# Importing this must stay cheap: no typing, no inspect; what inspects or reports is imported when first used. The
# annotations are in __init__.pyi.
import atexit
import os
import sys

__version__ = "0.1.0"

__all__ = [
    "CompiledFunction",
    "GraphBreakError",
    "RecompileError",
    "compile",
    "disable",
    "explain",
    "jit",
    "options",
    "profile",
    "reset",
    "stance",
    "stats",
    "wait",
]


def _why_not():
    """One line that says why stator cannot run here, or None. Called before the extension is loaded."""
    if sys.implementation.name != "cpython":
        return f"stator plugs into CPython, not {sys.implementation.name}"
    if sys.platform != "linux":
        return f"Linux is needed, found {sys.platform}"
    machine = os.uname().machine
    if machine != "x86_64":
        return f"an x86-64 processor is needed, found {machine}"
    # Frames and instructions change until the first release candidate.
    unfinished = sys.version_info.releaselevel in ("alpha", "beta")
    if unfinished or not (3, 11) <= sys.version_info[:2] <= (3, 15):
        return f"Python 3.11 to 3.15 is needed, found {sys.version.split()[0]}"
    if "t" in getattr(sys, "abiflags", ""):
        # Loading the extension would turn the GIL back on.
        return "free-threaded Python is not supported yet; use the build with the GIL"
    return None


unavailable = _why_not()
if unavailable is None:
    try:
        from stator import _stator
    except ImportError as error:
        _stator = None
        unavailable = " ".join(str(error).split())
        if "_stator" in unavailable and ("cannot import name" in unavailable or "halted" in unavailable):
            unavailable = "no extension for this Python is installed: reinstall stator, or run 'make build'"
else:
    _stator = None

if _stator is not None:
    from stator._stator import GraphBreakError, RecompileError

    class _IsCompiled(type):
        def __instancecheck__(cls, instance):
            return _stator.is_compiled(instance)

    class CompiledFunction(metaclass=_IsCompiled):
        """A Python function that stator compiles: what stator.compile returns, which is a function object."""

    # Behind the exit handlers modules go away, and objects' callbacks run in what is left.
    atexit.register(_stator.at_exit)
    _enabled = _stator.get_option("mode") != "0"
else:
    from stator._absent import CompiledFunction, GraphBreakError, RecompileError

    _enabled = False
    print(f"stator: {unavailable}; functions run as plain Python", file=sys.stderr)


def _start_all():
    """STATOR=all: watch every function of the process from now on."""
    if _stator is not None and _stator.get_option("mode") == "all":
        _stator.start_all()


def compile(function=None, /, *, fullgraph=False, fastmath=False, dynamic=None, device="cpu", **unknown):
    """Compile a function that works on NumPy arrays.

    Usable as ``@stator.compile``, as ``@stator.compile(fullgraph=True)``, and on a callable: ``g = stator.compile(f)``.
    `stator.jit` is another name for it.

    Parameters
    ----------
    function : callable, class or module
        A Python function or lambda; a static or class method (the decorators may be in either order); a bound method;
        a `functools.partial` of one of these; or an object whose class defines ``__call__`` in Python.
        Of a class, the methods and properties that its body defines are compiled, and the class itself is returned; of a
        module, its functions and classes: ``stator.compile(sys.modules[__name__])`` at the end of a module.
    fullgraph : bool, default False
        Raise `GraphBreakError`, with the list of reasons, when a call leaves anything to Python.
    fastmath : bool, default False
        Allow results that differ from NumPy's in the last bits.
    dynamic : bool, optional
        Array extents are symbolic from the first trace on; only ``True`` and ``None`` are accepted.
    device : {"cpu", "cuda"}, default "cpu"
        Where compiled code runs. ``"cuda"``: arrays are copied to the GPU and results back, once a call; without a GPU
        the CPU serves, and `explain` says why. Results there are those of CUDA's functions, sums are added up in another
        order, and nothing warns.

    Returns
    -------
    CompiledFunction
        A function like the one it was made of: name, signature, binding, pickling. ``f.__wrapped__`` is the function
        as it was written. It is a function object (`types.FunctionType`; on 3.11 of a subtype, while stator serves its
        calls), a copy that shares code, globals and closure. ``isinstance(f, stator.CompiledFunction)`` holds. For methods and partials an object of the same kind around a compiled function.
        With ``STATOR=0``, and where stator cannot run, plain Python runs the copy; its methods say that nothing was
        compiled, and why.

    Raises
    ------
    TypeError
        For anything that has no Python code to compile, and for unknown options. Those of other compilers
        (``nopython``, ``parallel``, ``static_argnums``, ``mode``, ...) are answered by what stator does instead.
    """
    if (
        not unknown
        and function is not None
        and _enabled
        and device == "cpu"
        and fullgraph is fastmath is False
        and dynamic is None
        and (plain := _stator.compile_plainly(function)) is not None
    ):
        return plain
    options = {"fullgraph": fullgraph, "fastmath": fastmath, "dynamic": dynamic, "device": device} | unknown
    _check_options(options)
    if function is None:
        return lambda f: compile(f, **options)
    if isinstance(function, (type, type(sys))):
        from stator import _whole

        return _whole.compile_all(function, options)
    if not callable(function) and not isinstance(function, (staticmethod, classmethod)):
        from stator import _refuse

        raise TypeError(_refuse.not_callable(function))
    if not _enabled:
        from stator import _absent

        return _absent.leave_alone(function, _why_nothing_is_compiled())
    return _compile(function, fullgraph, fastmath, device or "cpu")


jit = compile
_OPTIONS = ("fullgraph", "fastmath", "dynamic", "device")


def _check_options(options):
    for name, value in options.items():
        if (
            name not in _OPTIONS
            or (name in ("fullgraph", "fastmath") and not isinstance(value, bool))
            or (name == "dynamic" and value not in (None, True))
            or (name == "device" and value not in (None, "cpu", "cuda"))
        ):
            from stator import _refuse

            raise _refuse.option(name, value, _OPTIONS)


_Function = type(_check_options)


class _Probe:
    def method(self):
        pass


_Method = type(_Probe().method)  # types.MethodType, without importing types
del _Probe


def _compile(f, fullgraph, fastmath, device="cpu"):
    kind = type(f)
    if _stator.is_compiled(f):
        options = _stator.function_options(f)
        if options == {"fullgraph": fullgraph, "fastmath": fastmath, "device": device}:
            return f
        return _compile(f.__wrapped__, fullgraph, fastmath, device)
    if kind is _Function:
        if not _stator.selected(f.__module__ or "", f.__qualname__):
            return f
        compiled = _stator.compile(f, fullgraph, fastmath, device)
        if _stator.get_option("dump"):
            from stator import _dump

            _dump.watch(compiled)
        return compiled
    if kind is staticmethod or kind is classmethod:
        return kind(_compile(f.__func__, fullgraph, fastmath, device))
    if kind is _Method:
        return _Method(_compile(f.__func__, fullgraph, fastmath, device), f.__self__)
    functools = sys.modules.get("functools")
    if functools and kind is functools.partial:
        return functools.partial(_compile(f.func, fullgraph, fastmath, device), *f.args, **f.keywords)
    call = getattr(kind, "__call__", None)  # noqa: B004
    if type(call) is _Function or _stator.is_compiled(call):
        return _Method(_compile(call, fullgraph, fastmath, device), f)
    from stator import _refuse

    raise TypeError(_refuse.no_code(f))


def _why_nothing_is_compiled():
    return unavailable or "STATOR=0"


def explain(function, /):
    """Call a compiled function and say what became of it.

    ``stator.explain(f)(*args)`` calls ``f(*args)`` once, as the program would, and returns an `Explanation`: share of the
    array work captured, what stayed in Python with its line, reason and hint, guards, traces and counters.

    Parameters
    ----------
    function : callable
        A compiled function, or one that `compile` accepts.

    Returns
    -------
    callable
        Takes the function's arguments, returns an `Explanation`; its ``result`` is what the function returned.
    """
    if not _enabled:
        from stator import _absent

        return _absent.explainer(function, _why_nothing_is_compiled())
    from stator import _inspect

    return _inspect.explainer(function)


def stats(function=None, /):
    """Counters since start or `reset`, of one compiled function or of all.

    Returns
    -------
    dict
        ``calls``, ``replays`` (served by a trace from entry on), ``served`` (traces or native loops did a part of the call),
        ``eager_calls``, ``recordings``, ``traces``, ``bridges``,
        ``exits``, ``opaque_steps``, ``redone`` (segments redone eagerly), ``retired``, ``compiles``, ``cache_hits``,
        ``kernels_launched``, ``regions``, ``guard_failures``, and ``compile_s`` in seconds. Calls that Python runs alone,
        of functions that plain Python is faster for (from Python 3.12 on), are in none of them.
    """
    if _stator is None or (function is not None and not _enabled):
        from stator import _absent

        return _absent.stats()
    if function is not None:
        from stator import _inspect

        return _inspect.stats(function)
    counters = _stator.stats()
    core = _stator.core_info(False)
    if core["loaded"]:
        counters["compiles"] = core["compiles"]
        counters["cache_hits"] = core["cache_hits"]
        counters["compile_s"] = core["compile_s"]
    return counters


def wait():
    """Return when everything that is queued for compilation has been compiled."""
    if _stator is not None:
        _stator.wait()


def reset():
    """Drop all traces, counters and queued compilations. Compiled functions stay, and start afresh."""
    if _stator is not None:
        _stator.reset()


class stance:
    """How compiled functions run: set by the call, and restored at the end of a ``with`` block.

    Parameters
    ----------
    name : {"default", "eager", "fail_on_recompile"}
        ``"eager"`` runs them as plain Python; ``"fail_on_recompile"`` raises `RecompileError` when a function that has
        been recorded is recorded again.

    Examples
    --------
    >>> stator.stance("eager")              # from now on
    >>> with stator.stance("eager"):        # or for a while
    ...     step(u, k)
    """

    __slots__ = ("_before", "name")

    def __init__(self, name):
        self.name = name
        if _stator is None:
            return
        self._before = _stator.stance()
        _stator.set_stance(name)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if _stator is not None:
            _stator.set_stance(self._before)

    def __repr__(self):
        return f"stator.stance({self.name!r})"


def disable(function=None, /):
    """Keep a function, and all it calls, out of stator.

    Usable as a decorator, and without arguments as a context manager (then the same as ``stance("eager")``).
    """
    if function is None:
        return stance("eager")
    if not callable(function):
        from stator import _refuse

        raise TypeError(_refuse.not_callable(function, "stator.disable"))
    if not _enabled:
        return function
    return _stator.disable(function.__wrapped__ if _stator.is_compiled(function) else function)


def load_ipython_extension(shell):
    """``%load_ext stator``: see `stator._notebook`."""
    from stator import _notebook

    _notebook.load(shell)


def unload_ipython_extension(shell):
    from stator import _notebook

    _notebook.unload(shell)


def __dir__():
    return [*__all__, "Explanation", "Graph", "__doc__", "__file__", "__name__", "__path__", "__version__"]


def __getattr__(name):
    if name == "options":
        from stator import _options

        globals()["options"] = _options.options
        return _options.options
    if name == "profile":
        from stator import _profile

        return _profile.profile
    if name in ("Explanation", "Graph"):
        from stator import _inspect

        return getattr(_inspect, name)
    raise AttributeError(f"module 'stator' has no attribute {name!r}")


_start_all()
