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
    """Run Python code in a process of its own, with stator's environment variables as given, and the tests' cache."""
    kept = ("STATOR_CACHE_DIR",)
    env = {k: v for k, v in os.environ.items() if k in kept or not k.startswith("STATOR")} | environment
    return subprocess.run(
        [sys.executable, *arguments, *(["-c", textwrap.dedent(text)] if text else [])],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
    )


# Timers and lateness count the CPU time that this process uses: by the clock of the wall, how late something is, and
# whether a signal comes before or behind the next line, depends on what else the machine does.
now = time.process_time


def alarm(seconds):
    """Has SIGPROF sent after so much CPU time; 0: not any more."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


@contextlib.contextmanager
def on_alarm(handler):
    """What `alarm` sends is handled by `handler` meanwhile."""
    before = signal.signal(signal.SIGPROF, handler)
    try:
        yield
    finally:
        alarm(0)
        signal.signal(signal.SIGPROF, before)
