# ruff: noqa: F401, F821
"""Locals, cells, globals, imports, classes."""

from .base import A, case, log


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
