"""`python -m stator run`: a program as `python script.py` would run it, with stator on, and a report at the end."""

from __future__ import annotations

import atexit
import io
import os
import sys
import types
from collections.abc import Callable
from types import TracebackType
from typing import Any

REPORT = "stator-report.html"
_kept: list[types.ModuleType] = []


class Options:
    """What stands in front of the script.

    Raises
    ------
    ValueError
        With what is wrong about it.
    """

    def __init__(self, arguments: list[str]) -> None:
        self.stats = self.report = self.module = self.compare = False
        self.page: str | None = REPORT
        self.json: str | None = None
        self.mode: str | None = None
        rest = list(arguments)
        while rest and rest[0].startswith("-") and rest[0] != "-":
            self._take(rest.pop(0))
            if self.module:
                break
        if not rest:
            raise ValueError("run needs a script, or -m and a module")
        self.name, self.arguments = rest[0], rest[1:]
        if self.compare and (self.stats or self.report or self.json):
            raise ValueError(
                "--compare only times the program: --report, --json and --stats want a run of their own"
            )

    def _take(self, option: str) -> None:
        name, _, value = option.partition("=")
        if name == "--report":
            self.report = True
            self.page = value or REPORT
        elif name == "--json" and value:
            self.json = value
        elif value:
            raise ValueError(f"unknown option {option!r}")
        elif name == "--compare":
            self.compare = True
        elif name == "--stats":
            self.stats = True
        elif name == "--all":
            self.mode = "all"
        elif name == "--decorated":
            self.mode = "1"
        elif name == "-m":
            self.module = True
        else:
            raise ValueError(f"unknown option {option!r}")


def main(options: Options) -> int:
    if not options.module and options.name != "-" and not os.path.exists(options.name):
        raise ValueError(f"cannot open {options.name!r}: no such file")
    if options.compare:
        from stator import _compare

        return _compare.main(["-m"] * options.module + [options.name, *options.arguments], options.mode)
    import stator

    mode = options.mode or (None if os.environ.get("STATOR") else "all")
    if mode:
        os.environ["STATOR"] = mode  # for this process, and those it starts
    if stator._stator is not None:
        if mode:
            stator._stator.set_option("mode", mode)
        stator._enabled = stator._stator.get_option("mode") != "0"
        stator._start_all()
    # What is registered first is done last: behind the program's own exit handlers.
    if options.stats:
        atexit.register(_in_this_process(_print_stats))
    if options.report or options.json:
        _begin_report(options)
    return _run(options)


def _in_this_process(done: Callable[[], None]) -> Callable[[], None]:
    """Forks that end as the program does leave it alone."""
    pid = os.getpid()
    return lambda: done() if os.getpid() == pid else None


def _print_stats() -> None:
    import stator

    for name, value in stator.stats().items():
        print(f"{name:18} {value:.6g}", file=sys.__stderr__)


def _begin_report(options: Options) -> None:
    import stator

    # Modules that are imported after an interrupt may make Python forget that one is to end the process.
    import stator._report

    name = f"-m {options.name}" if options.module else options.name
    profile = stator.profile(" ".join([name, *options.arguments]))
    page = os.path.abspath(options.page) if options.report and options.page else None
    numbers = os.path.abspath(options.json) if options.json else None

    def end() -> None:
        profile.__exit__()
        report = profile.report
        if options.report:
            print(report, file=sys.__stderr__)
        if page:
            _write(page, report.html)
        if numbers:
            import json

            _write(numbers, lambda: json.dumps(report.data(), indent=1))

    try:
        profile.__enter__()
    except RuntimeError as error:
        print(f"stator: {error}", file=sys.stderr)
        return
    atexit.register(_in_this_process(end))


def _write(path: str, text: Callable[[], str]) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as f:
            f.write(text())
    except OSError as error:
        print(f"stator: {path} cannot be written: {error.strerror}", file=sys.__stderr__)
    else:
        print(f"stator: written to {path}", file=sys.__stderr__)


def _run(options: Options) -> int:
    """As the interpreter does: a `__main__` of its own, and a traceback that begins in the program."""
    main_module = types.ModuleType("__main__")
    main_module.__dict__.update(__builtins__=sys.modules["builtins"])
    if sys.version_info < (3, 14):  # from there on they are made when they are asked for
        main_module.__dict__.update(__annotations__={})
    _kept.append(sys.modules["__main__"])  # it is still running
    sys.modules["__main__"] = main_module
    try:
        if options.module:
            _run_module(options)
        else:
            _run_script(options, main_module)
    except SystemExit:
        raise
    except KeyboardInterrupt as error:
        _begin_at_program(error)
        raise  # Python ends the process as the signal would
    except BaseException as error:
        return _report_error(error)
    return 0


def _run_module(options: Options) -> None:
    import runpy

    sys.argv = [options.name, *options.arguments]
    _call(runpy._run_module_as_main, options.name)  # type: ignore[attr-defined]


def _call(function: Callable[..., Any], *arguments: Any) -> None:
    """Without the frames of this file around it, where stator is there."""
    import stator

    if stator._stator is None:
        function(*arguments)
    else:
        stator._stator.call_as_program(function, *arguments)


def _run_script(options: Options, main_module: types.ModuleType) -> None:
    from importlib.machinery import BuiltinImporter, SourceFileLoader

    sys.argv = [options.name, *options.arguments]
    path = options.name
    if path == "-":
        if not _safe_path():
            sys.path[0] = ""
        _say_where(main_module, "<stdin>", BuiltinImporter)
        _call(exec, compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True), main_module.__dict__)
        return
    if not os.path.isabs(path):
        path = os.path.join(os.getcwd(), path)  # Python leaves ./ and ../ in it
    if os.path.isdir(path) or not _is_source(path):
        import runpy

        sys.path[0] = path
        _call(runpy._run_module_as_main, "__main__", False)  # type: ignore[attr-defined]
        return
    if not _safe_path():
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    _say_where(main_module, path, SourceFileLoader("__main__", path))
    with io.open_code(path) as f:
        source = f.read()
    _call(exec, compile(source, path, "exec", dont_inherit=True), main_module.__dict__)


def _say_where(main_module: types.ModuleType, path: str, loader: Any) -> None:
    main_module.__dict__.update(__file__=path, __package__=None, __loader__=loader)
    if sys.version_info < (3, 15):
        main_module.__dict__["__cached__"] = None


def _safe_path() -> bool:
    """`python -P`, which 3.10 does not have: there programs run as plain Python, but they run."""
    return getattr(sys.flags, "safe_path", False)


def _is_source(path: str) -> bool:
    """Not a zip file or compiled code, which have to be looked into."""
    with open(path, "rb") as f:
        return b"\0" not in f.read(64)


def _report_error(error: BaseException) -> int:
    _set_traceback(error, _of_program(error.__traceback__))
    sys.excepthook(type(error), error, error.__traceback__)
    return 1


def _set_traceback(error: BaseException, traceback: TracebackType | None) -> None:
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error


def _begin_at_program(error: BaseException) -> None:
    """Python shows it when it has left stator's own frames, which are in its traceback then."""
    traceback, hook = _of_program(error.__traceback__), sys.excepthook

    def show(kind: type[BaseException], value: BaseException, whole: TracebackType | None) -> None:
        sys.excepthook = hook
        if value is error:
            _set_traceback(value, whole := traceback)
        hook(kind, value, whole)

    sys.excepthook = show


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    """The part of it behind the frames of this file, which started the program."""
    at: Any = traceback
    while at is not None and at.tb_frame.f_code.co_filename == __file__:
        at = at.tb_next
    return at
