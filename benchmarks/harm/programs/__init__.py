"""Programs of the kinds that people write, many of which stator cannot help; none may become slower.

Each module has ``make(jit)``, which returns a list of ``(name, function, arguments)``: `arguments(k)` makes the arguments
of call k, the same ones in each process. The function is decorated by the harness; ``jit`` is for programs that decorate
something themselves, and those are marked `whole`, so that nothing else of them is decorated.
"""

from __future__ import annotations

from collections.abc import Callable


def whole(function: Callable) -> Callable:
    """Mark a function that is not to be decorated: it calls what is."""
    function.whole = True  # type: ignore[attr-defined]
    return function
