"""`python -m stator cache` and `bug-report`, and the pytest plugin, in processes of their own."""

import os
import stat
import subprocess
import sys
import tarfile
import zipfile

import pytest

PROGRAM = """
import numpy as np
import stator


@stator.compile
def f(x):
    return x * 2.0 + 1.0


for _ in range(4):
    f(np.arange(100.0))
    stator.wait()
print(stator.stats()["compiles"], stator.stats()["cache_hits"])
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def python(folder, *arguments, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("STATOR", "PYTEST"))}
    kept |= {"STATOR_CACHE_DIR": str(folder / "cache")} | environment
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=kept, capture_output=True, text=True, timeout=300
    )


def said(folder, *arguments, **environment):
    done = python(folder, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cache_is_shipped(folder):
    assert "nothing is kept" in said(folder, "-m", "stator", "cache", "info")
    refused = python(folder, "-m", "stator", "cache", "export", "code.tar.gz")
    assert refused.returncode == 2 and "run the program first" in refused.stderr
    compiles, _ = said(folder, "program.py").split()
    assert int(compiles) > 0
    assert "pieces of compiled code" in said(folder, "-m", "stator", "cache", "info")
    said(folder, "-m", "stator", "cache", "export", "code.tar.gz")
    assert "removed" in said(folder, "-m", "stator", "cache", "clear")
    assert "nothing is kept" in said(folder, "-m", "stator", "cache", "info")
    elsewhere = {"STATOR_CACHE_DIR": str(folder / "elsewhere" / "cache")}
    assert "added" in said(folder, "-m", "stator", "cache", "import", "code.tar.gz", **elsewhere)
    compiles, hits = said(folder, "program.py", **elsewhere).split()
    assert int(compiles) == 0 and int(hits) > 0
    for path in (folder / "elsewhere" / "cache").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_what_is_no_archive_changes_nothing(folder):
    (folder / "text").write_text("no archive")
    with tarfile.open(folder / "evil.tar.gz", "w:gz") as tar:
        tar.add(folder / "program.py", "objects-1/../../evil")
    with tarfile.open(folder / "other.tar.gz", "w:gz") as tar:
        tar.add(folder / "program.py", "objects-1/" + "0" * 32)
    (folder / "short").write_bytes(b"statoro1" + bytes(20))
    with tarfile.open(folder / "short.tar.gz", "w:gz") as tar:
        tar.add(folder / "short", "objects-1/" + "0" * 32)
    (folder / "cut.tar.gz").write_bytes((folder / "other.tar.gz").read_bytes()[:60])
    for name, why in [
        ("text", "is no archive of"),
        ("none", "there is no file none"),
        ("evil.tar.gz", "which is no compiled code of stator's"),
        ("other.tar.gz", "which is no compiled code of stator's"),
        ("short.tar.gz", "which is no compiled code of stator's"),
        ("cut.tar.gz", "is no archive of"),
    ]:
        done = python(folder, "-m", "stator", "cache", "import", name)
        assert done.returncode == 2 and why in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    assert not (folder / "cache").exists()
    assert "cache import FILE" in python(folder, "-m", "stator", "cache", "import").stderr


def test_a_bug_report(folder):
    out = said(folder, "-m", "stator", "bug-report", "program.py")
    assert "stator-bug-report.zip" in out and "Look at what is in it" in out
    with zipfile.ZipFile(folder / "stator-bug-report.zip") as report:
        assert {"program.txt", "program/program.py", "machine.txt", "doctor.txt"} <= set(report.namelist())
        assert "exit status 0" in report.read("program.txt").decode()
        assert "numpy" in report.read("machine.txt").decode()
        assert "compiler" in report.read("doctor.txt").decode()
    os.utime(folder / "program.py", (0, 0))  # before there were zip files
    said(folder, "-m", "stator", "bug-report", "program.py")
    # Without a program, and where nothing is compiled.
    assert "stator-bug-report.zip" in said(folder, "-m", "stator", "bug-report", STATOR="0")


TESTS = """
import numpy as np


def f(x):
    for k in range(3):
        x = x * 2.0 + k
    return x


def test_f():
    for _ in range(10):
        assert f(np.arange(1000.0))[0] == 4.0


def test_mode():
    import os
    assert os.environ.get("STATOR") == {mode!r}
"""


def run_pytest(folder, *options, mode=None):
    (folder / "test_project.py").write_text(TESTS.replace("{mode!r}", repr(mode)))
    return python(folder, "-m", "pytest", "-p", "pytest_stator", "-p", "no:cacheprovider", *options)


@pytest.mark.parametrize(("option", "mode"), [("off", "0"), ("on", "1"), ("all", "all"), ("verify", "all")])
def test_the_plugin_of_pytest(folder, option, mode):
    done = run_pytest(folder, f"--stator={option}", mode=mode)
    assert done.returncode == 0, done.stdout
    assert f"stator: {option}" in done.stdout and "2 passed" in done.stdout
    assert ("loops compiled" in done.stdout) == (option != "off")


def test_the_plugin_does_nothing_unasked(folder):
    done = run_pytest(folder)
    assert done.returncode == 0 and "2 passed" in done.stdout and "stator:" not in done.stdout
    imports = python(folder, "-c", "import pytest_stator, sys; print('stator' in sys.modules)")
    assert imports.stdout == "False\n"


def test_off_is_off_for_what_was_decorated_before(folder):
    (folder / "early.py").write_text(
        "import numpy as np\nimport stator\n\n\n@stator.compile\ndef f(x):\n    return x * 2.0\n"
    )
    (folder / "test_project.py").write_text(
        "import early, numpy as np\ndef test_one():\n    for _ in range(8): early.f(np.ones(3))\n"
        "    assert early.f.stats()['served'] == 0\n"
    )
    done = python(
        folder,
        "-m",
        "pytest",
        "-p",
        "early",
        "-p",
        "pytest_stator",
        "-p",
        "no:cacheprovider",
        "--stator=off",
        PYTHONPATH=f"{folder}:{os.environ.get('PYTHONPATH', '')}",
    )
    assert "1 passed" in done.stdout, done.stdout


def test_a_difference_fails_the_test(folder):
    """What `verify` finds is made up here: the engine has nothing to find."""
    (folder / "test_project.py").write_text(
        "from stator import _verify\ndef test_one(): _verify._differs('f#1 differs from NumPy')\ndef test_two(): pass\n"
    )
    done = python(folder, "-m", "pytest", "-p", "pytest_stator", "-p", "no:cacheprovider", "--stator=verify")
    assert "1 failed, 1 passed" in done.stdout and "f#1 differs from NumPy" in done.stdout
