"""Whether two runs of a function cannot be told apart: results, arguments, errors."""

from __future__ import annotations

import warnings

import torch

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def tensors_of(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in tensors_of(item)]
    return []


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype.is_complex:
        return same_bits(torch.view_as_real(a), torch.view_as_real(b))
    if a.is_floating_point():
        # Which of several NaN comes out depends on the lane that computed it.
        nan = torch.isnan(a)
        if not torch.equal(nan, torch.isnan(b)):
            return False
        zero = torch.zeros((), dtype=a.dtype)
        a, b = torch.where(nan, zero, a), torch.where(nan, zero, b)
    bits = _BITS[a.element_size()]
    return torch.equal(a.contiguous().view(bits), b.contiguous().view(bits))


def describe(t: torch.Tensor, known: list[torch.Tensor]) -> tuple:
    """All but the elements: what it is, and how it lies with respect to `known`."""
    storage = t.untyped_storage()
    inference = t.is_inference()
    return (
        type(t),
        t.dtype,
        tuple(t.shape),
        t.stride(),
        t.storage_offset(),
        storage.size()
        if not any(storage.data_ptr() == k.untyped_storage().data_ptr() for k in known)
        else -1,
        storage.resizable(),
        t.requires_grad,
        t.is_leaf,
        inference,
        t._is_view(),
        None if inference else t._version,
        [i for i, k in enumerate(known) if k is t],
        [i for i, k in enumerate(known) if t._base is k],
        [i for i, k in enumerate(known) if storage.data_ptr() == k.untyped_storage().data_ptr()],
    )


def shape_of(value) -> object:
    """The value with its tensors left out."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, (tuple, list)):
        return (type(value), [shape_of(item) for item in value])
    return (type(value), repr(value))


def difference(got, want, got_args, want_args) -> str:
    """Empty when nothing differs."""
    if shape_of(got) != shape_of(want):
        return f"{shape_of(got)} instead of {shape_of(want)}"
    mine, theirs = tensors_of(got_args) + tensors_of(got), tensors_of(want_args) + tensors_of(want)
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        one, other = describe(a, mine), describe(b, theirs)
        if one != other:
            return f"tensor {i}: {one} instead of {other}"
        if not same_bits(a, b):
            return f"tensor {i}: {a} instead of {b}"
    return ""


def run(function, args):
    """The result, and what was raised and warned."""
    result = error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as raised:
            error = (type(raised), str(raised))
    return result, error, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
