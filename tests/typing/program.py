"""How a type checker sees a program that uses stator. Each ignored line is a wrong call, which has to be refused."""

from typing import assert_type

import numpy as np
import stator

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@stator.compile
def scaled(x: Array, k: float = 2.0) -> Array:
    return x * k


@stator.jit(fastmath=True)
def shifted(x: Array, *, by: int) -> Array:
    return x + by


class Model:
    def __init__(self, u: Array) -> None:
        self.u = u

    @stator.compile
    def step(self, k: float) -> Array:
        self.u = self.u * k
        return self.u

    @staticmethod
    @stator.compile
    def inner(x: Array) -> float:
        return float(x.sum())

    @stator.compile
    @staticmethod
    def outer(x: Array) -> float:
        return float(x.sum())

    @classmethod
    @stator.compile
    def of(cls, n: int) -> "Model":
        return cls(np.zeros(n))

    @stator.compile(fastmath=True)
    @classmethod
    def filled(cls, n: int) -> "Model":
        return cls(np.ones(n))


@stator.compile
class Whole:
    def __init__(self, n: int) -> None:
        self.n = n

    def times(self, k: int) -> int:
        return self.n * k


x: Array = np.zeros(3)
model = Model(x)
assert_type(scaled(x, 3.0), Array)
assert_type(shifted(x, by=1), Array)
assert_type(model.step(2.0), Array)
assert_type(Model.step(model, 2.0), Array)
assert_type(Model.inner(x), float)
assert_type(model.outer(x), float)
assert_type(Model.of(3), Model)
assert_type(Model.filled(3), Model)
assert_type(Whole(3).times(2), int)
assert_type(stator.stats(scaled), dict[str, float])

scaled("x")  # type: ignore[arg-type]
scaled(x, 2.0, 3.0)  # type: ignore[call-arg]
shifted(x)  # type: ignore[call-arg]
model.step("k")  # type: ignore[arg-type]
model.step(x=1)  # type: ignore[call-arg]
Model.inner(3)  # type: ignore[arg-type]
model.outer(3)  # type: ignore[arg-type]
Model.of("3")  # type: ignore[arg-type]
Whole(3).times("2")  # type: ignore[arg-type]
stator.compile(scaled, device="tpu")  # type: ignore[call-overload]
stator.compile(fullgraf=True)  # type: ignore[call-overload]
