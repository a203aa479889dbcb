"""The stepper against the evaluator: every case of stepper_corpus, left at every instruction in every way."""

import ctypes
import dis
import gc
import itertools
import os
import signal
import sys
import threading

import pytest
import stepper_corpus as corpus
from process import alarm, on_alarm
from stator._stator import _testing

VERSION = sys.version_info[:2]
IN_PLACE, NEW_FRAME, RAISE = range(3)
OWN_FRAMES = {"outcome", "<lambda>", "call", "inject", "tracer", "on_instruction"}
CASES = [pytest.param(*c, id=f"{c[0].__name__}{i}") for i, c in enumerate(corpus.CASES)]


def describe(error, with_frame_line):
    """An exception with everything a program can see of it, and the ones it is linked to."""
    chain, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        entries, tb = [], error.__traceback__
        while tb:
            code = tb.tb_frame.f_code
            if code.co_name not in OWN_FRAMES:
                position = list(code.co_positions())[tb.tb_lasti // 2]
                line = tb.tb_frame.f_lineno if with_frame_line else None
                entry = (code.co_name, tb.tb_lineno, line, position)
                # Early 3.11 adds an entry twice when a trace function raises, which is how test_raised_anywhere raises.
                if entries[-1:] != [entry]:
                    entries.append(entry)
            tb = tb.tb_next
        extra = getattr(error, "name", None), getattr(error, "name_from", None), error.__suppress_context__
        chain.append((type(error).__name__, str(error), repr(error.__cause__), extra, entries))
        error = error.__context__
    return chain


def outcome(call, with_frame_line=True):
    """(result or exception, log) of a call, in a form that can be compared."""
    corpus.LOG.clear()
    try:
        result = ("returned", repr(call()))
    except BaseException as error:
        result = ("raised", describe(error, with_frame_line))
    # Only an exception injected where no instruction raises leaves something behind, in the evaluator too.
    left_over = _testing.clear_handled()
    log = repr(corpus.LOG)
    corpus.LOG.clear()
    return result, log, left_over


def fresh(args):
    return [iter([1]) if hasattr(a, "__next__") else a for a in args]


@pytest.mark.parametrize(("function", "args", "kwargs"), CASES)
@pytest.mark.parametrize("leave", [IN_PLACE, NEW_FRAME])
def test_left_anywhere(function, args, kwargs, leave):
    # An exception raised before the exit refers to the frame it was raised in, which a new frame does not move on.
    lines = leave == IN_PLACE
    expected = outcome(lambda: function(*fresh(args), **kwargs), lines)
    stop = -1
    while True:
        got = outcome(lambda: _testing.step_call(function, tuple(fresh(args)), kwargs, stop, leave), lines)
        run = _testing.last_run()
        assert run["taken"], run
        assert not got[2]
        assert got == expected, (
            f"left after {stop} instructions, before {run['op']} at unit {run['stopped_unit']}"
        )
        if stop >= 0 and run["steps"] < stop:
            break
        if stop >= 0 and run["stopped_unit"] == -1:
            break
        stop += 1
    assert stop > 0


STAYS = {
    "Other": "except* ends with PREP_RERAISE_STAR, whose helper 3.11 does not export",
    "CallIntrinsic1": "type parameters (3.12)",
    "CallIntrinsic2": "type parameters (3.12)",
    "ImportFrom": "the error of a failing `from m import n` (3.13) is worded by the evaluator",
}


@pytest.mark.parametrize(("function", "args", "kwargs"), CASES)
def test_runs_to_the_end(function, args, kwargs):
    outcome(lambda: _testing.step_call(function, tuple(fresh(args)), kwargs))
    run = _testing.last_run()
    assert run["stopped_unit"] == -1 or run["op"] in STAYS, run


def boundaries(function, args, kwargs):
    """The units of the boundaries that a run passes, in order."""
    units, stop = [], 0
    while True:
        outcome(lambda: _testing.step_call(function, tuple(fresh(args)), kwargs, stop))
        run = _testing.last_run()
        if run["stopped_unit"] == -1 or run["steps"] < stop:
            return units
        units.append((stop, run["stopped_unit"]))
        stop = run["steps"] + 1


def with_injection(function, call, op_unit, occurrence):
    """Calls with KeyError("injected") raised by the interpreter when it executes op_unit for the n-th time."""
    code = function.__code__
    left = [occurrence]

    def inject(running, unit):
        if running is code and unit == op_unit:
            left[0] -= 1
            if left[0] < 0:
                left[0] = 10**9
                raise KeyError("injected")

    if VERSION >= (3, 12):
        monitoring = sys.monitoring

        def on_instruction(running, offset):
            inject(running, offset // 2)

        monitoring.use_tool_id(3, "test")
        monitoring.register_callback(3, monitoring.events.INSTRUCTION, on_instruction)
        monitoring.set_local_events(3, code, monitoring.events.INSTRUCTION)
        try:
            return outcome(call)
        finally:
            monitoring.set_local_events(3, code, 0)
            monitoring.free_tool_id(3)

    def tracer(frame, event, arg):
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            inject(code, frame.f_lasti // 2)
        return tracer

    sys.settrace(tracer)
    try:
        return outcome(call)
    finally:
        sys.settrace(None)


NOT_INJECTED = {"PushExcInfo", "PopExcept", "Reraise", "WithExceptStart", "Resume"}
INJECTED = {
    "loops", "comprehension_raises", "with_plain", "with_suppressed", "with_in_loop", "try_all", "raise_from",
    "finally_nested", "exceptions_in_loop", "return_in_finally", "cells", "calls", "matching", "with_exit_raises",
}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "args", "kwargs"), [c for c in CASES if c.values[0].__name__ in INJECTED]
)
def test_raised_anywhere(function, args, kwargs):
    table = _testing.decode(function.__code__)
    by_unit = {i["unit"]: i for i in reversed(table)}
    extended = {i.offset // 2: i.opname == "EXTENDED_ARG" for i in dis.get_instructions(function)}
    seen = {}
    for stop, unit in boundaries(function, args, kwargs):
        insn = by_unit[unit]
        occurrence = seen[unit] = seen.get(unit, -1) + 1
        if insn["op"] in NOT_INJECTED or "Cell" in insn["op"] or "Free" in insn["op"]:
            continue
        if extended[unit]:  # 3.11 reports the prefix, not the instruction
            continue
        expected = with_injection(function, lambda: function(*args, **kwargs), insn["op_unit"], occurrence)
        got = outcome(lambda: _testing.step_call(function, args, kwargs, stop, RAISE))
        assert got == expected, f"raised at {insn['op']} at unit {unit}, occurrence {occurrence}"


@pytest.mark.parametrize(("function", "args", "kwargs"), CASES)
def test_nested_frames_are_stepped(function, args, kwargs):
    expected = outcome(lambda: function(*fresh(args), **kwargs))
    got = outcome(lambda: _testing.step_call(function, tuple(fresh(args)), kwargs, nested=True))
    assert got == expected


# Decoding


@pytest.mark.parametrize("function", dict.fromkeys(c[0] for c in corpus.CASES), ids=lambda f: f.__name__)
def test_decodes_as_dis_does(function):
    insns = _testing.decode(function.__code__)
    shown = [i for i in dis.get_instructions(function) if i.opname != "CACHE"]
    units = {i.offset // 2: i for i in shown}
    for insn in insns:
        real = units[insn["op_unit"]]
        assert insn["line"] == real.positions.lineno if real.positions.lineno else True
        if insn["target"] >= 0 and insn["op"] != "ForIter":
            assert insns[insn["target"]]["unit"] in (
                real.argval // 2,
                real.argval // 2 - 1,
                real.argval // 2 - 2,
            )
    starts = {i["unit"] for i in insns}
    prefixes = {"EXTENDED_ARG", "KW_NAMES", "PRECALL"}
    behind_prefix = False
    for i in shown:
        if not behind_prefix:
            assert i.offset // 2 in starts, i
        behind_prefix = i.opname in prefixes
    boundaries = [i["unit"] for i in insns if i["boundary"]]
    assert len(boundaries) == len(set(boundaries))


def test_undecodable_code():
    def generator():
        yield 1

    async def coroutine():
        pass

    assert "generator" in _testing.decode(generator.__code__)
    assert "generator" in _testing.decode(coroutine.__code__)


def test_names_of_a_module():
    """Code at module level is stepped where it has a loop; its names are globals."""
    decoded = [i["op"] for i in _testing.decode(compile("y = x", "m", "exec"))]
    assert "LoadName" in decoded and "StoreName" in decoded


def test_liveness():
    def f(a, b, c, d):
        x = a
        while c:
            c -= x
        try:
            x = b
            len(d)
        except TypeError:
            return x
        return 1

    names = f.__code__.co_varnames
    rows = _testing.decode(f.__code__)

    def live_at(op, name, nth=0):
        row = [r for r in rows if r["op"] == op and r["arg"] == names.index(name)][nth]
        return {names[s] for s in row["live"]}

    assert live_at("LoadFast", "a") == {"a", "b", "c", "d"}
    assert live_at("StoreFast", "x") == {"b", "c", "d"}
    assert live_at("StoreFast", "c") == {"b", "d", "x"}
    assert live_at("StoreFast", "x", 1) >= {"d", "x"}  # the handler may still need the old x
    assert live_at("LoadFast", "d") == {"d", "x"}


def test_cells_are_always_live():
    def f(a, b):
        def g():
            return b

        a = 1
        return g

    rows = _testing.decode(f.__code__)
    cell = f.__code__.co_varnames.index("b") if VERSION >= (3, 11) else 0
    assert all(cell in r["live"] for r in rows)


# The hook


def leaf():
    return 1


def caller():
    return leaf() + leaf()


def test_hook_only_while_scopes_live():
    assert not _testing.hook_installed()
    assert _testing.watch_frames(caller) == ["caller", "leaf", "leaf"]
    assert not _testing.hook_installed()
    assert _testing.watch_frames(lambda: _testing.watch_frames(caller)) == ["<lambda>"]


def test_generators_are_not_offered():
    def f():
        return sum(x for x in range(3)) + len(list(map(lambda x: x, [1, 2])))

    assert _testing.watch_frames(f) == ["f", "<lambda>", "<lambda>"]


def test_other_threads_are_not_offered():
    def f():
        thread = threading.Thread(target=caller)
        thread.start()
        thread.join()

    assert "caller" not in _testing.watch_frames(f)


def test_foreign_hook_is_chained():
    _testing.set_foreign_hook(True)
    try:
        assert _testing.foreign_hook()
        caller()
        alone = _testing.set_foreign_hook(True)
        assert _testing.watch_frames(caller) == ["caller", "leaf", "leaf"]
        assert _testing.set_foreign_hook(True) == alone
        assert _testing.call_clone(caller, 5) == 5
        caller()
        assert _testing.foreign_hook()
        assert _testing.set_foreign_hook(True) >= alone
    finally:
        _testing.set_foreign_hook(False)
    assert not _testing.foreign_hook() and not _testing.hook_installed()


def test_foreign_hook_put_on_top():
    def f():
        _testing.set_foreign_hook(True)
        return caller()

    assert _testing.watch_frames(f) == ["f"]
    assert _testing.set_foreign_hook(False) >= 3
    assert _testing.watch_frames(caller) == ["caller", "leaf", "leaf"]
    assert not _testing.hook_installed()


def test_clone_of_any_signature():
    cell = 3

    def f(a, b=2, /, c=3, *d, e, f=4, **g):
        return cell, a

    marker = object()
    before = sys.getrefcount(marker)
    for _ in range(100):
        assert _testing.call_clone(f, marker) is marker
    assert sys.getrefcount(marker) == before
    assert not _testing.hook_installed()


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def test_recursion_limit_is_the_hosts():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(30000)
    try:
        # Deep frames are not offered: each would need C stack.
        assert 300 < len(_testing.watch_frames(lambda: deep(25000))) < 500
        assert _testing.step_call(deep, (25000,), nested=True) == deep(25000) == 25000
        for call in (
            deep,
            lambda n: _testing.watch_frames(lambda: deep(n)),
            lambda n: _testing.step_call(deep, (n,), nested=True),
        ):
            with pytest.raises(RecursionError):
                call(35000)
        assert not _testing.hook_installed()
    finally:
        sys.setrecursionlimit(limit)


def test_scope_begun_deep_in_a_recursion():
    def down(n):
        return _testing.watch_frames(caller) if n == 0 else down(n - 1)

    def top():
        assert down(700) == ["caller", "leaf", "leaf"]

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)
    try:
        assert 300 < len(_testing.watch_frames(top)) < 500
    finally:
        sys.setrecursionlimit(limit)
    assert not _testing.hook_installed()


def deepest(n=0):
    try:
        return deepest(n + 1)
    except RecursionError:
        return n


def test_recursion_depth_is_the_same():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        plain = deepest()
        # The C frames between may count, but not the stepped ones twice.
        assert abs(_testing.step_call(deepest, (), nested=True) - plain) <= 3
    finally:
        sys.setrecursionlimit(limit)


def test_traced_is_noticed():
    assert not _testing.traced()
    seen = []
    sys.setprofile(lambda *a: seen.append(_testing.traced()) if not seen else None)
    leaf()
    sys.setprofile(None)
    assert seen == [True]
    assert not _testing.traced()


# What the evaluator serves between instructions


def test_signals_are_served_in_loops():
    hits = []

    def spin(hits):
        n = 0
        while not hits:
            n += 1
        return n

    with on_alarm(lambda *a: hits.append(1), inside=False):
        alarm(0.05)
        assert _testing.step_call(spin, (hits,)) > 0
        assert _testing.last_run()["stopped_unit"] == -1


def test_signal_handler_runs_right_after_the_call():
    hits = []

    def f(kill, pid, number):
        kill(pid, number)
        return list(hits)

    old = signal.signal(signal.SIGUSR1, lambda *a: hits.append(1))
    try:
        assert _testing.step_call(f, (os.kill, os.getpid(), signal.SIGUSR1)) == [1]
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_signal_handler_raises_into_the_frame():
    def handler(*a):
        raise TimeoutError("from the handler")

    def f():
        n = 0
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            while True:
                n += 1
        except TimeoutError as e:
            return n, e.__traceback__.tb_next.tb_frame.f_code.co_name
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    with on_alarm(handler, inside=False):
        count, name = _testing.step_call(f, ())
        assert count >= 0 and name == "handle"


def test_other_threads_get_the_gil():
    def spin(flag):
        n = 0
        while not flag:
            n += 1
        return n

    flag = []
    thread = threading.Timer(0.05, flag.append, [1])
    thread.start()
    assert _testing.step_call(spin, (flag,)) > 0
    thread.join()


def test_asynchronous_exception():
    def spin():
        n = 0
        try:
            while True:
                n += 1
        except KeyError as e:
            return e.__traceback__.tb_next

    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    me = ctypes.c_ulong(threading.get_ident())
    thread = threading.Timer(0.05, lambda: set_exception(me, ctypes.py_object(KeyError)))
    thread.start()
    assert _testing.step_call(spin, ()) is None
    thread.join()


def test_garbage_is_collected_in_loops():
    def churn(n):
        for _ in range(n):
            a = []
            a.append(a)

    ran = []
    note = lambda phase, info: ran.append(phase)
    gc.callbacks.append(note)
    try:
        _testing.step_call(churn, (20000,))
    finally:
        gc.callbacks.remove(note)
    assert ran


# Ownership


def blocks_after(call, rounds):
    for _ in range(rounds):
        call()
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.parametrize("leave", [IN_PLACE, NEW_FRAME, RAISE])
def test_nothing_leaks(leave):
    def once():
        for function, args, kwargs in corpus.CASES:
            for stop in range(0, 60, 7):
                outcome(lambda: _testing.step_call(function, tuple(fresh(args)), kwargs, stop, leave), False)

    counts = [blocks_after(once, 3), *(blocks_after(once, 4) for _ in range(3))]
    # Four rounds of about a thousand calls. What leaks does so each time; what something else keeps, it keeps once.
    assert min(b - a for a, b in itertools.pairwise(counts)) < 200


def test_arguments_are_released():
    def f(a, *b, c, **d):
        x = [a, b, c, d]
        try:
            1 // 0
        except ZeroDivisionError:
            return len(x)

    marker = object()
    before = sys.getrefcount(marker)
    for stop in list(range(40)) * 5:
        for leave in (IN_PLACE, NEW_FRAME, RAISE):
            outcome(lambda: _testing.step_call(f, (marker, marker), {"c": marker, "d": marker}, stop, leave))
    gc.collect()
    assert sys.getrefcount(marker) == before


def test_frame_objects_outlive_their_frames():
    kept = []

    def f(n):
        x = n * 2
        kept.append(sys._getframe())
        y = x + 1
        return y

    for stop in range(-1, 20):
        for leave in (IN_PLACE, NEW_FRAME):
            kept.clear()
            assert _testing.step_call(f, (5,), {}, stop, leave) == 11
            frame = kept[0]
            assert frame.f_locals.get("x", 10) == 10 and frame.f_code is f.__code__
    kept.clear()
    _testing.step_call(f, (5,))
    assert kept[0].f_locals == {"n": 5, "x": 10, "y": 11, "kept": kept}
    assert kept[0].f_lineno == f.__code__.co_firstlineno + 4
    assert kept[0].f_back is sys._getframe()


def test_growing_a_string_is_linear():
    """A string that nobody else has grows in place, which the allocator seldom answers with another address."""

    def moves(n):
        s, count = "", 0
        for _ in range(n):
            before = id(s)
            s += "x" * 50
            count += id(s) != before
        return count

    assert _testing.step_call(moves, (20000,)) < 2 * moves(20000) + 100
