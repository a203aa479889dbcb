"""Python calls without arrays: recursion, small objects, closures, generators, decorators of their own."""

import functools
from dataclasses import dataclass


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def towers(n, a, b, c, moves):
    if n:
        towers(n - 1, a, c, b, moves)
        moves.append((a, c))
        towers(n - 1, b, a, c, moves)
    return len(moves)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def length(self):
        return abs(self.x) + abs(self.y)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


def walk_points(n):
    here, total = Point(0, 0), 0
    for i in range(n):
        here = here + Point(i % 3 - 1, i % 5 - 2)
        total += here.length()
    return total, here


def cantor(i, j):
    return (i + j) * (i + j + 1) // 2 + j


def nested(n):
    total = 0
    for i in range(n):
        for j in range(n):
            total += cantor(i, j)
    return total


@dataclass
class Particle:
    x: float
    v: float
    alive: bool = True

    def move(self, dt):
        self.x += self.v * dt
        if self.x < 0 or self.x > 1:
            self.v = -self.v


def bounce(count, steps):
    particles = [Particle(i / count, (i % 7 - 3) / 10) for i in range(count)]
    for _ in range(steps):
        for p in particles:
            p.move(0.05)
    return [(p.x, p.v) for p in particles]


def adders(n):
    """Closures made anew and called once."""
    return sum((lambda x, k=k: x + k)(k) for k in range(n))


def compose(n):
    f = lambda x: x
    for k in range(n):
        f = (lambda g, k: lambda x: g(x) + k)(f, k)
    return f(1)


def pairs(n):
    for i in range(n):
        yield i, i * i


def through_generators(n):
    evens = (p for p in pairs(n) if p[0] % 2 == 0)
    return sum(b - a for a, b in evens)


def in_order(tree):
    if tree:
        yield from in_order(tree[0])
        yield tree[1]
        yield from in_order(tree[2])


def tree_sort(values):
    root = None
    for v in values:
        root = insert(root, v)
    return list(in_order(root))


def insert(tree, v):
    if tree is None:
        return (None, v, None)
    left, here, right = tree
    return (insert(left, v), here, right) if v < here else (left, here, insert(right, v))


def memo(n):
    @functools.lru_cache(None)
    def ways(left, coin):
        if left == 0:
            return 1
        return sum(ways(left - c, c) for c in (1, 2, 5, 10, 20) if c <= coin and c <= left)

    return ways(n, 20)


class Shape:
    def area(self):
        raise NotImplementedError


class Square(Shape):
    def __init__(self, a):
        self.a = a

    def area(self):
        return self.a * self.a


class Circle(Shape):
    __slots__ = ("r",)

    def __init__(self, r):
        self.r = r

    def area(self):
        return 3.14159 * self.r * self.r

    @property
    def wide(self):
        return self.r > 5


def shapes(n):
    made = [Square(i) if i % 2 else Circle(i) for i in range(n)]
    return sum(s.area() for s in made), sum(getattr(s, "wide", False) for s in made)


def make(jit):
    import random

    r = random.Random(3)
    values = [r.randrange(1000) for _ in range(100)]
    return [
        ("calls_fib", fib, lambda k: (13,)),
        ("calls_ackermann", ackermann, lambda k: (2, 9)),
        ("calls_towers", towers, lambda k: (8, "a", "b", "c", [])),
        ("calls_points", walk_points, lambda k: (400,)),
        ("calls_nested", nested, lambda k: (40,)),
        ("calls_dataclass", bounce, lambda k: (20, 20)),
        ("calls_closures", adders, lambda k: (300,)),
        ("calls_compose", compose, lambda k: (100,)),
        ("calls_generators", through_generators, lambda k: (500,)),
        ("calls_tree", tree_sort, lambda k: (values,)),
        ("calls_memo", memo, lambda k: (60,)),
        ("calls_shapes", shapes, lambda k: (200,)),
    ]
