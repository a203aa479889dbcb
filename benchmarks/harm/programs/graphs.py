"""Heaps, queues and searches over matrices and dictionaries of neighbours."""

import heapq
from collections import deque

import numpy as np


def nearest(weights, start):
    """Shortest paths over a matrix of weights, 0 where there is no edge."""
    count = len(weights)
    best = np.full(count, np.inf)
    best[start] = 0.0
    queue = [(0.0, start)]
    while queue:
        reached, here = heapq.heappop(queue)
        if reached > best[here]:
            continue
        row = weights[here]
        for there in range(count):
            step = row[there]
            if step > 0 and reached + step < best[there]:
                best[there] = reached + step
                heapq.heappush(queue, (reached + step, there))
    return best


def nearest_in_lists(neighbours, start):
    """The same over lists of (neighbour, weight)."""
    best = {start: 0.0}
    queue = [(0.0, start)]
    while queue:
        reached, here = heapq.heappop(queue)
        if reached > best[here]:
            continue
        for there, step in neighbours[here]:
            total = reached + step
            if total < best.get(there, 1e300):
                best[there] = total
                heapq.heappush(queue, (total, there))
    return best


def spanning_tree(weights):
    """Prim's algorithm with masks over rows."""
    count = len(weights)
    done = np.zeros(count, bool)
    done[0] = True
    cost, total = weights[0].copy(), 0.0
    for _ in range(count - 1):
        k = int(np.argmin(np.where(done, np.inf, cost)))
        total += cost[k]
        done[k] = True
        cost = np.minimum(cost, weights[k])
    return total


def flood(grid, start):
    """Breadth-first search over a grid with a queue of tuples."""
    rows, columns = grid.shape
    steps = np.full(grid.shape, -1)
    steps[start] = 0
    queue = deque([start])
    while queue:
        i, j = queue.popleft()
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = i + di, j + dj
            if 0 <= a < rows and 0 <= b < columns and not grid[a, b] and steps[a, b] < 0:
                steps[a, b] = steps[i, j] + 1
                queue.append((a, b))
    return steps


def components(edges, count):
    """Union-find with path halving over a list of edges."""
    parent = list(range(count))
    for a, b in edges:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[b] = a
    return sum(k == p for k, p in enumerate(parent))


def rank_pages(links, rounds):
    """Power iteration over a dictionary of links."""
    rank = {k: 1.0 / len(links) for k in links}
    for _ in range(rounds):
        new = dict.fromkeys(links, 0.15 / len(links))
        for k, targets in links.items():
            for t in targets:
                new[t] += 0.85 * rank[k] / len(targets)
        rank = new
    return rank


def make(jit):
    rng = np.random.default_rng(1)
    weights = np.where(rng.random((40, 40)) < 0.25, rng.random((40, 40)), 0.0)
    full = rng.random((40, 40))
    neighbours = {i: [(j, float(w)) for j, w in enumerate(row) if w] for i, row in enumerate(weights)}
    grid = rng.random((24, 24)) < 0.3
    grid[0, 0] = False
    edges = [tuple(map(int, e)) for e in rng.integers(0, 300, (500, 2))]
    links = {i: sorted({int(t) for t in rng.integers(0, 60, 5)}) for i in range(60)}
    return [
        ("heaps_matrix", nearest, lambda k: (weights, k % 40)),
        ("heaps_lists", nearest_in_lists, lambda k: (neighbours, k % 40)),
        ("spanning_tree", spanning_tree, lambda k: (full,)),
        ("flood_fill", flood, lambda k: (grid, (0, 0))),
        ("union_find", components, lambda k: (edges, 300)),
        ("page_rank_dicts", rank_pages, lambda k: (links, 5)),
    ]
