"""Loops, branches, comprehensions."""

from .base import Eq, case, look

G = 1


@case(3)
@case(0)
def loops(n):
    s = 0
    for i in range(n):
        for j in (1, 2.5):
            if i == 1:
                continue
            s += i * j
        else:
            s += 100
    while True:
        s += 1
        if s > 5 or s is None:
            break
    else:
        s = -1
    while n:
        n -= 1
        look(n)
    return s


@case(4)
def comprehensions(n):
    x = 2
    a = [i * x for i in range(n) if i]
    b = {k: v for k, v in zip(a, a)}
    c = {j % 3 for j in a}
    i = "outer"
    d = [[i + j for j in range(2)] for i in range(n)]
    e = sum(q * n for q in range(n))
    f = list(map(lambda z: z + n, range(3)))
    return a, b, sorted(c), x, i, d, e, f


@case(4)
def comprehension_raises(n):
    i = "kept"
    try:
        return [10 // (i - 2) for i in range(n)]
    except ZeroDivisionError:
        return i


@case(2)
@case(None)
@case([])
def conditions(x):
    r = []
    if x is not None and x:
        r.append("set")
    if x is None or not x:
        r.append("unset")
    r.append(x or "default")
    r.append(x and "and")
    r.append(0 < len(r) <= 2 < 3)
    r.append("set" in r)
    r.append("set" not in r)
    r.append((y := len(r)) + y)
    r.append("a" if x else "b")
    for k in r:
        if k == "unset":
            continue
        if k is None:
            break
    return r, not r, y


@case()
def rich_comparisons():
    a, b = Eq(), Eq()
    r = []
    if a < b:
        r.append("lt")
    if a > b:
        r.append("gt")
    r.append(a < b < a)
    while a < b:
        pass
    return r, (a > b) and 1


@case(1)
def loop_body_with_globals(n):
    global G
    for _ in range(3):
        G = G + n
    r = G
    G = 1
    return r
