"""Signals, exceptions from other threads and warnings that come while a compiled loop or a trace calls NumPy."""

from __future__ import annotations

import ctypes
import threading
import time
import warnings

import numpy as np
import pytest
import stator
from process import alarm, now, on_alarm

LIMIT = 0.5  # s of CPU time; 50 ms is what is promised, a busy machine takes longer
FOREVER = 10**9


class Late(Exception):
    pass


def solve(n, a, b, log):
    i = -1
    for i in range(n):
        b[:] = np.linalg.solve(a, b) * 0.5 + 1.0
        log[0] += 1
    return b


def calls(n, a, b, log):
    """No loop of its own: a trace calls NumPy."""
    i = 0
    c = np.linalg.solve(a, b) * 0.5 + 1.0
    d = np.linalg.inv(a) + c
    b[:] = d * 0.01
    log[0] += 1
    return b


def scalars(n, a, b, log):
    s = 0.0
    i = -1
    for i in range(n):
        s = s * 0.5 + i
        log[0] += 1
    return s


def arguments():
    return np.eye(6) * 6, np.ones((6, 6)), np.zeros(1, np.int64)


def warm(function):
    compiled = stator.compile(function)
    for _ in range(4):
        compiled(60, *arguments())
        stator.wait()
    return compiled


def repeat(compiled, a, b, log):
    end = now() + 10
    while now() < end:
        compiled(3000, a, b, log)
    raise AssertionError("the exception was lost")


@pytest.mark.parametrize("function", [solve, calls], ids=lambda f: f.__name__)
def test_exceptions_of_signal_handlers_arrive(function):
    compiled, raised, handled = warm(function), 0, []

    def handler(number, frame):
        where = frame.f_globals["__name__"]
        while frame is not None and frame.f_code is not function.__code__:
            frame = frame.f_back
        handled.append(
            (where, np.geterr(), None if frame is None else (frame.f_locals["i"], frame.f_locals["log"][0]))
        )
        raise Late(len(handled))

    with on_alarm(handler, inside=False):
        for k in range(40):
            a, b, log = arguments()
            try:
                with np.errstate(under="warn", divide="ignore"):
                    expected = np.geterr()
                    alarm(0.003 + 0.0002 * k)
                    repeat(compiled, a, b, log)
            except Late as error:
                assert error.args == (len(handled),)
                raised += 1
            assert raised == len(handled) == k + 1
            where, state, seen = handled[-1]
            assert state == expected or where.startswith("numpy."), "which has error states of its own"
            if function is solve and seen is not None and log[0] < 3000:
                assert seen[0] in (seen[1], seen[1] - 1), "variables are those of the iteration"


def test_handlers_that_return_are_called_each_time():
    compiled, count, late = warm(solve), [], []
    due = [0.0]

    def handler(*_):
        late.append(now() - due[0])
        count.append(1)

    with on_alarm(handler, inside=False):
        for k in range(20):
            due[0] = now() + 0.002
            alarm(0.002)
            while len(count) == k:
                compiled(500, *arguments())
    assert len(count) == 20 and max(late) < LIMIT


@pytest.mark.parametrize("function", [scalars, solve, calls], ids=lambda f: f.__name__)
def test_exceptions_from_other_threads_arrive(function):
    compiled = warm(function)
    ready = threading.Event()
    seen: list[tuple[float, int, int]] = []

    def work():
        a, b, log = arguments()
        try:
            ready.set()
            while True:
                compiled(FOREVER, a, b, log)
        except Late as error:
            came, trace = time.process_time(), error.__traceback__
            while trace is not None and trace.tb_frame.f_code is not function.__code__:
                trace = trace.tb_next
            seen.append((came, log[0], log[0] if trace is None else trace.tb_frame.f_locals["i"]))

    for _ in range(12):
        ready.clear()
        seen.clear()
        thread = threading.Thread(target=work)
        thread.start()
        ready.wait()
        time.sleep(0.03)
        sent = time.process_time()
        assert (
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Late))
            == 1
        )
        thread.join(20)
        assert not thread.is_alive(), "the exception was lost"
        assert seen[0][0] - sent < LIMIT
        if function is not calls:
            assert seen[0][1] in (seen[0][2], seen[0][2] + 1)


def test_numpys_own_exceptions_come_once():
    def f(n, a, b):
        for k in range(n):
            if k == 15:
                a[0] = 0
            b[:] = np.linalg.solve(a, b) * 0.5 + 1.0
        return b

    compiled = stator.compile(f)
    for _ in range(4):
        for g in (f, compiled):
            with pytest.raises(np.linalg.LinAlgError):
                g(20, np.eye(6) * 6, np.ones((6, 6)))
            sum(range(1000))  # nothing is raised late
        stator.wait()


def variances(n, x, out):
    for k in range(n):
        out[k] = np.var(x[: k % 3 + 1], ddof=2)
    return out


def deviations(n, x, out):
    for k in range(n):
        out[k] = x[k % 3]
        out[k] += np.std(x[: 2 + k % 3], ddof=3)
    return out


def empty_means(n, x, out):
    for k in range(n):
        out[k] = k
        out[k] += np.mean(x[: k % 3])
    return out


def all_nan(n, x, out):
    y = x * np.nan
    for k in range(n):
        out[k] = 1.0 + np.nanmean(y[: 1 + k % 3])
    return out


def crosses(n, x, out):
    for k in range(n):
        out[k] = np.sum(np.cross(x[:2], x[1:3] + k))
    return out


def straight(n, x, out):
    y = x * 2.0 + 1.0
    out[0] = np.nanmean(y * np.nan)
    out[1] = np.var(y, ddof=5)
    return out


def methods(n, x, out):
    """What only the elements decide."""
    y = np.ones((3, 2))
    for k in range(n):
        out[k] = np.polyfit(x[:4] * (k % 2) + 1.0, x[:4], 2)[0] + np.nanvar(y * [1.0, np.nan], axis=1)[0]
        out[k] += x[: 1 + k % 2].var(ddof=1)
    return out


def reported(function, n, action):
    """What `function` gives, or says where it raises, and warns about, with lines, from a clean slate."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        try:
            result = function(n, np.arange(5.0), np.zeros(max(n, 2))).tobytes()
        except ValueError as error:  # from NumPy 2.5 on vectors of two are refused, not warned of
            result = str(error)
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


@pytest.mark.parametrize("action", ["always", "default", "ignore"])
@pytest.mark.parametrize(
    "function",
    [variances, deviations, empty_means, all_nan, crosses, straight, methods],
    ids=lambda f: f.__name__,
)
def test_warnings_are_eagers(function, action):
    compiled = stator.compile(function)
    for round in range(5):
        assert reported(compiled, 40, action) == reported(function, 40, action), round
        stator.wait()
    assert warnings.warn.__module__ == "_warnings" or warnings.warn.__module__ == "warnings"


def test_building_warns_of_nothing():
    """Regions are tried out with small arrays, for which `ddof=2` leaves no degree of freedom."""

    def f(n, x, out):
        for k in range(n):
            out[k] = np.nanvar(x, ddof=2) + np.nanstd(x, ddof=2)
        return out

    def registries():
        import sys

        return {
            name: dict(getattr(module, "__warningregistry__", {}))
            for name, module in list(sys.modules.items())
            if name.startswith(("numpy", "stator", __name__)) and hasattr(module, "__warningregistry__")
        }

    before = registries()
    compiled = stator.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert (
                compiled(50, np.arange(9.0), np.zeros(50)).tobytes()
                == f(50, np.arange(9.0), np.zeros(50)).tobytes()
            )
            stator.wait()
    assert {n: {k: v for k, v in r.items() if k != "version"} for n, r in registries().items()} == {
        n: {k: v for k, v in r.items() if k != "version"} for n, r in before.items()
    }
    assert sum(r.python_calls for r in compiled.regions) > 0


def test_other_threads_warn_during_calls():
    compiled = warm(solve)
    stop, heard = threading.Event(), []

    def work():
        while not stop.is_set():
            warnings.warn("from a thread", UserWarning, stacklevel=1)
            heard.append(1)
            time.sleep(0)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(20):
            compiled(500, *arguments())
        stop.set()
        thread.join()
    assert len(caught) == len(heard) > 0
    assert {w.filename for w in caught} == {__file__}
