from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

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
_F = TypeVar("_F", bound=Callable[..., Any])

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
    def __get__(self, instance: object, owner: type | None = ...) -> Any: ...
    def stats(self) -> dict[str, float]: ...
    def graph(self, trace: int | str = -1, *, recorded: bool = False) -> Graph: ...
    def llvm(self, trace: int | str = -1) -> str: ...
    def asm(self, trace: int | str = -1) -> str: ...
    def cuda(self, *args: Any, arch: str = "sm_90", **kwargs: Any) -> list[Kernel]: ...
    def explain(self, *args: _P.args, **kwargs: _P.kwargs) -> Explanation: ...
    def reset(self) -> None: ...

@overload
def compile(
    function: Callable[_P, _R],
    /,
    *,
    fullgraph: bool = False,
    fastmath: bool = False,
    dynamic: Literal[True] | None = None,
    device: Literal["cpu", "cuda"] | None = None,
) -> CompiledFunction[_P, _R]: ...
@overload
def compile(
    function: None = None,
    /,
    *,
    fullgraph: bool = False,
    fastmath: bool = False,
    dynamic: Literal[True] | None = None,
    device: Literal["cpu", "cuda"] | None = None,
) -> Callable[[Callable[_P, _R]], CompiledFunction[_P, _R]]: ...
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
def disable(function: _F, /) -> _F: ...
@overload
def disable(function: None = None, /) -> stance: ...
def _start_all() -> None: ...
