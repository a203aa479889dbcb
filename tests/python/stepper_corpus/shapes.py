"""Wide code, and syntax that only newer versions have."""

import sys

from .base import add, case, log


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
