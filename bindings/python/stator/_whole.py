"""`stator.compile` of a whole class or module: each function in it is compiled as if it were decorated."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import stator

# Called by the interpreter at times and in ways of its own, where compiled code has nothing to do: while a class is made, while
# an object dies.
_LEFT_ALONE = {"__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__del__"}


def compile_all(whole: type | types.ModuleType, options: dict[str, Any]) -> type | types.ModuleType:
    """Compile what `whole` defines, in place, and return it.

    Of a class: functions, static and class methods, and the functions of properties that stand in its body. Methods that it
    inherits stay as they are, and so does what a decorator made from text (the ``__init__`` of a dataclass), because it
    holds no array operations. Of a module: its functions, and the classes that it defines.

    Raises
    ------
    TypeError
        For classes that are not written in Python.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        return stator.compile(function, **options)

    if isinstance(whole, types.ModuleType):
        for name, value in list(vars(whole).items()):
            if getattr(value, "__module__", None) != whole.__name__:
                continue  # it was imported
            if _is_own(value):
                setattr(whole, name, compiled(value))
            elif isinstance(value, type):
                _compile_class(value, compiled)
        return whole
    if not whole.__flags__ & _HEAP_TYPE or whole.__flags__ & _IMMUTABLE:
        raise TypeError(
            f"stator.compile needs Python code, and the class {whole.__qualname__} has none: "
            "compile the functions that use it"
        )
    _compile_class(whole, compiled)
    return whole


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, among others
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def _compile_class(cls: type, compiled: Callable[[Any], Any]) -> None:
    for name, value in list(vars(cls).items()):
        if name in _LEFT_ALONE:
            continue
        if _is_own(value) or (isinstance(value, (staticmethod, classmethod)) and _is_own(value.__func__)):
            setattr(cls, name, compiled(value))
        elif type(value) is property:
            parts: list[Any] = [value.fget, value.fset, value.fdel]
            parts = [compiled(f) if _is_own(f) else f for f in parts]
            setattr(cls, name, property(*[*parts, value.__doc__]))


def _is_own(value: object) -> bool:
    """A function that stands in a file or a notebook's cell; "<string>" is what `dataclasses` and `namedtuple` compile."""
    return isinstance(value, types.FunctionType) and value.__code__.co_filename != "<string>"
