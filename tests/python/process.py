"""Programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_program(text, *arguments, **environment):
    """Run Python code in a process of its own, with stator's environment variables as given."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("STATOR")} | environment
    return subprocess.run(
        [sys.executable, *arguments, *(["-c", textwrap.dedent(text)] if text else [])],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
    )
