"""Loops whose statements store directly from one checkpoint to the next (graph/region/checkpoints.cpp): whoever looks in
the middle sees what eager would have."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

from regions.whole import check_whole, function_of

# Of a and b, vectors of one extent, m and w, matrices, n iterations and k, one of them; a grows by 1.5 to 2
# in each iteration, so that it overflows in the end.
LOOPS = {
    "two arrays": """
    for i in range(n):
        a[1:-1] = 0.5 * (b[:-2] + b[2:]) + b[1:-1]
        b[1:-1] = 0.5 * (a[:-2] + a[2:]) + a[1:-1]
""",
    "in place": """
    for i in range(n):
        a *= 1.75
        b += a
        a -= 0.25 * b
""",
    "reads what it stores elsewhere": """
    for i in range(n):
        a[1:] = a[1:] + a[:-1]
        b[:-1] = a[1:] * 2.0
""",
    "a result that nothing reads": """
    for i in range(n):
        a * b
        b[1:] = a[1:]
        a[:] = a + a
""",
    "a result that is held": """
    t = None
    for i in range(n):
        t = a * 2.0
        a[:] = t
        b[:] = t + b
""",
    "results that are held and read": """
    s = t = None
    for i in range(n):
        t = a * 1.5
        s = t - b * 0.25
        a[1:] = s[1:]
        b[:] = t * s
""",
    "a held result under two names": """
    s = t = None
    for i in range(n):
        t = a * 1.5
        s = t
        a[:] = s + 0.25
        b[1:-1] = a[2:] - t[:-2]
""",
    "a result of the iteration before": """
    t = a * 1.0
    for i in range(n):
        a[:] = t + b * 0.5
        t = a * 1.25
""",
    "a held result, and an index that is out of range once": """
    t = None
    for i in range(n):
        t = a * 1.5
        a[:] = t
        if i == k:
            s = a[i + 1000]
        b[:] = t * t
""",
    "a held result, and a break": """
    t = None
    for i in range(n):
        if i > k:
            break
        t = a * 1.5
        a[:] = t
        b[:] = t * t
""",
    "held rows": """
    t = s = None
    for i in range(1, len(m)):
        t = m[i] * 1.5 + n
        s = t * b[i]
        m[i] = t + m[i - 1]
        w[:, i] = s * w[:, i - 1]
""",
    "matrices": """
    for i in range(n):
        m[1:-1, 1:-1] = m[1:-1, 1:-1] + w[:-2, 1:-1] + w[2:, 1:-1]
        w[1:-1, 1:-1] = m[1:-1, :-2] + m[1:-1, 2:]
        m[0] = a
""",
    "an index that is out of range once": """
    for i in range(n):
        a *= 1.5
        b[:] = a * a
        if i == k:
            s = a[i + 1000]
""",
    "an element that is stored": """
    for i in range(n):
        a *= 1.5
        a[i % 5] = 1.0
        b[:] = a * a
""",
    "an early return": """
    for i in range(n):
        b[:] = a * 1.5
        if b[0] > 1e6 and i >= k:
            return a, b, i
        a[:] = b
""",
    "continue and break": """
    for i in range(n):
        a *= 1.5
        if i % 3 == 1:
            continue
        b += a
        if i > k:
            break
""",
    "an inner loop": """
    for i in range(n):
        m[:] = m + w * 0.5
        for j in range(3):
            w[:] = w + m
            a[j] += 1.0
""",
    "python in the middle": """
    for i in range(n):
        a *= 1.5
        if i % 7 == 5:
            seen.append(a.copy())
        b[:] = a * a
""",
    "until it converges": """
    i = 0
    while abs(a[1]) < 1e300:
        a[:] = a + a
        b[:] = a * a
        i += 1
""",
}  # fmt: skip


def _source(body: str) -> str:
    return (
        "def f(a, b, m, w, n, k, seen):\n    i = j = -1\n    s = t = 0.0\n"
        + body.strip("\n")
        + "\n    return a, b, m, w, i, j, s, t\n"
    )


def _arguments(n: int, k: int, large: float, size: int = 9) -> list:
    rng = np.random.default_rng(0)
    a, b = rng.random(size) + 1, rng.random(size) + 1
    m, w = rng.random((size, size)) + 1, rng.random((size, size)) + 1
    a[size // 2] = b[size // 2] = m[3, 3] = large
    return [a, b, m, w, n, k, []]


# Values from which some element overflows after so many iterations.
LARGE = [1.0, *(1.7e308 / 2.0**k for k in (0, 1, 2, 3, 5, 8, 13, 30, 70))]


@pytest.fixture(autouse=True)
def _compiled_at_once(monkeypatch):
    monkeypatch.setattr(stator.options, "async", False)


def _warm(body):
    eager, compiled = function_of(_source(body)), stator.compile(function_of(_source(body)))
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            observe(compiled, _arguments(12, 99, 1.0))
    assert stator.stats(compiled)["regions"] >= 1
    return eager, compiled


@pytest.mark.parametrize("name", LOOPS)
def test_faults_at_any_iteration(name):
    eager, compiled = _warm(LOOPS[name])
    for mode in ("warn", "raise", "ignore"):
        for large in LARGE:
            for n, k in ((1, 0), (2, 1), (40, 3), (40, 17)):
                with np.errstate(over=mode, invalid=mode):
                    expected = observe(eager, _arguments(n, k, large))
                    found = observe(compiled, _arguments(n, k, large))
                assert found == expected, f"{mode}, {large}, {n}, {k}: {report(expected, found)}"


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_handler_of_faults_sees(name):
    """The arrays as they are when NumPy calls it."""
    eager, compiled = _warm(LOOPS[name])
    for large in LARGE:
        seen = []
        for f in (eager, compiled):
            arguments, calls = _arguments(40, 17, large), []

            def handler(kind, flags, arguments=arguments, calls=calls):
                calls.append((kind, flags, [x.tobytes() for x in arguments[:4]]))

            with np.errstate(over="call", invalid="call", call=handler):
                outcome = observe(f, arguments)
            seen.append((calls, outcome))
        assert seen[0] == seen[1], f"{large}: {len(seen[0][0])} and {len(seen[1][0])} calls"


def test_flags_that_were_up_before_stay_up():
    """What is pending when a region is entered is not a fault of it."""
    check_whole(
        _source(LOOPS["two arrays"]).replace("    i = j = -1", "    i = j = int(np.float64(2.0) * 3) - 7"),
        lambda size: _arguments(50, 3, 1.0, size),
    )


def test_no_exits_and_one_copy_of_each_result():
    """In the version without checks a stencil has one nest for a statement, and no memory of its own."""
    _, compiled = _warm(LOOPS["two arrays"])
    text = compiled.regions[0].artifacts().loop_ir
    fast = text[text.index("  watch\n") :]
    assert "scratch" not in fast
    assert fast.count("nest{11}") == 2 and "nest{0}" not in fast and "save" in text


def test_arrays_with_gaps_and_views_of_one():
    """What is saved is whole and in one piece; anything else goes on as it was."""
    eager, compiled = _warm(LOOPS["two arrays"])
    for make in (lambda x: np.repeat(x, 2)[::2], lambda x: x[::-1].copy()[::-1]):
        expected, found = [], []
        for f, out in ((eager, expected), (compiled, found)):
            arguments = _arguments(40, 3, 1.7e308)
            arguments[0], arguments[1] = make(arguments[0]), make(arguments[1])
            out.append(observe(f, arguments))
            base = np.linspace(1.0, 2.0, 12)
            arguments[0], arguments[1] = base[:9], base[3:]
            out.append(observe(f, arguments))
        assert found == expected


@pytest.mark.parametrize(
    "name", ["results that are held and read", "a held result under two names", "held rows"]
)
def test_held_results_are_no_obstacle(name):
    """All iterations but one do without what only Python would see: a header of the copy carries no array."""
    _, compiled = _warm(LOOPS[name])
    fast = next(t for r in compiled.regions if "  watch\n" in (t := r.artifacts().loop_ir)).split(
        "  watch\n"
    )[1]
    headers = [line for line in fast.splitlines() if line.startswith("b") and "(" in line and "l2" in line]
    assert headers and not any("[1]" in line for line in headers)


@pytest.mark.parametrize("n", range(1, 6))
def test_arrays_that_variables_exchange(n, monkeypatch):
    """What they are where the rounds of an inner loop end depends on how many iterations there were."""
    monkeypatch.setattr(stator.options, "async", False)

    def f(a, x, y, n):
        for _ in range(6):
            b = a + 1.0
            for _ in range(n):
                b, a = a, b
                y[:] -= x
        return a, b, y

    compiled = stator.compile(f)
    for _ in range(3):
        expected = f(np.arange(3.0), np.ones(3), np.arange(3.0), n)
        found = compiled(np.arange(3.0), np.ones(3), np.arange(3.0), n)
        assert all(np.array_equal(e, g) for e, g in zip(expected, found, strict=True))


def test_a_statement_into_a_result_that_nothing_reads(monkeypatch):
    """The version without checks has neither."""
    monkeypatch.setattr(stator.options, "async", False)

    def f(a, b, x, n):
        for i in range(n):
            b[i] = a @ a
            v = x + 1
            v -= a

    compiled = stator.compile(f)
    for n in (0, 1, 2, 4):
        expected, found = np.ones(5), np.ones(5)
        f(np.arange(3.0), expected, np.ones(3), n)
        compiled(np.arange(3.0), found, np.ones(3), n)
        assert (expected == found).all()
