"""What the cases share: the registry, the log, and helpers that say what happens to them."""

import sys
import traceback

LOG = []
CASES = []
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
