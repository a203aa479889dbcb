"""What building a region may take: loops whose versions multiply come to an end, as native code or as Python's.

``python -m tests.python.fuzz.first_calls`` measures how long first calls take; here nothing depends on time.
"""

from __future__ import annotations

import numpy as np
import pytest
import stator
from fuzz.compare import observe, report

X = np.linspace(0.5, 2.0, 7)


def check(function, *calls):
    """Three rounds of the calls, eagerly and compiled; the compiled function."""
    compiled = stator.compile(function)
    for _ in range(3):
        for arguments in calls:
            expected = observe(function, [a.copy() if isinstance(a, np.ndarray) else a for a in arguments])
            found = observe(compiled, [a.copy() if isinstance(a, np.ndarray) else a for a in arguments])
            assert found == expected, report(expected, found)
        stator.wait()
    return compiled


class Backend:
    def dot(self, a, b):
        return np.dot(a, b)

    def exp(self, a):
        return np.exp(a)

    def log(self, a):
        return np.log(a)

    def any(self, a):
        return np.any(a)

    def max(self, a, axis=None, keepdims=False):
        return np.max(a, axis, keepdims=keepdims)

    def ones(self, shape, like=None):
        if like is None:
            return np.ones(shape)
        return np.ones(shape, dtype=like.dtype)


def scaling(a, b, m, reg, m1, m2, nx, limit, histograms=0):
    n, k = m.shape
    u, v = nx.ones(n, like=m), nx.ones(k, like=m)
    c = a[:, None] * b[None, :]
    m0 = m - reg * nx.log(c)
    kernel = nx.exp(-m0 / reg)
    p = m1 / (m1 + reg) if m1 != float("inf") else 1
    q = m2 / (m2 + reg) if m2 != float("inf") else 1
    step, err = 0, 1.0
    alpha, beta = np.zeros(n), np.zeros(k)
    one_a, one_b = nx.ones(n, like=m), nx.ones(k, like=m)
    while err > 1e-6 and step < limit:
        u_old, v_old = u, v
        kv = nx.dot(kernel, v)
        fa = nx.exp(-alpha / (reg + m1)) if m1 != float("inf") else one_a
        fb = nx.exp(-beta / (reg + m2)) if m2 != float("inf") else one_b
        if histograms:
            fa = fa[:, None]
            fb = fb[:, None]
        u = ((a / (kv + 1e-16)) ** p) * fa
        ktu = nx.dot(kernel.T, u)
        v = ((b / (ktu + 1e-16)) ** q) * fb
        absorbed = False
        if nx.any(u > 1e5) or nx.any(v > 1e5):
            absorbed = True
            if histograms:
                alpha = alpha + reg * nx.log(nx.max(u, 1))
                beta = beta + reg * nx.log(nx.max(v, 1))
            else:
                alpha = alpha + reg * nx.log(nx.max(u))
                beta = beta + reg * nx.log(nx.max(v))
            kernel = nx.exp((alpha[:, None] + beta[None, :] - m0) / reg)
            v = nx.ones(v.shape, like=v)
        kv = nx.dot(kernel, v)
        if nx.any(ktu == 0.0) or nx.any(np.isnan(u)) or nx.any(np.isnan(v)) or nx.any(np.isinf(u)):
            u, v = u_old, v_old
            break
        if (step % 10 == 0 and not absorbed) or step == 0:
            err = nx.max(np.abs(u - u_old)) / max(nx.max(np.abs(u)), nx.max(np.abs(u_old)), 1.0)
        step = step + 1
    return alpha, beta, u, v, step


def test_a_solver_that_rebinds_under_conditions():
    m = np.abs(X[:, None] - X[None, :5]) / 2.0
    check(scaling, (np.full(7, 1 / 7), np.full(5, 1 / 5), m, 0.05, 1.0, 1.0, Backend(), 25))


def test_a_loop_that_needs_more_than_the_budget_says_so():
    names = [f"v{i}" for i in range(12)]
    body = "".join(
        f"        if i % {i + 2} == 1:\n            {v} = {('None', 'x * 2.0', 'x[:, None]', 'i', '(i, x)')[i % 5]}\n"
        for i, v in enumerate(names)
    )
    source = f"def f(x, n):\n    {' = '.join(names)} = x\n    for i in range(n):\n{body}    return {', '.join(names)}\n"
    namespace = {}
    exec(source, namespace)
    compiled = check(namespace["f"], (X, 9), (X, 30))
    text = str(stator.explain(compiled)(X, 9))
    assert "would take too long" in text or "change too often" in text, text


@pytest.mark.parametrize("count", [30_000, 10**9])
def test_what_numpy_is_asked_about_is_small(count):
    def f(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
            if s > 1e6:
                s += np.tri(count)[0, 0]
        return s

    check(f, (X, 7), (X, 3))


def test_names_that_branches_bind_to_old_and_new_arrays():
    def f(a, b, n):
        u, v, w, x, y = a, b, a * 2.0, b, a
        for i in range(n):
            old = u
            if i % 2:
                u = a * 0.5
            if i % 3 == 1:
                v = u + 1.0
            if i % 5 == 2:
                w = old
            if i % 3 == 2:
                x = v
            if i % 4 == 1:
                y = w * 0.25
            u = u + v * 0.125
        return u, v, w, x, y, u is v, w is y, x is v

    check(f, (X, X[::-1].copy(), 0), (X, X + 1.0, 1), (X, X * 2.0, 60))


def test_products_that_have_more_axes_in_each_iteration():
    def f(x, y, n):
        for i in range(n):
            x = np.dot(x, y)
        return x

    check(
        f,
        (X[:8].repeat(2)[:8].reshape(2, 2, 2), X[:6].repeat(2)[:8].reshape(2, 2, 2), 4),
        (X[:4].reshape(2, 2), X[:4].reshape(2, 2), 3),
    )


def test_axes_that_a_branch_adds():
    def f(a, n, deep):
        m, u, s = a[:, None] * a, a, 0.0
        for i in range(n):
            u = m @ a * 0.1
            if deep:
                u = u[:, None] * np.ones(3)
            w = np.dot(m.T, u)
            if np.any(w > 1e3):
                u = np.max(u, 0) + a
            s = s + np.sum(w)
        return u, w, s

    check(f, (X, 6, 0), (X, 6, 1))
