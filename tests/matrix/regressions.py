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

# The same where they are to be served by traces.
SERVED: tuple[Case, ...] = (
    case("isnan", "out=", "np.isnan(x, out=o)", x="a('f8', n)", o="a('?', n)"),
    case("logical_and", "complex", "np.logical_and(x, y)", x="a('c16', n)", y="a('f8', n)"),
    case(
        "matmul", "out=", "np.matmul(x, y, o)", x="a('f8', (n, n))", y="a('f8', (n, n))", o="a('f8', (n, n))"
    ),
    *(
        c._replace(rounds=PLAIN)
        for c in REGRESSIONS
        if "c16" not in str(c.arguments)
        and "np.dot(x, x" not in c.text
        and "k ==" not in c.text
        and "1, o)" not in c.text
    ),
)
