"""Calls of NumPy by plain code, with stator answering and without: everything that a program can see of them is compared.

``python -m host_calls.sweep PART [EVERY]`` in tests/python: one of `PARTS`, of which every so many calls are made (all of them take
minutes). Each is made so often that it is recorded and served.
STATOR_TUNE=host_call_backoff=0 keeps faults of some calls from leaving others to NumPy.

Prints each difference, how many calls agree, and how many stator has answered; ends with 1 where any differ.
"""

from __future__ import annotations

import itertools
import operator
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import stator

ROUNDS = 20  # calls until a case is served: timed ones, the recording, the comparison

Call = tuple[str, Callable, tuple]


def arrays() -> dict[str, np.ndarray]:
    """Arrays of the kinds that are served, and of those that are not."""
    rng = np.random.default_rng(7)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 1e308, -1.5])
    two_nans = np.array([np.nan, -np.nan, 1.0])
    two_nans[1] = np.copysign(two_nans[1], -1)
    readonly = rng.random(3)
    readonly.flags.writeable = False
    return {
        "v3": rng.random(3),
        "w3": rng.random(3) - 0.5,
        "v4": rng.random(4),
        "v1": rng.random(1),
        "v8": np.ascontiguousarray(special),
        "nans": two_nans,
        "v256": rng.random(256) - 0.5,
        "v257": rng.random(257) - 0.5,
        "v3000": rng.random(3000),
        "empty": np.zeros(0),
        "zero_d": np.array(2.5),
        "m44": rng.random((4, 4)),
        "n44": rng.random((4, 4)) - 0.5,
        "m23": rng.random((2, 3)),
        "m13": rng.random((1, 3)),
        "m31": rng.random((3, 1)),
        "f44": np.asfortranarray(rng.random((4, 4))),
        "singular": np.ones((4, 4)),
        "c234": rng.random((2, 3, 4)),
        "strided": rng.random(6)[::2],
        "reversed": rng.random(3)[::-1],
        "readonly": readonly,
        "f32": rng.random(3).astype(np.float32),
        "i64": np.array([1, -2, 3]),
        "i64b": np.array([2, 0, 3]),
        "b": np.array([True, False, True]),
        "c128": rng.random(3) + 1j * rng.random(3),
        "big_endian": rng.random(3).astype(">f8"),
        **_layouts(rng),
        **_dtypes(rng),
    }


def _layouts(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Matrices with gaps, with axes in other orders, and of extents that have to be repeated."""
    m, c = rng.random((4, 4)) - 0.5, rng.random((4, 3, 2))
    return {
        "m11": rng.random((1, 1)),
        "m41": rng.random((4, 1)),
        "m14": rng.random((1, 4)),
        "corner": m[:3, :3],
        "column": m[:, 1],
        "column_m41": m[:, 1:2],
        "row_m14": m[1:2],
        "transposed": m.T,
        "corner_transposed": m[:3, :3].T,
        "upside_down": m[::-1],
        "mirrored": m[:, ::-1],
        "repeated": np.broadcast_to(m[0], (4, 4)),
        "turned": c.transpose(2, 0, 1),
        "c432": c,
        "c_gaps": c[::2, :, :1],
        "i44": np.arange(16).reshape(4, 4),
        "i_corner": np.arange(16).reshape(4, 4)[:3, 1:],
        "b44": rng.random((4, 4)) < 0.5,
        "z44": rng.random((4, 4)) + 1j,
        "v2048": rng.random(2048) - 0.5,
        "v2049": rng.random(2049) - 0.5,
        "new_last": m[0][:, None],
        "new_first": m[:, 1][None],
        "new_within": c[:, None],
        "new_ints": np.arange(4)[:, None],
        "short_f": np.ones((2, 1, 3)).transpose(2, 1, 0),
        "short_ints_f": np.ones((2, 1, 3), np.int32).transpose(2, 1, 0),
        "signalling": np.array([0x7F800001, 1, 0xFF800002], np.uint32).view(np.float32),
        "signalling_half": np.array([0x7C01, 1, 0xFC01], np.uint16).view(np.float16),
        "quiet": np.array([0x7FF8000000000001, 1, 0xFFF8000000000002], np.uint64).view(np.float64),
        "five_axes": rng.random((1, 2, 1, 2, 1)),
    }


def _dtypes(rng: np.random.Generator) -> dict[str, np.ndarray]:
    numbers = rng.integers(-5, 6, 4)
    named = {str(np.dtype(t)): numbers.astype(t) for t in "bBhHiIlLqQefdgFDG?"}
    named |= {f"of_{np.dtype(t)}": np.array(3, t) for t in "bBiILefFD?"}
    return named | {
        "dates": numbers.astype("M8[s]"),
        "spans": numbers.astype("m8[s]"),
        "objects": numbers.astype("O"),
    }


NUMBERS = (
    2,
    0,
    -1,
    2**53 + 1,
    10**30,
    0.5,
    0.0,
    -0.0,
    float("nan"),
    float("inf"),
    True,
    np.float64(1.5),
    np.float64("nan"),
)
NUMBERS += (np.float32(0.5), np.int64(3), np.bool_(True), 1j)
NUMBERS += (
    300,
    -129,
    2**31,
    2**63,
    -(2**63),
    1e39,
    1e-46,
    70000.0,
    complex(1e39, 0),
    np.uint8(200),
    np.float16(1.5),
)
NUMBERS += (np.complex64(1 + 2j), np.longdouble(1), np.int8(-3), False, np.datetime64(3, "s"))


class Plain(np.ndarray):
    """A class of a program's own: its operations are not stator's."""


def operators(a: dict[str, np.ndarray]) -> Iterator[Call]:
    names = "matmul add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift"
    binary = [getattr(operator, n) for n in f"{names} lt le eq ne gt ge".split()]
    binary += [getattr(operator, "i" + n.rstrip("_")) for n in names.split()]
    binary.append(divmod)
    some = [*a.values(), *NUMBERS, a["v3"].view(Plain), [1.0, 2.0, 3.0], "text", None]
    for f, (x, y) in itertools.product(binary, itertools.product(some, some)):
        # In place, NumPy stores what its buffers held before it raises for a negative power.
        if f is operator.ipow and isinstance(x, np.ndarray) and x.dtype.kind in "iu":
            continue
        grows = f.__name__.strip("i_") in ("pow", "lshift") and (x is a["objects"] or y is a["objects"])
        if (
            isinstance(x, np.ndarray) or isinstance(y, np.ndarray)
        ) and not grows:  # to numbers as long as memory
            yield f.__name__, f, (x, y)
    for x in a.values():
        for f in (operator.neg, operator.pos, operator.abs, operator.invert):
            yield f.__name__, f, (x,)
        yield "x += x", operator.iadd, (x, x)
        if x.ndim == 1 and x.size > 2 and x.dtype == float:
            base = np.concatenate([x, x])
            yield "overlapping +=", lambda b: operator.iadd(b[1:4], b[0:3]), (base,)


def ufuncs(a: dict[str, np.ndarray]) -> Iterator[Call]:
    some = [*a.values(), *NUMBERS]
    for name in sorted(dir(np)):
        f = getattr(np, name)
        if not isinstance(f, np.ufunc) or name in ("isnat",):
            continue
        if f.nin == 1:
            for x in some:
                yield name, f, (x,)
        elif f.nin == 2 and f.signature is None:
            few = [a[k] for k in ("v3", "w3", "v8", "nans", "m44", "f44", "i64", "zero_d")] + list(NUMBERS)
            few += [
                a[k]
                for k in ("column", "corner", "transposed", "m41", "turned", "i44", "b44", "z44", "float32")
            ]
            for x, y in itertools.product(few, few):
                yield name, f, (x, y)
        if f.signature is None and f.nout == 1:
            yield from _into(name, f, a)


def _into(name: str, f: np.ufunc, a: dict[str, np.ndarray]) -> Iterator[Call]:
    """Calls that are told where the result goes: beside their operands, over them, and where it does not fit."""
    for x in (
        "v3",
        "v8",
        "m44",
        "corner",
        "transposed",
        "i64",
        "b",
        "f32",
        "c128",
        "column",
        "zero_d",
        "m11",
    ):
        if f is np.power and a[x].dtype.kind in "iu":
            continue  # where it raises it has stored what its buffers held before
        operands = (a[x],) * f.nin
        for dtype in (a[x].dtype, np.dtype(float), np.dtype(bool)):
            out = np.zeros_like(a[x], dtype)
            yield f"{name} into", f, (*operands, out)
            yield f"{name} into", f, (*operands, out.T)
            yield f"{name} into wider", f, (*operands, np.zeros((2, *out.shape), dtype))
        yield f"{name} over", (lambda f, n: lambda x: f(*(x,) * n, x))(f, f.nin), (a[x],)
        yield f"{name} across", (lambda f, n: lambda x: f(*(x[:2],) * n, x[1:3]))(f, f.nin), (a["v4"],)
        yield f"{name} None", f, (*operands, None)


LISTS = (
    [1, 2, 3],
    (2, 3, 4),
    [1.5, 2, -0.0],
    [True, False],
    [2**62, 2**62],
    [2**53 + 1, 1],
    [2**64, 1],
    [1.0, None],
    [[1, 2], [3, 4]],
    [(1.0, 2.0), [3, 4]],
    [[1, 2], [3]],
    [np.float64(2.0), 1],
    [np.int64(2), 1],
    [float("nan"), 1.0],
    [1e308, 1e308],
    [1j, 2.0],
    [],
    [[]],
    ["a", "b"],
    list(range(100)),
)


def _lists(a: dict[str, np.ndarray]) -> Iterator[Call]:
    """What is done to lists, and to numbers of which NumPy makes arrays."""
    lists = [
        *LISTS,
        [a["v3"], a["w3"]],
        (a["m44"], a["n44"]),
        [a["v3"], a["v4"]],
        [a["v3"], 1.0],
        [a["i64"], a["i64b"]],
    ]
    lists += [[a["v257"]] * 3, [a["strided"], a["v3"]], [a["v3"].view(Plain), a["v3"]], [a["zero_d"]]]
    for (
        name
    ) in "sum prod mean std var max min amax amin all any median argmax argmin cumsum array asarray".split():
        f = getattr(np, name)
        for x in lists:
            yield f"{name} of a list", lambda x, f=f: f(x), (x,)
            if name not in ("array", "asarray"):
                yield f"{name} of a list", lambda x, f=f: f(x, axis=0), (x,)
                yield f"{name} of a list", lambda x, f=f: f(x, -1), (x,)
    nothing = getattr(np, "_NoValue")  # noqa: B009 - what NumPy's own functions pass on
    for name, x in itertools.product(
        ("sum", "prod", "max", "min", "mean", "std", "var", "any", "all"), ("v3", "m23", "i64", "v8")
    ):
        for names in (
            {"axis": None, "out": None, "keepdims": nothing},
            {"axis": 0, "keepdims": nothing, "where": nothing},
            {
                "axis": -1,
                "dtype": None,
                "out": None,
                "keepdims": nothing,
                "initial": nothing,
                "where": nothing,
            },
            {"initial": None},
            {"initial": 0.5, "out": None},
            {"keepdims": None},
            {"where": None},
        ):
            yield f"{name} {names}", _with(names, getattr(np, name)), (a[x],)
    for x in NUMBERS:
        for f in (np.all, np.any):
            yield f.__name__, f, (x,)
        for low, high in itertools.product(
            (0.0, -0.0, 1, np.float64(-2.0), float("nan"), None, True, 2j), repeat=2
        ):
            yield "clip", np.clip, (x, low, high)
    ends = (
        0,
        1,
        0.5,
        -3,
        1e308,
        -1e308,
        1e-320,
        float("inf"),
        np.float64(2.0),
        np.float32(0.1),
        True,
        2**60,
        1j,
    )
    for start, stop, n in itertools.product(
        ends, ends, (5, 2, 1, 0, -1, 100, 2048, 3000, True, np.int64(3), 2.0)
    ):
        yield "linspace", np.linspace, (start, stop, n)
    for start, stop in itertools.product(ends, ends):
        yield "linspace", np.linspace, (start, stop)
    for x, y in itertools.product(
        ("v3", "w3", "v8", "m23", "m13", "i64", "f32", "zero_d", "empty", "strided"), repeat=2
    ):
        yield "isclose", np.isclose, (a[x], a[y])
        yield "isclose", _with({"atol": 0.2}, np.isclose), (a[x], a[y])
        yield "isclose", _with({"equal_nan": True}, np.isclose), (a[x], a[y])
    for x in NUMBERS:
        yield "isclose", np.isclose, (a["v3"], x)
        yield "isclose", np.isclose, (x, 1.5)


def _with(names: dict[str, Any], f: Callable) -> Callable:
    return lambda *args: f(*args, **names)


def functions(a: dict[str, np.ndarray]) -> Iterator[Call]:
    one = [
        "sum",
        "prod",
        "mean",
        "std",
        "var",
        "min",
        "max",
        "any",
        "all",
        "argmin",
        "argmax",
        "cumsum",
        "cumprod",
        "median",
        "ptp",
    ]
    one += [
        "sort",
        "argsort",
        "diff",
        "round",
        "nan_to_num",
        "ravel",
        "transpose",
        "squeeze",
        "flip",
        "diag",
        "trace",
        "atleast_1d",
    ]
    one += [
        "atleast_2d",
        "expand_dims",
        "count_nonzero",
        "nonzero",
        "unique",
        "copy",
        "shape",
        "ndim",
        "size",
        "real",
        "imag",
    ]
    one += [
        "nansum",
        "nanmean",
        "nanmax",
        "zeros_like",
        "ones_like",
        "linspace",
        "repeat",
        "tile",
        "roll",
        "average",
        "angle",
    ]
    for name in one:
        f = getattr(np, name)
        for x in a.values():
            yield name, f, (x,)
            yield name, f, (list(x) if x.ndim == 1 and x.size < 9 else x,)
            for names in (
                {"axis": 0},
                {"axis": -1},
                {"axis": 7},
                {"keepdims": True},
                {"dtype": np.float32},
                {"axis": None},
            ):
                yield f"{name} {names}", _with(names, f), (x,)
            yield f"{name} twice", f, (x, 1)
    two = [
        "dot",
        "outer",
        "inner",
        "cross",
        "allclose",
        "isclose",
        "array_equal",
        "where",
        "concatenate",
        "vdot",
        "kron",
        "interp",
    ]
    two += [
        "maximum",
        "searchsorted",
        "convolve",
        "clip",
        "append",
        "full_like",
        "broadcast_to",
        "polyval",
        "tensordot",
        "isin",
    ]
    for name in two:
        f = getattr(np, name)
        for x, y in itertools.product(
            ["v3", "w3", "m44", "f44", "v8", "nans", "i64", "f32", "m13", "zero_d", "strided"], repeat=2
        ):
            yield name, f, (a[x], a[y])
        for number in NUMBERS:
            yield name, f, (a["v3"], number)
            yield name, f, (number, a["v3"])
        yield name, f, ([1.0, 2.0, 3.0], a["v3"])
        yield name, f, ((1, 2, 3), a["i64"])
    for f in (np.hstack, np.vstack, np.stack, np.concatenate, np.column_stack, np.dstack):
        for parts in (
            ["v3", "w3"],
            ["m44", "n44"],
            ["v3", "i64"],
            ["v3", "v4"],
            ["m23", "m13"],
            ["f32", "v3", "i64"],
            ["v3"],
            [],
        ):
            yield f.__name__, f, ([a[p] for p in parts],)
            yield f.__name__, f, (tuple(a[p] for p in parts),)
    yield "clip", np.clip, (a["v3"], 0.2, 0.8)
    yield "clip", np.clip, (a["v8"], 0.2, 0.8)
    yield "clip", np.clip, (a["i64"], 0.2, 0.8)
    yield "where", np.where, (a["b"], a["v3"], a["w3"])
    yield "where", np.where, (a["b"],)
    yield "full", np.full, ((2, 3), 1.5)
    for number in NUMBERS:
        yield "array", np.array, ([number, 1.0, 2],)
        yield "array", np.array, ([[number, 1.0], [2.0, 3.0]],)
    for f in (np.array, np.asarray):
        for rows in (
            [1.0, 2, 3],
            (0.5, np.float64(-0.0)),
            [[1.0, 0.0], (0.5, 2)],
            [1, 2, 3],
            [True, 1.0],
            [1.0, 2**53 + 1],
            [1.0, 10**30],
        ):
            for names in (
                {},
                {"dtype": float},
                {"dtype": np.float64},
                {"dtype": int},
                {"dtype": None},
                {"copy": True},
            ):
                yield f"{f.__name__} {names}", _with(names, f), (rows,)
            yield f.__name__, f, (rows, float)
        for rows in (
            [],
            [[]],
            [[1.0], []],
            [1.0, [2.0]],
            [[1.0, 2.0], [3.0]],
            [1.0, None],
            ["1.0"],
            [float("nan"), 1.0],
        ):
            yield f.__name__, f, (rows,)
        yield f.__name__, f, ([0.5] * 64,)
        yield f.__name__, f, ([0.5] * 65,)
        yield f.__name__, f, ([[0.5] * 9] * 7,)
        yield f.__name__, f, ([[[0.5]]],)
    yield "array", np.array, ([a["v3"], a["w3"]],)
    yield "array", np.array, (a["v3"],)
    yield "array", np.array, ([[1.0], [2.0, 3.0]],)
    out = np.zeros(3)
    yield "out", lambda x: (np.sum(x, axis=0, out=out), out.copy())[1], (np.stack([a["v3"], a["w3"]]),)
    yield (
        "positional out",
        lambda x: (np.sum(x, 0, None, out), out.copy())[1],
        (np.stack([a["v3"], a["w3"]]),),
    )


def methods(a: dict[str, np.ndarray]) -> Iterator[Call]:
    for name in (
        "sum",
        "prod",
        "mean",
        "std",
        "var",
        "min",
        "max",
        "any",
        "all",
        "argmin",
        "argmax",
        "cumsum",
        "cumprod",
        "round",
        "trace",
        "ptp",
    ):
        for x in [*a.values(), a["v3"].view(Plain)]:
            if hasattr(x, name):
                yield f".{name}", operator.methodcaller(name), (x,)
                yield f".{name} 0", operator.methodcaller(name, 0), (x,)
                for names in ({"axis": -1}, {"axis": 9}, {"keepdims": True}, {"dtype": float}):
                    yield f".{name} {names}", operator.methodcaller(name, **names), (x,)
    for x, y in itertools.product(["v3", "w3", "m44", "f44", "i64", "strided", "v8"], repeat=2):
        yield ".dot", lambda p, q: p.dot(q), (a[x], a[y])
        yield ".clip", lambda p, q: p.clip(q), (a[x], a[y])
    yield ".clip", lambda p: p.clip(0.2, 0.8), (a["v3"],)
    yield ".take", lambda p: p.take([0, 2]), (a["v3"],)
    yield ".repeat", lambda p: p.repeat(2), (a["v3"],)
    yield ".searchsorted", lambda p: p.searchsorted(0.5), (np.sort(a["v3"]),)


def linalg(a: dict[str, np.ndarray]) -> Iterator[Call]:
    for x in a.values():
        yield "norm", np.linalg.norm, (x,)
    rng = np.random.default_rng(3)
    matrices = [a[k] for k in ("m44", "n44", "f44", "singular", "m23", "c234", "v3")]
    matrices += [np.eye(n) + rng.random((n, n)) for n in (1, 2, 3, 5, 15, 16, 17, 40)]
    matrices += [
        np.array([[np.nan, 1.0], [2.0, 3.0]]),
        np.array([[np.inf, 1.0], [2.0, 3.0]]),
        np.zeros((2, 2)),
    ]
    matrices += [
        np.array([[2, 1], [1, 3]]),
        np.eye(3, dtype=np.float32),
        np.eye(2) * 1e-200,
        np.eye(2) * 1e200,
        np.eye(3)[::-1],
    ]
    matrices += [rng.random((6, 6))[::2, ::2], np.zeros((0, 0)), [[2.0, 1.0], [1.0, 3.0]]]
    layouts = (
        "corner",
        "transposed",
        "corner_transposed",
        "upside_down",
        "mirrored",
        "repeated",
        "m11",
        "m14",
        "m41",
    )
    matrices += [a[k] for k in (*layouts, "i_corner", "b44", "z44", "objects")]
    products = [x for x in a.values() if x.ndim in (1, 2) and x.size < 300]
    for x, y in itertools.product(products, repeat=2):
        yield "dot", np.dot, (x, y)
    for m in matrices:
        for name in (
            "det",
            "inv",
            "norm",
            "eigvalsh",
            "cholesky",
            "matrix_rank",
            "cond",
            "pinv",
            "eigh",
            "qr",
            "slogdet",
        ):
            yield name, getattr(np.linalg, name), (m,)
        n = len(m)
        yield "norm", _with({"ord": 2}, np.linalg.norm), (m,)
        yield "norm", _with({"axis": 0}, np.linalg.norm), (m,)
        for right in (
            rng.random(n),
            rng.random((n, 2)),
            rng.random((n, n)),
            np.asfortranarray(rng.random((n, 3))),
            rng.random(n + 1),
            rng.random((n, 3))[:, 1],
            rng.random((n, 4))[:, ::2],
            rng.random(n)[::-1],
            2.0,
        ):
            yield "solve", np.linalg.solve, (m, right)
            yield "lstsq", np.linalg.lstsq, (m, right)


PARTS = {
    "operators": operators,
    "ufuncs": ufuncs,
    "functions": functions,
    "methods": methods,
    "linalg": linalg,
    "lists": _lists,
}


def _bits(x: np.ndarray | np.generic) -> Any:
    """The elements; NumPy's long doubles without the bytes that belong to no number."""
    if x.dtype.char not in "gG":
        return x.tobytes()
    parts = np.asarray(x).reshape(-1).view(np.longdouble)
    return [bytes(memoryview(part.tobytes())[:10]) for part in parts]


def described(x: Any) -> Any:
    """What of a result a program can see."""
    if isinstance(x, np.ndarray):
        flags = x.flags
        if x.dtype.hasobject:
            return type(x), x.dtype.str, x.shape, x.strides, described(x.tolist())
        return (
            type(x),
            x.dtype.str,
            x.shape,
            x.strides,
            _bits(x),
            flags.writeable,
            flags.owndata,
            x.base is None,
        )
    if isinstance(x, np.generic):
        return type(x), x.dtype.str, _bits(x)
    if isinstance(x, (tuple, list)):
        return type(x), [described(y) for y in x]
    return type(x), repr(x)


def fresh(x: np.ndarray) -> np.ndarray:
    """An array that is laid out in the same way, in memory of its own."""
    if x.base is None:
        return x.copy("K")
    base = x.base.copy("K")
    offset = x.__array_interface__["data"][0] - x.base.__array_interface__["data"][0]
    return np.ndarray(x.shape, x.dtype, base, offset, x.strides).view(type(x))


def outcome(f: Callable, args: tuple, state: str) -> Any:
    """What comes of a call, with what it warns of and where, and what became of its arguments."""
    args = tuple(fresh(x) if isinstance(x, np.ndarray) and x.flags.writeable else x for x in args)
    with warnings.catch_warnings(record=True) as seen, np.errstate(all=state):
        warnings.simplefilter("always")
        try:
            result = f(*args)
            what = described(result), [result is x for x in args]
        except Exception as e:
            frames = [(t.filename, t.lineno, t.name) for t in traceback.extract_tb(e.__traceback__)][1:]
            what = type(e), str(e), frames
    return (
        what,
        [(w.category, str(w.message), w.filename, w.lineno) for w in seen],
        [described(x) for x in args],
    )


def main(part: str, every: int = 1) -> int:
    stator.compile(lambda x: x)  # from here on stator answers
    same = differ = 0
    for state in ("warn", "raise", "ignore"):
        for name, f, args in itertools.islice(PARTS[part](arrays()), 0, None, every):
            with stator.options(host_calls=False):
                expected = outcome(f, args, state)
            rounds = ROUNDS if part in ("functions", "methods") and state == "warn" else 2
            for _ in range(rounds):
                if (found := outcome(f, args, state)) != expected:
                    differ += 1
                    print(
                        f"{name}{args!r}, faults {state}:\n  expected {expected}\n  found    {found}"[:1500]
                    )
                    break
            else:
                same += 1
    print(f"{part}: {same} agree, {differ} differ, {stator.stats()['host_calls']} were answered by traces")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
