# ruff: noqa: F401, F821
"""Plain functions for test_stepper.py: between them every instruction a plain function can have, and every way it fails.

Each writes what it does to LOG, so that order of effects is compared as well as results and exceptions.
"""

import sys
import traceback

LOG = []
CASES = []
G = 1
log = LOG.append


def case(*args, **kwargs):
    """Registers the function to be called with these arguments; may be repeated."""

    def register(function):
        CASES.append((function, args, kwargs))
        return function

    return register


def look(x):
    """Logs what a callee sees of its caller."""
    f = sys._getframe(1)
    names = sorted(k for k, v in f.f_locals.items() if not callable(v))
    stack = [(s.name, s.lineno) for s in traceback.extract_stack(f, 1)]
    log((f.f_code.co_name, f.f_lineno, names, stack))
    return x


def add(a, b=3, *, c=4):
    return a + b * c


def boom(x):
    raise ValueError(x)


class CM:
    def __init__(self, name, suppress=False):
        self.name, self.suppress = name, suppress

    def __enter__(self):
        look(0)
        log(("enter", self.name))
        return self.name

    def __exit__(self, kind, value, tb):
        log(("exit", self.name, kind and kind.__name__, repr(value), tb and tb.tb_lineno))
        return self.suppress


class Noisy:
    """Says when it goes: releases must come in the evaluator's order."""

    def __init__(self, name):
        self.name = name

    def __del__(self):
        log(("del", self.name))

    def __add__(self, other):
        return Noisy(self.name + other.name)

    def __getitem__(self, i):
        return self.name

    def __setitem__(self, i, v):
        log(("set", self.name, getattr(v, "name", v)))

    def __eq__(self, other):
        return self.name == other.name

    def __bool__(self):
        return bool(self.name)


class BadBool:
    def __bool__(self):
        raise OSError("no truth")


class Eq:
    """Comparisons that do not return bools, as arrays do."""

    def __lt__(self, other):
        log("lt")
        return []

    def __gt__(self, other):
        return [1]


class A:
    value = 5

    def m(self, x):
        return x + 1

    @property
    def p(self):
        return look(7)


class B(A):
    def m(self, x):
        r = super().m(x)
        s = super(B, self).m
        self.q = r
        del self.q
        self.z = super().value
        self.z += s(2)
        return r + self.z


# Loops and branches


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


# Values


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


# Names


@case(1)
def unbound(n):
    if n > 1:
        x = 1
    return x


@case(1)
def deleted(n):
    a = n
    del a
    r = []
    try:
        r.append(a)
    except UnboundLocalError as e:
        r.append((str(e), e.name))
    del a


@case(1)
def unbound_cell(n):
    def f():
        return x

    r = []
    try:
        f()
    except NameError as e:
        r.append((type(e), str(e), e.name))
    if n > 1:
        x = 1
    try:
        del x
    except NameError as e:
        r.append((type(e), str(e), e.name))
    try:
        x
    except NameError as e:
        r.append((type(e), str(e), e.name))
    x = 2
    r.append(f())
    del x
    return r, f()


@case()
def unknown_name():
    return lgo


@case()
def unknown_global_deleted():
    global NOT_THERE
    try:
        del NOT_THERE
    except NameError as e:
        log((str(e), e.name))
    NOT_THERE = 3
    r = NOT_THERE
    del NOT_THERE
    return r


@case(1)
def cells(n):
    x = n

    def inner(y):
        nonlocal x
        x += y
        return x

    log(inner(3))
    log(x)
    del n
    return inner(4) + x


def make_free():
    z = 10
    w = [1]

    def free(n, *a, k=5, **kw):
        w2 = w + [z]
        g = lambda q: q + z + n
        return g(k), w2, a, sorted(kw.items())

    return free


free = case(1, 2, 3, k=7, zz=1)(make_free())


@case(4)
def imports(n):
    import os.path as p
    from math import sqrt
    from os import path

    return sqrt(n), p.join("a", "b"), path is p


@case()
def import_missing_name():
    from math import no_such_name


@case()
def import_missing_module():
    import no_such_module_at_all


@case(4)
def classes(n):
    class C(A, metaclass=type):
        """doc"""

        a = n

        def m(self, x: int = 3, *, k: str = "s") -> int:
            return __class__

    def deco(f):
        log(f.__name__)
        return f

    @deco
    def g(a, b=n, *, c=2):
        return a + b + c

    return C.a, C().m().__name__, C.__doc__, C.m.__kwdefaults__, C.m.__defaults__, g(1), C.m.__annotations__


# Calls


@case(2)
def calls(n):
    r = [add(n, c=5), add(n, b=1, c=2), add(*[n], **{"c": 1}), max(n, 1, key=lambda q: -q), add(n, *(), **{})]
    r.append(add(*iter([1, 2]), c=3))
    r.append(dict(a=1, **{"b": 2}, c=3, **{"d": 4}))
    r.append("ab".upper().join(["x", "y"]))
    m = r.append
    m(len(r))
    r.append(B().m(3))
    r.append(A.m(None, 3))
    r.append(A().p)
    r.append(str.join(",", ["a"]))
    r.append([look(i) for i in range(2)])
    r.append(isinstance(n, int))
    r.append(type(n)(3))
    return r


@case(1)
def call_errors(n):
    r = []

    def attempt(f):
        try:
            r.append(f())
        except Exception as e:
            r.append((type(e).__name__, str(e), getattr(e, "name", None)))

    attempt(lambda: add())
    attempt(lambda: add(1, 2, 3))
    attempt(lambda: add(1, d=3))
    attempt(lambda: add(1, a=3))
    attempt(lambda: add(*n))
    attempt(lambda: add(**n))
    attempt(lambda: add(1, **{"c": 1}, **{"c": 2}))
    attempt(lambda: add(1, **{1: 1}))
    attempt(lambda: n())
    attempt(lambda: n.real())
    attempt(lambda: n.nothing)
    attempt(lambda: n.nothing())
    attempt(lambda: A().walue)
    attempt(lambda: [*n])
    attempt(lambda: {*n})
    attempt(lambda: {**n})
    attempt(lambda: (1, *n))
    attempt(lambda: len(n))
    attempt(lambda: -"a")
    attempt(lambda: 1 + "a")
    attempt(lambda: 1 < "a")
    attempt(lambda: 1 in 2)
    attempt(lambda: not BadBool())
    attempt(lambda: [x for x in n])
    return r


@case(1)
def call_error_kwargs(n):
    add(1, **{"c": 1}, **{"c": 2})


@case(1)
def call_error_mapping(n):
    print(**n)


@case(1)
def call_error_star(n):
    print(1, *n)


@case(1)
def attribute_errors(n):
    try:
        n.x = 1
    except AttributeError as e:
        log(str(e))
    try:
        del n.x
    except AttributeError as e:
        log(str(e))
    a = A()
    a.x = 3
    a.x += 1
    log(a.x)
    del a.x
    return a.x


@case(1, 2, k=3, y=4)
@case()
def varargs(*a, k=1, **kw):
    return a, k, kw


@case()
def truth_raises():
    if BadBool():
        log("never")


@case()
def truth_raises_in_while():
    x = BadBool()
    while x and 1:
        pass


@case(3)
def iter_errors(n):
    r = []
    for bad in (
        n,
        type("I", (), {"__iter__": lambda s: 1})(),
        type("G", (), {"__getitem__": lambda s, i: 1 // i})(),
    ):
        try:
            for i in bad:
                r.append(i)
        except Exception as e:
            r.append(repr(e))
    for i in n:
        pass


# Exceptions


@case(2)
def with_plain(n):
    with CM("a") as x, CM("b"):
        look(x)
        y = add(n)
    return y, x


@case(1)
def with_suppressed(n):
    with CM("a", True):
        with CM("b"):
            boom(n)
    return "ok"


@case(5)
def with_uncaught(n):
    l = [1]
    with CM("u"):
        return l[n]


@case(3)
def with_in_loop(n):
    for i in range(n):
        with CM(i, i == 1):
            if i == 0:
                continue
            if i == 2:
                return i
            boom(i)


@case()
def with_not_a_manager():
    with 3:
        pass


@case()
def with_half_a_manager():
    class Half:
        def __enter__(self):
            log("entered")

    with Half():
        pass


@case()
def with_async_manager():
    class Async:
        async def __aenter__(self):
            pass

        async def __aexit__(self, *a):
            pass

    with Async():
        pass


@case()
def with_enter_raises():
    class Bad(CM):
        def __enter__(self):
            boom("enter")

    with CM("outer"):
        with Bad("bad"):
            log("never")


@case()
def with_exit_raises():
    class Bad(CM):
        def __exit__(self, *a):
            boom("exit")

    with CM("outer"):
        with Bad("bad"):
            raise KeyError("body")


@case(1)
def try_all(n):
    r = []
    try:
        r.append(add(n))
        boom(n)
    except KeyError:
        r.append("no")
    except (TypeError, ValueError) as e:
        r.append(repr(e))
        try:
            boom("inner")
        except ValueError as e2:
            r.append(repr(e2.__context__))
        else:
            r.append("never")
    else:
        r.append("never")
    finally:
        r.append("fin")
        look(r)
    try:
        r.append("ok")
    except ValueError:
        pass
    else:
        r.append("else")
    return r


@case(1)
def raise_from(n):
    try:
        try:
            boom(n)
        except ValueError as e:
            raise KeyError("x") from e
    finally:
        log("fin")


@case(1)
def raise_from_none(n):
    try:
        boom(n)
    except ValueError:
        raise KeyError("x") from None


@case(1)
def raise_again(n):
    try:
        boom(n)
    except ValueError:
        log("handler")
        raise


@case(1)
def raise_in_handler_chain(n):
    try:
        try:
            try:
                boom(1)
            except ValueError:
                boom(2)
        except ValueError:
            {}["x"]
    except KeyError:
        1 // 0


@case()
def raise_nothing_active():
    raise


@case()
def raise_class():
    raise KeyError


@case()
def raise_not_an_exception():
    raise 3


@case()
def raise_from_not_an_exception():
    raise KeyError("a") from 3


@case()
def raise_from_class():
    raise KeyError("a") from ValueError


@case()
def raise_strange_class():
    class Strange(Exception):
        def __new__(cls):
            return 5

    raise Strange


@case()
def raise_failing_class():
    class Fails(Exception):
        def __init__(self):
            boom("init")

    raise Fails


@case()
def catch_not_an_exception():
    try:
        boom(1)
    except 3:
        pass


@case()
def catch_not_exceptions():
    try:
        boom(1)
    except (KeyError, int):
        pass


@case(0)
@case(2)
def assertion(n):
    assert n, f"need {n}"
    assert n < 1
    return n


@case(5)
def return_in_finally(n):
    for i in range(n):
        try:
            if i == 2:
                return ("early", i)
            log(i)
        finally:
            log("f")
    return None


@case(5)
def finally_overrides(n):
    while True:
        try:
            boom(n)
        finally:
            return "swallowed"


@case(3)
def finally_nested(n):
    try:
        try:
            try:
                boom(n)
            finally:
                log("one")
        finally:
            log("two")
            look(n)
    except ValueError as e:
        return [t.lineno for t in traceback.extract_tb(e.__traceback__)]


@case(3)
def exceptions_in_loop(n):
    r = []
    for i in range(n):
        try:
            if i == 1:
                boom(i)
            elif i == 2:
                raise KeyError(i)
            r.append(i)
        except ValueError as e:
            r.append(str(e))
            continue
        except KeyError:
            break
        finally:
            r.append("f")
    return r, sys.exc_info()


@case()
def exc_info_seen():
    try:
        boom(1)
    except ValueError:
        look(0)
        log(repr(sys.exc_info()[1]))
        try:
            boom(2)
        except ValueError:
            log(repr(sys.exc_info()[1]))
        log(repr(sys.exc_info()[1]))
    log(sys.exc_info())


@case(4)
def groups(n):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as e:
        log(("VE", len(e.exceptions), repr(sys.exc_info()[1])))
    except* KeyError as e:
        log(("KE", len(e.exceptions)))
    return n


@case()
def group_naked():
    try:
        boom(1)
    except* KeyError:
        log("never")
    except* ValueError as e:
        log(repr(e))


@case()
def group_left_over():
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2), ExceptionGroup("h", [KeyError(3)])])
    except* KeyError as e:
        log(repr(e))


@case()
def group_raises_in_handler():
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError:
        boom("new")
    except* KeyError:
        raise


@case()
def group_catches_group():
    try:
        boom(1)
    except* ExceptionGroup:
        pass


@case()
def group_catches_nonsense():
    try:
        boom(1)
    except* 5:
        pass


# Matching


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


@case(2)
def matching(n):
    r = []
    for v in [
        (1, n),
        {"k": 2, "o": 3},
        Point(1, n),
        A(),
        5,
        "s",
        [1, 2, 3],
        {"x": 1},
        2.5,
        None,
        {1},
        Point(0, 0),
    ]:
        match v:
            case (1, q):
                r.append(("t", q))
            case {"k": z, **rest}:
                r.append((z, rest))
            case {}:
                r.append("mapping")
            case Point(x=0, y=0):
                r.append("origin")
            case Point(a, y=b):
                r.append((a, b))
            case A():
                r.append("A")
            case int(i) | float(i) if i:
                r.append(i)
            case [h, *t]:
                r.append((h, t))
            case None:
                r.append(None)
            case str() as s:
                r.append(s)
            case _:
                r.append("else")
    return r


class BadArgs:
    __match_args__ = ["x"]


class BadNames:
    __match_args__ = (1,)


class TwiceNamed:
    __match_args__ = ("x", "x")
    x = 1


@case("args")
@case("names")
@case("twice")
@case("many")
@case("builtin")
@case("type")
@case("keys")
def matching_errors(which):
    a, b = "k", 3

    class K:
        one = two = "k"

    if which == "args":
        match BadArgs():
            case BadArgs(1):
                pass
    if which == "names":
        match BadNames():
            case BadNames(1):
                pass
    if which == "twice":
        match TwiceNamed():
            case TwiceNamed(1, 1):
                pass
    if which == "many":
        match Point(1, 2):
            case Point(1, 2, 3):
                pass
    if which == "builtin":
        match 3:
            case int(1, 2):
                pass
    if which == "type":
        match 3:
            case b():
                pass
    if which == "keys":
        match {a: 1}:
            case {K.one: 1, K.two: 1}:
                pass


# Shapes of code


def make_wide():
    """More than 256 locals and constants, and jumps over more than 256 units: EXTENDED_ARG everywhere."""
    lines = ["def wide(n):"]
    lines += [f" a{i} = n + {i}.5" for i in range(270)]
    lines += [" s = 0", " for i in range(3):"]
    lines += [f"  s = s + a{i} * i" for i in (1, 200, 256, 257, 269)]
    lines += ["  if s < 0:"]
    lines += [f"   s = s * a{i}" for i in range(150)]
    lines += [" del a269", " try:", "  a269", " except NameError as e:", "  log(str(e))", " return s"]
    namespace = {"log": log}
    exec("\n".join(lines), namespace)
    return namespace["wide"]


wide = make_wide()


@case(1)
def many_operands(n):
    r = [n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
    t = add.__class__, r[n], *r
    return (
        max(n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
        f"{n}{n}{n}{n}{n}{n}{n}{n}{n}{n}{n}{n}{n}{n}",
        len(t),
    )


if sys.version_info >= (3, 12):
    exec(
        """
@case(1)
def generic(n):
    def first[T](x: T) -> T:
        return x
    type Pair = tuple[int, int]
    class Box[T]:
        item: T
    return first(n), Pair.__value__, Box.__type_params__[0].__name__
"""
    )

if sys.version_info >= (3, 14):
    exec(
        """
@case(1)
def template(n):
    t = t"a{n}b{n!r:>{3}}c{n:x}"
    return t.strings, [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations]

@case(1)
def quiet_builtins(n):
    return all(x for x in [n, 1]), any(x for x in [0, n]), tuple(x for x in range(3)), sum((1, -5, 100))
"""
    )
