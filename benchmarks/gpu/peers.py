"""The same functions by other libraries, where they are installed and have a GPU. Each module is imported when asked for."""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .kernels import best_of
from .programs import Case, over


class Peer:
    """A library: how arrays come to it, what it calls, and how it is waited for."""

    def __init__(self, name: str, module: str) -> None:
        self.name, self.module_name = name, module

    def open(self) -> str:
        """ "" or why it cannot take part."""
        if importlib.util.find_spec(self.module_name) is None:
            return "not installed"
        try:
            self.module = importlib.import_module(self.module_name)
            self.start()
        except Exception as error:  # whatever a library finds wrong with the machine
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return ""

    def start(self) -> None: ...

    def put(self, array: np.ndarray) -> Any:
        raise NotImplementedError

    def function(self, case: Case) -> Callable:
        raise NotImplementedError

    def wait(self, result: Any) -> None:
        raise NotImplementedError

    def release(self) -> None: ...


class CuPy(Peer):
    def __init__(self, name: str, wrap: Callable | None = None) -> None:
        super().__init__(name, "cupy")
        self.wrap = wrap

    def start(self) -> None:
        self.module.cuda.Device(0).use()
        self.module.zeros(1).sum().get()

    def put(self, array: np.ndarray) -> Any:
        return self.module.asarray(array)

    def function(self, case: Case) -> Callable:
        f = over(case.function, self.module)
        return self.wrap(f) if self.wrap else f

    def wait(self, result: Any) -> None:
        self.module.cuda.get_current_stream().synchronize()

    def release(self) -> None:
        self.module.get_default_memory_pool().free_all_blocks()


class Torch(Peer):
    def __init__(self, name: str, wrap: Callable | None = None) -> None:
        super().__init__(name, "torch")
        self.wrap = wrap

    def start(self) -> None:
        if not self.module.cuda.is_available():
            raise RuntimeError("torch finds no GPU")
        self.module.zeros(1, device="cuda").sum().item()

    def put(self, array: np.ndarray) -> Any:
        return self.module.from_numpy(np.ascontiguousarray(array)).to("cuda")

    def function(self, case: Case) -> Callable:
        f = case.torch or over(case.function, self.module)
        return self.wrap(f) if self.wrap else f

    def wait(self, result: Any) -> None:
        self.module.cuda.synchronize()

    def release(self) -> None:
        self.module.cuda.empty_cache()


class Jax(Peer):
    def open(self) -> str:
        # Else it takes most of the GPU's memory for itself, from everybody in this process.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        return super().open()

    def start(self) -> None:
        self.module.config.update("jax_enable_x64", True)
        if not [d for d in self.module.devices() if d.platform in ("gpu", "cuda")]:
            raise RuntimeError("JAX finds no GPU")

    def put(self, array: np.ndarray) -> Any:
        return self.module.device_put(array)

    def function(self, case: Case) -> Callable:
        return self.module.jit(over(case.function, importlib.import_module("jax.numpy")))

    def wait(self, result: Any) -> None:
        self.module.block_until_ready(result)


def _fused(f: Callable) -> Callable:
    return importlib.import_module("cupy").fuse(f)


def _compiled(f: Callable) -> Callable:
    torch = importlib.import_module("torch")
    torch.compiler.reset()
    return torch.compile(f, dynamic=False)


def _by_stator(f: Callable) -> Callable:
    return importlib.import_module("stator").compile(f)


def every() -> list[Peer]:
    """stator too, on the arrays of the libraries that it serves."""
    return [
        CuPy("cupy"),
        CuPy("cupy.fuse", _fused),
        CuPy("stator on cupy", _by_stator),
        Torch("torch"),
        Torch("torch.compile", _compiled),
        Torch("stator on torch", _by_stator),
        Jax("jax", "jax"),
    ]


def timed(peer: Peer, call: Callable, arguments: list[Any], rounds: int, seconds: float) -> float:
    """Least seconds of one call among many that are waited for together."""

    def run(times: int) -> float:
        begun = time.perf_counter()
        for _ in range(times):
            result = call(*arguments)
        peer.wait(result)
        return time.perf_counter() - begun

    for _ in range(3):
        peer.wait(call(*arguments))
    return best_of(run, rounds, seconds)


def measure(peer: Peer, case: Case, options: Any) -> dict[str, Any]:
    """``seconds`` of one call, or ``error``."""
    try:
        f = peer.function(case)
        arguments = [peer.put(a) for a in case.arguments(case.shape)]
        found = {"seconds": timed(peer, f, arguments, options.rounds, options.seconds)}
        if hasattr(f, "stats") and not f.stats()["replays"]:
            found = {"error": "was not replayed"}
    except Exception as error:  # a peer that refuses a function must not end the run
        text = str(error).splitlines()
        found = {"error": f"{type(error).__name__}: {text[0] if text else ''}"[:200]}
    arguments = f = None
    peer.release()
    return found
