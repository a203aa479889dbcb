"""What other threads, signals, finalizers and the garbage collector do while a loop is entered, runs and is left."""

import gc
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import stator
from numpy.lib.stride_tricks import sliding_window_view


class Counter:
    def __init__(self):
        self.n = 0
        self.stop = False


def test_arrays_that_overlap_themselves():
    def all_of_it(w, n):
        for _ in range(n):
            w += 1
        return w

    def rows(w, v, n):
        for i in range(n):
            w[i + 1] += w[i]
            w[i] -= v[i]
        return w

    def windows():
        return sliding_window_view(np.arange(12.0), 3, writeable=True)

    a, b = stator.compile(all_of_it), stator.compile(rows)
    v = np.arange(30.0).reshape(10, 3)
    for n in (4, 8, 3, 8):
        assert a(windows(), n).tobytes() == all_of_it(windows(), n).tobytes()
        assert b(windows(), v, n).tobytes() == rows(windows(), v, n).tobytes()
        plain = windows().copy()
        assert a(plain.copy(), n).tobytes() == all_of_it(plain.copy(), n).tobytes()
        stator.wait()


STOP = {"now": False}


def test_a_loop_sees_what_another_thread_stored():
    """The routine lets go of the GIL; whoever gets it leaves nothing behind that asks for it."""
    a = np.random.default_rng(0).random(300_000)
    items = [0]

    def attribute(c):
        while not c.stop:
            np.sort(a)

    def item(c):
        while not items[0]:
            np.sort(a)

    def entry(c):
        while not STOP["now"]:
            np.sort(a)

    for f in (attribute, item, entry):
        c = Counter()
        items[0], STOP["now"] = 0, False
        thread = threading.Thread(target=stator.compile(f), args=(c,), daemon=True)
        thread.start()
        time.sleep(0.3)
        c.stop, items[0], STOP["now"] = True, 1, True
        thread.join(60)
        assert not thread.is_alive(), f.__name__


@pytest.mark.parametrize("where", ["loop", "calls"])
def test_no_update_of_another_thread_is_lost(where):
    a = np.random.default_rng(0).random(100_000)

    def loop(c, n):
        for _ in range(n):
            c.n += 1
            x = np.sort(a)
        return x

    @stator.compile
    def step(c):
        c.n += 1
        return np.sort(a)[0] * 2

    def calls(c, n):
        for _ in range(n):
            step(c)

    c = Counter()
    compiled = stator.compile(loop) if where == "loop" else calls
    compiled(c, 3)
    stator.wait()
    done = threading.Event()

    added = 0

    def other():
        nonlocal added
        while not done.is_set():
            c.n += 1000
            added += 1000
            time.sleep(0.001)

    c.n = 0
    thread = threading.Thread(target=other)
    thread.start()
    compiled(c, 100)
    done.set()
    thread.join()
    assert added and c.n == added + 100


def interrupt_after(seconds):
    """Timers of CPU time may come to a thread of the BLAS's, where CPython does not notice them."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    return timer


def test_interrupts_come_between_calls_of_a_library():
    class Stop(Exception):
        pass

    arrived = []

    def handler(number, frame):
        arrived.append(frame.f_locals["done"])
        raise Stop

    def f(a, n):
        done = 0
        for _ in range(n):
            for _ in range(1000):
                x = a @ a
                done += 1
        return x, done

    a = np.ones((300, 300))
    g = stator.compile(f)
    g(np.ones((2, 2)), 2)
    stator.wait()
    g(np.ones((2, 2)), 2)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Stop):
            timer = interrupt_after(0.05)
            g(a, 1)
            pytest.fail("the loop ran to its end")
        assert arrived[0] < 1000  # not when the inner loop was done
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_what_a_handler_raises_is_not_lost_while_recording():
    class Stop(Exception):
        pass

    handled = []

    def handler(number, frame):
        handled.append(1)
        raise Stop

    def f(a, d):
        x = a**1.51
        return d["k"], x

    # In a function of its own: CPython may leave the end of a `with` out of what its handler covers.
    def call():
        stator.compile(f)(a, {"k": 1})
        deadline = time.process_time() + 20
        while not handled:
            assert time.process_time() < deadline, "the signal was not served"

    a = np.full(3_000_000, 1.5)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for _ in range(10):
            handled.clear()
            with pytest.raises(Stop):
                timer = interrupt_after(0.005)
                call()
            timer.join()
            assert handled == [1]
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def collections():
    enabled, threshold = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


def test_finalizers_while_a_loop_is_entered_and_left(collections):
    class Ends:
        def __init__(self, act):
            self.me, self.act = self, act

        def __del__(self):
            self.act()

    def tally(c, values):
        for _ in values:
            c.n += 1

    def pairs(c, values):
        for i in range(len(values)):
            c.n += 1
            p = (i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i)
        return p

    def total(values, w):
        s = 0.0
        for x in values:
            s += x * w
        return s

    def add():
        c.n += 1000

    values, other, kept = [float(i) for i in range(20)], [1000.0] * 20, []
    c = Counter()
    for f in (tally, pairs):
        g = stator.compile(f)
        for _ in range(5):
            g(c, values)
        for k in range(60):
            gc.disable()
            gc.collect()
            c.n = 0
            Ends(add)
            gc.set_threshold(gc.get_count()[0] + k % 20)
            gc.enable()
            g(c, values)
            gc.disable()
            gc.collect()
            assert c.n == 1020, (f.__name__, k)
    sums = stator.compile(total)

    def enter():
        sums(other, 7.0)
        kept.extend([iter(other) for _ in range(30)])

    for _ in range(5):
        sums(values, 2.0)
    for k in range(100):
        gc.disable()
        Ends(enter)
        gc.set_threshold(gc.get_count()[0] + k % 20)
        gc.enable()
        assert sums(values, 2.0) == 380.0


def test_the_collector_is_the_programs(collections):
    a = np.random.default_rng(0).random(100_000)

    def f(n):
        for _ in range(n):
            x = np.sort(a)
        return x

    g = stator.compile(f)
    g(3)
    seen, done = set(), threading.Event()

    def other():
        while not done.is_set():
            seen.add(gc.isenabled())
            time.sleep(0.001)
        gc.disable()

    gc.enable()
    thread = threading.Thread(target=other)
    thread.start()
    g(60)
    done.set()
    g(3)
    thread.join()
    assert seen == {True} and not gc.isenabled()


def test_nothing_warns_while_a_loop_is_built():
    """NumPy is asked once what a call gives; what its C code warns about would be heard."""

    def f(b):
        t = 0
        for _ in range(300):
            t += np.pad(b, 1, constant_values=2j)[0]
        return t

    def warnings_of(function):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            function(np.ones(3, "f4"))
        return len(heard)

    compiled = stator.compile(f)
    for _ in range(3):
        assert warnings_of(compiled) == warnings_of(f) == 600
        stator.wait()
