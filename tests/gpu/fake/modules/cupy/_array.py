"""cupy.ndarray: its parts lie in slots, as they lie in fields of CuPy's class."""

from __future__ import annotations

import math
import operator

import numpy as np

from . import _driver, cuda


class _ndarray_base:
    __slots__ = ("size", "shape", "strides", "dtype", "data", "base", "__weakref__")


class ndarray(_ndarray_base):
    __slots__ = ()

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C") -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(map(operator.index, shape))
        self.dtype = np.dtype(dtype)
        self.size = math.prod(self.shape)
        self.base = None
        if strides is None:
            strides = np.empty(self.shape, np.int8, order=order or "C").strides
            strides = [s * self.dtype.itemsize for s in strides] if self.size else [0] * len(self.shape)
        self.strides = tuple(strides)
        self.data = memptr if memptr is not None else cuda.alloc(self.nbytes)

    # --- attributes ---

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def device(self) -> cuda.Device:
        return cuda.Device(self.data.device_id)

    @property
    def T(self) -> ndarray:
        return self.transpose() if self.ndim > 1 else self

    @property
    def __cuda_array_interface__(self) -> dict:
        stream = _driver.stream(self.data.device_id)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": stream or 1,
            "version": 3,
            "strides": None if self._dense() else self.strides,
            "data": (self.data.ptr if self.size else 0, False),
        }

    def _dense(self) -> bool:
        return self.size == 0 or self.strides == np.empty(self.shape, self.dtype).strides

    # --- elements ---

    def _span(self) -> tuple[int, int]:
        """Offset of the lowest byte from the first element, and how many bytes the elements span."""
        steps = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = sum(s for s in steps if s < 0)
        return low, sum(s for s in steps if s > 0) - low + self.itemsize

    def _fetch(self) -> tuple[np.ndarray, np.ndarray]:
        """The bytes that the elements span, copied to the host, and the elements in them."""
        low, size = self._span() if self.size else (0, 0)
        raw = np.empty(size, np.uint8)
        if size:
            _driver.copy_out(raw.ctypes.data, self.data.ptr + low, size, self.data.device_id)
        return raw, np.ndarray(self.shape, self.dtype, raw, -low, self.strides)

    def get(self, stream=None, order="C", out=None, blocking=True) -> np.ndarray:
        return np.array(self._fetch()[1], order="C")

    def set(self, values) -> None:
        """Overwrites all elements with those of an array of NumPy's."""
        if not self.size:
            return
        raw, view = self._fetch()
        view[...] = values
        low, size = self._span()
        _driver.copy_in(self.data.ptr + low, raw.ctypes.data, size, self.data.device_id)

    def item(self):
        return self.get().item()

    def tolist(self):
        return self.get().tolist()

    def __bool__(self) -> bool:
        return bool(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    __index__ = __int__

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype=None):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
        )

    def __repr__(self) -> str:
        return repr(self.get())

    # --- views ---

    def _view(self, like: np.ndarray, root: np.ndarray) -> ndarray:
        offset = like.ctypes.data - root.ctypes.data
        memory = cuda.MemoryPointer(self.data.mem, self.data.ptr - self.data.mem.ptr + offset)
        view = ndarray(like.shape, self.dtype, memory, like.strides)
        view.base = self.base if self.base is not None else self
        return view

    def _shown(self, show) -> ndarray | None:
        """The view that NumPy makes of an array that lies like this one; None when NumPy copies."""
        low, size = self._span() if self.size else (0, 1)
        root = np.ndarray(self.shape, self.dtype, np.empty(size, np.uint8), -low, self.strides)
        like = show(root)
        shares = isinstance(like, np.ndarray) and (np.may_share_memory(like, root) or not like.size)
        return self._view(like, root) if shares else None

    def transpose(self, *axes) -> ndarray:
        return self._shown(lambda x: x.transpose(*axes))

    def swapaxes(self, axis1, axis2) -> ndarray:
        return self._shown(lambda x: x.swapaxes(axis1, axis2))

    def reshape(self, *shape, order="C") -> ndarray:
        view = self._shown(lambda x: x.reshape(*shape, order=order))
        return view if view is not None else self.copy("C").reshape(*shape, order=order)

    def ravel(self, order="C") -> ndarray:
        view = self._shown(lambda x: x.ravel(order))
        return view if view is not None else self.copy("C").ravel(order)

    def squeeze(self, axis=None) -> ndarray:
        return self._shown(lambda x: x.squeeze(axis)) if 1 in self.shape else self

    def __getitem__(self, key) -> ndarray:
        items = key if isinstance(key, tuple) else (key,)
        if any(isinstance(i, ndarray | np.ndarray | list) for i in items):
            wrapped = tuple(i.get() if isinstance(i, ndarray) else i for i in items)
            return _array(np.array(self._fetch()[1][wrapped], order="C"))
        # An index of integers alone gives a 0-d view, where NumPy gives a scalar.
        return self._shown(lambda x: x[(*items, ...)] if ... not in items else x[items])

    # --- copies ---

    def copy(self, order="C") -> ndarray:
        return _array(np.array(self._fetch()[1], order=order))

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True) -> ndarray:
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        with np.errstate(all="ignore"):
            return _array(self._fetch()[1].astype(dtype, order=order))

    def flatten(self, order="C") -> ndarray:
        return _array(self.get().ravel(order))

    # --- writing ---

    def fill(self, value) -> None:
        self[...] = value

    def __setitem__(self, key, value) -> None:
        items = key if isinstance(key, tuple) else (key,)
        if any(isinstance(i, ndarray | np.ndarray | list) for i in items):
            wrapped = tuple(i.get() if isinstance(i, ndarray) else i for i in items)
            elements = self._fetch()[1].copy()
            with np.errstate(all="ignore"):
                elements[wrapped] = value.get() if isinstance(value, ndarray) else value
            return self.set(elements)
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        part = self[key]
        if part.data.device_id != _driver.thread.device:
            raise ValueError("the array is not on the current device")
        with np.errstate(all="ignore"):
            part.set(value._fetch()[1] if isinstance(value, ndarray) else value)

    __hash__ = None


def _array(values) -> ndarray:
    """A fresh array on the current device with the elements of one of NumPy's, laid out like it."""
    values = np.asarray(values)
    dense = np.empty_like(values)
    made = ndarray(values.shape, values.dtype, None, dense.strides if dense.size else None)
    made.set(values)
    return made
