"""Programs from seeds: ``program(seed)`` is the kind and the text of one.

Each kind is a function from a random generator to the text of the functions and of ``program()``, which calls them and
returns a list of results. A new kind is a new function here. Programs last about 1 to 20 ms of plain Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from . import statements as st

KINDS: dict[str, Callable[[random.Random], str]] = {}


def kind(make: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    KINDS[make.__name__] = make
    return make


def program(seed: int) -> tuple[str, str]:
    """Kind and text of the program of a seed."""
    r = random.Random(seed)
    name = r.choice(list(KINDS))
    return name, st.preamble(r) + KINDS[name](r)


def _function(
    name: str, loop: str, statements: str, arguments: str = "a, items, n", decorator: str = "@jit\n"
) -> str:
    """A function with one loop over `items` or n."""
    return f"{decorator}def {name}({arguments}):\n    s, out, d = 0, [], {{}}\n    {loop}\n{statements}    return s, a, out, d\n\n"


FOR = "for i, x in enumerate(items):"
WHILE = "i = -1\n    while i < n:\n        i += 1; x = i * 0.5"
RANGE = "for i in range(n):\n        x = i"
ARRAY = "for i, x in enumerate(a):"
LOOPS = (FOR, WHILE, RANGE, ARRAY)


def _calls(
    r: random.Random, name: str, count: int, items: str, size: int, array: str = "np.arange(7.0)"
) -> str:
    copied = r.choice(("a", "a.copy()"))
    return (
        f"    a, pool = {array}, {items}\n    items = [pool[k % len(pool)] for k in range({size})]\n"
        f"    for _ in range({count}):\n        attempt(results, {name}, {copied}, items, {size})\n"
    )


def _program(text: str) -> str:
    return f"def program():\n    results = []\n{text}    return results\n"


@kind
def alternating_types(r: random.Random) -> str:
    """A function of two values whose types differ from call to call."""
    lines = "".join(f"    r{k} = {r.choice(st.EXPRESSIONS)}\n" for k in range(r.randint(1, 3)))
    text = f"@jit\ndef f(p, q):\n{lines}    return r0\n\n"
    count = r.choice((50, 300, 1500))
    return text + _program(
        f"    pool = {st.values(r, st.VALUES, r.randint(2, 7))}\n    for k in range({count}):\n"
        f"        attempt(results, f, pool[k % len(pool)], pool[(k // 2) % len(pool)])\n"
    )


@kind
def mixed_list(r: random.Random) -> str:
    """A loop over a list of values of different types."""
    statements = st.body(r, r.randint(0, 2), r.randint(1, 3), 0, 2)
    pool = st.values(r, r.choice((st.NUMBERS, st.VALUES)), r.randint(2, 6))
    return _function("f", FOR, statements) + _program(
        _calls(r, "f", r.choice((1, 5, 40)), pool, r.choice((20, 200)))
    )


@kind
def left_each_iteration(r: random.Random) -> str:
    """Statements that are not native in each iteration of a loop."""
    statements = st.body(r, r.randint(1, 3), r.randint(1, 4), 0, 2)
    pool = st.values(r, st.NUMBERS, r.randint(1, 3))
    return _function("f", r.choice(LOOPS), statements) + _program(
        _calls(r, "f", r.choice((1, 3, 20, 60)), pool, r.choice((10, 50, 300)))
    )


@kind
def one_long_call(r: random.Random) -> str:
    """One call, of a loop with thousands of iterations: what loses must be noticed in the middle of it."""
    statements = st.body(r, r.randint(1, 3), r.randint(1, 3), 0, 2, st.LASTING)
    pool = st.values(r, st.NUMBERS, r.randint(1, 3))
    return _function("f", r.choice((FOR, WHILE, RANGE)), statements) + _program(
        _calls(r, "f", 1, pool, r.choice((3000, 10000)))
    )


@kind
def left_early(r: random.Random) -> str:
    """Loops that break, return or raise soon, in functions that are called often."""
    statements = st.body(r, r.randint(0, 1), r.randint(1, 3), r.randint(1, 2), 2)
    pool = st.values(r, st.NUMBERS, r.randint(1, 2))
    return _function("f", r.choice(LOOPS), statements) + _program(
        _calls(r, "f", r.choice((30, 300, 1000)), pool, 12)
    )


@kind
def failing_guards(r: random.Random) -> str:
    """What a function was recorded for is changed before each call."""
    change = r.choice(
        (
            "globals()['shared'] = [k, float(k), str(k), np.ones(k % 4 + 1)][k % 4]",
            "Box.value = k",
            "Box.step = (lambda self, s: s + 1) if k % 2 else (lambda self, s: s)",
            "globals()['helper'] = (lambda p, q: p) if k % 2 else (lambda p, q: q)",
            "f.__defaults__ = (k, )" if r.random() < 0.2 else "BOX.value = np.ones(k % 3 + 1)",
            "BOX.__class__ = type('Box', (Box,), {})",
            "globals()['DTYPES'] = DTYPES[1:] + DTYPES[:1]",
            "globals().update({f'name{k}': k})",
            "np.seterr(over=('warn', 'ignore')[k % 2])",
        )
    )
    lines = "".join(
        "    " + r.choice(("s = s + BOX.value", "s = helper(s, shared)", "BOX.step(s)", "a = a.astype(DTYPES[0])", "s = a.sum()"))
        + "\n" for _ in range(r.randint(1, 4))
    )  # fmt: skip
    loop = "    for i in range(6):\n        s = s + a[i]\n" if r.random() < 0.5 else ""
    return f"@jit\ndef f(a, s=1):\n{lines}{loop}    return s, a\n\n" + _program(
        f"    for k in range({r.choice((20, 100, 400))}):\n        {change}\n        attempt(results, f, np.arange(6.0))\n"
    )


@kind
def one_shot(r: random.Random) -> str:
    """Many different functions, each called once or a few times."""
    text, names = "", []
    for k in range(r.choice((20, 60, 150))):
        loop = r.choice((*LOOPS, "for i in (0, 1):\n        x = i"))
        text += _function(f"f{k}", loop, st.body(r, r.choice((0, 0, 1)), r.randint(1, 5), 0, 2))
        names.append(f"f{k}")
    calls = r.choice((1, 1, 2, 4))
    return text + _program(
        f"    items = {st.values(r, st.NUMBERS, 4)}\n    for f in ({', '.join(names)}):\n"
        f"        for _ in range({calls}):\n            attempt(results, f, np.arange(5.0), items, 4)\n"
    )


@kind
def executed(r: random.Random) -> str:
    """Functions made by exec, over and over, from the same or from other text."""
    statement = r.choice(st.FRIENDLY)
    text = f"@jit\\ndef f(a, n):\\n    s = x = KEY\\n    for i in range(n):\\n        {statement}\\n    return s, a\\n"
    key = r.choice(("k", "1"))
    return _program(
        f"    text = '''{text}'''\n    for k in range({r.choice((10, 50))}):\n"
        f"        space = {{'np': np, 'math': math, 'jit': jit}}\n        exec(text.replace('KEY', str({key})), space)\n"
        f"        attempt(results, space['f'], np.arange(4.0), 6)\n"
    )


@kind
def growing_ints(r: random.Random) -> str:
    """Ints that outgrow 64 bits sooner or later, with arrays beside them."""
    step = r.choice(
        (
            "s = s * 3 + i",
            "s = s << 1 | 1",
            "s = s * s % (1 << 90)",
            "s = s + (1 << i)",
            "s = -s * 7",
            "s = (s ^ i) << 3",
        )
    )
    after = r.choice(("a[i % 7] = s & 255", "a[i % 7] = s % 1000", "out.append(s)", "x = s", "a = a + 1"))
    statements = st.indented(step, 2) + st.indented(after, 2) + st.body(r, 0, r.randint(0, 2), 0, 2)
    return _function("f", RANGE, statements).replace("s, out, d = 0", "s, out, d = 1") + _program(
        _calls(r, "f", r.choice((1, 10, 50)), "(1,)", r.choice((50, 150)))
    )


@kind
def exceptions(r: random.Random) -> str:
    """Exceptions as control flow, inside of the loop and out of it."""
    inner = st.body(r, 1, r.randint(0, 2), 0, 3)
    raised = r.choice(
        (
            "raise ValueError(i)",
            "a[i + 100]",
            "d['no']",
            "int('x')",
            "next(iter(()))",
            "np.ones(2) + np.ones(3)",
            "None.x",
        )
    )
    every = r.choice((1, 2, 7))
    statements = (
        f"        try:\n{inner}            if i % {every} == 0: {raised}\n"
        f"        except (ValueError, IndexError, KeyError, StopIteration, AttributeError):\n            s = s + 1 if isinstance(s, int) else 0\n"
        f"        finally:\n            n = n\n"
    )
    if r.random() < 0.3:
        statements = st.body(r, 0, 2, 0, 2) + f"        if i == {r.choice((0, 5))}: {raised}\n"
    return _function("f", r.choice((FOR, RANGE)), statements) + _program(
        _calls(r, "f", r.choice((5, 50, 200)), st.values(r, st.NUMBERS, 2), r.choice((8, 40)))
    )


@kind
def alternating_arrays(r: random.Random) -> str:
    """Ranks, dtypes, layouts and lengths that differ from call to call."""
    lines = "".join(
        "    " + r.choice(("a = a + 1", "a = a * a", "s = s + a.sum()", "a = np.sqrt(np.abs(a))", "s = a.mean()", "a = a.T", "s = a.shape[0]",
        "for i in range(len(a)): s = s + a[i]", "a = np.where(a > 0, a, 0)", "b = a[:1]", "a = a @ a if a.ndim == 2 else a"))
        + "\n" for _ in range(r.randint(1, 4))
    )  # fmt: skip
    pool = st.values(r, st.ARRAYS, r.randint(2, 8))
    grown = r.choice(
        ("pool[k % len(pool)]", "np.ones(k % 50)", "np.ones((k % 5, k % 3))", "np.ones((1,) * (k % 5 + 1))")
    )
    return f"@jit\ndef f(a):\n    s = 0\n{lines}    return s, a\n\n" + _program(
        f"    pool = {pool}\n    for k in range({r.choice((30, 200, 600))}):\n        attempt(results, f, {grown})\n"
    )


@kind
def closures_anew(r: random.Random) -> str:
    """Functions made anew for each use, over cells of different types."""
    make = r.choice(
        (
            "f = jit(lambda t: t * k + 1)\n        attempt(results, f, a)",
            "@jit\n        def f(t):\n            s = 0.0\n            for y in t:\n                s += y * k\n            return s\n        attempt(results, f, a)",
            "f = jit(lambda t, u=k: np.maximum(t, u).sum())\n        attempt(results, f, a)\n        attempt(results, f, a + 1)",
            "@jit\n        def f(t):\n            nonlocal count\n            count += 1\n            return t + count\n        attempt(results, f, a)",
            "class C:\n            @jit\n            def f(self, t):\n                self.t = t\n                return t * 2 + k\n        attempt(results, C().f, a)",
        )
    )
    items = r.choice(
        (
            "range(COUNT)",
            "[k * 0.5 for k in range(COUNT)]",
            "[[1, 2.0, np.ones(2), np.int8(1)][k % 4] for k in range(COUNT)]",
        )
    )
    items = items.replace("COUNT", str(r.choice((10, 60, 200))))
    return _program(
        f"    a, count = np.arange({r.choice((2, 20))}.0), 0\n    for k in {items}:\n        {make}\n"
    )


@kind
def deep_recursion(r: random.Random) -> str:
    """Recursion with numbers or small arrays."""
    call = r.choice(
        (
            "f(a, n - 1) + 1",
            "f(a + 1, n - 1)",
            "a + f(a * 0.5, n - 1)",
            "f(a[1:] if len(a) > 2 else a, n - 1)",
            "f(a, n - 2) + f(a, n - 1)",
        )
    )
    two = call.count("f(") > 1
    loop = "    for i in range(3):\n        a = a + i\n" if r.random() < 0.4 else ""
    start = r.choice(
        (
            "np.arange(5.0)",
            "np.float64(1)" if "[" not in call else "np.ones(9)",
            "[1, 2, 3]" if "[" in call else "1.5",
        )
    )
    return f"@jit\ndef f(a, n):\n    if n <= 0:\n        return a\n{loop}    return {call}\n\n" + _program(
        f"    for _ in range({r.choice((1, 5, 15))}):\n        attempt(results, f, {start}, {r.choice((5, 9)) if two else r.choice((10, 100, 400))})\n"
    )


@kind
def tiny_loops(r: random.Random) -> str:
    """A function with a tiny loop, called many thousand times."""
    statements = st.body(r, r.choice((0, 0, 1)), r.randint(1, 2), 0, 2)
    return _function("f", r.choice((RANGE, ARRAY, FOR)), statements) + _program(
        f"    a, items = np.arange(2.0), (1, 2.0)\n    for k in range({r.choice((1000, 5000))}):\n        f(a, items, {r.choice((0, 1, 2))})\n"
        f"    attempt(results, f, a, items, 2)\n"
    )


@kind
def tiny_functions(r: random.Random) -> str:
    """Small functions that call each other many thousand times, on numbers or arrays of one element."""
    value = r.choice(("k", "k * 0.5", "np.float64(k)", "np.ones(1)", "(k, k)"))
    return (
        f"@jit\ndef f(p, q):\n    return {r.choice(st.EXPRESSIONS)}\n\n@jit\ndef g(p, q):\n    p = helper(p, q)\n    return f(q, p)\n\n"
        + _program(
            f"    for k in range({r.choice((500, 3000))}):\n        attempt(results, g, {value}, k)\n    del results[50:]\n"
        )
    )


@kind
def printing(r: random.Random) -> str:
    """print and append among array statements."""
    statements = st.indented(
        r.choice(("print(i, a)", "print(s)", "out.append(a.copy())", "print(a.sum(), end='')")), 2
    )
    statements += st.body(r, r.randint(0, 1), r.randint(1, 3), 0, 2)
    return _function("f", r.choice(LOOPS), statements) + _program(
        _calls(r, "f", r.choice((1, 5, 20)), "(1, 2)", r.choice((5, 30)))
    )


@kind
def rebinding(r: random.Random) -> str:
    """A loop that rebinds many names to arrays, numbers or None under many conditions."""
    names = [f"v{k}" for k in range(r.randint(3, 8))]
    lines = ""
    for _ in range(r.randint(3, 9)):
        new = r.choice(
            (
                "a + i",
                "np.ones(i % 3 + 1)",
                "NAME2",
                "None if i % 4 == 3 else a",
                "a.sum()",
                "i * 0.5",
                "i",
                "a[:2]",
                "(a, i)",
            )
        )
        new = new.replace("NAME2", r.choice(names))
        lines += (
            f"        if i % {r.randint(2, 6)} == {r.randint(0, 1)}:\n            {r.choice(names)} = {new}\n"
        )
    header = f"    {' = '.join(names)} = a\n"
    return (
        f"@jit\ndef f(a, n):\n{header}    for i in range(n):\n{lines}    return {', '.join(names)}\n\n"
        + _program(
            f"    for k in range({r.choice((1, 10, 40))}):\n        attempt(results, f, np.arange({r.choice((2, 5))}.0), {r.choice((10, 60))})\n"
        )
    )


@kind
def generators(r: random.Random) -> str:
    """Generators between functions, with arrays in what they yield."""
    made = r.choice(("(i, a + i)", "a[i % a.size]", "i", "(i if i % 2 else float(i))", "a[:i % 4]"))
    used = r.choice(("for y in source(a, n):\n        out.append(y)", "out = list(source(a, n))", "out = [y for y in source(a, n) if y is not None]",
    "it = source(a, n)\n    while (y := next(it, None)) is not None:\n        out.append(y)"))  # fmt: skip
    return (
        f"def source(a, n):\n    for i in range(n):\n        yield {made}\n\n@jit\ndef f(a, n):\n    out = []\n    {used}\n    return out\n\n"
        + _program(
            f"    for k in range({r.choice((5, 50, 200))}):\n        attempt(results, f, np.arange(4.0), {r.choice((5, 30))})\n"
        )
    )


@kind
def warnings_raised(r: random.Random) -> str:
    """Floating-point warnings at each call: each takes a replay back to Python."""
    line = r.choice(
        (
            "b = np.log(a - 2)",
            "b = a / (a - 1)",
            "b = np.sqrt(-a)",
            "b = a * 1e308 * 10",
            "b = np.float64(1) / a[0]",
            "b = a.astype(np.float32) * 1e38 * 100",
        )
    )
    inside = f"    for i in range(5):\n        {line}\n" if r.random() < 0.5 else f"    {line}\n"
    return f"@jit\ndef f(a):\n    c = a + 1\n{inside}    return b * c\n\n" + _program(
        f"    for k in range({r.choice((20, 200, 600))}):\n        attempt(results, f, np.arange({r.choice((2, 50))}.0))\n"
    )
