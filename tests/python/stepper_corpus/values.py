"""Operators, containers, unpacking, strings, and when operands are released."""

from .base import CM, Noisy, add, boom, case, log


@case(7, 2)
@case(7.5, -2.0)
@case(6, 0)
def arithmetic(a, b):
    r = [a + b, a - b, a * b, +a, -a, not a, a == b, a != b, a < b, a <= b, a > b, a >= b, a is b, a is not b]
    r += [a**2, divmod(7, 2)]
    r.append(a / b)
    r.append(a // b)
    r.append(a % b)
    c = a
    c += b
    c -= 1
    c *= 3
    c /= 2
    c //= 1
    c **= 2
    c %= 5
    return r, c


@case(12, 5)
@case(12, 1.0)
def bits(a, b):
    r = [~a, a & b, a | b, a ^ b, a << 2, a >> 1]
    a &= 7
    a |= 8
    a ^= b
    a <<= 1
    a >>= 2
    return r, a


@case()
def matmul_missing():
    a = 3
    a @= 4


@case("x")
def strings(s):
    t = ""
    for i in range(5):
        t += s
        t = t + f"{i}"
        u = t
        u += "!"
    v = f"{s!r:>10}|{i:{3}}|{t!s}|{s!a}|{u}|{1.5:.3f}|{s}"
    try:
        return f"{v:d}"
    except ValueError as e:
        return v, t, u, str(e)


@case()
def noisy_temporaries():
    log("start")
    Noisy("a") + Noisy("b")
    log("added")
    x = Noisy("c")
    x[Noisy("k")] = Noisy("v")
    x = Noisy("d")
    log(Noisy("e") == Noisy("e"))
    if Noisy("f"):
        log("true")
    [Noisy("g"), Noisy("h")]
    a, b = Noisy("i"), Noisy("j")
    a, b = b, a
    del a
    for n in (Noisy("n"), Noisy("o")):
        log(n.name)
    add(*(1, 2))
    log("end")


def noisy_type(base):
    """A subclass that says when an instance goes, of a type whose operations CPython does not specialize then."""

    def __del__(self):
        log(("del", getattr(self, "name", "?")))

    return type("Noisy" + base.__name__, (base,), {"__del__": __del__})


NoisyList, NoisyInt, NoisyStr, NoisyDict, NoisySet = map(noisy_type, (list, int, str, dict, set))


def named(kind, name, *args):
    value = kind(*args)
    value.name = name
    return value


@case()
def release_order_of_operators():
    N = named
    N(NoisyList, "a", [1, 2, 3])[N(NoisyInt, "b", 1)]
    N(NoisyList, "c", [1, 2, 3])[N(NoisyInt, "d", 1) : N(NoisyInt, "e", 2)]
    N(NoisyList, "f", [1, 2, 3])[N(NoisyInt, "g", 1) : N(NoisyInt, "h", 2)] = N(NoisyList, "i", [5])
    N(NoisyList, "j", [1, 2, 3])[N(NoisyInt, "k", 1)] = N(NoisyInt, "l", 1)
    del N(NoisyList, "m", [1, 2, 3])[N(NoisyInt, "n", 1)]
    N(NoisyList, "o", [1]) + N(NoisyList, "p", [2])
    N(NoisyList, "q", [1]) < N(NoisyList, "r", [2])
    N(NoisyInt, "s", 1) in N(NoisyList, "t", [2])
    N(NoisyInt, "u", 1) is N(NoisyList, "v", [2])
    N(NoisyList, "w").z = N(NoisyInt, "x", 3)
    -N(NoisyInt, "y", 1)
    not N(NoisyInt, "z", 1)
    x = N(NoisyList, "A", [1])
    x += N(NoisyList, "B", [2])
    f"{N(NoisyStr, 'C', 'c')}{N(NoisyInt, 'D', 1):{N(NoisyStr, 'E', '>3')}}"
    N(NoisyInt, "F", 1) if N(NoisyInt, "G", 1) else 0
    N(NoisyInt, "H", 0) or N(NoisyInt, "I", 1)
    0 < N(NoisyInt, "J", 1) < N(NoisyInt, "K", 2)
    N(NoisyInt, "L", 1).real
    del N(NoisyList, "M").name
    log("end")


@case()
def release_order_of_containers():
    N = named
    slice(1)
    {N(NoisyStr, "a", "x"): N(NoisyInt, "b", 1), N(NoisyStr, "c", "y"): N(NoisyInt, "d", 1)}
    log("set")
    {N(NoisyStr, "e", "x"), N(NoisyStr, "f", "y")}
    log("equal keys")
    {N(NoisyStr, "g", "x"): N(NoisyInt, "h", 1), N(NoisyStr, "i", "x"): N(NoisyInt, "j", 1)}
    {N(NoisyStr, "k", "x"), N(NoisyStr, "l", "x")}
    log("star")
    [*N(NoisyList, "m", [1]), *N(NoisyList, "n", [1])]
    (*N(NoisyList, "o", [1]), 1)
    {**N(NoisyDict, "p"), **N(NoisyDict, "q")}
    {*N(NoisySet, "r")}
    log("comprehension")
    [i for i in N(NoisyList, "s", [1])]
    {i: N(NoisyInt, "t", 1) for i in N(NoisyList, "u", [1, 1])}
    {N(NoisyInt, "v", 1) for i in (1, 1)}
    a, b = N(NoisyList, "w", [1, 2])
    a, *b = N(NoisyList, "x", [1, 2])
    for a in N(NoisyList, "y", [1]):
        log("body")
    {"x": N(NoisyInt, "z", 1), "y": N(NoisyInt, "A", 1)}
    [0, 1, 2][N(NoisyInt, "B", 0) : 2]
    log("end")


@case()
def release_order_of_calls():
    N = named
    divmod(N(NoisyInt, "a", 7), N(NoisyInt, "b", 2))
    print(N(NoisyStr, "c", ""), N(NoisyStr, "d", ""), sep=N(NoisyStr, "e", ""), end="")
    divmod(*(N(NoisyInt, "f", 7), N(NoisyInt, "g", 2)))
    print(*[N(NoisyStr, "h", "")], **{"end": N(NoisyStr, "i", "")})
    N(NoisyList, "j").append(N(NoisyInt, "k", 2))
    N(NoisyList, "l").extend(N(NoisyList, "m"))
    slice(N(NoisyInt, "n", 7), N(NoisyInt, "o", 2), N(NoisyInt, "p", 2))
    for f in (
        lambda: divmod(N(NoisyInt, "q", 7), N(NoisyInt, "r", 0)),
        lambda: N(NoisyList, "s")[N(NoisyInt, "t", 7)],
    ):
        try:
            f()
        except Exception as e:
            log(repr(e))
        log("handled")
    log("end")


@case()
def release_order_of_exceptions():
    class E(Exception):
        def __del__(self):
            log(("del", self.args))

    try:
        raise E(1)
    except E:
        log("in handler")
    log("after")
    try:
        raise E(2) from E(3)
    except (E, NoisyInt) as e:
        log("in handler")
    log("after")
    try:
        try:
            raise E(4)
        finally:
            log("finally")
            raise E(5)
    except E:
        log("in handler")
    log("after")
    with CM(named(NoisyStr, "a", "cm"), True):
        raise E(6)
    log("end")


@case(5)
def containers(n):
    d = {"a": n, **{"b": 2}, "c": [1]}
    e = {"k": n, "l": n + 1, "m": 0}
    l = [*range(n), *d]
    t = (1, *l)
    s = {1, n, *t}
    l[0:2] = [7]
    del l[0]
    l[1:3:2] = [9]
    a, *b = t
    *c, u, v = t
    (w, x), y = (1, 2), 3
    d["c"] = l[1:]
    l[0] += 5
    d |= e
    return a, b, c, u, v, w, x, y, d, l, sorted(map(str, s)), t[::2], t[-1]


@case(5)
def subscript_errors(n):
    r = []
    for f in (lambda: [][n], lambda: {}[n], lambda: n[0], lambda: ()[n], lambda: {[]: 1}, lambda: {1, []}):
        try:
            f()
        except Exception as e:
            r.append(repr(e))
    l = []
    try:
        l[n] = 1
    except IndexError as e:
        r.append(repr(e))
    try:
        n[1:2] = 3
    except TypeError as e:
        r.append(repr(e))
    try:
        del n[1]
    except TypeError as e:
        r.append(repr(e))
    return r


@case((1, 2, 3))
@case([1, 2])
@case("ab")
@case({1: 2, 3: 4, 5: 6})
@case({1, 2, 3, 4})
@case(iter([1]))
@case(range(4))
@case(5)
@case(None)
def unpack_two(x):
    a, b = x
    return a, b


@case((1, 2, 3))
@case([1])
@case("abcdef")
@case(7)
def unpack_star(x):
    a, *b, c = x
    return a, b, c


@case(boom)
def unpack_raising(f):
    def g():
        yield 1
        f(2)

    a, b = g()
