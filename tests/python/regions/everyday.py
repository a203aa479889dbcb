"""Loops as people write them, that nobody tuned anything for.

Each is the text of a function `f` (with the helpers it calls) and how its arguments are made from a generator and a
size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Rng = np.random.Generator

NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])


class Program(NamedTuple):
    """A program; `open` says why some loop of it is not native code from its beginning to its end yet."""

    text: str
    arguments: Callable[[Rng, int], list[Any]]
    open: str = ""


PROGRAMS: dict[str, Program] = {}


def program(name: str, arguments: Callable[[Rng, int], list[Any]], text: str, open: str = "") -> None:
    PROGRAMS[name] = Program(text.lstrip("\n"), arguments, open)


# --- stencils ---------------------------------------------------------------------------------------------------------

program(
    "heat with boundaries",
    lambda r, n: [r.random((n, n + 1)), 12, 0.1],
    """
def f(T, steps, alpha):
    for step in range(steps):
        Tn = T.copy()
        lap = Tn[:-2, 1:-1] + Tn[2:, 1:-1] + Tn[1:-1, :-2] + Tn[1:-1, 2:] - 4 * Tn[1:-1, 1:-1]
        T[1:-1, 1:-1] = Tn[1:-1, 1:-1] + alpha * lap
        T[0, :] = T[1, :]
        T[-1, :] = 0.0
        T[:, 0] = T[:, -2]
        T[:, -1] = 1.0
    return T
""",
)
program(
    "heat until convergence",
    lambda r, n: [r.random((n, n)), 1e-3],
    """
def f(u, tolerance):
    change = 1.0
    iterations = 0
    while change > tolerance and iterations < 500:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        change = np.max(np.abs(new - u))
        u = new
        iterations += 1
    return u, iterations, change
""",
)
program(
    "wave equation in f32",
    lambda r, n: [r.random(n).astype(np.float32), 20, np.float32(0.3)],
    """
def f(u0, steps, c2):
    u_prev = u0.copy()
    u = u0.copy()
    for t in range(steps):
        u_next = np.zeros_like(u)
        u_next[1:-1] = 2 * u[1:-1] - u_prev[1:-1] + c2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u_prev, u = u, u_next
    return u
""",
)
program(
    "stencil on a transposed input",
    lambda r, n: [r.random((n, n + 2)).T, np.asfortranarray(r.random((n + 2, n))), 6],
    """
def step(src, dst):
    dst[1:-1, 1:-1] = 0.2 * (src[1:-1, 1:-1] + src[1:-1, :-2] + src[1:-1, 2:] + src[:-2, 1:-1] + src[2:, 1:-1])


def f(A, B, n):
    for t in range(n):
        step(A, B)
        step(B, A)
    return A, B
""",
)
program(
    "stencil on every other element",
    lambda r, n: [r.random((2 * n, 2 * n))[::2, ::2], 5],
    """
def f(grid, n):
    for k in range(n):
        mid = grid[1:-1, 1:-1]
        up = grid[:-2, 1:-1]
        down = grid[2:, 1:-1]
        grid[1:-1, 1:-1] = (up + mid + down) / 3.0
    return grid
""",
)
program(
    "red and black Gauss-Seidel",
    lambda r, n: [np.zeros((n, n)), r.random((n, n)), 8, 1.2],
    """
def f(phi, rhs, sweeps, omega):
    n = phi.shape[0]
    for sweep in range(sweeps):
        for colour in (0, 1):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, n - 1, 2):
                    gs = 0.25 * (phi[i - 1, j] + phi[i + 1, j] + phi[i, j - 1] + phi[i, j + 1] - rhs[i, j])
                    phi[i, j] = (1 - omega) * phi[i, j] + omega * gs
    return phi
""",
)
program(
    "upwind advection with a condition",
    lambda r, n: [r.random(n), r.standard_normal(n), 15, 0.1],
    """
def f(q, v, steps, dt):
    n = len(q)
    for t in range(steps):
        old = q.copy()
        for i in range(1, n - 1):
            if v[i] > 0:
                q[i] = old[i] - dt * v[i] * (old[i] - old[i - 1])
            else:
                q[i] = old[i] - dt * v[i] * (old[i + 1] - old[i])
    return q
""",
)
program(
    "game of life",
    lambda r, n: [r.integers(0, 2, (n, n)), 6],
    """
def f(board, generations):
    for g in range(generations):
        neighbours = np.zeros_like(board)
        neighbours[1:-1, 1:-1] = (
            board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:]
            + board[1:-1, :-2] + board[1:-1, 2:]
            + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:]
        )
        board = np.where((neighbours == 3) | ((board == 1) & (neighbours == 2)), 1, 0)
    return board
""",
)
program(
    "game of life with roll",
    lambda r, n: [r.integers(0, 2, (n, n)).astype(bool), 5],
    """
def f(world, n):
    for _ in range(n):
        count = np.zeros(world.shape, dtype=np.int64)
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx != 0 or dy != 0:
                    count += np.roll(np.roll(world, dx, axis=0), dy, axis=1)
        world = (count == 3) | (world & (count == 2))
    return world
""",
)
program(
    "game of life by cells",
    lambda r, n: [r.integers(0, 2, (n, n)).astype(np.uint8), 4],
    """
def f(grid, steps):
    rows, cols = grid.shape
    for s in range(steps):
        new = np.zeros((rows, cols), dtype=np.uint8)
        for i in range(rows):
            for j in range(cols):
                alive = 0
                for a in range(-1, 2):
                    for b in range(-1, 2):
                        if a == 0 and b == 0:
                            continue
                        alive += grid[(i + a) % rows, (j + b) % cols]
                if grid[i, j] == 1 and (alive == 2 or alive == 3):
                    new[i, j] = 1
                elif grid[i, j] == 0 and alive == 3:
                    new[i, j] = 1
        grid = new
    return grid
""",
)
program(
    "reaction and diffusion",
    lambda r, n: [np.ones((n, n)), r.random((n, n)), 10],
    """
def laplacian(Z):
    return Z[:-2, 1:-1] + Z[1:-1, :-2] + Z[2:, 1:-1] + Z[1:-1, 2:] - 4 * Z[1:-1, 1:-1]


def f(U, V, n, F=0.04, k=0.06):
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for i in range(n):
        Lu = laplacian(U)
        Lv = laplacian(V)
        uvv = u * v * v
        u += 0.16 * Lu - uvv + F * (1 - u)
        v += 0.08 * Lv + uvv - (F + k) * v
    return U, V
""",
)
program(
    "a 3-D stencil in f32, F order",
    lambda r, n: [np.asfortranarray(r.random((n, n, n)).astype(np.float32)), 3],
    """
def f(a, n):
    for t in range(n):
        b = a.copy()
        a[1:-1, 1:-1, 1:-1] = (b[:-2, 1:-1, 1:-1] + b[2:, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1] + b[1:-1, 2:, 1:-1] + b[1:-1, 1:-1, :-2] + b[1:-1, 1:-1, 2:]) / np.float32(6)
    return a
""",
)
# --- ordinary differential equations ----------------------------------------------------------------------------------

program(
    "SIR by Euler steps",
    lambda r, n: [0.99, 0.01, 0.0, 0.3, 0.1, 0.1, 40 * n],
    """
def f(S, I, R, beta, gamma, dt, steps):
    out = np.empty((steps, 3))
    for k in range(steps):
        dS = -beta * S * I
        dI = beta * S * I - gamma * I
        dR = gamma * I
        S += dt * dS
        I += dt * dI
        R += dt * dR
        out[k, 0], out[k, 1], out[k, 2] = S, I, R
    return out
""",
)
program(
    "Lorenz by RK4, arrays",
    lambda r, n: [np.array([1.0, 1.0, 1.0]), 0.01, 10 * n],
    """
def deriv(s, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    x, y, z = s
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def f(state, dt, n):
    path = np.zeros((n, 3))
    for i in range(n):
        k1 = deriv(state)
        k2 = deriv(state + 0.5 * dt * k1)
        k3 = deriv(state + 0.5 * dt * k2)
        k4 = deriv(state + dt * k3)
        state = state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[i] = state
    return path
""",
)
program(
    "RK4 with a function as argument",
    lambda r, n: [0.1, 0.0, 1.0, 5 * n],
    """
def oscillator(t, x, v):
    return v, -x - 0.1 * v


def rk4(fun, t, x, v, h):
    a1, b1 = fun(t, x, v)
    a2, b2 = fun(t + h / 2, x + h / 2 * a1, v + h / 2 * b1)
    a3, b3 = fun(t + h / 2, x + h / 2 * a2, v + h / 2 * b2)
    a4, b4 = fun(t + h, x + h * a3, v + h * b3)
    return x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)


def f(h, x, v, n):
    xs = np.empty(n)
    t = 0.0
    for i in range(n):
        x, v = rk4(oscillator, t, x, v, h)
        t += h
        xs[i] = x
    return xs, v
""",
)
program(
    "n-body by pairs",
    lambda r, n: [r.random((n, 3)), np.zeros((n, 3)), r.random(n), 5, 0.01],
    """
def f(pos, vel, mass, steps, dt):
    n = len(mass)
    for s in range(steps):
        for i in range(n):
            ax = ay = az = 0.0
            for j in range(n):
                if i == j:
                    continue
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                d2 = dx * dx + dy * dy + dz * dz + 1e-6
                inv = mass[j] / (d2 * np.sqrt(d2))
                ax += dx * inv
                ay += dy * inv
                az += dz * inv
            vel[i, 0] += dt * ax
            vel[i, 1] += dt * ay
            vel[i, 2] += dt * az
        pos += dt * vel
    return pos, vel
""",
)
program(
    "leapfrog with a record",
    lambda r, n: [r.random((n, 2)), r.random((n, 2)), 12, 0.05],
    """
def f(x, v, steps, dt):
    energies = []
    for k in range(steps):
        v -= 0.5 * dt * x
        x += dt * v
        v -= 0.5 * dt * x
        e = 0.5 * (v * v).sum() + 0.5 * (x * x).sum()
        energies.append(e)
    return x, v, energies
""",
)
program(
    "adaptive steps",
    lambda r, n: [1.0, 0.05 * n, 0.1],
    """
def f(y, end, h):
    t = 0.0
    taken = rejected = 0
    while t < end:
        full = y - h * y
        half = y - 0.5 * h * y
        half = half - 0.5 * h * half
        err = abs(full - half)
        if err > 1e-3:
            h *= 0.5
            rejected += 1
            continue
        y = half
        t += h
        taken += 1
        if err < 1e-4:
            h *= 1.5
    return y, taken, rejected
""",
)
# --- linear algebra ---------------------------------------------------------------------------------------------------

program(
    "power iteration",
    lambda r, n: [r.random((n, n)), r.random(n), 30],
    """
def f(A, x, n):
    value = 0.0
    for k in range(n):
        y = A @ x
        value = np.sqrt(y @ y)
        x = y / value
    return value, x
""",
)
program(
    "power iteration with norm",
    lambda r, n: [r.random((n, n)), r.random(n)],
    """
def f(A, b):
    for it in range(100):
        new = np.dot(A, b)
        norm = np.linalg.norm(new)
        new = new / norm
        if np.abs(new - b).max() < 1e-9:
            break
        b = new
    return b, norm, it
""",
)
program(
    "Thomas solver",
    lambda r, n: [r.random(n), 4 + r.random(n), r.random(n), r.random(n)],
    """
def f(a, b, c, d):
    n = len(d)
    cp = np.zeros(n)
    dp = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x
""",
)
program(
    "Gaussian elimination with pivots",
    lambda r, n: [r.random((n, n)), r.random(n)],
    """
def f(A, b):
    n = b.size
    for k in range(n - 1):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if p != k:
            for j in range(n):
                tmp = A[k, j]
                A[k, j] = A[p, j]
                A[p, j] = tmp
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(A[i, i + 1 :], x[i + 1 :])) / A[i, i]
    return x
""",
)
program(
    "Jacobi iteration",
    lambda r, n: [r.random((n, n)) + n * np.eye(n), r.random(n), 25],
    """
def f(A, b, n):
    x = np.zeros_like(b)
    D = np.diag(A)
    R = A - np.diagflat(D)
    for i in range(n):
        x = (b - R @ x) / D
    return x
""",
)
program(
    "conjugate gradients",
    lambda r, n: [(lambda m: m @ m.T + n * np.eye(n))(r.random((n, n))), r.random(n)],
    """
def f(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for i in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / rs) * p
        rs = new
    return x, i
""",
)
program(
    "PageRank",
    lambda r, n: [r.random((n, n)), 0.85, 40],
    """
def f(M, d, iterations):
    N = M.shape[1]
    M = M / M.sum(axis=0)
    v = np.ones(N) / N
    for i in range(iterations):
        v = d * (M @ v) + (1 - d) / N
    return v
""",
)
program(
    "PageRank by edges",
    lambda r, n: [r.integers(0, n, (4 * n, 2)), n, 15],
    """
def f(edges, n, iterations):
    degree = np.zeros(n)
    for s, t in edges:
        degree[s] += 1
    rank = np.full(n, 1.0 / n)
    for it in range(iterations):
        new = np.full(n, 0.15 / n)
        for s, t in edges:
            new[t] += 0.85 * rank[s] / degree[s]
        rank = new
    return rank
""",
)
program(
    "Kalman filter",
    lambda r, n: [r.random(3 * n), np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])],
    """
def f(z, P, F, H):
    x = np.zeros(2)
    Q = 0.01 * np.eye(2)
    out = np.zeros((len(z), 2))
    for k in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + 0.5
        K = P @ H.T / S
        y = z[k] - H @ x
        x = x + K @ y
        P = (np.eye(2) - K @ H) @ P
        out[k] = x
    return out, P
""",
)
# --- counting, searching, tables --------------------------------------------------------------------------------------

program(
    "histogram by hand",
    lambda r, n: [r.random(9 * n), 10, 0.0, 1.0],
    """
def f(data, bins, low, high):
    hist = np.zeros(bins, dtype=np.int64)
    width = (high - low) / bins
    for x in data:
        k = int((x - low) / width)
        if 0 <= k < bins:
            hist[k] += 1
    return hist
""",
)
program(
    "sieve",
    lambda r, n: [40 * n],
    """
def f(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    return np.flatnonzero(prime)
""",
)
program(
    "sieve by elements",
    lambda r, n: [30 * n],
    """
def f(n):
    flags = np.ones(n, np.uint8)
    count = 0
    for i in range(2, n):
        if flags[i]:
            count += 1
            for j in range(i * i, n, i):
                flags[j] = 0
    return count
""",
)
program(
    "Levenshtein",
    lambda r, n: [r.integers(0, 4, n), r.integers(0, 4, n + 3)],
    """
def f(a, b):
    m, n = len(a), len(b)
    d = np.zeros((m + 1, n + 1), dtype=np.int32)
    for i in range(m + 1):
        d[i, 0] = i
    for j in range(n + 1):
        d[0, j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[m, n]
""",
)
program(
    "longest common subsequence by rows",
    lambda r, n: [r.integers(0, 3, n), r.integers(0, 3, n + 2)],
    """
def f(a, b):
    prev = [0] * 1
    row = np.zeros(len(b) + 1, dtype=np.int64)
    for x in a:
        diagonal = 0
        for j in range(1, len(b) + 1):
            above = row[j]
            if x == b[j - 1]:
                row[j] = diagonal + 1
            else:
                row[j] = max(row[j], row[j - 1])
            diagonal = above
    return row[-1]
""",
)
program(
    "binary search",
    lambda r, n: [np.sort(r.random(5 * n)), r.random(2 * n)],
    """
def search(a, x):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def f(a, queries):
    out = np.empty(len(queries), dtype=np.intp)
    for i, q in enumerate(queries):
        out[i] = search(a, q)
    return out
""",
)
program(
    "bubble sort",
    lambda r, n: [r.random(2 * n)],
    """
def f(a):
    n = len(a)
    for i in range(n):
        swapped = False
        for j in range(0, n - i - 1):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break
    return a
""",
)
program(
    "insertion sort",
    lambda r, n: [r.integers(0, 99, 2 * n)],
    """
def f(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a
""",
)
program(
    "knapsack",
    lambda r, n: [r.integers(1, 9, n), r.integers(1, 50, n), 5 * n],
    """
def f(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            with_it = best[c - w] + v
            if with_it > best[c]:
                best[c] = with_it
    return best[capacity]
""",
)
program(
    "run lengths",
    lambda r, n: [r.integers(0, 2, 4 * n)],
    """
def f(bits):
    longest = current = 0
    last = -1
    for b in bits:
        if b == last:
            current += 1
        else:
            current = 1
            last = b
        if current > longest:
            longest = current
    return longest
""",
)
program(
    "moving average",
    lambda r, n: [r.random(6 * n), 5],
    """
def f(x, w):
    out = np.empty(len(x) - w + 1)
    acc = 0.0
    for i in range(len(x)):
        acc += x[i]
        if i >= w:
            acc -= x[i - w]
        if i >= w - 1:
            out[i - w + 1] = acc / w
    return out
""",
)
# --- drawing, signals, images -----------------------------------------------------------------------------------------

program(
    "Mandelbrot by points",
    lambda r, n: [n, n + 2, 30],
    """
def f(width, height, limit):
    out = np.zeros((height, width), dtype=np.int32)
    for j in range(height):
        for i in range(width):
            c = complex(-2.0 + 2.5 * i / width, -1.2 + 2.4 * j / height)
            z = 0j
            for k in range(limit):
                if abs(z) > 2.0:
                    break
                z = z * z + c
            out[j, i] = k
    return out
""",
)
program(
    "Julia set with reals",
    lambda r, n: [n, 25, -0.7, 0.27],
    """
def f(n, limit, cx, cy):
    img = np.empty((n, n))
    for row in range(n):
        for col in range(n):
            x = 3.0 * col / n - 1.5
            y = 2.0 * row / n - 1.0
            it = 0
            while x * x + y * y < 4.0 and it < limit:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                it += 1
            img[row, col] = it / limit
    return img
""",
)
program(
    "convolution by hand",
    lambda r, n: [r.random((n, n)), r.random((3, 3))],
    """
def f(image, kernel):
    h, w = image.shape
    kh, kw = kernel.shape
    out = np.zeros((h - kh + 1, w - kw + 1))
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = np.sum(image[y : y + kh, x : x + kw] * kernel)
    return out
""",
)
program(
    "bilinear interpolation",
    lambda r, n: [r.random((n, n)), 0.7],
    """
def f(img, scale):
    h, w = img.shape
    oh, ow = int(h * scale), int(w * scale)
    out = np.zeros((oh, ow), img.dtype)
    for i in range(oh):
        for j in range(ow):
            y = i / scale
            x = j / scale
            y0 = min(int(np.floor(y)), h - 2)
            x0 = min(int(np.floor(x)), w - 2)
            dy = y - y0
            dx = x - x0
            out[i, j] = (
                img[y0, x0] * (1 - dy) * (1 - dx)
                + img[y0, x0 + 1] * (1 - dy) * dx
                + img[y0 + 1, x0] * dy * (1 - dx)
                + img[y0 + 1, x0 + 1] * dy * dx
            )
    return out
""",
)
program(
    "FFT by hand",
    lambda r, n: [r.random(16) + 1j * r.random(16)],
    """
def f(x):
    n = len(x)
    x = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            x[i], x[j] = x[j], x[i]
    length = 2
    while length <= n:
        w = np.exp(-2j * np.pi * np.arange(length // 2) / length)
        for start in range(0, n, length):
            for k in range(length // 2):
                even = x[start + k]
                odd = x[start + k + length // 2] * w[k]
                x[start + k] = even + odd
                x[start + k + length // 2] = even - odd
        length *= 2
    return x
""",
)
program(
    "DFT by hand",
    lambda r, n: [r.random(n)],
    """
def f(x):
    N = x.shape[0]
    re = np.zeros(N)
    im = np.zeros(N)
    for k in range(N):
        for t in range(N):
            angle = 2.0 * np.pi * t * k / N
            re[k] += x[t] * np.cos(angle)
            im[k] -= x[t] * np.sin(angle)
    return re, im
""",
)
program(
    "IIR filter",
    lambda r, n: [r.random(9 * n), 0.1, 0.2, 0.3],
    """
def f(x, a, b, c):
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = a * x[n]
        if n >= 1:
            y[n] += b * y[n - 1]
        if n >= 2:
            y[n] -= c * y[n - 2]
    return y
""",
)
program(
    "dithering",
    lambda r, n: [r.random((n, n))],
    """
def f(img):
    h, w = img.shape
    for y in range(h):
        for x in range(w):
            old = img[y, x]
            new = np.round(old)
            img[y, x] = new
            err = old - new
            if x + 1 < w:
                img[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    img[y + 1, x - 1] += err * 3 / 16
                img[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    img[y + 1, x + 1] += err / 16
    return img
""",
    "" if NUMPY >= (2, 4) else "np.round of a number is a call of NumPy's Python code before NumPy 2.4",
)
# --- statistics, learning, chance -------------------------------------------------------------------------------------

program(
    "k-means",
    lambda r, n: [r.random((4 * n, 2)), r.random((3, 2)), 6],
    """
def f(points, centres, rounds):
    k = centres.shape[0]
    labels = np.zeros(len(points), dtype=np.int64)
    for r in range(rounds):
        for i in range(len(points)):
            best = np.inf
            for c in range(k):
                d = 0.0
                for a in range(points.shape[1]):
                    diff = points[i, a] - centres[c, a]
                    d += diff * diff
                if d < best:
                    best = d
                    labels[i] = c
        sums = np.zeros_like(centres)
        counts = np.zeros(k)
        for i in range(len(points)):
            sums[labels[i]] += points[i]
            counts[labels[i]] += 1
        for c in range(k):
            if counts[c] > 0:
                centres[c] = sums[c] / counts[c]
    return centres, labels
""",
)
program(
    "k-means with arrays",
    lambda r, n: [r.random((4 * n, 3)), r.random((3, 3)), 6],
    """
def f(X, C, rounds):
    for r in range(rounds):
        d = ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)
        label = np.argmin(d, axis=1)
        for k in range(C.shape[0]):
            mask = label == k
            if mask.any():
                C[k] = X[mask].mean(axis=0)
    return C, label
""",
)
program(
    "gradient descent",
    lambda r, n: [r.random((n, 3)), r.random(n), 30, 0.05],
    """
def f(X, y, epochs, rate):
    w = np.zeros(X.shape[1])
    history = np.zeros(epochs)
    for e in range(epochs):
        error = X @ w - y
        grad = X.T @ error / len(y)
        w -= rate * grad
        history[e] = np.mean(error**2)
    return w, history
""",
)
program(
    "logistic regression",
    lambda r, n: [r.random((n, 3)), r.integers(0, 2, n).astype(float), 15],
    """
def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def f(X, y, epochs):
    w = np.zeros(X.shape[1])
    for e in range(epochs):
        p = sigmoid(np.dot(X, w))
        w = w + 0.1 * np.dot(X.T, y - p)
    return w
""",
)
program(
    "LSTM",
    lambda r, n: [r.random((n, 4)), r.random((16, 4)), r.random((16, 4)), r.random(16)],
    """
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def f(xs, W, U, b):
    h = np.zeros(4)
    c = np.zeros(4)
    for x in xs:
        g = W @ x + U @ h + b
        i, o = sigmoid(g[:4]), sigmoid(g[4:8])
        fg, n = sigmoid(g[8:12]), np.tanh(g[12:])
        c = fg * c + i * n
        h = o * np.tanh(c)
    return h, c
""",
)
program(
    "perceptron",
    lambda r, n: [r.standard_normal((n, 4)), r.integers(0, 2, n) * 2 - 1, 10],
    """
def f(X, y, epochs):
    w = np.zeros(X.shape[1])
    b = 0.0
    for _ in range(epochs):
        errors = 0
        for xi, target in zip(X, y):
            if target * (np.dot(xi, w) + b) <= 0:
                w += 0.1 * target * xi
                b += 0.1 * target
                errors += 1
        if errors == 0:
            break
    return w, b
""",
)
program(
    "random walk, numbers drawn before",
    lambda r, n: [r.integers(0, 4, 20 * n)],
    """
def f(moves):
    x = y = 0
    farthest = 0
    for m in moves:
        if m == 0:
            x += 1
        elif m == 1:
            x -= 1
        elif m == 2:
            y += 1
        else:
            y -= 1
        farthest = max(farthest, abs(x) + abs(y))
    return x, y, farthest
""",
)
program(
    "Monte Carlo, numbers drawn before",
    lambda r, n: [r.random((20 * n, 2))],
    """
def f(points):
    inside = 0
    for i in range(points.shape[0]):
        x, y = points[i]
        if x * x + y * y <= 1.0:
            inside += 1
    return 4.0 * inside / points.shape[0]
""",
)
program(
    "Metropolis, numbers drawn before",
    lambda r, n: [r.integers(0, 2, (n, n)) * 2 - 1, r.integers(0, n, (9 * n, 2)), r.random(9 * n), 0.44],
    """
def f(spins, where, chance, beta):
    n = spins.shape[0]
    energy = 0
    for k in range(len(chance)):
        i, j = where[k, 0], where[k, 1]
        s = spins[i, j]
        total = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        cost = 2 * s * total
        if cost <= 0 or chance[k] < np.exp(-beta * cost):
            spins[i, j] = -s
            energy += cost
    return spins, energy
""",
)
program(
    "linear congruential generator",
    lambda r, n: [30 * n, 12345],
    """
def f(n, seed):
    out = np.empty(n)
    state = seed
    for i in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        out[i] = state / 2147483648.0
    return out, state
""",
)
program(
    "Welford",
    lambda r, n: [r.random(9 * n)],
    """
def f(x):
    mean = 0.0
    m2 = 0.0
    count = 0
    for v in x:
        count += 1
        delta = v - mean
        mean += delta / count
        m2 += delta * (v - mean)
    return mean, m2 / (count - 1)
""",
)
program(
    "autocorrelation",
    lambda r, n: [r.random(5 * n), 8],
    """
def f(x, lags):
    x = x - x.mean()
    out = np.empty(lags)
    for k in range(lags):
        out[k] = np.sum(x[: len(x) - k] * x[k:]) / np.sum(x * x)
    return out
""",
)
program(
    "pairwise distances",
    lambda r, n: [r.random((n, 3)).astype(np.float32)],
    """
def f(p):
    n, dims = p.shape
    D = np.empty((n, n), np.float32)
    for i in range(n):
        for j in range(n):
            d = 0.0
            for k in range(dims):
                t = p[i, k] - p[j, k]
                d += t * t
            D[i, j] = np.sqrt(d)
    return D
""",
)
program(
    "Floyd-Warshall, rows",
    lambda r, n: [r.random((n, n))],
    """
def f(dist):
    n = len(dist)
    for k in range(n):
        for i in range(n):
            dist[i] = np.minimum(dist[i], dist[i, k] + dist[k])
    return dist
""",
)
program(
    "Black-Scholes in a loop",
    lambda r, n: [50 + 50 * r.random(n), 8],
    """
def f(S, steps):
    V = np.maximum(S - 75.0, 0.0)
    for t in range(steps):
        d = (np.log(S / 75.0) + 0.05 * (t + 1)) / (0.2 * np.sqrt(t + 1.0))
        V = 0.5 * (1 + np.tanh(0.8 * d)) * S + 0.1 * V
    return V
""",
)
program(
    "a list of copies",
    lambda r, n: [r.random(n), 20],
    """
def f(u, steps):
    frames = []
    for k in range(steps):
        u[1:] += 0.1 * u[:-1]
        if k % 5 == 0:
            frames.append(u.copy())
        frames.append((k, float(u[0]), None))
    return frames
""",
)
program(
    "rotations",
    lambda r, n: [r.random((n, 2)), 0.1],
    """
import math


def f(points, angle):
    out = np.empty_like(points)
    for i in range(len(points)):
        c, s = math.cos(angle * i), math.sin(angle * i)
        R = np.array([[c, -s], [s, c]])
        out[i] = R @ points[i]
    return out
""",
)
program(
    "strided parts with a step of the loop",
    lambda r, n: [r.random(9 * n)],
    """
def f(x):
    sums = np.zeros(5)
    for k in range(1, 6):
        sums[k - 1] = x[::k].sum()
        x[k::k] *= 0.5
        y = x[3 * k : len(x) - k : k]
        sums[k - 1] += y[0] if len(y) else -1.0
    return sums, x
""",
)
program(
    "complex arithmetic",
    lambda r, n: [r.random(n), r.random(n)],
    """
def f(x, y):
    total = 0j
    for i in range(len(x)):
        z = complex(x[i], y[i])
        total = total * 0.5 + z * z - 0.25 * z
        if abs(total) > 10.0:
            total = complex(1.0)
    return total
""",
)
# --- Python around the numbers ----------------------------------------------------------------------------------------

program(
    "a list that grows",
    lambda r, n: [r.random(6 * n)],
    """
def f(x):
    peaks = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            peaks.append(i)
    return peaks
""",
)
program(
    "a list of scalars per step",
    lambda r, n: [r.random(n), 40],
    """
def f(u, steps):
    norms = []
    for k in range(steps):
        u = 0.9 * u + 0.1
        norms.append(float(np.sum(u)))
    return norms
""",
)
program(
    "an object's attributes",
    lambda r, n: [r.random(n), 20],
    """
class Model:
    def __init__(self, x):
        self.x = x
        self.total = 0.0
        self.count = 0

    def run(self, steps):
        for k in range(steps):
            self.x[1:-1] = 0.5 * (self.x[:-2] + self.x[2:])
            self.total += self.x[k % len(self.x)]
            self.count += 1


def f(x, steps):
    m = Model(x)
    m.run(steps)
    return m.x, m.total, m.count
""",
    "stores to attributes are Python's",
)
program(
    "parameters in a dict",
    lambda r, n: [r.random(n), {"alpha": 0.1, "steps": 25}],
    """
def f(u, params):
    for k in range(params["steps"]):
        u[1:-1] += params["alpha"] * (u[:-2] - 2 * u[1:-1] + u[2:])
    return u
""",
)
program(
    "a message now and then",
    lambda r, n: [r.random(n), 60],
    """
def f(u, steps):
    for k in range(steps):
        u[1:] = 0.5 * (u[1:] + u[:-1])
        if k % 20 == 0:
            print(f"step {k}: {u[0]:.3f}")
    return u
""",
    "leaves for the message",
)
program(
    "rows of an array",
    lambda r, n: [r.random((n, 4)), r.random(4)],
    """
def f(A, w):
    total = 0.0
    for row in A:
        total += (row * w).sum()
        row *= 0.5
    return total, A
""",
)
program(
    "a tuple of arrays",
    lambda r, n: [r.random(n), r.random(n), r.random(n), 9],
    """
def f(a, b, c, n):
    fields = (a, b, c)
    for t in range(n):
        for q in fields:
            q[1:-1] = 0.25 * (q[:-2] + 2 * q[1:-1] + q[2:])
    return fields
""",
)
program(
    "two names for one number",
    lambda r, n: [r.random(4 * n)],
    """
def f(x):
    low = high = x[0]
    for v in x[1:]:
        if v < low:
            low = v
        elif v > high:
            high = v
    return low, high
""",
)
program(
    "numbers of NumPy's types",
    lambda r, n: [r.random(3 * n).astype(np.float32), np.int32(3), np.float32(0.5)],
    """
def f(x, k, s):
    acc = np.float32(0)
    n = np.int32(0)
    for v in x:
        if v > s:
            acc += v * s
            n += k
    return acc, n
""",
)
program(
    "a nested function",
    lambda r, n: [r.random(3 * n), 0.3],
    """
def f(x, k):
    def clamp(v, low=0.1, high=0.8):
        return low if v < low else high if v > high else v

    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = clamp(x[i] + k)
    return out
""",
)
program(
    "math functions",
    lambda r, n: [r.random(3 * n)],
    """
import math


def f(x):
    s = 0.0
    for i in range(len(x)):
        s += math.sqrt(x[i]) + math.sin(x[i]) * math.exp(-x[i])
        if math.isnan(s):
            break
    return s
""",
)
program(
    "integers and bits",
    lambda r, n: [r.integers(0, 2**31, 5 * n)],
    """
def f(values):
    total = 0
    for v in values:
        v = int(v)
        while v:
            total += v & 1
            v >>= 1
    return total
""",
)
program(
    "flattened and reshaped",
    lambda r, n: [r.random((n, 4)), 5],
    """
def f(a, n):
    for t in range(n):
        flat = a.reshape(-1)
        flat[1:] += 0.1 * flat[:-1]
        b = a.reshape(2, -1) if a.size % 2 == 0 else a
        a = a * 0.5 + b.ravel().reshape(a.shape)
    return a
""",
    "a variable that holds a reshaped view",
)
