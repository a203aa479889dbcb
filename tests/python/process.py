"""Programs in processes of their own, and signals by this process's clock."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time


def run_program(text, *arguments, **environment):
    """Run Python code in a process of its own, with stator's environment variables as given, the tests' cache, and nothing
    given back to Python by what a busy machine takes for it (``STATOR_RETIRE="1"`` asks for that)."""
    kept = ("STATOR_CACHE_DIR", "STATOR_RETIRE")
    env = {k: v for k, v in os.environ.items() if k in kept or not k.startswith("STATOR")} | environment
    return subprocess.run(
        [sys.executable, *arguments, *(["-c", textwrap.dedent(text)] if text else [])],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
    )


# How late a signal is counts in the CPU time that this thread has used: by the clock of the wall it depends on what else
# the machine does. Timers are the wall's all the same, because CPython 3.11 does not look at a signal that another
# thread of the process was given (a BLAS's, the compiler's), as those of CPU time are.
now = time.thread_time


def alarm(seconds):
    """Has SIGALRM sent after so many seconds; 0: not any more."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


@contextlib.contextmanager
def on_alarm(handler, inside=True):
    """What `alarm` sends is handled by `handler` meanwhile.

    `inside`: what comes before a function that the caller calls has begun, or behind its end, comes again. A busy machine
    may let a timer run out before the next line.
    """
    around = sys._getframe(2)
    early = 0

    def handle(number, frame):
        nonlocal early
        outside = frame is around or (frame is not None and frame.f_code.co_filename == __file__)
        if inside and outside and early < 100:
            early += 1
            alarm(0.02)
            return
        handler(number, frame)

    before = signal.signal(signal.SIGALRM, handle)
    try:
        yield
    finally:
        alarm(0)
        signal.signal(signal.SIGALRM, before)
