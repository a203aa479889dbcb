"""LAPACK's drivers of SciPy are library nodes (frontend/hosts/numpy/lapack.h)."""

import numpy as np
import pytest
import stator

lapack = pytest.importorskip("scipy.linalg.lapack")
RNG = np.random.default_rng(3)


def solve(a, b, c, d):
    x = lapack.dgtsv(a[1:] * 0.1, b + 4.0, c[:-1] * 0.1, d)[3]
    return x * 2.0 + d


def factors(m):
    lu, pivots, info = lapack.dgetrf(m + 4.0 * np.eye(len(m)))
    return lu * 2.0, pivots + 1, info


def overwriting(m, b):
    work = m + 4.0 * np.eye(len(m))
    x = lapack.dgesv(work, b, overwrite_b=1)[2]
    return x + 1.0, b * 1.0


def flat(value):
    return [np.asarray(v).tobytes() for v in (value if isinstance(value, tuple) else (value,))]


def test_tridiagonal():
    compiled = stator.compile(solve)
    for n in (5, 9, 9, 30, 4):
        args = [RNG.random(n) for _ in range(4)]
        kept = [a.copy() for a in args]
        assert flat(compiled(*args)) == flat(solve(*kept))
        assert flat(tuple(args)) == flat(tuple(kept))
    assert "stays in Python\n    nothing" in str(stator.explain(compiled)(*args))


def test_several_results():
    compiled = stator.compile(factors)
    for n in (3, 4, 4, 7):
        m = RNG.random((n, n))
        assert flat(compiled(m)) == flat(factors(m))
    assert "stays in Python\n    nothing" in str(stator.explain(compiled)(m))


def test_what_is_overwritten_stays_pythons():
    compiled = stator.compile(overwriting)
    for _ in range(4):
        m, b = RNG.random((4, 4)), RNG.random(4)
        mine, plain = b.copy(), b.copy()
        assert flat(compiled(m, mine)) == flat(overwriting(m, plain)) and mine.tobytes() == plain.tobytes()
    assert "dgesv" in str(stator.explain(compiled)(m, mine))


def test_errors():
    compiled = stator.compile(solve)
    args = [RNG.random(6) for _ in range(4)]
    for _ in range(3):
        assert flat(compiled(*args)) == flat(solve(*args))
        bad = [*args[:3], RNG.random(2)]
        with pytest.raises(Exception) as wanted:  # noqa: PT011, _flapack.error or ValueError
            solve(*bad)
        with pytest.raises(wanted.type) as found:
            compiled(*bad)
        assert str(found.value) == str(wanted.value)
