"""CuPy as far as stator meets it, on the fake driver, for tests only.

Arrays keep their elements in the fake device's memory, which checks who uses it on which stream; operations copy them
out, compute with NumPy in the loop that CuPy would choose (`_loops` has CuPy's lists of types), and copy back, all on
the current stream. Where CuPy's rules are not NumPy's, CuPy's are followed: what has no axes is an array, nothing
warns, ufuncs give C order, and the divisions of integers by zero give zero.
"""

from __future__ import annotations

import numpy as _np
from numpy import (  # noqa: F401
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    newaxis,
    uint8,
    uint16,
    uint32,
    uint64,
)

from . import cuda, linalg
from ._array import ndarray
from ._functions import *  # noqa: F403
from ._ufunc import ufunc, ufuncs

get_default_memory_pool = cuda.get_default_memory_pool
__version__ = "14.2.0"
pi = _np.pi
globals().update(ufuncs)


def show_config():
    """As CuPy's; its presence says that the import is complete."""
    print("the fake CuPy of stator's tests")


__all__ = ["cuda", "linalg", "ndarray", "ufunc"]
