"""Games, agents, queues of events, backtracking, small matrices, cells on a grid."""

import heapq
import random

import numpy as np


def queens(n, row=0, columns=0, left=0, right=0):
    if row == n:
        return 1
    found, free = 0, ~(columns | left | right) & ((1 << n) - 1)
    while free:
        bit = free & -free
        free ^= bit
        found += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return found


def subsets(items, target):
    """Backtracking with a list as the stack."""
    found, chosen = [], []

    def go(start, left):
        if left == 0:
            found.append(tuple(chosen))
            return
        for k in range(start, len(items)):
            if items[k] <= left:
                chosen.append(items[k])
                go(k + 1, left - items[k])
                chosen.pop()

    go(0, target)
    return found


def bank(customers, seed):
    """Events in a heap; two tellers."""
    r = random.Random(seed)
    events, free, waiting, waited = [], 2, [], 0.0
    for k in range(customers):
        heapq.heappush(events, (r.expovariate(1.0) * 10, k, "arrives"))
    while events:
        now, k, what = heapq.heappop(events)
        if what == "arrives":
            waiting.append((now, k))
        else:
            free += 1
        while free and waiting:
            since, k = waiting.pop(0)
            waited += now - since
            free -= 1
            heapq.heappush(events, (now + r.uniform(0.5, 1.5), k, "leaves"))
    return waited


class Agent:
    def __init__(self, r):
        self.position = np.array([r.random(), r.random()])
        self.velocity = np.array([r.random() - 0.5, r.random() - 0.5])
        self.hits = 0

    def move(self, dt):
        self.position = self.position + dt * self.velocity
        for axis in (0, 1):
            if not 0 <= self.position[axis] <= 1:
                self.velocity[axis] *= -1
                self.hits += 1


def swarm(count, steps, seed):
    r = random.Random(seed)
    agents = [Agent(r) for _ in range(count)]
    for _ in range(steps):
        for a in agents:
            a.move(0.1)
    return sum(a.hits for a in agents), [a.position for a in agents]


def life_set(cells, steps):
    for _ in range(steps):
        counts = {}
        for x, y in cells:
            for dx in (-1, 0, 1):
                for dy in (-1, 0, 1):
                    if dx or dy:
                        key = (x + dx, y + dy)
                        counts[key] = counts.get(key, 0) + 1
        cells = {c for c, n in counts.items() if n == 3 or (n == 2 and c in cells)}
    return cells


def life_array(grid, steps):
    for _ in range(steps):
        n = sum(np.roll(np.roll(grid, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        grid = (n == 3) | (grid & (n == 2))
    return grid


def metropolis(steps, seed):
    """A random walk that calls the module `random` and a lambda in each step."""
    r, x, kept = random.Random(seed), 0.0, []
    density = lambda t: -0.5 * t * t
    for _ in range(steps):
        y = x + r.gauss(0, 1)
        if density(y) - density(x) > -r.expovariate(1):
            x = y
        kept.append(x)
    return sum(kept) / len(kept)


def product_of_lists(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def eliminate(a, b):
    """Gauss with rows of a small array."""
    a, b, n = a.copy(), b.copy(), len(b)
    for k in range(n):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]], b[[k, p]] = a[[p, k]], b[[p, k]]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x


def three_in_a_row(board, player):
    """Minimax over a tuple."""
    lines = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
    for a, b, c in lines:
        if board[a] and board[a] == board[b] == board[c]:
            return -1
    best = -2
    for k in range(9):
        if not board[k]:
            best = max(best, -three_in_a_row((*board[:k], player, *board[k + 1 :]), 3 - player))
    return best if best > -2 else 0


class Account:
    """State, a log of it, and errors."""

    def __init__(self):
        self.balance, self.log = 0, []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount")
        self.balance += amount
        self.log.append(("in", amount))

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("balance")
        self.balance -= amount
        self.log.append(("out", amount))


def ledger(amounts):
    account, refused = Account(), 0
    for a in amounts:
        try:
            account.deposit(a) if a > 0 else account.withdraw(-a)
        except ValueError:
            refused += 1
    return account.balance, refused, len(account.log)


def mixed_list(items):
    """What each item is decides what is done with it."""
    total, names = 0.0, []
    for x in items:
        if isinstance(x, str):
            names.append(x)
        elif isinstance(x, np.ndarray):
            total += x.sum()
        elif isinstance(x, tuple):
            total += len(x)
        elif x is None:
            total -= 1
        else:
            total += x
    return total, names


def make(jit):
    rng = np.random.default_rng(6)
    cells = {(int(x), int(y)) for x, y in rng.integers(0, 12, (40, 2))}
    grid = rng.random((24, 24)) < 0.4
    a, b = rng.random((8, 8)) + 4 * np.eye(8), rng.random(8)
    lists, amounts = rng.random((8, 8)).tolist(), [int(x) for x in rng.integers(-90, 100, 200)]
    items = [1, 2.5, "a", np.ones(3), (1, 2), None, np.float64(3), "b", True, np.arange(4)] * 10
    return [
        ("sim_queens", queens, lambda k: (6,)),
        ("sim_subsets", subsets, lambda k: ([3, 5, 7, 9, 11, 13, 15, 17, 19, 21], 40)),
        ("sim_bank", bank, lambda k: (60, k)),
        ("sim_swarm", swarm, lambda k: (8, 10, k)),
        ("sim_life_set", life_set, lambda k: (cells, 2)),
        ("sim_life_array", life_array, lambda k: (grid, 3)),
        ("sim_metropolis", metropolis, lambda k: (200, k)),
        ("sim_lists", product_of_lists, lambda k: (lists, lists)),
        ("sim_eliminate", eliminate, lambda k: (a, b)),
        ("sim_three", three_in_a_row, lambda k: ((1, 2, 1, 0, 2, 0, 0, 0, 0), 1)),
        ("sim_ledger", ledger, lambda k: (amounts,)),
        ("sim_mixed", mixed_list, lambda k: (items,)),
    ]
