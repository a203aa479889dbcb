"""Calls and attributes, and how they fail."""

from .base import A, B, BadBool, add, case, log, look


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
