"""Whether two calls gave, and left behind, the same."""

import dataclasses
import types

import numpy as np

EMPTY = object()


def flat(value):
    """What can be seen of a value: types, bits, items in their order, attributes."""
    if isinstance(value, np.ndarray):
        return (type(value), value.dtype, value.shape, value.strides, value.tobytes())
    if isinstance(value, np.generic | float | complex):
        return (type(value), np.asarray(value).tobytes())
    if isinstance(value, list | tuple):
        return (type(value), [flat(v) for v in value])
    if isinstance(value, dict):
        return (type(value), [(k, flat(v)) for k, v in value.items()])
    if isinstance(value, str | bytes | int | set | type | types.FunctionType) or value is None:
        return (type(value), value)
    if dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        return (type(value), flat(vars(value)))
    slots = getattr(type(value), "__slots__", ())
    return (type(value), [(s, flat(getattr(value, s, EMPTY))) for s in slots])
