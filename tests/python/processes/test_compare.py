"""`python -m stator run --compare`: three runs of a program, and what they say."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import sys
import numpy as np
import stator

@stator.compile
def total(x, n):
    t = 0.0
    for i in range(n):
        t += x[i % len(x)]
    return t

print(total(np.ones(100), 1000), sys.argv[1:], sys.stdin.read() == "")
"""


def compare(folder, text, *arguments):
    (folder / "program.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "stator", "run", "--compare", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, input="something")


def test_it_prints_once_and_says_how_long_each_run_took(tmp_path):
    done = compare(tmp_path, PROGRAM, "--decorated", "program.py", "a", "--b")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1000.0 ['a', '--b'] True\n"
    times = re.findall(
        r"^(.+?) +([\d.]+) s +([\d.]+) s(?: +([\d.]+) times as fast)?$", done.stderr, re.MULTILINE
    )
    assert [row[0] for row in times] == ["plain Python", "stator, compiling", "stator, with code on disk"]
    assert [bool(row[3]) for row in times] == [False, True, True]
    assert "what the three runs printed is the same" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\nprint('one')\nprint(os.getpid())", "what it printed differs in line 2: "),
        (
            "import os\nprint('x' if os.environ['STATOR'] == '0' else 'xx')",
            "in line 1: 'x', with stator 'xx'",
        ),
        (
            "import os, sys\nsys.exit(os.environ['STATOR'] != '0')",
            "the exit status differs: 0, with stator 1",
        ),
    ],
)
def test_it_says_what_differs(tmp_path, text, said):
    done = compare(tmp_path, text, "program.py")
    assert done.returncode == 0
    assert said in done.stderr


def test_a_program_that_fails_is_not_compared(tmp_path):
    done = compare(tmp_path, "raise ValueError('mine')", "program.py")
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr and "nothing is compared" in done.stderr


def test_stator_has_to_be_on(tmp_path, monkeypatch):
    monkeypatch.setenv("STATOR", "0")
    done = compare(tmp_path, "print(1)", "program.py")
    assert done.returncode == 2 and "STATOR=0 switches stator off" in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--report", "program.py"], "--compare only times the program"),
        (["-"], "give it as a file, not on the standard input"),
        (["nothere.py"], "cannot open 'nothere.py': no such file"),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path, arguments, said):
    done = compare(tmp_path, "print(1)", *arguments)
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr
