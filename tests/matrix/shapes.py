"""The cases of inputs, constants, allocations, views, reshapes and stores."""

from __future__ import annotations

from collections.abc import Iterator

from .case import MANY, PLAIN, Case, Round, case
from .data import DATES, DTYPES, LAYOUTS, LONG

ROUNDS = (*PLAIN, Round(31, True), Round(1), Round(0), Round(5))
SOME = ("f8", "i4", "?", "c16", "f2", "g", "M8[s]")


def _over(op: str, group: str, texts: tuple[str, ...], shape: str, **others: str) -> Iterator[Case]:
    """Each text with an array `x` of every dtype, and of some in every layout."""
    for text in texts:
        used = {name: value for name, value in others.items() if name in text}
        for t in (*DTYPES, *LONG, *DATES):
            if t in LONG and ".view(" in text:
                continue  # six of its sixteen bytes are anything
            yield case(op, group, text, ROUNDS, x=f"a({t!r}, {shape})", **used)
        for t in ("f8", "i4", "c16"):
            changing = f"a({t!r}, {shape}, layouts[(k > 2) * k % 14])"
            yield case(op, f"{group}, changing", text, MANY, x=changing, **used)
        yield case(
            op, f"{group}, changing", text, MANY, x=f"a(dtypes[k % 14] if k > 2 else 'f8', {shape})", **used
        )
        for layout in LAYOUTS[1:]:
            for t in ("f8", "i4", "c16"):
                yield case(op, f"{group}, layout", text, ROUNDS, x=f"a({t!r}, {shape}, {layout!r})", **used)


def input_cases(op: str) -> Iterator[Case]:
    """Arguments of every kind, given back and used."""
    yield from _over(
        op,
        "given back",
        (
            "x",
            "(x, x)",
            "[x, None, 1]",
            "x.dtype, x.shape, x.ndim, x.size, x.strides, x.nbytes, x.itemsize",
            "len(x)",
        ),
        "(n, 3)",
    )
    for s in ("n", "n / 2", "True", "1j * n", "'text'", "None", "(n, 2)", "np.float32(n)", "np.int8(n % 5)", "np.longdouble(n)", "np.bool_(n > 5)", "2**70", "[1, 2]",
              "np.complex64(n)", "range(n)", "slice(1, n)", "{'a': n}", "np.datetime64(n, 's')", "np.dtype('f4')", "float('nan')", "-0.0"):  # fmt: skip
        yield case(op, "number", "(s, s)", ROUNDS, s=s)
        yield case(op, "number", "s + 1", ROUNDS, s=s)
        yield case(op, "number", "s * x", ROUNDS, s=s, x="a('f8', n)")
        yield case(op, "number", "x[0] + s if len(x) else s", ROUNDS, s=s, x="a('f4', n)")


def const_cases(op: str) -> Iterator[Case]:
    """Constants of every type beside arrays of every dtype."""
    numbers = ("2", "0.1", "1e-320", "-0.0", "1j", "True", "2**63", "-2**63", "2**64", "float('inf')", "np.nan", "np.float32(0.1)", "np.pi", "np.int8(-3)",
               "np.uint64(2**63)", "np.longdouble(0.1)", "np.complex64(1j)", "np.bool_(False)", "np.inf", "np.float16(0.1)", "-5e-324")  # fmt: skip
    for t in (*DTYPES, *LONG):
        for number in numbers:
            for text in (
                f"x + {number}",
                f"{number} * x",
                f"np.where(x == x, x, {number})",
                f"np.full(x.shape, {number})",
                f"np.full_like(x, {number})",
            ):
                if "full(" in text and t != "f8":
                    continue
                yield case(op, "constant", text, ROUNDS, x=f"a({t!r}, n)")


def sym_cases(op: str) -> Iterator[Case]:
    """Python ints and extents as numbers."""
    for text in ("x * n", "x + len(x)", "x * x.shape[0] + x.size", "x / len(x)", "x // (len(x) + 1)", "np.full(n, n)", "np.full(3, n, dtype='f4')", "x ** n", "x + n ** 2 - n // 3",
                 "np.float64(n) * x", "x + np.int32(n)", "n + x.sum()", "x[: n // 2] * n", "np.zeros(n) + n", "np.array(n)", "np.asarray(n) + x", "x << n if x.dtype.kind == 'i' else x"):  # fmt: skip
        for t in ("f8", "f4", "i8", "i1", "u1", "?", "c16", "f2"):
            for value in (
                ("n", "n * 1000", "2**31 + n", "2**62 + n", "-n")
                if "(n" not in text and "**" not in text and "<<" not in text
                else ("n",)
            ):
                if "n" in text.replace("np", "").replace("len", "").replace("kind", ""):
                    yield case(op, "int", text, ROUNDS, x=f"a({t!r}, n)", n=value)
                else:
                    yield case(op, "extent", text, ROUNDS, x=f"a({t!r}, n)")


def alloc_cases(op: str) -> Iterator[Case]:
    """Fresh arrays."""
    dtypes = (
        "None",
        "'f8'",
        "np.float32",
        "int",
        "'i1'",
        "bool",
        "complex",
        "'F'",
        "'f2'",
        "'>f8'",
        "np.longdouble",
        "'M8[s]'",
        "object",
        "'S3'",
        "'odd'",
    )
    if op == "arange":
        for text in ("np.arange(n)", "np.arange(2, n)", "np.arange(n, 2, -1)", "np.arange(0, n, 2)", "np.arange(n, 2)", "np.arange(0.0, n, 0.3)", "np.arange(n / 3)", "np.arange(0, 1, n / 50)",
                     "np.arange(-n, n)", "np.arange(stop=n)", "np.arange(0, 5, 0)", "np.arange(1j)", "np.arange('a')", "np.arange()", "np.arange(2**62, 2**62 + n)", "np.arange(np.int8(n % 100))",
                     "np.arange(np.float32(n))", "np.arange(n, step=3)", "np.arange(start=1, stop=n)", "np.arange(True)", "np.arange(None)", "np.arange(float('nan'))"):  # fmt: skip
            yield case(op, "arange", text, (*PLAIN, Round(1), Round(0), Round(70)), n="n")
            for dtype in dtypes:
                ending = f", dtype={dtype})" if text[-2] != "(" else f"dtype={dtype})"
                yield case(op, "arange, dtype", text[:-1] + ending, (*PLAIN, Round(1), Round(0)), n="n")
        return
    names = ("zeros", "ones", "full") if op == "full" else ("empty",)
    for name in names:
        value = ", 7" if name == "full" else ""
        ending = ".fill(3)" if name == "empty" else ""
        for shape in (
            "n",
            "(n, 3)",
            "(3, n)",
            "()",
            "(2, n, 0)",
            "[n, 2]",
            "(n,) * 4",
            "(1,) * 9",
            "-1",
            "1.5",
            "None",
            "x.shape",
            "len(x)",
            "(np.int64(n), 2)",
            "np.array([2, n])",
            "'a'",
        ):
            for more in ("", *(f", dtype={d}" for d in dtypes), ", order='F'", ", order='odd'"):
                if more and shape not in ("n", "(n, 3)"):
                    continue
                text = (
                    f"r = np.{name}({shape}{value}{more})\n" + (f"r{ending}\n" if ending else "") + "return r"
                )
                used = (
                    {"n": "n"}
                    if "n"
                    in shape.replace("np", "").replace("int", "").replace("len", "").replace("None", "")
                    else {"x": "a('f8', (n, 3))"}
                )
                yield case(op, "alloc", text, (*PLAIN, Round(1), Round(0), Round(6)), **used)
        for t in (*DTYPES, *LONG):
            for layout in LAYOUTS:
                for more in (
                    "",
                    ", dtype='f4'",
                    ", order='C'",
                    ", order='F'",
                    ", shape=(2, 3)",
                    ", subok=False",
                ):
                    if (more and t not in ("f8", "i4")) or (layout != "C" and t not in ("f8", "i4", "c16")):
                        continue
                    text = (
                        f"r = np.{name}_like(x{value}{more})\n"
                        + (f"r{ending}\n" if ending else "")
                        + "return r"
                    )
                    yield case(
                        op, "like", text, (*PLAIN, Round(1), Round(0)), x=f"a({t!r}, (n, 3), {layout!r})"
                    )
        if name == "full":
            for fill in (
                "2.5",
                "True",
                "1j",
                "300",
                "-1",
                "np.float32(2)",
                "x",
                "[1, 2, 3]",
                "x[0]",
                "None",
                "'a'",
                "2**70",
            ):
                for dtype in ("", ", dtype='f4'", ", dtype='u1'", ", dtype=int"):
                    used = {"x": "a('f8', 3)"} if "x" in fill else {}
                    yield case(
                        op, "fill", f"np.full((n, 3), {fill}{dtype})", (*PLAIN, Round(0)), n="n", **used
                    )


VIEWS = ("x[1:]", "x[::-1]", "x[::2]", "x[:, 1]", "x[1]", "x[-1]", "x[..., None]", "x[None]", "x[1:-1, ::-1]", "x.T", "x[:]", "x[...]", "x[0, 0]", "x[()]", "x[:0]", "x[5:2]",
         "x[99]", "x[0, 5]", "x[0, 0, 0]", "x['a']", "x[1.5]", "x[::0]", "x[True]", "x[-2:]", "x[np.int64(1):]", "np.transpose(x)", "x.transpose(1, 0)", "x.transpose(1, 1)", "x.swapaxes(0, 1)",
         "np.swapaxes(x, 0, 5)", "np.expand_dims(x, 1)", "np.expand_dims(x, (0, 2))", "np.expand_dims(x, 9)", "x[None].squeeze()", "np.squeeze(x[None], 0)", "np.squeeze(x, 1)",
         "np.broadcast_to(x, (2, *x.shape))", "np.broadcast_to(x, (2, 2))", "np.flip(x)", "np.flip(x, 0)", "np.flipud(x)", "np.fliplr(x)", "np.moveaxis(x, 0, 1)", "np.rollaxis(x, 1)",
         "np.rot90(x)", "np.atleast_1d(x)", "np.atleast_3d(x)", "x.diagonal()", "np.diag(x)", "x.real", "x.imag", "x.view()", "x[1:].T[::-1]", "x.flat[1]", "x[slice(1, None)]",
         "x[x.ndim - 1:]", "np.split(x, [1])", "np.array_split(x, 2)", "np.matrix_transpose(x)", "x.mT", "np.atleast_2d(x[0])", "x.view(np.uint8)", "x.view('i4')")  # fmt: skip
PICKS = ("x[i]", "x[i, 0]", "x[i, [0, 1, 2]]", "x[m]", "x[:, [2, 0]]", "x[[0, 1]]", "x[[-1, 0], [0, 1]]", "x[i[:, None], [0, 2]]", "x[m, 1]", "x[m][:, 0]", "x[[99]]", "x[m[:-1]]", "x[x == x]",
         "np.take(x, i, axis=0)", "x.take([0, 1])", "x[i, ..., None]", "x[None, i]", "x[[]]", "x[np.array([True, False, True])[None] & m[:, None]]")  # fmt: skip
RESHAPES = ("x.reshape(-1)", "x.reshape(3, -1)", "x.reshape((3, len(x)))", "np.reshape(x, (-1, 1))", "x.reshape(-1, order='F')", "x.reshape(-1, order='A')", "x.reshape(3, -1, order='F')", "x.ravel()",
            "np.ravel(x)", "x.ravel('F')", "x.ravel('A')", "x.ravel('K')", "x.flatten()", "x.flatten('F')", "x.flatten('K')", "x.reshape(x.shape)", "x.reshape(1, *x.shape, 1)", "x.reshape(-1, -1)",
            "x.reshape(7, 11)", "x.reshape(x.size)", "x.T.reshape(-1)", "x[::2].reshape(-1)", "x[:, 1].reshape(-1, 1)", "np.reshape(x, -1, copy=False)", "np.reshape(x, -1, copy=True)", "np.reshape(x, 3, order='odd')",
            "x.reshape(-1)[1:-1]", "x[1:].reshape(-1) * 1", "np.resize(x, (2, 3))")  # fmt: skip
STORES = ("x[...] = 1", "x[1:] = 2", "x[::2] = y[::2]", "x[:, 1] = 5", "x[1:] = x[:-1]", "x[:-1] = x[1:]", "x[::-1] = x", "x[:] = x.T", "x[0] = y[-1]", "x[0, 0] = 3", "x[i] = 4", "x[i] = y[:2]", "x[m] = 0",
          "x[m] = y[m]", "x[m, 1] = 1", "x.fill(3)", "x[99] = 1", "x[:] = [1, 2]", "x[...] = 1.5", "x[...] = -1", "x[0] = 'a'", "x[...] = 1j", "x[...] = np.nan", "x[...] = 300", "x[1:, 1:] = y[:-1, :-1]", "x[...] = None",
          "np.copyto(x, y)", "np.copyto(x, 2)", "np.copyto(x, y, where=m[:, None])", "np.copyto(x, 2.5, casting='unsafe')", "np.put(x, [0, 1], 5)", "np.putmask(x, x == 1, 2)", "x.sort()", "x.sort(axis=0)",
          "np.fill_diagonal(x, 0)", "x[1] += 1", "x += x[0]", "x *= 2", "x[:, 0], x[:, 1] = x[:, 1].copy(), x[:, 0].copy()", "x[:, 0] += y[:, 1]", "x.T[0] = 1", "x.reshape(-1)[2] = 9", "x.ravel()[:2] = 9", "x.flat[1] = 2",
          "x.flat[:] = 1", "x[:] = y[0]", "x[:] = y[:, :1]", "x[..., 0] = i", "x.real = 2", "x.imag = 1", "x.resize((2, 2))", "x.itemset(0, 1)", "x.setflags(write=False)", "np.place(x, x == 1, [9])")  # fmt: skip


def view_cases(op: str) -> Iterator[Case]:
    """Parts of arrays, their axes in other orders, and what index arrays pick."""
    yield from _over(op, "view", VIEWS, "(n, 3)")
    yield from _over(
        op, "pick", PICKS, "(n, 3)", i="np.array([0, 0]) if n else np.array([], int)", m="a('?', n)"
    )
    for text in (
        "x[1:] + x[:-1]",
        "x[0]",
        "x[...]",
        "x[:, None] - x",
        "x[-1:]",
        "x[n]",
        "x[n:]",
        "x[:n]",
        "x[::n]",
        "x[-n]",
    ):
        for value in (
            "1",
            "-1",
            "2",
            "0",
            "n - 1",
            "-n",
            "99",
            "True",
            "np.int32(1)",
            "np.uint8(1)",
            "1.0",
            "None",
            "slice(1)",
        ):
            yield case(op, "index", text, ROUNDS, x="a('f8', n)", n=value)
    for shape in ("()", "n", "(2, n, 3)", "(2, n, 1, 3)", "(1,) * 8 + (n,)"):
        for text in (
            "x[..., 0]",
            "x[0]",
            "x.T",
            "x[None]",
            "x[...]",
            "x[()]",
            "np.flip(x)",
            "np.squeeze(x)",
            "x[..., ::-1]",
            "np.moveaxis(x, 0, -1)",
        ):
            yield case(op, "rank", text, ROUNDS, x=f"a('f8', {shape})")


def reshape_cases(op: str) -> Iterator[Case]:
    """Other shapes of the same elements."""
    yield from _over(op, "reshape", RESHAPES, "(n, 3)")
    for shape in ("()", "n", "(2, n, 3)", "(n, 1, 2, 3)", "(n, 0)"):
        for text in RESHAPES[:18]:
            yield case(op, "rank", text, ROUNDS, x=f"a('f8', {shape})")


def store_cases(op: str) -> Iterator[Case]:
    """Stores into arguments and into arrays that the function makes."""
    texts = tuple(f"{text}\nreturn x" for text in STORES)
    others = {"i": "np.array([0, 0]) if n else np.array([], int)", "m": "a('?', n)"}
    for text in texts:
        used = {
            name: value
            for name, value in others.items()
            if f"[{name}" in text or f"={name}" in text or f"= {name}\n" in text
        }
        for t in (*DTYPES, *LONG, *DATES):
            for s in (t, "f8", "i8") if "y" in text.split("\n")[0] and t not in DATES else (t,):
                more = {"y": f"a({s!r}, (n, 3), 'C', 1)"} if "y" in text.split("\n")[0] else {}
                yield case(op, "store", text, ROUNDS, x=f"a({t!r}, (n, 3))", **more, **used)
        for t in ("f8", "i4", "c16"):
            more = (
                {"y": f"a({t!r}, (n, 3), layouts[(k > 2) * (k + 1) % 14], 1)"}
                if "y" in text.split("\n")[0]
                else {}
            )
            x = f"a({t!r}, (n, 3), layouts[(k > 2) * k % 14])"
            yield case(op, "store, changing", text, MANY, x=x, **more, **used)
            if more:
                yield case(
                    op,
                    "store, changing",
                    text,
                    MANY,
                    x=x,
                    y="x[::-1] if k % 3 == 1 else x if k % 3 else x.copy()",
                    **used,
                )
                wide = "w[1:] if k % 3 == 1 else w[:-1] if k % 3 else w[:-1] + 1"
                yield case(
                    op, "store, changing", text, MANY, w=f"a({t!r}, (n + 1, 3))", x="w[:-1]", y=wide, **used
                )
        for layout in LAYOUTS[1:]:
            for t in ("f8", "i4"):
                more = {"y": f"a({t!r}, (n, 3), {layout!r}, 1)"} if "y" in text.split("\n")[0] else {}
                yield case(
                    op, "store, layout", text, ROUNDS, x=f"a({t!r}, (n, 3), {layout!r})", **more, **used
                )
                fresh = "x = x + x[:1]\n" if t == "f8" else "x = np.array(x)\n"
                yield case(
                    op,
                    "store, fresh",
                    fresh + text,
                    ROUNDS,
                    x=f"a({t!r}, (n, 3), {layout!r})",
                    **more,
                    **used,
                )
