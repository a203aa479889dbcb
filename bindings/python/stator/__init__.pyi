from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from stator._cuda import Kernel as Kernel
from stator._inspect import Explanation as Explanation
from stator._inspect import Graph as Graph
from stator._options import Options
from stator._profile import profile as profile
from stator._stator import GraphBreakError as GraphBreakError
from stator._stator import RecompileError as RecompileError
from stator._stator import Region, Trace

__version__: str
unavailable: str | None
options: Options
_enabled: bool
_stator: Any

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any] | ModuleType)
_G = TypeVar("_G", bound=Callable[..., Any])
_S = TypeVar("_S")
_C = TypeVar("_C")
_M = TypeVar("_M", bound=ModuleType)
_Q = ParamSpec("_Q")

class CompiledFunction(Generic[_P, _R]):
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    __wrapped__: Callable[_P, _R]
    __defaults__: tuple[Any, ...] | None
    __kwdefaults__: dict[str, Any] | None
    __code__: Any
    __annotations__: dict[str, Any]
    @property
    def traces(self) -> Sequence[Trace]: ...
    @property
    def regions(self) -> Sequence[Region]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[type[_S], _Q], _R], instance: None, owner: type[_S], /
    ) -> CompiledFunction[_Q, _R]: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> CompiledFunction[_P, _R]: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[_S, _Q], _R], instance: _S, owner: type | None = ..., /
    ) -> CompiledFunction[_Q, _R]: ...
    def stats(self) -> dict[str, float]: ...
    def graph(self, trace: int | str = -1, *, recorded: bool = False) -> Graph: ...
    def llvm(self, trace: int | str = -1) -> str: ...
    def asm(self, trace: int | str = -1) -> str: ...
    def cuda(self, *args: Any, arch: str = "sm_90", **kwargs: Any) -> list[Kernel]: ...
    def explain(self, *args: _P.args, **kwargs: _P.kwargs) -> Explanation: ...
    def reset(self) -> None: ...

_Device = Literal["cpu", "cuda"] | None

# mypy takes static and class methods out of what is decorated and binds all of them as methods. For it a function stays what
# it was (`stator.stats(f)` instead of `f.stats()`); pyright knows the methods of compiled functions as well.
MYPY = False
if MYPY:
    @overload
    def compile(
        function: _F,
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> _F: ...
    @overload
    def compile(
        function: None = None,
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> Callable[[_F], _F]: ...

else:
    class _Decorator(Protocol):
        """What `compile` with options alone returns."""

        @overload
        def __call__(self, function: staticmethod[_P, _R], /) -> staticmethod[_P, _R]: ...
        @overload
        def __call__(self, function: classmethod[_S, _P, _R], /) -> classmethod[_S, _P, _R]: ...
        @overload
        def __call__(self, function: type[_C], /) -> type[_C]: ...
        @overload
        def __call__(self, function: _M, /) -> _M: ...
        @overload
        def __call__(self, function: Callable[_P, _R], /) -> CompiledFunction[_P, _R]: ...

    @overload
    def compile(
        function: staticmethod[_P, _R],
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> staticmethod[_P, _R]: ...
    @overload
    def compile(
        function: classmethod[_S, _P, _R],
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> classmethod[_S, _P, _R]: ...
    @overload
    def compile(
        function: type[_C],
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> type[_C]: ...
    @overload
    def compile(
        function: _M,
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> _M: ...
    @overload
    def compile(
        function: Callable[_P, _R],
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> CompiledFunction[_P, _R]: ...
    @overload
    def compile(
        function: None = None,
        /,
        *,
        fullgraph: bool = False,
        fastmath: bool = False,
        dynamic: Literal[True] | None = None,
        device: _Device = "cpu",
    ) -> _Decorator: ...

jit = compile

def explain(function: Callable[_P, Any], /) -> Callable[_P, Explanation]: ...
def stats(function: Callable[..., Any] | None = None, /) -> dict[str, float]: ...
def wait() -> None: ...
def reset() -> None: ...

class stance:
    name: str
    def __init__(self, name: Literal["default", "eager", "fail_on_recompile"]) -> None: ...
    def __enter__(self) -> stance: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@overload
def disable(function: _G, /) -> _G: ...
@overload
def disable(function: None = None, /) -> stance: ...
def _start_all() -> None: ...
