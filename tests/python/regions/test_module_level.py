"""Loops at module level, as scripts and notebook cells have them: native, and nobody can tell. Their variables are globals,
which are as eager's whenever anybody looks."""

import textwrap

import pytest
from process import run_program

# Each is a program, and whether a loop of it has to be native.
PROGRAMS = {
    "numbers": (
        """
        total, steps = 0.0, 0
        for i in range(3000):
            half = i * 0.5
            total += half
            steps += 1
        """,
        True,
    ),
    "stencil": (
        """
        u = np.zeros(300)
        u[100:120] = 2.0
        for n in range(20):
            un = u.copy()
            for i in range(1, 299):
                u[i] = un[i] + 0.25 * (un[i - 1] - 2 * un[i] + un[i + 1])
        """,
        True,
    ),
    "whole arrays": (
        """
        u = np.linspace(0.0, 1.0, 200)
        for n in range(60):
            un = u.copy()
            u[1:-1] = un[1:-1] + 0.2 * (un[2:] - 2 * un[1:-1] + un[:-2])
            peak = u.max()
        """,
        True,
    ),
    "swapped": (
        """
        a, b = np.arange(50.0), np.zeros(50)
        first = a
        for n in range(41):
            for i in range(1, 49):
                b[i] = 0.5 * (a[i - 1] + a[i + 1])
            a, b = b, a
        same = first is a, first is b
        """,
        True,
    ),
    "while": (
        """
        x, y, vx, vy, t = 1.0, 0.0, 0.0, 1.0, 0.0
        while t < 3.0:
            r3 = (x * x + y * y) ** 1.5
            vx -= x / r3 * 0.001
            vy -= y / r3 * 0.001
            x += vx * 0.001
            y += vy * 0.001
            t += 0.001
        """,
        True,
    ),
    "functions": (
        """
        calls, scale = 0, 1.0
        def scaled(v):
            global calls
            calls += 1
            return v * scale
        s = 0.0
        for k in range(2000):
            scale = k * 0.25
            s += scaled(2.0)
        """,
        True,
    ),
    "a function's own loop": (
        """
        count, kept = 0, 0.0
        def count_up(n):
            global count, kept
            for i in range(n):
                count += 1
                kept = kept * 0.5 + i
                if i == 1500:
                    return i
        got = count_up(1000), count_up(3000)
        """,
        False,
    ),
    "raises": (
        """
        x = np.arange(1000.0)
        s = 0.0
        for i in range(1100):
            t = s
            s += x[i]
        """,
        True,
    ),
    "divides by zero": (
        """
        a = 0
        for i in range(1000, -1, -1):
            left = i
            a += 100000 // i
        """,
        True,
    ),
    "caught": (
        """
        x, s = np.arange(900.0), 0.0
        try:
            for i in range(1000):
                s += x[i]
        except IndexError as e:
            message = str(e)
        for i in range(1000):
            s -= x[i % 900]
        """,
        True,
    ),
    "large numbers": (
        """
        z = 1
        for i in range(200):
            z = z * 3
        for i in range(2000):
            z = z // 2 + i
        """,
        True,
    ),
    "other kinds": (
        """
        v, flag, word = 1, None, "a"
        for i in range(3000):
            v = v + 1
            if i == 1000:
                v = v * 1.5
            if i == 2000:
                flag, word = True, "b"
        """,
        True,
    ),
    "deleted": (
        """
        s = 0.0
        for i in range(2500):
            t = i * 0.5
            s += t
            if i % 1000 == 7:
                del t
        """,
        True,
    ),
    "looks": (
        """
        system = __import__("sys")  # an import statement may be lazy on 3.15, and is not stepped
        seen = []
        def look():
            seen.append((s, i, system._getframe(1).f_globals["s"], globals()["i"]))
        s = 0
        for i in range(3000):
            s += i
            if i % 1000 == 500:
                look()
        """,
        True,
    ),
    "changed by others": (
        """
        s, scale = 0.0, 1.0
        def change():
            globals()["scale"] = scale * 2.0
            globals()["s"] = 0.5
        for i in range(3000):
            s += i * scale
            if i % 700 == 600:
                change()
        """,
        True,
    ),
    "printed": (
        """
        s = 0.0
        for i in range(3000):
            s += i * 0.1
            if i % 1000 == 0:
                print(i, s)
        """,
        True,
    ),
    "shadowed": (
        """
        total = 0
        for i in range(2000):
            total += abs(-i)
        abs = float
        for i in range(2000):
            total += abs(i)
        del abs
        for i in range(2000):
            total += abs(-i)
        """,
        True,
    ),
    "nested lists": (
        """
        rows = [[float(i * j) for j in range(30)] for i in range(40)]
        s = 0.0
        for r in range(40):
            for c in range(30):
                s += rows[r][c]
        squares = [v * v for v in range(50)]
        """,
        True,
    ),
    "finalizers": (
        """
        gone = []
        class Dies:
            def __init__(self, n):
                self.n = n
            def __del__(self):
                gone.append((self.n, i))
        for i in range(300):
            thing = Dies(i)
            q = i * 2
        del thing, Dies
        """,
        False,
    ),
    "objects": (
        """
        class Body:
            def __init__(self):
                self.x, self.n = 0.0, 0
            def step(self, d):
                self.x += d * 0.5
                self.n += 1
        body = Body()
        for d in np.linspace(0.0, 1.0, 2000):
            body.step(d)
        x, n = body.x, body.n
        del body, Body
        """,
        True,
    ),
    "two names": (
        """
        a = b = np.zeros(60)
        part = a[10:]
        for k in range(40):
            for i in range(50):
                a[i] += b[59 - i] + part[i] * 0.5
        """,
        True,
    ),
    "another name for the namespace": (
        """
        class Settings:
            pass
        settings = Settings()
        settings.__dict__ = globals()
        count, seen = 1.0, 0.0
        for i in range(2000):
            count = count + 1.0
            seen = settings.count
        del settings, Settings
        """,
        False,
    ),
    "empty parts": (
        """
        a = np.arange(24.0)
        q, n = a, 1
        for k in range(2001):
            q = a[k % 7 : (k * 3) % 11 : 2]
            n = n + k
        grid = np.arange(60.0).reshape(6, 10)
        for k in range(2001):
            q = grid[k % 4 : (k * 3) % 5 : 2, ::2]
            n = n + k
        """,
        True,
    ),
    "class body": (
        """
        class Table:
            total = 0
            for i in range(2000):
                total += i
        total, last = Table.total, Table.i
        del Table
        """,
        False,
    ),
    "in namespaces": (
        """
        code = compile("s = 0\\nfor i in range(1500): s += i", "inner", "exec")
        one, two, inner = {"__name__": "__main__"}, {}, {"s": 5}
        exec(code, one)
        exec(code, two, inner)
        exec(code)
        got = one["s"], inner["s"], sorted(two), list(one)[-2:]
        del one, two, code
        """,
        False,
    ),
}

RUN = """
import re, sys, textwrap, traceback, hashlib
import numpy as np
import stator

def show(v):
    if isinstance(v, np.ndarray):
        return str(v.dtype), v.shape, v.strides, v.tobytes()
    if isinstance(v, float):
        return type(v).__name__, v.hex()
    return type(v).__name__, re.sub("0x[0-9a-f]+", "", repr(v))

def run(source, name):
    space = sys.modules["__main__"].__dict__ if name == "__main__" else {"__name__": name, "np": np}
    before = {"__builtins__", *space}
    try:
        exec(compile(source, "program", "exec"), space)
    except BaseException as error:
        space["error"] = traceback.format_exception(error)[2:]
        tb = error.__traceback__
        while tb.tb_next:
            tb = tb.tb_next
        assert tb.tb_frame.f_locals is space and tb.tb_frame.f_code.co_name == "<module>"
        del error, tb
    names = [k for k in space if k not in before]
    return [(k, show(space.pop(k))) for k in names]
"""


@pytest.mark.parametrize("judged", ["0", "1"])
def test_nobody_can_tell(judged):
    """All of them in one process: with their names in ``__main__``, and in a module of another name, which is left alone."""
    programs = {name: (textwrap.dedent(text), native) for name, (text, native) in PROGRAMS.items()}
    tail = """
    def main():
        wrong = []
        for name, (source, native) in %r.items():
            before = stator.stats()["regions"]
            got = run(source, "__main__")
            regions = stator.stats()["regions"] - before
            want = run(source, "elsewhere")
            if got != want:
                wrong.append((name, [(g, w) for g, w in zip(got, want) if g != w], len(got), len(want)))
            if native and JUDGED == "0" and regions == 0:
                wrong.append((name, "no region"))
        print(wrong)
    main()
    """ % (programs,)
    environment = {"STATOR": "all", "STATOR_ASYNC": "0", "STATOR_RETIRE": judged}
    if judged == "1":
        environment["STATOR_TUNE"] = (
            "investments_overdraft=0,recall_first_look=100000,settled_each=1,stepped_while_waiting=0"
        )
    done = run_program(RUN + f"JUDGED = {judged!r}\n" + textwrap.dedent(tail), **environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "[]", done.stdout
    printed = lines[:-1]
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :] and printed


NAMESPACES = """
import gc, sys, stator
class Dies:
    def __del__(self):
        print("gone")
gc.disable()
code = compile("for i in range(20000): s = i", "cell", "exec")
space = {"__name__": "__main__", "dies": Dies()}
exec(code, space)
del space
print("after")
"""


def test_namespaces_go_when_nobody_has_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(NAMESPACES)
    done = run_program("", "-m", "stator", "run", str(script), STATOR_ASYNC="0")
    assert done.stdout.split() == ["gone", "after"], done.stderr


SIGNALS = """
import signal
seen, s, i = [], 0, 0

def handler(number, frame):
    seen.append(s in (0, i * (i + 1) // 2, i * (i - 1) // 2))

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
while len(seen) < 20:
    s = 0
    for i in range(300000):
        s += i
signal.setitimer(signal.ITIMER_REAL, 0)
print(all(seen))
"""

INTERRUPTED = """
import signal, threading, os, time
s, i = 0, 0
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the process may have it ignored
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        for i in range(1000000):
            s += 1
except KeyboardInterrupt as e:
    tb = e.__traceback__
    print(tb.tb_frame.f_globals["s"] == s > 0, tb.tb_next is None, tb.tb_frame.f_code.co_name)
"""

THREADS = """
import threading, time
s, done, seen = 0, False, []

def watch():
    last = -1
    while not done:
        now = s
        seen.append(now >= last)
        last = now
        time.sleep(0.0005)

thread = threading.Thread(target=watch)
thread.start()
for i in range(20000000):
    s = i
    if i % 1000000 == 0 and len(seen) > 50:
        break
done = True
thread.join()
print(all(seen))
"""


@pytest.mark.parametrize(
    "program", [SIGNALS, INTERRUPTED, THREADS], ids=["signals", "interrupted", "threads"]
)
def test_globals_are_there_when_somebody_looks(program, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(program)
    done = run_program("", "-m", "stator", "run", str(script), STATOR_RETIRE="1")
    assert done.returncode == 0 and set(done.stdout.split()) <= {"True", "<module>"}, (
        done.stdout,
        done.stderr,
    )


def test_a_script_is_native_in_its_first_run(tmp_path):
    """The evaluator has the frame until the loop's code is there, and a traceback shows one frame."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, stator
            n, s, rounds = 0, 0.0, 0
            while not (n and stator.stats()["recalls"]):
                rounds += 1
                for i in range(200000):
                    s += i * 0.5
                n = rounds if rounds > 3 else 0
                assert rounds < 400
            sys.stderr.write("native\\n")
            for i in range(5, -1, -1):
                s += 1.0 / i
            """
        )
    )
    done = run_program("", "-m", "stator", "run", str(script), STATOR_RETIRE="1")
    assert done.stderr.splitlines()[0] == "native", done.stderr
    lines = [line.strip() for line in done.stderr.splitlines() if line.startswith("  File")]
    assert lines == [f'File "{script}", line 12, in <module>'], done.stderr
