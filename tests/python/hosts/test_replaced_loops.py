"""Loops that a module puts into NumPy's ufuncs while a program runs, as ``mkl_umath`` does, are called from then on."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import stator
from numpy._core import _multiarray_umath

REPLACE_LOOP = 30  # PyUFunc_ReplaceLoopBySignature in PyUFunc_API (__ufunc_api.h)
Loop = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)


@Loop
def answers(args, dimensions, strides, _data):  # type: ignore[no-untyped-def]
    for i in range(dimensions[0]):
        ctypes.cast(args[1] + i * strides[1], ctypes.POINTER(ctypes.c_double))[0] = 42.0


def replace(ufunc: np.ufunc, loop: ctypes.c_void_p) -> ctypes.c_void_p:
    """What an extension module does; the loop that was there before."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer_of(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    declared = ctypes.PYFUNCTYPE(
        ctypes.c_int,
        ctypes.py_object,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_int),
        ctypes.POINTER(ctypes.c_void_p),
    )
    old = ctypes.c_void_p()
    doubles = (ctypes.c_int * 2)(*[np.dtype(float).num] * 2)
    assert declared(table[REPLACE_LOOP])(ufunc, loop, doubles, ctypes.byref(old)) == 0
    return old


@contextmanager
def replaced(ufunc: np.ufunc) -> Iterator[None]:
    own = replace(ufunc, ctypes.cast(answers, ctypes.c_void_p))
    try:
        yield
    finally:
        replace(ufunc, own)


def test_code_that_was_compiled_before_leaves_it_to_numpy() -> None:
    def f(x):  # type: ignore[no-untyped-def]
        return np.negative(x) + 1

    g, x = stator.compile(f), np.arange(3.0)
    for _ in range(20):
        assert g(x).tolist() == [1, 0, -1]
    with replaced(np.negative):
        assert g(x).tolist() == f(x).tolist() == [43, 43, 43]
        assert "loops of NumPy's ufuncs were replaced" in str(stator.explain(g)(x))
    before = g.stats()["replays"]
    assert g(x).tolist() == [1, 0, -1]
    assert g.stats()["replays"] == before + 1


def test_a_replacement_in_the_middle_of_a_call() -> None:
    def f(x):  # type: ignore[no-untyped-def]
        before = np.negative(x) * 2
        with replaced(np.negative):
            between = np.negative(x) * 2
        return before.tolist(), between.tolist(), (np.negative(x) * 2).tolist()

    g, x = stator.compile(f), np.arange(3.0)
    for _ in range(5):
        assert g(x) == f(x) == ([0, -2, -4], [84, 84, 84], [0, -2, -4])


def test_what_the_program_chose_holds_again() -> None:
    g, x = stator.compile(lambda x: np.negative(x) + 1), np.arange(3.0)
    g(x)
    with stator.stance("eager"):
        with replaced(np.negative):
            g(x)
        before = g.stats()["replays"]
        g(x)
        assert g.stats()["replays"] == before
    g(x)
    assert g.stats()["replays"] == before + 1
