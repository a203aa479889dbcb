"""`stator.compile` of a whole class or module: each function in it is compiled as if it were decorated."""

from __future__ import annotations

import types
from typing import Any

import stator

# Called by the interpreter at times and in ways of its own, where compiled code has nothing to do: while a class is made, while
# an object dies.
_LEFT_ALONE = {"__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__del__"}
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, among others
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def compile_all(whole: type | types.ModuleType, options: dict[str, Any]) -> type | types.ModuleType:
    """Compile what `whole` defines, in place, and return it.

    Of a class: functions, static and class methods, and the functions of properties that stand in its body. Methods that it
    inherits stay as they are, and so does what a decorator or metaclass put there (the ``__init__`` of a dataclass or a
    protocol), because it holds no array operations. Of a module: its functions, and the classes that it defines. What is
    compiled already keeps its options. All of it is compiled before the first attribute is set.

    Raises
    ------
    TypeError
        For classes that are not written in Python.
    """
    made = _Made(options)
    if isinstance(whole, types.ModuleType):
        made.module(whole)
    elif not whole.__flags__ & _HEAP_TYPE or whole.__flags__ & _IMMUTABLE:
        raise TypeError(
            f"stator.compile needs Python code, and the class {whole.__qualname__} has none: "
            "compile the functions that use it"
        )
    else:
        made.class_(whole)
    made.put()
    return whole


class _Made:
    """What takes the place of attributes: one compiled function for each function, under all of its names."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._functions: dict[int, Any] = {}
        self._places: list[tuple[Any, str, Any]] = []

    def module(self, module: types.ModuleType) -> None:
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                self.class_(value)
            elif _is_own(value, module.__name__):
                self._places.append((module, name, self._compiled(value)))

    def class_(self, cls: type) -> None:
        for name, value in list(vars(cls).items()):
            if name in _LEFT_ALONE:
                continue
            kind = type(value)
            if _is_own(value, cls.__module__):
                self._places.append((cls, name, self._compiled(value)))
            elif kind in (staticmethod, classmethod) and _is_own(value.__func__, cls.__module__):
                self._places.append((cls, name, kind(self._compiled(value.__func__))))
            elif kind is property:
                parts: list[Any] = [value.fget, value.fset, value.fdel]
                if any(_is_own(f, cls.__module__) for f in parts):
                    parts = [self._compiled(f) if _is_own(f, cls.__module__) else f for f in parts]
                    made: Any = property(*[*parts, value.__doc__])
                    made.__set_name__(cls, name)
                    self._places.append((cls, name, made))

    def _compiled(self, function: types.FunctionType) -> Any:
        if id(function) not in self._functions:
            self._functions[id(function)] = stator.compile(function, **self._options)
        return self._functions[id(function)]

    def put(self) -> None:
        for owner, name, value in self._places:
            setattr(owner, name, value)


# Whose functions the standard library's decorators and metaclasses put into a class.
_MAKERS = ("<string>", "typing.py", "enum.py", "dataclasses.py", "collections/__init__.py", "abc.py")


def _is_own(value: object, module: str) -> bool:
    """A function that stands in the module's file, or a notebook's cell, and is not compiled yet."""
    return (
        isinstance(value, types.FunctionType)
        and value.__module__ == module
        and not value.__code__.co_filename.endswith(_MAKERS)
        and not isinstance(value, stator.CompiledFunction)
    )
