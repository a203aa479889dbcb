"""What stator is where nothing is compiled: the extension cannot be loaded, or STATOR=0 says so.

Programs run on as plain Python. What `compile` returns has the same methods as elsewhere; they say that nothing was
compiled, and why.
"""

import time


class CompiledFunction:
    """No function is one here."""


class GraphBreakError(RuntimeError):
    pass


class RecompileError(RuntimeError):
    pass


def stats():
    names = (
        "calls replays served eager_calls recordings traces bridges exits opaque_steps redone retired recalls host_calls compiles cache_hits "
        "kernels_launched regions guard_failures"
    )
    return dict.fromkeys(names.split(), 0) | {"compile_s": 0.0}


class Explanation:
    """What became of one call: plain Python made it. It has the attributes of `_inspect.Explanation`."""

    def __init__(self, function, result, seconds, why):
        code = getattr(function, "__code__", None)
        self.name = getattr(function, "__qualname__", repr(function))
        self.file = code and code.co_filename
        self.line = code and code.co_firstlineno
        self.device = "cpu"
        self.result = result
        self.seconds = seconds
        self.why = why
        self.stats = self.call = stats()
        self.microseconds, self.host_calls = {}, {}
        self.core = {"loaded": False}
        self.traces, self.reasons, self.waits = [], [], []
        self.share = 0.0

    def __str__(self):
        return f"{self.name}: plain Python, nothing is compiled: {self.why}"

    __repr__ = __str__


class Inspector:
    """The methods of one function that is left alone."""

    def __init__(self, function, why):
        self.function = function
        self.text = f"{function.__qualname__} is not compiled: {why}"
        self.why = why

    def stats(self):
        return stats()

    def graph(self, trace=-1, *, recorded=False):
        return self.text

    def llvm(self, trace=-1):
        return self.text

    def asm(self, trace=-1):
        return self.text

    def cuda(self, /, *args, arch="sm_90", **kwargs):
        return self.text

    def reset(self):
        pass

    def explain(self, /, *args, **kwargs):
        return explainer(self.function, self.why)(*args, **kwargs)


_Function = type(stats)
_Method = type(Inspector(stats, "").stats)


def leave_alone(function, why):
    """What `compile` returns here: a copy of a function, as elsewhere, that has the methods of compiled ones."""
    kind = type(function)
    if kind in (staticmethod, classmethod):
        return kind(leave_alone(function.__func__, why))
    if kind is _Method:
        return _Method(leave_alone(function.__func__, why), function.__self__)
    if kind is not _Function or is_left_alone(function):
        return function
    copy = _Function(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    names = ["__kwdefaults__", "__qualname__", "__module__", "__doc__", "__type_params__"]
    for name in (n for n in names if hasattr(function, n)):
        setattr(copy, name, getattr(function, name))
    if getattr(function, "__annotate__", None) is not None:
        copy.__annotate__ = function.__annotate__  # they are not evaluated before somebody asks
    else:
        copy.__annotations__ = function.__annotations__
    methods = Inspector(copy, why)
    copy.__dict__.update(function.__dict__)
    copy.__dict__.update(
        {name: getattr(methods, name) for name in METHODS}, traces=[], regions=[], __wrapped__=function
    )
    return copy


METHODS = ("stats", "graph", "llvm", "asm", "reset", "cuda", "explain")


def is_left_alone(function):
    of = getattr(function, "__func__", function)
    return type(getattr(getattr(of, "stats", None), "__self__", None)) is Inspector


def explainer(function, why):
    """`stator.explain` of such a function."""

    def explained(*args, **kwargs):
        started = time.perf_counter()
        result = function(*args, **kwargs)
        return Explanation(function, result, time.perf_counter() - started, why)

    return explained
