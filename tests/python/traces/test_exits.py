"""Leaving a trace in the middle: inside inlined frames, with output around it, in loops, with exceptions."""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import pytest
import stator
from fuzz.compare import difference, observe

TEXT = """\
import sys
import numpy as np

def third(x, k):
    y = x * k + 1
    if y.sum() > 100:
        y = y * 0.5 - x
        print("large", sys._getframe().f_lineno, round(float(y.mean()), 6))
    z = y * y + x
    return z - 1

def second(x, k):
    a = x + 2
    b = third(a, k)
    return a * b

def first(x, k):
    c = second(x - 1, k) + x
    return c * 2

def f(x, k):
    print("before", x.shape)
    r = first(x * 1.5, k)
    print("after", round(float(r.sum()), 6))
    return np.sqrt(np.abs(r)) + x

def loop(x, n):
    total = 0.0
    for i in range(n):
        x = x * 1.01 + 0.5
        if x.max() > 8.0:
            x = x - 6.0
            total += float(x.min())
        if i == 7:
            continue
        total += 1.0
    return x, total

def failing(x, k):
    y = x * k
    if y.min() < 0:
        z = y + np.zeros(3)
    return y - 1
"""


def both(name):
    spaces = [{"__name__": "program"}, {"__name__": "program"}]
    for space in spaces:
        exec(compile(TEXT, "<exits>", "exec"), space)
    return spaces[0][name], stator.compile(spaces[1][name])


def agree(eager, compiled, *args):
    expected = observe(eager, [np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    found = observe(compiled, [np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    assert difference(expected, found) is None


SMALL, LARGE = np.linspace(0, 1, 20), np.linspace(5, 30, 20)


def test_branch_in_the_third_inlined_frame():
    eager, compiled = both("f")
    for k in range(4):
        agree(eager, compiled, SMALL, 0.5 + k)
    stator.wait()
    for k in range(12):
        agree(eager, compiled, LARGE, 1.5 + k)
        agree(eager, compiled, SMALL, 0.25 * k)
    stator.wait()
    before = dict(compiled.stats())
    for _ in range(5):
        agree(eager, compiled, LARGE, 2.5)
    after = compiled.stats()
    assert after["kernels_launched"] - before["kernels_launched"] >= 10  # before and after the exit
    assert after["recordings"] == before["recordings"]


@pytest.mark.parametrize("order", [(SMALL, LARGE), (LARGE, SMALL)])
def test_whichever_side_came_first(order):
    eager, compiled = both("f")
    for _ in range(6):
        for x in order:
            agree(eager, compiled, x, 1.5)


def test_exits_in_a_loop(monkeypatch):
    monkeypatch.setattr(stator.options, "regions", False)
    eager, compiled = both("loop")
    for n in (3, 50, 50, 200, 1, 0, 200):
        agree(eager, compiled, SMALL, n)
    before = dict(compiled.stats())
    agree(eager, compiled, SMALL, 100)
    after = compiled.stats()
    assert after["kernels_launched"] - before["kernels_launched"] >= 100
    assert after["recordings"] == before["recordings"]


def test_an_exception_behind_an_exit():
    eager, compiled = both("failing")
    for k in (1.0, 1.0, 2.0, -1.0, 3.0, -2.0, -2.0, -2.0, 1.0):
        agree(eager, compiled, SMALL + 1, k)


# What a frame holds after an exit is what it would hold without one: every local that something can still look at.
HELD = {
    "locals looked up by name": """
def f(x, k):
    a = x + 1
    b = a * k
    if b.sum() > 100:
        b = b - 1
    print("between")
    return b, eval("a * 2"), sorted(locals())
""",
    "locals looked up by a function that is called": """
def evaluate(text):
    frame = sys._getframe(1)
    return eval(text, frame.f_globals, frame.f_locals)

def f(x, k):
    a = x + 1
    b = a * k
    if b.sum() > 100:
        b = b - 1
    return evaluate("a + b")
""",
    "super": """
class Base:
    def go(self, x):
        return x * 2

class Derived(Base):
    def go(self, x):
        y = super().go(x) + 1
        if y.max() > 8:
            y = super().go(y - 5)
        return y

d = Derived()

def f(x, k):
    return d.go(x) + d.go(x * k)
""",
    "finalizers": """
log = []

class Handle:
    def __del__(self):
        log.append("closed")

def g(x, k):
    h = Handle()
    name = h.__class__.__name__
    y = x * k
    if y.sum() > 100:
        y = y - 1
    log.append(name)
    return y + 1

def f(x, k):
    r = g(x + 1, k), list(log)
    log.clear()
    return r
""",
    "a handler around an inlined call": """
def h(x, k):
    y = x * k
    if y.sum() > 100:
        raise KeyError("large")
    return y + 1

def g(x, k):
    try:
        return h(x * 2, k)
    except KeyError as e:
        return x - 1

def f(x, k):
    return g(x, k) * 2
""",
    "a local that is bound in some calls only": """
def f(x, k):
    if k > 1:
        y = x * k
    if k < 3:
        z = x - k
    for i in range(4):
        x = x + 0.5
        if x.sum() > 60:
            x = x - 3
    try:
        return x, y, z
    except UnboundLocalError as e:
        return str(e), x
""",
}


@pytest.mark.parametrize("text", HELD.values(), ids=HELD)
@pytest.mark.parametrize("order", [(SMALL, LARGE), (LARGE, SMALL)])
def test_locals_after_an_exit(text, order):
    spaces = [{"__name__": "program"}, {"__name__": "program"}]
    for space in spaces:
        exec(compile("import sys\nimport numpy as np\n" + text, "<held>", "exec"), space)
    eager, compiled = spaces[0]["f"], stator.compile(spaces[1]["f"])
    for k in (1.5, 0.5, 2.0, 4.0, 0.5, 1.5, 2.5):
        for x in order:
            agree(eager, compiled, x, k)


def traced_events(function, *args):
    """What a tracer that is set before the call sees of the programs here."""
    events = []

    def tracer(frame, event, arg):
        if frame.f_code.co_filename == "<exits>":
            events.append((frame.f_code.co_name, event, frame.f_lineno))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return events


def test_a_tracer_sees_every_line():
    eager, compiled = both("f")
    for _ in range(3):
        compiled(SMALL, 0.5)
    assert traced_events(compiled, SMALL, 0.5) == traced_events(eager, SMALL, 0.5)
    reasons = {r.reason for r in stator.explain(compiled)(SMALL, 0.5).reasons}
    agree(eager, compiled, SMALL, 0.5)
    assert "Traced" in reasons


TRACING = """
import sys
import numpy as np

def f(x, events):
    def tracer(frame, event, arg):
        # A collection may come in between and run what other tests have left.
        if frame.f_code.co_filename == "<tracing>":
            events.append((event, frame.f_lineno))
        return tracer
    y = x * 2
    sys.settrace(tracer)
    sys._getframe().f_trace = tracer
    z = y + 1
    for i in range(2):
        z = z * 2
    sys.settrace(None)
    return z - 1
"""


def test_a_tracer_set_in_the_middle():
    space = {"__name__": "program"}
    exec(compile(TRACING, "<tracing>", "exec"), space)
    compiled = stator.compile(space["f"])
    seen = []
    before = sys.gettrace()
    for f in (space["f"], compiled, compiled, compiled):
        seen.append([])
        f(SMALL, seen[-1])
        sys.settrace(before)
    assert len(seen[0]) > 5
    assert seen[1:] == [seen[0]] * 3


WATCHED = """
import sys
import numpy as np

def f(x, files):
    def tracer(frame, event, arg):
        files.add(frame.f_code.co_filename)
    y = x * 2
    sys.settrace(tracer)
    z = y + 1
    for i in range(2):
        z = z * 2
    sys.settrace(None)
    return z - 1
"""


def test_a_tracer_sees_no_function_of_stators():
    """While another thread asks for the GIL all the time, which is given to it between two instructions."""
    space = {"__name__": "program"}
    exec(compile(WATCHED, "<watched>", "exec"), space)
    compiled = stator.compile(space["f"])
    files, done = set(), []
    before, interval = sys.gettrace(), sys.getswitchinterval()
    other = threading.Thread(target=lambda: [None for _ in iter(lambda: bool(done), True)])
    sys.setswitchinterval(1e-6)
    other.start()
    try:
        for _ in range(200):
            compiled(SMALL, files)
            sys.settrace(before)
    finally:
        done.append(True)
        sys.setswitchinterval(interval)
        other.join()
    assert "<stator>" not in files


def test_an_exit_in_a_function_that_has_all_its_places():
    """Seventy opaque steps are more places than a function gets; the exit in front of them is one more."""
    lines = ["def many(x, y):", "    x = x * 2.0", "    x = x + 1.0 if x[0] > 0 else x - 1.0"]
    for i in range(70):
        lines += ["    os.getpid()", f"    y = y + {float(i)}"]
    space = {"os": os}
    exec(compile("\n".join([*lines, "    return x, y"]), "<many>", "exec"), space)
    many = space["many"]
    compiled = stator.compile(many)
    for sign in (1, 1, 1, -1, -1, -1, 1):
        args = (LARGE * sign, LARGE)
        assert not difference(observe(many, args), observe(compiled, args))
    assert compiled.stats()["exits"] > 0
