"""Functions and methods that are not ufuncs."""

from __future__ import annotations

import numpy as np

from . import _driver
from ._array import _array, ndarray

__all__ = [
    "arange", "argsort", "array", "asarray", "ascontiguousarray", "asnumpy", "broadcast_to", "clip", "concatenate", "copy",
    "cumsum", "dot", "empty", "empty_like", "expand_dims", "full", "full_like", "matmul", "ones", "ones_like", "ravel",
    "reshape", "sort", "std", "swapaxes", "transpose", "var", "where", "zeros", "zeros_like",
]  # fmt: skip


def _host(value):
    if isinstance(value, ndarray):
        if value.data.device_id != _driver.thread.device:
            raise ValueError("the array is not on the current device")
        return value._fetch()[1]
    if isinstance(value, tuple | list):
        return type(value)(_host(x) for x in value)
    return value


def _computed(function, *args, **kwargs) -> ndarray:
    """A fresh array of CuPy's: also what NumPy makes a scalar of."""
    with np.errstate(all="ignore"):
        values = np.asarray(function(*_host(args), **{k: _host(v) for k, v in kwargs.items()}))
    return _array(np.ascontiguousarray(values).reshape(values.shape))


# --- making arrays ---


def empty(shape, dtype=float, order="C"):
    return ndarray(shape, dtype, order=order)


def full(shape, fill_value, dtype=None, order="C"):
    made = ndarray(shape, dtype or np.array(_host(fill_value)).dtype, order=order)
    made[...] = fill_value
    return made


def zeros(shape, dtype=float, order="C"):
    return full(shape, 0, dtype, order)


def ones(shape, dtype=float, order="C"):
    return full(shape, 1, dtype, order)


def empty_like(a, dtype=None, order="K"):
    return ndarray(a.shape, dtype or a.dtype)


def full_like(a, fill_value, dtype=None, order="K"):
    return full(a.shape, fill_value, dtype or a.dtype)


def zeros_like(a, dtype=None, order="K"):
    return full_like(a, 0, dtype)


def ones_like(a, dtype=None, order="K"):
    return full_like(a, 1, dtype)


def arange(*args, dtype=None):
    return _array(np.arange(*args, dtype=dtype))


def array(obj, dtype=None, copy=True, order="K"):
    return _array(np.array(_host(obj), dtype=dtype, order="C"))


def asarray(a, dtype=None, order=None):
    same = isinstance(a, ndarray) and (dtype is None or a.dtype == dtype)
    return a if same else array(a, dtype)


def ascontiguousarray(a, dtype=None):
    return a if isinstance(a, ndarray) and a._dense() else array(a, dtype)


def asnumpy(a):
    return a.get() if isinstance(a, ndarray) else np.asarray(a)


def copy(a, order="K"):
    return a.copy(order)


# --- views ---


def transpose(a, axes=None):
    return a.transpose(axes) if axes is not None else a.transpose()


def swapaxes(a, axis1, axis2):
    return a.swapaxes(axis1, axis2)


def reshape(a, shape, order="C"):
    return a.reshape(shape, order=order)


def ravel(a, order="C"):
    return a.ravel(order)


def expand_dims(a, axis):
    return a._shown(lambda x: np.expand_dims(x, axis))


def broadcast_to(a, shape):
    return a._shown(lambda x: np.broadcast_to(x, shape))


# --- reductions: never scalars ---


def _reduction(name):
    def method(self, *args, **kwargs):
        return _computed(getattr(np, name), self, *args, **kwargs)

    method.__name__ = name
    setattr(ndarray, name, method)

    def function(a, *args, **kwargs):
        return getattr(a, name)(*args, **kwargs)

    function.__name__ = name
    globals()[name] = function
    __all__.append(name)


for _name in ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"):
    _reduction(_name)
amax, amin = globals()["max"], globals()["min"]
__all__ += ["amax", "amin"]


def std(a, *args, **kwargs):
    return _computed(np.std, a, *args, **kwargs)


def var(a, *args, **kwargs):
    return _computed(np.var, a, *args, **kwargs)


def cumsum(a, axis=None):
    return _computed(np.cumsum, a, axis)


# --- products, sorts, choices ---


def matmul(a, b):
    return _computed(np.matmul, a, b)


def dot(a, b):
    return _computed(np.dot, a, b)


def sort(a, axis=-1):
    return _computed(np.sort, a, axis)


def argsort(a, axis=-1):
    return _computed(np.argsort, a, axis)


def concatenate(arrays, axis=0):
    return _computed(np.concatenate, arrays, axis)


def clip(a, a_min=None, a_max=None):
    return _computed(np.clip, a, a_min, a_max)


def where(condition, x=None, y=None):
    return _computed(np.where, condition.astype("?", copy=False), x, y)


ndarray.dot, ndarray.std, ndarray.var = dot, std, var
ndarray.clip = clip
ndarray.__matmul__ = matmul
ndarray.argsort = argsort
