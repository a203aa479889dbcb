"""The smallest cases of what the matrix has found."""

from __future__ import annotations

from .case import PLAIN, Case, Round, case

SPECIAL = (*PLAIN, Round(33, True), Round(1), Round(0), Round(5))

REGRESSIONS: tuple[Case, ...] = (
    # What fills an output array is made in fresh memory first; these once ended a trace.
    case("reduce", "out=", "np.sum(x, axis=0, out=o)", SPECIAL, x="a('f8', (n, 3))", o="a('f8', 3)"),
    case("reduce", "out=", "x.max(1, o)", SPECIAL, x="a('f4', (n, 3))", o="a('f4', n)"),
    case("reduce", "out=", "np.sum(x, axis=0, out=o)", SPECIAL, x="a('i4', (n, 3))", o="a('f8', 3)"),
    case("reduce", "out=", "np.sum(x, axis=0, out=o)", SPECIAL, x="a('c16', (n, 3))", o="a('f8', 3)"),
    case(
        "reduce",
        "out=",
        "np.sum(x, axis=0, out=o, where=m)",
        SPECIAL,
        x="a('f8', (n, 3))",
        o="a('f8', 3)",
        m="a('?', (n, 3))",
    ),
    case("reduce", "out=", "np.mean(x, axis=0, out=o)", SPECIAL, x="a('f8', (n, 3))", o="a('f8', 3)"),
    case("reduce", "out=", "np.cumsum(x, out=x)", SPECIAL, x="a('f8', n)"),
    case(
        "reduce",
        "out=",
        "b = np.empty((2, 3))\nnp.sum(x, axis=0, out=b[1])\nb[0] = b[1] * 2\nreturn b",
        SPECIAL,
        x="a('f8', (n, 3))",
    ),
    case(
        "library",
        "out=",
        "np.dot(x, y, o)",
        SPECIAL,
        x="a('f8', (n, n))",
        y="a('f8', (n, n))",
        o="a('f8', (n, n))",
    ),
    case("library", "out=", "np.dot(x, x, out=x)", SPECIAL, x="a('f8', (n, n))"),
    case(
        "matmul",
        "out=",
        "np.matmul(x, y, out=o)",
        SPECIAL,
        x="a('f8', (n, n))",
        y="a('f8', (n, n))",
        o="a('f8', (n, n))",
    ),
    case("matmul", "out=", "np.matmul(x, x, out=x)", SPECIAL, x="a('f8', (n, n))"),
    case("library", "out=", "np.round(x, 1, out=x)", SPECIAL, x="a('f8', n)"),
    case(
        "library",
        "out=",
        "np.take(x, [1, 0, 99][:2 + (k == 4)], out=o)",
        SPECIAL,
        x="a('f8', n)",
        o="a('f8', 2)",
        k="k",
    ),
    # A where= for which NumPy converts the old contents of the output, of complex ones with a warning.
    case(
        "log",
        "where=",
        "np.log(x, out=np.zeros(x.shape), where=m)",
        SPECIAL,
        x="a('f4', (n, 3))",
        m="a('?', (n, 3))",
    ),
    case(
        "log",
        "where=",
        "np.log(x, out=o, where=m)",
        SPECIAL,
        x="a('f4', (n, 3))",
        m="a('?', 3)",
        o="a('c16', (n, 3), 'F')",
    ),
    # float() of a word is a number like any other.
    case("const", "float", "x + float('nan'), float('inf'), -float('-inf')", SPECIAL, x="a('f8', n)"),
    case(
        "const",
        "float",
        "x + float(s)",
        SPECIAL,
        x="a('f8', n)",
        s="('nan', 'nan', 'nan', '1e3', '2', 'x')[k % 6]",
    ),
)

# What once was told in the wrong place, or done twice.
_X = {"x": "a('f8', (n, 3))"}
_INTO = {**_X, "o": "a('f8', (n, 3))"}
FOUND: tuple[Case, ...] = (
    # NumPy warns about the imaginary part.
    case(
        "reduce",
        "dtype=",
        "np.add.reduce(x, dtype='f4', out=o)",
        SPECIAL,
        x="a('c16', (n, 4))",
        o="a('c16', 4)",
    ),
    case("cast", "None", "x.astype(None)", SPECIAL, x="a('c16', (n, 3))"),
    # A comparison raises a flag on signaling NaNs; the store behind it has to be done once all the same.
    case(
        "less",
        "signaling NaN",
        "np.less(x, y, out=x)",
        SPECIAL,
        x="np.where(np.arange(n) % 3 == 1, np.array(0x7FF0000000000001).view('f8'), -np.arange(float(n)))",
        y="a('f8', n)",
    ),
)

# What once ended a trace.
OPENED: tuple[Case, ...] = (
    case("reshape", "method", "x.reshape(*s)", SPECIAL, **_X, s="(3, n)"),
    case("reshape", "method", "x.reshape(1, *x.shape, 1)", SPECIAL, **_X),
    case("reduce", "method", "x.sum(**k)", SPECIAL, **_X, k="{'axis': 0}"),
    case("reduce", "method", "f = x.max\nreturn f(), f(axis=0), f", SPECIAL, **_X),
    case(
        "reduce",
        "method",
        "f = x.max\nif x[0, 0] > 1:\n    return f\nreturn f()",
        SPECIAL,
        x="a('f8', (n, 3)) + (k > 4)",
    ),
    case("reduce", "out", "np.add.reduce(x, 0, None, o)", SPECIAL, **_X, o="a('f8', 3)"),
    case("reduce", "out", "np.add.accumulate(x, 0, None, o)", SPECIAL, **_INTO),
    case("reduce", "out", "np.mean(x, 0, None, o)", SPECIAL, **_X, o="a('f8', 3)"),
    case(
        "reduce", "out=", "np.sum(x, axis=0, out=o[:, 1])", SPECIAL, x="a('f8', (n, 4))", o="a('f8', (4, 2))"
    ),
    case("library", "out", "np.round(x, 1, x)", SPECIAL, **_X),
    case("add", "sequence", "np.add(x, [1, 2.5, 3])", SPECIAL, **_X),
    case("add", "sequence", "x + (1, 2, 3)", SPECIAL, **_X),
    case("subtract", "sequence", "[1.0, 2.0, 3.0] - x", SPECIAL, **_X),
    case("multiply", "sequence", "x *= [1, 2, s]\nreturn x", SPECIAL, **_X, s="n / 2"),
    case("exp", "keyword", "np.exp(x, order='F')", SPECIAL, **_X),
    case("exp", "keyword", "np.exp(x, order='K', subok=False)", SPECIAL, **_X),
    case("arctanh", "where=", "np.arctanh(x / 8, out=o, where=x < 0.5)", SPECIAL, **_INTO),
    case("exp", "out=", "np.exp(x, out=o[::-1])\nreturn o", SPECIAL, **_INTO),
    case("exp", "out=", "np.exp(x, out=o[:, ::2])\nreturn o", SPECIAL, **_X, o="a('f8', (n, 6))"),
    case("exp", "out=", "np.exp(x[:1, 0], out=o[:1, 1])\nreturn o", SPECIAL, **_INTO),
    case("isnan", "out=", "np.isnan(x, out=o)", SPECIAL, **_X, o="a('?', (n, 3), 'gaps')"),
    case(
        "store",
        "mask",
        "x[m] = y[m]\nreturn x",
        SPECIAL,
        x="a('f8', n, 'gaps')",
        y="a('f8', n)",
        m="a('?', n)",
    ),
)

# The same where they are to be served by traces.
SERVED: tuple[Case, ...] = (
    case("isnan", "out=", "np.isnan(x, out=o)", x="a('f8', n)", o="a('?', n)"),
    case("logical_and", "complex", "np.logical_and(x, y)", x="a('c16', n)", y="a('f8', n)"),
    case(
        "matmul", "out=", "np.matmul(x, y, o)", x="a('f8', (n, n))", y="a('f8', (n, n))", o="a('f8', (n, n))"
    ),
    *(c._replace(rounds=PLAIN) for c in OPENED),
    *(
        c._replace(rounds=PLAIN)
        for c in REGRESSIONS
        if "c16" not in str(c.arguments)
        and "np.dot(x, x" not in c.text
        and "k ==" not in c.text
        and "1, o)" not in c.text
    ),
)
