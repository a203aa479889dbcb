"""Whole programs as scientists write them: classes, callbacks, filters, Monte Carlo, dynamic programming, recursion.

Each is the text of a module whose function `f` runs it, and how its arguments are made from a generator and a size.
Nothing is asked of them but eager's results; `NATIVE` names those whose loops nothing leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, tuple[str, Callable[[np.random.Generator, int], list[Any]]]] = {}


def program(name: str, arguments: Callable[[np.random.Generator, int], list[Any]], text: str) -> None:
    PROGRAMS[name] = text.lstrip("\n"), arguments


program(
    "rk4 callback",
    lambda r, n: [np.array([1.0, 0.0, 0.5]), 0.0, 10.0, 200],
    """
def rhs(t, y):
    return np.array([-y[0] + y[1] * t, y[0] * y[2] - np.sin(t), -0.5 * y[2] + y[0]])

def rk4_step(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

def f(y0, t0, t1, n):
    h = (t1 - t0) / n
    ys = np.zeros((n + 1, len(y0)))
    ys[0] = y0
    t = t0
    for i in range(n):
        ys[i + 1] = rk4_step(rhs, t, ys[i], h)
        t += h
    return ys
""",
)
program(
    "sor",
    lambda r, n: [r.random((n, n)), 1.5, 1e-4],
    """
def f(b, omega, tol):
    n, m = b.shape
    u = np.zeros_like(b)
    it = 0
    while True:
        max_change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                old = u[i, j]
                new = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + b[i, j]) / 4
                u[i, j] = old + omega * (new - old)
                change = abs(u[i, j] - old)
                if change > max_change:
                    max_change = change
        it += 1
        if max_change < tol or it > 1000:
            break
    return u, it
""",
)
program(
    "metropolis rng",
    lambda r, n: [2000, 0.8, 3],
    """
def log_target(x):
    return -0.5 * np.sum(x ** 2) - 0.1 * np.sum(x ** 4)

def f(n, scale, seed):
    rng = np.random.default_rng(seed)
    x = np.zeros(3)
    lp = log_target(x)
    samples = np.empty((n, 3))
    accepted = 0
    for i in range(n):
        prop = x + scale * rng.standard_normal(3)
        lpp = log_target(prop)
        if np.log(rng.random()) < lpp - lp:
            x = prop
            lp = lpp
            accepted += 1
        samples[i] = x
    return samples, accepted / n
""",
)
program(
    "kmeans class",
    lambda r, n: [r.random((40 * n, 3)), 5, 1],
    """
class KMeans:
    def __init__(self, k, iters=30, tol=1e-6):
        self.k = k
        self.iters = iters
        self.tol = tol
        self.centers = None
        self.inertia = 0.0

    def fit(self, X, rng):
        idx = rng.permutation(len(X))[: self.k]
        self.centers = X[idx].copy()
        for it in range(self.iters):
            d = np.linalg.norm(X[:, None, :] - self.centers[None, :, :], axis=2)
            labels = np.argmin(d, axis=1)
            new = np.zeros_like(self.centers)
            for k in range(self.k):
                members = X[labels == k]
                if len(members) > 0:
                    new[k] = members.mean(axis=0)
                else:
                    new[k] = self.centers[k]
            shift = np.abs(new - self.centers).max()
            self.centers = new
            if shift < self.tol:
                break
        self.inertia = float(np.sum((X - self.centers[labels]) ** 2))
        return labels

def f(X, k, seed):
    km = KMeans(k)
    labels = km.fit(X, np.random.default_rng(seed))
    return labels, km.centers, km.inertia
""",
)
program(
    "pagerank",
    lambda r, n: [(r.random((4 * n, 4 * n)) < 0.2).astype(float), 0.85],
    """
def f(A, d):
    n = A.shape[0]
    out = A.sum(axis=1)
    M = np.zeros_like(A)
    for i in range(n):
        if out[i] > 0:
            M[:, i] = A[i] / out[i]
        else:
            M[:, i] = 1.0 / n
    rank = np.ones(n) / n
    for it in range(100):
        prev = rank
        rank = d * M @ rank + (1 - d) / n
        if np.sum(np.abs(rank - prev)) < 1e-10:
            break
    return rank, it
""",
)
program(
    "kalman 4x4",
    lambda r, n: [r.standard_normal((20 * n, 2)), 0.1],
    """
def f(zs, dt):
    F = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    H = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    Q = np.eye(4) * 0.01
    R = np.eye(2) * 0.5
    x = np.zeros(4)
    P = np.eye(4)
    out = np.zeros((len(zs), 4))
    for k, z in enumerate(zs):
        x = F @ x
        P = F @ P @ F.T + Q
        y = z - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(4) - K @ H) @ P
        out[k] = x
    return out
""",
)
program(
    "kalman class",
    lambda r, n: [r.standard_normal(30 * n)],
    """
class Kalman:
    def __init__(self, dim, F, H, Q, R):
        self.F, self.H, self.Q, self.R = F, H, Q, R
        self.x = np.zeros((dim, 1))
        self.P = np.eye(dim)
        self.I = np.eye(dim)

    def predict(self):
        self.x = np.dot(self.F, self.x)
        self.P = np.dot(np.dot(self.F, self.P), self.F.T) + self.Q
        return self.x

    def update(self, z):
        y = z - np.dot(self.H, self.x)
        S = self.R + np.dot(self.H, np.dot(self.P, self.H.T))
        K = np.dot(np.dot(self.P, self.H.T), np.linalg.inv(S))
        self.x = self.x + np.dot(K, y)
        self.P = np.dot(self.I - np.dot(K, self.H), self.P)

def f(zs):
    kf = Kalman(2, np.array([[1.0, 0.1], [0, 1]]), np.array([[1.0, 0]]), np.eye(2) * 0.01, np.array([[0.5]]))
    predictions = []
    for z in zs:
        predictions.append((kf.H @ kf.predict())[0, 0])
        kf.update(z)
    return np.array(predictions), kf.x, kf.P
""",
)
program(
    "lbm d2q9",
    lambda r, n: [4 * n, 2 * n, 20],
    """
def f(nx, ny, steps):
    c = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    opp = [0, 3, 4, 1, 2, 7, 8, 5, 6]
    X, Y = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    solid = (X - nx / 4) ** 2 + (Y - ny / 2) ** 2 < (ny / 6) ** 2
    F = np.ones((9, nx, ny)) * w[:, None, None]
    F[1] += 0.02
    for t in range(steps):
        for i in range(9):
            F[i] = np.roll(np.roll(F[i], c[i, 0], axis=0), c[i, 1], axis=1)
        bounced = F[:, solid].copy()
        rho = F.sum(axis=0)
        ux = (F * c[:, 0][:, None, None]).sum(axis=0) / rho
        uy = (F * c[:, 1][:, None, None]).sum(axis=0) / rho
        usqr = 1.5 * (ux ** 2 + uy ** 2)
        for i in range(9):
            cu = 3 * (c[i, 0] * ux + c[i, 1] * uy)
            feq = rho * w[i] * (1 + cu + 0.5 * cu ** 2 - usqr)
            F[i] += -(F[i] - feq) / 0.6
        for i in range(9):
            F[i][solid] = bounced[opp[i]]
    return rho, ux, uy
""",
)
program(
    "mlp batches",
    lambda r, n: [r.standard_normal((20 * n, 6)), r.integers(0, 3, 20 * n)],
    """
def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

class MLP:
    def __init__(self, sizes, rng):
        self.W = []
        self.b = []
        for i in range(len(sizes) - 1):
            self.W.append(rng.standard_normal((sizes[i], sizes[i + 1])) * np.sqrt(2 / sizes[i]))
            self.b.append(np.zeros(sizes[i + 1]))

    def forward(self, X):
        acts = [X]
        for i in range(len(self.W) - 1):
            X = np.maximum(0, X @ self.W[i] + self.b[i])
            acts.append(X)
        acts.append(softmax(X @ self.W[-1] + self.b[-1]))
        return acts

    def backward(self, acts, y, lr):
        n = len(y)
        delta = acts[-1].copy()
        delta[np.arange(n), y] -= 1
        delta /= n
        for i in range(len(self.W) - 1, -1, -1):
            gW = acts[i].T @ delta
            gb = delta.sum(axis=0)
            if i > 0:
                delta = (delta @ self.W[i].T) * (acts[i] > 0)
            self.W[i] -= lr * gW
            self.b[i] -= lr * gb

def f(X, y):
    rng = np.random.default_rng(0)
    net = MLP([6, 8, 3], rng)
    losses = []
    for epoch in range(5):
        order = rng.permutation(len(X))
        for start in range(0, len(X), 16):
            batch = order[start:start + 16]
            acts = net.forward(X[batch])
            net.backward(acts, y[batch], 0.1)
        p = net.forward(X)[-1]
        losses.append(-np.mean(np.log(p[np.arange(len(y)), y] + 1e-12)))
    return losses, net.W, net.b
""",
)
program(
    "conv2d padding",
    lambda r, n: [r.random((3, 2 * n, 2 * n)), r.random((4, 3, 3, 3)), 1, 2],
    """
def conv2d(x, w, pad, stride):
    c, h, wd = x.shape
    o, _, kh, kw = w.shape
    xp = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    oh = (h + 2 * pad - kh) // stride + 1
    ow = (wd + 2 * pad - kw) // stride + 1
    out = np.zeros((o, oh, ow))
    for k in range(o):
        for i in range(oh):
            for j in range(ow):
                region = xp[:, i * stride:i * stride + kh, j * stride:j * stride + kw]
                out[k, i, j] = np.sum(region * w[k])
    return out

def f(x, w, pad, stride):
    return conv2d(x, w, pad, stride)
""",
)
program(
    "edit distance strings",
    lambda r, n: ["kitten sitting on the mat" * 2, "sitting kitten at the mall" * 2],
    """
def f(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[len(a), len(b)]
""",
)
program(
    "needleman wunsch traceback",
    lambda r, n: ["".join(r.choice(list("ACGT"), 8 * n)), "".join(r.choice(list("ACGT"), 7 * n))],
    """
def f(s, t, match=1, mismatch=-1, gap=-2):
    n, m = len(s), len(t)
    score = np.zeros((n + 1, m + 1))
    score[:, 0] = np.arange(n + 1) * gap
    score[0, :] = np.arange(m + 1) * gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            diag = score[i - 1, j - 1] + (match if s[i - 1] == t[j - 1] else mismatch)
            score[i, j] = max(diag, score[i - 1, j] + gap, score[i, j - 1] + gap)
    a, b = [], []
    i, j = n, m
    while i > 0 or j > 0:
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + (match if s[i - 1] == t[j - 1] else mismatch):
            a.append(s[i - 1])
            b.append(t[j - 1])
            i -= 1
            j -= 1
        elif i > 0 and score[i, j] == score[i - 1, j] + gap:
            a.append(s[i - 1])
            b.append("-")
            i -= 1
        else:
            a.append("-")
            b.append(t[j - 1])
            j -= 1
    return score[n, m], "".join(reversed(a)), "".join(reversed(b))
""",
)
program(
    "quicksort recursion",
    lambda r, n: [r.random(12 * n)],
    """
def partition(a, lo, hi):
    pivot = a[hi]
    i = lo - 1
    for j in range(lo, hi):
        if a[j] <= pivot:
            i += 1
            a[i], a[j] = a[j], a[i]
    a[i + 1], a[hi] = a[hi], a[i + 1]
    return i + 1

def quicksort(a, lo, hi):
    if lo < hi:
        p = partition(a, lo, hi)
        quicksort(a, lo, p - 1)
        quicksort(a, p + 1, hi)

def f(a):
    quicksort(a, 0, len(a) - 1)
    return a
""",
)
program(
    "merge sort recursion",
    lambda r, n: [r.random(8 * n)],
    """
def merge(left, right):
    out = np.empty(len(left) + len(right))
    i = j = k = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
        k += 1
    while i < len(left):
        out[k] = left[i]
        i += 1
        k += 1
    while j < len(right):
        out[k] = right[j]
        j += 1
        k += 1
    return out

def f(a):
    if len(a) <= 1:
        return a
    mid = len(a) // 2
    return merge(f(a[:mid]), f(a[mid:]))
""",
)
program(
    "heap sort",
    lambda r, n: [r.random(12 * n)],
    """
def sift(a, start, end):
    root = start
    while 2 * root + 1 <= end:
        child = 2 * root + 1
        if child + 1 <= end and a[child] < a[child + 1]:
            child += 1
        if a[root] < a[child]:
            a[root], a[child] = a[child], a[root]
            root = child
        else:
            return

def f(a):
    n = len(a)
    for start in range((n - 2) // 2, -1, -1):
        sift(a, start, n - 1)
    for end in range(n - 1, 0, -1):
        a[end], a[0] = a[0], a[end]
        sift(a, 0, end - 1)
    return a
""",
)
program(
    "newton fractal scalar",
    lambda r, n: [2 * n, 2 * n, 30],
    """
def newton(z, limit):
    for k in range(limit):
        dz = (z ** 3 - 1) / (3 * z ** 2)
        z -= dz
        if abs(dz) < 1e-6:
            return k, z
    return limit, z

def f(w, h, limit):
    img = np.zeros((h, w))
    for j in range(h):
        for i in range(w):
            z = complex(-1.5 + 3 * (i + 0.5) / w, -1.5 + 3 * (j + 0.25) / h)
            k, z = newton(z, limit)
            img[j, i] = k + z.real
    return img
""",
)
program(
    "nqueens array",
    lambda r, n: [8],
    """
def safe(board, row, col):
    for r in range(row):
        if board[r] == col or abs(board[r] - col) == row - r:
            return False
    return True

def solve(board, row, n):
    if row == n:
        return 1
    count = 0
    for col in range(n):
        if safe(board, row, col):
            board[row] = col
            count += solve(board, row + 1, n)
    return count

def f(n):
    board = np.full(n, -1)
    return solve(board, 0, n)
""",
)
program(
    "gradient descent early stop",
    lambda r, n: [r.standard_normal((10 * n, 5)), r.standard_normal(10 * n), 0.05],
    """
def f(X, y, lr, patience=5):
    n = X.shape[0]
    Xt, yt = X[: n * 3 // 4], y[: n * 3 // 4]
    Xv, yv = X[n * 3 // 4:], y[n * 3 // 4:]
    w = np.zeros(X.shape[1])
    best_w = w.copy()
    best = np.inf
    bad = 0
    history = {"train": [], "val": []}
    for epoch in range(200):
        grad = 2 * Xt.T @ (Xt @ w - yt) / len(yt)
        w -= lr * grad
        train = np.mean((Xt @ w - yt) ** 2)
        val = np.mean((Xv @ w - yv) ** 2)
        history["train"].append(train)
        history["val"].append(val)
        if val < best - 1e-8:
            best = val
            best_w = w.copy()
            bad = 0
        else:
            bad += 1
            if bad >= patience:
                break
    return best_w, best, epoch, history
""",
)
program(
    "rolling stats",
    lambda r, n: [np.cumsum(r.standard_normal(40 * n)), 10],
    """
def f(x, window):
    n = len(x)
    mean = np.full(n, np.nan)
    std = np.full(n, np.nan)
    mx = np.full(n, np.nan)
    med = np.full(n, np.nan)
    for i in range(window - 1, n):
        w = x[i - window + 1:i + 1]
        mean[i] = w.mean()
        std[i] = w.std(ddof=1)
        mx[i] = w.max()
        med[i] = np.median(w)
    ema = np.zeros(n)
    ema[0] = x[0]
    alpha = 2 / (window + 1)
    for i in range(1, n):
        ema[i] = alpha * x[i] + (1 - alpha) * ema[i - 1]
    return mean, std, mx, med, ema
""",
)
program(
    "bilinear interp",
    lambda r, n: [r.random((2 * n, 2 * n, 3)), 3 * n, 4 * n],
    """
def f(img, nh, nw):
    h, w, c = img.shape
    out = np.zeros((nh, nw, c))
    for i in range(nh):
        for j in range(nw):
            y = i * (h - 1) / (nh - 1)
            x = j * (w - 1) / (nw - 1)
            y0 = int(np.floor(y))
            x0 = int(np.floor(x))
            y1 = min(y0 + 1, h - 1)
            x1 = min(x0 + 1, w - 1)
            dy, dx = y - y0, x - x0
            top = img[y0, x0] * (1 - dx) + img[y0, x1] * dx
            bottom = img[y1, x0] * (1 - dx) + img[y1, x1] * dx
            out[i, j] = top * (1 - dy) + bottom * dy
    return out
""",
)
program(
    "floyd steinberg",
    lambda r, n: [r.integers(0, 256, (4 * n, 4 * n)).astype(np.uint8)],
    """
def f(img):
    a = img.astype(float)
    h, w = a.shape
    for y in range(h):
        for x in range(w):
            old = a[y, x]
            new = 255.0 if old > 127 else 0.0
            a[y, x] = new
            err = old - new
            if x + 1 < w:
                a[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    a[y + 1, x - 1] += err * 3 / 16
                a[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    a[y + 1, x + 1] += err * 1 / 16
    return np.clip(a, 0, 255).astype(np.uint8)
""",
)
program(
    "crank nicolson thomas",
    lambda r, n: [8 * n, 30],
    """
def thomas(a, b, c, d):
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

def f(nx, nt):
    x = np.linspace(0, 1, nx)
    u = np.sin(np.pi * x)
    r = 0.4
    a = -r / 2 * np.ones(nx)
    b = (1 + r) * np.ones(nx)
    c = -r / 2 * np.ones(nx)
    b[0] = b[-1] = 1
    c[0] = 0
    a[-1] = 0
    history = [u.copy()]
    for t in range(nt):
        d = np.zeros(nx)
        d[1:-1] = r / 2 * u[:-2] + (1 - r) * u[1:-1] + r / 2 * u[2:]
        u = thomas(a, b, c, d)
        history.append(u.copy())
    return np.array(history)
""",
)
program(
    "barrier option loops",
    lambda r, n: [100.0, 100.0, 120.0, 0.05, 0.25, 1.0, 20 * n, 20],
    """
def f(S0, K, B, r, sigma, T, paths, steps):
    np.random.seed(7)
    dt = T / steps
    total = 0.0
    knocked = 0
    for p in range(paths):
        S = S0
        alive = True
        for t in range(steps):
            S *= np.exp((r - 0.5 * sigma ** 2) * dt + sigma * np.sqrt(dt) * np.random.normal())
            if S > B:
                alive = False
                knocked += 1
                break
        if alive:
            total += max(S - K, 0.0)
    return np.exp(-r * T) * total / paths, knocked
""",
)
program(
    "sir dict",
    lambda r, n: [{"beta": 0.3, "gamma": 0.1, "N": 1000.0, "dt": 0.1}, 400],
    """
def deriv(state, params):
    S, I, R = state
    inf = params["beta"] * S * I / params["N"]
    rec = params["gamma"] * I
    return np.array([-inf, inf - rec, rec])

def f(params, n):
    y = np.array([params["N"] - 1, 1.0, 0.0])
    out = {"t": [], "S": [], "I": [], "R": []}
    t = 0.0
    for k in range(n):
        out["t"].append(t)
        out["S"].append(y[0])
        out["I"].append(y[1])
        out["R"].append(y[2])
        y = y + params["dt"] * deriv(y, params)
        t += params["dt"]
    peak = int(np.argmax(out["I"]))
    return out, peak
""",
)
program(
    "garch",
    lambda r, n: [60 * n, 0.1, 0.1, 0.8],
    """
def f(n, omega, alpha, beta):
    rng = np.random.default_rng(11)
    eps = rng.standard_normal(n)
    r = np.zeros(n)
    s2 = np.zeros(n)
    s2[0] = omega / (1 - alpha - beta)
    for t in range(1, n):
        s2[t] = omega + alpha * r[t - 1] ** 2 + beta * s2[t - 1]
        r[t] = eps[t] * np.sqrt(s2[t])
    ll = 0.0
    for t in range(n):
        ll += -0.5 * (np.log(2 * np.pi) + np.log(s2[t] if s2[t] > 0 else 1.0) + r[t] ** 2 / (s2[t] + 1e-12))
    return r, s2, ll
""",
)
program(
    "perceptron",
    lambda r, n: [r.standard_normal((10 * n, 4)), np.sign(r.standard_normal(10 * n)), 10],
    """
class Perceptron:
    def __init__(self, eta=0.01, n_iter=10):
        self.eta = eta
        self.n_iter = n_iter

    def fit(self, X, y):
        self.w_ = np.zeros(1 + X.shape[1])
        self.errors_ = []
        for _ in range(self.n_iter):
            errors = 0
            for xi, target in zip(X, y):
                update = self.eta * (target - self.predict(xi))
                self.w_[1:] += update * xi
                self.w_[0] += update
                errors += int(update != 0.0)
            self.errors_.append(errors)
        return self

    def net_input(self, X):
        return np.dot(X, self.w_[1:]) + self.w_[0]

    def predict(self, X):
        return np.where(self.net_input(X) >= 0.0, 1, -1)

def f(X, y, n):
    p = Perceptron(0.1, n).fit(X, y)
    return p.w_, p.errors_
""",
)
program(
    "nbody class",
    lambda r, n: [r.standard_normal((n, 3)), r.standard_normal((n, 3)) * 0.1, r.random(n), 20],
    """
class Body:
    def __init__(self, pos, vel, mass):
        self.pos = pos
        self.vel = vel
        self.mass = mass
        self.acc = np.zeros(3)

def accelerate(bodies, G=1.0, eps=0.1):
    for b in bodies:
        b.acc = np.zeros(3)
        for other in bodies:
            if other is not b:
                d = other.pos - b.pos
                r = np.sqrt(np.dot(d, d) + eps ** 2)
                b.acc += G * other.mass * d / r ** 3

def f(pos, vel, mass, steps):
    bodies = [Body(pos[i].copy(), vel[i].copy(), mass[i]) for i in range(len(mass))]
    dt = 0.01
    energies = []
    accelerate(bodies)
    for s in range(steps):
        for b in bodies:
            b.vel += 0.5 * dt * b.acc
            b.pos += dt * b.vel
        accelerate(bodies)
        for b in bodies:
            b.vel += 0.5 * dt * b.acc
        energies.append(sum(0.5 * b.mass * np.dot(b.vel, b.vel) for b in bodies))
    return np.array([b.pos for b in bodies]), energies
""",
)
program(
    "ising",
    lambda r, n: [2 * n, 2.2, 5],
    """
def energy(s):
    return -np.sum(s * np.roll(s, 1, 0)) - np.sum(s * np.roll(s, 1, 1))

def f(n, T, sweeps):
    rng = np.random.default_rng(1)
    s = rng.choice([-1, 1], size=(n, n))
    E = []
    for k in range(sweeps):
        for _ in range(n * n):
            i = rng.integers(n)
            j = rng.integers(n)
            nb = s[(i + 1) % n, j] + s[(i - 1) % n, j] + s[i, (j + 1) % n] + s[i, (j - 1) % n]
            dE = 2 * s[i, j] * nb
            if dE <= 0 or rng.random() < np.exp(-dE / T):
                s[i, j] *= -1
        E.append(energy(s))
    return s, E
""",
)
program(
    "ising randint",
    lambda r, n: [2 * n, 2.2, 5],
    """
def f(n, T, sweeps):
    np.random.seed(3)
    s = 2 * np.random.randint(2, size=(n, n)) - 1
    M = np.zeros(sweeps)
    for k in range(sweeps):
        for _ in range(n * n):
            a = np.random.randint(0, n)
            b = np.random.randint(0, n)
            cost = 2 * s[a, b] * (s[(a + 1) % n, b] + s[a, (b + 1) % n] + s[(a - 1) % n, b] + s[a, (b - 1) % n])
            if cost < 0:
                s[a, b] *= -1
            elif np.random.rand() < np.exp(-cost / T):
                s[a, b] *= -1
        M[k] = np.abs(np.sum(s)) / n ** 2
    return s, M
""",
)
program(
    "adam",
    lambda r, n: [r.standard_normal(n), 150],
    """
def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

def grad(x):
    g = np.zeros_like(x)
    g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g

def f(x, n, lr=0.01, b1=0.9, b2=0.999, eps=1e-8):
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    best = (rosen(x), x.copy())
    for t in range(1, n + 1):
        g = grad(x)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g ** 2
        mh = m / (1 - b1 ** t)
        vh = v / (1 - b2 ** t)
        x = x - lr * mh / (np.sqrt(vh) + eps)
        fx = rosen(x)
        if fx < best[0]:
            best = (fx, x.copy())
    return best
""",
)
program(
    "nelder mead",
    lambda r, n: [np.array([-1.2, 1.0, 0.3]), 120],
    """
def func(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + (x[2] - x[1]) ** 2

def f(x0, iters):
    n = len(x0)
    simplex = [x0]
    for i in range(n):
        p = x0.copy()
        p[i] += 0.5
        simplex.append(p)
    simplex = np.array(simplex)
    vals = np.array([func(p) for p in simplex])
    for it in range(iters):
        order = np.argsort(vals)
        simplex = simplex[order]
        vals = vals[order]
        c = simplex[:-1].mean(axis=0)
        xr = c + (c - simplex[-1])
        fr = func(xr)
        if vals[0] <= fr < vals[-2]:
            simplex[-1] = xr
            vals[-1] = fr
        elif fr < vals[0]:
            xe = c + 2 * (xr - c)
            fe = func(xe)
            if fe < fr:
                simplex[-1], vals[-1] = xe, fe
            else:
                simplex[-1], vals[-1] = xr, fr
        else:
            xc = c + 0.5 * (simplex[-1] - c)
            fc = func(xc)
            if fc < vals[-1]:
                simplex[-1], vals[-1] = xc, fc
            else:
                for i in range(1, n + 1):
                    simplex[i] = simplex[0] + 0.5 * (simplex[i] - simplex[0])
                    vals[i] = func(simplex[i])
    return simplex[0], vals[0]
""",
)
program(
    "particle swarm",
    lambda r, n: [3 * n, 4, 30],
    """
def sphere(x):
    return np.sum(x ** 2) + 3 * np.sin(x[0])

def f(n, dim, iters):
    rng = np.random.RandomState(2)
    pos = rng.uniform(-5, 5, (n, dim))
    vel = np.zeros((n, dim))
    pbest = pos.copy()
    pval = np.array([sphere(p) for p in pos])
    g = pbest[np.argmin(pval)].copy()
    gval = pval.min()
    for it in range(iters):
        for i in range(n):
            r1, r2 = rng.rand(dim), rng.rand(dim)
            vel[i] = 0.7 * vel[i] + 1.5 * r1 * (pbest[i] - pos[i]) + 1.5 * r2 * (g - pos[i])
            pos[i] += vel[i]
            v = sphere(pos[i])
            if v < pval[i]:
                pval[i] = v
                pbest[i] = pos[i]
                if v < gval:
                    gval = v
                    g = pos[i].copy()
    return g, gval
""",
)
program(
    "power iteration deflation",
    lambda r, n: [(lambda a: a + a.T)(r.random((2 * n, 2 * n))), 3],
    """
def f(A, k):
    A = A.copy()
    n = len(A)
    vals = []
    vecs = np.zeros((n, k))
    for i in range(k):
        v = np.ones(n) / np.sqrt(n)
        lam = 0.0
        for it in range(500):
            w = A @ v
            new = v @ w
            v = w / np.linalg.norm(w)
            if abs(new - lam) < 1e-10 * abs(new):
                break
            lam = new
        vals.append(new)
        vecs[:, i] = v
        A -= new * np.outer(v, v)
    return vals, vecs
""",
)
program(
    "jacobi eigen",
    lambda r, n: [(lambda a: a + a.T)(r.random((n, n)))],
    """
def f(A):
    A = A.copy()
    n = A.shape[0]
    V = np.eye(n)
    for sweep in range(10):
        off = 0.0
        for p in range(n - 1):
            for q in range(p + 1, n):
                off += A[p, q] ** 2
                if abs(A[p, q]) > 1e-12:
                    theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                    t = np.sign(theta) / (abs(theta) + np.sqrt(theta ** 2 + 1)) if theta != 0 else 1.0
                    c = 1 / np.sqrt(t ** 2 + 1)
                    s = t * c
                    J = np.eye(n)
                    J[p, p] = J[q, q] = c
                    J[p, q] = s
                    J[q, p] = -s
                    A = J.T @ A @ J
                    V = V @ J
        if off < 1e-18:
            break
    return np.diag(A), V
""",
)
program(
    "hmm viterbi",
    lambda r, n: [r.random((4, 4)), r.random((4, 6)), np.full(4, 0.25), r.integers(0, 6, 10 * n)],
    """
def f(A, B, pi, obs):
    N, T = A.shape[0], len(obs)
    delta = np.zeros((T, N))
    psi = np.zeros((T, N), dtype=int)
    delta[0] = np.log(pi) + np.log(B[:, obs[0]])
    for t in range(1, T):
        for j in range(N):
            seq = delta[t - 1] + np.log(A[:, j])
            psi[t, j] = np.argmax(seq)
            delta[t, j] = seq[psi[t, j]] + np.log(B[j, obs[t]])
    path = [int(np.argmax(delta[-1]))]
    for t in range(T - 1, 0, -1):
        path.insert(0, int(psi[t, path[0]]))
    return path, delta[-1].max()
""",
)
program(
    "dijkstra matrix",
    lambda r, n: [np.where(r.random((4 * n, 4 * n)) < 0.3, r.random((4 * n, 4 * n)), np.inf), 0],
    """
def f(w, src):
    n = len(w)
    dist = np.full(n, np.inf)
    prev = np.full(n, -1)
    done = np.zeros(n, dtype=bool)
    dist[src] = 0
    for _ in range(n):
        u = -1
        best = np.inf
        for v in range(n):
            if not done[v] and dist[v] < best:
                best = dist[v]
                u = v
        if u < 0:
            break
        done[u] = True
        for v in range(n):
            if dist[u] + w[u, v] < dist[v]:
                dist[v] = dist[u] + w[u, v]
                prev[v] = u
    return dist, prev
""",
)
program(
    "bfs deque",
    lambda r, n: [r.random((4 * n, 4 * n)) < 0.7, 0, 0],
    """
from collections import deque

def f(grid, si, sj):
    h, w = grid.shape
    dist = np.full((h, w), -1)
    dist[si, sj] = 0
    q = deque([(si, sj)])
    while q:
        i, j = q.popleft()
        for di, dj in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
            a, b = i + di, j + dj
            if 0 <= a < h and 0 <= b < w and grid[a, b] and dist[a, b] < 0:
                dist[a, b] = dist[i, j] + 1
                q.append((a, b))
    return dist
""",
)
program(
    "flood fill stack",
    lambda r, n: [(r.random((4 * n, 4 * n)) < 0.6).astype(int), 1, 1],
    """
def f(img, i, j):
    img = img.copy()
    target = img[i, j]
    stack = [(i, j)]
    n = 0
    while len(stack) > 0:
        x, y = stack.pop()
        if x < 0 or y < 0 or x >= img.shape[0] or y >= img.shape[1]:
            continue
        if img[x, y] != target:
            continue
        img[x, y] = 9
        n += 1
        stack.append((x + 1, y))
        stack.append((x - 1, y))
        stack.append((x, y + 1))
        stack.append((x, y - 1))
    return img, n
""",
)
program(
    "median filter",
    lambda r, n: [r.random((3 * n, 3 * n)), 3],
    """
def f(img, k):
    p = k // 2
    padded = np.pad(img, p, mode="edge")
    out = np.empty_like(img)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            window = padded[i:i + k, j:j + k].ravel()
            out[i, j] = np.sort(window)[len(window) // 2]
    return out
""",
)
program(
    "sobel canny",
    lambda r, n: [r.random((4 * n, 4 * n))],
    """
def convolve(img, k):
    h, w = img.shape
    out = np.zeros((h - 2, w - 2))
    for i in range(h - 2):
        for j in range(w - 2):
            out[i, j] = (img[i:i + 3, j:j + 3] * k).sum()
    return out

def f(img):
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    gx = convolve(img, kx)
    gy = convolve(img, kx.T)
    mag = np.hypot(gx, gy)
    ang = np.rad2deg(np.arctan2(gy, gx)) % 180
    out = np.zeros_like(mag)
    for i in range(1, mag.shape[0] - 1):
        for j in range(1, mag.shape[1] - 1):
            a = ang[i, j]
            if a < 22.5 or a >= 157.5:
                q, r = mag[i, j + 1], mag[i, j - 1]
            elif a < 67.5:
                q, r = mag[i + 1, j - 1], mag[i - 1, j + 1]
            elif a < 112.5:
                q, r = mag[i + 1, j], mag[i - 1, j]
            else:
                q, r = mag[i - 1, j - 1], mag[i + 1, j + 1]
            if mag[i, j] >= q and mag[i, j] >= r:
                out[i, j] = mag[i, j]
    return out
""",
)
program(
    "lstm cell class",
    lambda r, n: [r.standard_normal((5 * n, 6))],
    """
def sigmoid(x):
    return 1 / (1 + np.exp(-x))

class LSTM:
    def __init__(self, nx, nh):
        rng = np.random.default_rng(0)
        self.W = rng.standard_normal((4 * nh, nx + nh)) * 0.1
        self.b = np.zeros(4 * nh)
        self.nh = nh

    def step(self, x, h, c):
        z = self.W @ np.concatenate([x, h]) + self.b
        i, f, o, g = np.split(z, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return h, c

    def run(self, xs):
        h = np.zeros(self.nh)
        c = np.zeros(self.nh)
        hs = []
        for x in xs:
            h, c = self.step(x, h, c)
            hs.append(h)
        return np.stack(hs)

def f(xs):
    return LSTM(6, 5).run(xs)
""",
)
program(
    "gillespie",
    lambda r, n: [40 * n, 5],
    """
def f(steps, seed):
    rng = np.random.default_rng(seed)
    x = np.array([50, 20, 0])
    stoich = np.array([[1, 0, 0], [-1, 0, 0], [-1, 1, 0], [0, -1, 1]])
    t = 0.0
    times = np.zeros(steps + 1)
    traj = np.zeros((steps + 1, 3), dtype=int)
    traj[0] = x
    for k in range(steps):
        rates = np.array([5.0, 0.1 * x[0], 0.01 * x[0] * x[1], 0.05 * x[1]])
        total = rates.sum()
        if total == 0:
            break
        t += rng.exponential(1 / total)
        u = rng.random() * total
        acc = 0.0
        for j in range(len(rates)):
            acc += rates[j]
            if u < acc:
                break
        x = x + stoich[j]
        times[k + 1] = t
        traj[k + 1] = x
    return times, traj
""",
)
program(
    "particle filter",
    lambda r, n: [np.cumsum(r.standard_normal(12)), 50 * n],
    """
def resample(w, rng):
    n = len(w)
    pos = (np.arange(n) + rng.random()) / n
    idx = np.zeros(n, dtype=int)
    cs = np.cumsum(w)
    i = j = 0
    while i < n:
        if pos[i] < cs[j] or j == n - 1:
            idx[i] = j
            i += 1
        else:
            j += 1
    return idx

def f(obs, n):
    rng = np.random.default_rng(9)
    p = rng.normal(0, 1, n)
    w = np.ones(n) / n
    est = []
    for z in obs:
        p = p + rng.normal(0, 1, n)
        w = w * np.exp(-0.5 * (z - p) ** 2)
        w += 1e-300
        w /= w.sum()
        est.append((np.average(p, weights=w), np.sum(w * p)))
        if 1.0 / np.sum(w ** 2) < n / 2:
            idx = resample(w, rng)
            p = p[idx]
            w = np.full(n, 1.0 / n)
    return np.array(est)
""",
)
program(
    "q learning",
    lambda r, n: [5 * n, 3],
    """
def step(s, a, n):
    if a == 0:
        s = max(s - 1, 0)
    else:
        s = min(s + 1, n - 1)
    return s, (1.0 if s == n - 1 else -0.01), s == n - 1

def f(episodes, seed, n=8):
    rng = np.random.default_rng(seed)
    Q = np.zeros((n, 2))
    rewards = []
    eps = 1.0
    for e in range(episodes):
        s = 0
        total = 0.0
        done = False
        steps = 0
        while not done and steps < 100:
            if rng.random() < eps:
                a = int(rng.integers(2))
            else:
                a = int(np.argmax(Q[s]))
            s2, rew, done = step(s, a, n)
            Q[s, a] += 0.1 * (rew + 0.95 * np.max(Q[s2]) * (not done) - Q[s, a])
            s = s2
            total += rew
            steps += 1
        eps *= 0.95
        rewards.append(total)
    return Q, rewards
""",
)
program(
    "pendulum class euler",
    lambda r, n: [300],
    """
from dataclasses import dataclass

@dataclass
class Params:
    g: float = 9.81
    l: float = 1.0
    b: float = 0.1

class Pendulum:
    def __init__(self, p, theta, omega):
        self.p = p
        self.state = np.array([theta, omega])
        self.t = 0.0

    def rhs(self, s):
        return np.array([s[1], -self.p.g / self.p.l * np.sin(s[0]) - self.p.b * s[1]])

    def step(self, dt):
        k1 = self.rhs(self.state)
        k2 = self.rhs(self.state + dt * k1)
        self.state = self.state + 0.5 * dt * (k1 + k2)
        self.t += dt

    @property
    def energy(self):
        return 0.5 * self.state[1] ** 2 + self.p.g * (1 - np.cos(self.state[0]))

def f(n):
    sim = Pendulum(Params(b=0.2), 1.0, 0.0)
    out = np.zeros((n, 4))
    for i in range(n):
        sim.step(0.01)
        out[i] = sim.t, sim.state[0], sim.state[1], sim.energy
    return out
""",
)

NATIVE = (
    "sor",
    "kalman 4x4",
    "conv2d padding",
    "heap sort",
    "bilinear interp",
    "floyd steinberg",
    "crank nicolson thomas",
    "sir dict",
    "garch",
    "dijkstra matrix",
)
