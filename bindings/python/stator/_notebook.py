"""IPython and Jupyter: ``%load_ext stator`` brings ``%stator`` and ``%%stator``, and shows compiled functions as HTML.

================== ==================================================================================================
``%stator on``     from here on every function that handles arrays is compiled, as under ``STATOR=all``
``%stator off``    compiled functions run as plain Python
``%stator report`` where the time went since ``%stator on``, or in the last ``%%stator`` cell
``%stator``        which of these holds
``%%stator``       runs the cell as ``%stator on`` does, and shows below its output what was fast and why the rest was not;
                   functions go on being compiled after it, until ``%stator off``
================== ==================================================================================================
"""

from __future__ import annotations

import ast
import types
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

import stator
from stator import _stator

USAGE = "%stator on, %stator off, %stator report, or %%stator above a cell"


def load(shell: Any) -> None:
    shell.register_magics(StatorMagics(shell))
    shell.events.register("pre_run_cell", _expect_program)
    if _stator is not None:
        html = shell.display_formatter.formatters["text/html"]
        html.for_type(types.FunctionType, function_html)


def unload(shell: Any) -> None:
    magics = shell.magics_manager.registry.pop("StatorMagics", None)
    if magics is not None:
        magics.end()
        shell.events.unregister("pre_run_cell", _expect_program)
    if _stator is not None:
        shell.display_formatter.formatters["text/html"].pop(types.FunctionType, None)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("stator", None)


@magics_class
class StatorMagics(Magics):
    """The state of the two magics: whether `%stator on` holds, and the profile that runs since then."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._shell: Any = shell
        self._on = False
        self._profile: Any = None  # runs while `%stator on` holds, unless somebody else makes one
        self._report: Any = None

    @line_cell_magic
    def stator(self, line: str, cell: str | None = None) -> Any:
        """%stator on|off|report; %%stator runs a cell compiled and reports."""
        __tracebackhide__ = True
        word = line.strip()
        if stator._stator is None:
            raise UsageError(f"stator cannot run here: {stator.unavailable}")
        if cell is not None:
            if word:
                raise UsageError(f"%%stator takes nothing on its line, found {word!r}")
            return self._cell(cell)
        if word in ("on", "off", "report"):
            return getattr(self, word)()
        if word:
            raise UsageError(f"%stator {word}? Write {USAGE}")
        eager = _stator.stance() == "eager"
        state = (
            "off" if eager else "on" if _stator.get_option("mode") == "all" else "on for decorated functions"
        )
        print(f"stator {stator.__version__} is {state}; {USAGE}")
        return None

    def on(self) -> None:
        _start()
        self._on = True
        self._begin()

    def off(self) -> None:
        self.end()
        stator.stance("eager")

    def end(self) -> None:
        """The profile of `%stator on` is over; what is compiled stays."""
        self._on = False
        self._end()

    def report(self) -> Any:
        if self._profile is not None:
            self._end()
            self._begin()
        if self._report is None:
            raise UsageError("there is nothing to report yet: %stator on, or %%stator above a cell")
        return self._report

    def _begin(self) -> None:
        self._profile = _begun("since %stator on")

    def _end(self) -> None:
        if self._profile is not None:
            profile, self._profile = self._profile, None
            profile.__exit__()
            self._report = profile.report

    def _cell(self, cell: str) -> None:
        __tracebackhide__ = True
        self._end()
        _start()
        profile = _begun("this cell")
        try:
            _expect_program()
            run_cell(self._shell, cell)
        finally:
            if profile is not None:
                profile.__exit__()
                self._report = profile.report
            if self._on:
                self._begin()
        if profile is None:
            print("stator: another profile is being made, so there is no report of this cell")
            return
        self._shell.display_pub.publish(
            {"text/plain": str(self._report), "text/html": self._report._repr_html_()}
        )


def _expect_program(*_: object) -> None:
    """A cell is about to run: IPython's own calls between cells have no say in whether it is looked at."""
    if _stator is not None:
        _stator.expect_program()


def _begun(title: str) -> Any:
    """A profile that runs, or None where another one does."""
    profile = stator.profile(title)
    try:
        profile.__enter__()
    except RuntimeError:
        return None
    return profile


def _start() -> None:
    """Functions are looked at from here on. There is no way back from it, but that compiled functions may run as Python."""
    stator.stance("default")
    if _stator.get_option("mode") != "all":
        _stator.set_option("mode", "all")
        stator._enabled = True
    stator._start_all()


def run_cell(shell: Any, cell: str) -> None:
    """As the shell runs a cell, with what it raises left to the cell around it: its lines are those that tracebacks show,
    and its last expression is displayed unless a semicolon follows it."""
    __tracebackhide__ = True
    source = shell.transform_cell(cell)
    name = shell.compile.cache(source, shell.execution_count, raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    last = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
    exec(shell.compile(tree, name, "exec"), shell.user_global_ns, shell.user_ns)
    if last and not shell.displayhook.semicolon_at_end_of_expression(source):
        exec(shell.compile(ast.Interactive(last), name, "single"), shell.user_global_ns, shell.user_ns)
    elif last:
        exec(shell.compile(ast.Module(last, []), name, "exec"), shell.user_global_ns, shell.user_ns)


def function_html(function: types.FunctionType) -> str | None:
    """A compiled function: what of it is compiled. None for others, which IPython shows as text."""
    from stator import _inspect

    return _inspect.function_html(function) if _stator.is_compiled(function) else None
