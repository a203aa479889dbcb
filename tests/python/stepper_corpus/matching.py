"""Structural pattern matching."""

from .base import A, case


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
