"""with, try, raise, except*."""

import sys
import traceback

from .base import CM, add, boom, case, log, look


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


@case(4)
def collected_on_other_lines(n):
    log(
        tuple(
            (add(k, sys._getframe(1).f_lineno)
             for k in range(n))))  # fmt: skip
    return list(
        (n // k
         for k in [1, 0, look(n)]))  # fmt: skip


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
