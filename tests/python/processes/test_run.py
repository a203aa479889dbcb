"""`python -m stator run`: programs behave as under `python`, whatever is measured of them."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from html.parser import HTMLParser

import pytest
from process import run_program

WAYS = [(), ("--report=report.html",)]


def write(folder, name, text):
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def run(folder, *arguments, input=None):
    """Both ways: with the interpreter alone, and under stator with these options in front."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, input=input, capture_output=True, text=True, timeout=300
    )


def both(folder, options, arguments, input=None):
    plain = run(folder, *arguments, input=input)
    return plain, run(folder, "-m", "stator", "run", *options, *arguments, input=input)


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize(
    "text",
    [
        "import sys; print(sys.argv, __name__, __file__, __spec__, __package__, sys.path[0])",
        "import sys; print(sys.modules['__main__'].__dict__ is globals(), sorted(globals()))",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('a message')",
        "raise SystemExit",
        "def f(x):\n    return 1 / x\n\nf(0)",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e",
        "this is no Python",
        "import atexit; atexit.register(print, 'at the end'); print('first')",
        "import sys; sys.excepthook = lambda *a: print('hooked', a[0].__name__)\nraise KeyError(1)",
        "import warnings; warnings.warn('once', stacklevel=1)",
        "import os; os._exit(7)",
        "def f():\n    raise KeyboardInterrupt('x')\n\nf()",
        # Python forgets an interrupt when anything is imported after it: what is needed is there.
        "import sys, traceback\n"
        "try: 1 / 0\nexcept Exception as e: traceback.format_exception(e)\n"
        "sys.excepthook = lambda k, e, t: print(traceback.format_exception(k, e, t), sys.last_traceback is t)\n"
        "raise KeyboardInterrupt",
        "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))) is C)",
        "import inspect, sys, traceback\n"
        "def f(n): return n if n == 0 else f(n - 1)\n"
        "print([i.function for i in inspect.stack()], f(980), sys._getframe().f_back)\n"
        "traceback.print_stack()",
    ],
)
def test_scripts_are_run_as_python_runs_them(tmp_path, text, options):
    write(tmp_path, "program.py", text)
    plain, under = both(tmp_path, options, ["program.py", "a", "-b", "--report"])
    assert under.returncode == plain.returncode
    assert under.stdout == plain.stdout
    assert under.stderr.startswith(plain.stderr)
    assert options or under.stderr == plain.stderr


@pytest.mark.parametrize("options", WAYS)
def test_modules_packages_and_the_standard_input(tmp_path, options):
    (tmp_path / "package").mkdir()
    text = "import sys; print(sys.argv, __name__, __package__, sys.path[0])\n1 / (len(sys.argv) - 1)\n"
    write(tmp_path / "package", "__main__.py", text)
    write(tmp_path / "package", "__init__.py", "")
    for arguments in (["-m", "package", "-x"], ["-m", "package"], ["-m", "no_such"], ["package", "y"]):
        plain, under = both(tmp_path, options, arguments)
        assert (under.returncode, under.stdout) == (plain.returncode, plain.stdout), arguments
        if "no_such" not in arguments:  # Python's own message begins with the program's path
            assert under.stderr.startswith(plain.stderr)


@pytest.mark.parametrize(
    "text",
    [
        "import sys; print(sys.argv, sys.path[0], sorted(globals()), __file__, __loader__, __package__)",
        "def f(x: int) -> str: pass\nprint(f.__annotations__)",  # nothing is imported from __future__
        "def f(x):\n    return 1 / x\n\nf(0)",
        "raise KeyboardInterrupt",
    ],
)
def test_the_standard_input_is_run_as_python_runs_it(tmp_path, text):
    plain, under = both(tmp_path, (), ["-", "z"], input=text)
    assert (under.returncode, under.stdout, under.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_paths_stay_as_they_are_written(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    text = "import sys; print(__file__, sys._getframe().f_code.co_filename, sys.argv, sys.path[0])\n1 / 0"
    write(folder, "program.py", text)
    write(folder, "__main__.py", text)
    for path in ("./folder/program.py", "folder/../folder/program.py", "./folder", "folder/../folder"):
        plain, under = both(tmp_path, (), [path])
        assert (under.stdout, under.stderr) == (plain.stdout, plain.stderr)


def test_a_library_that_is_imported_while_functions_are_looked_at(tmp_path):
    pytest.importorskip("torch")
    text = """
        import numpy as np
        import torch
        def f(x):
            return (torch.from_numpy(x) * 2.0).numpy()
        for _ in range(60):
            y = f(np.ones(8))
        print(y)
        """
    write(tmp_path, "program.py", text)
    for _ in range(3):  # how far the import has come when torch is met is a matter of time
        plain, under = both(tmp_path, (), ["program.py"])
        assert (under.stdout, under.stderr) == (plain.stdout, plain.stderr)


def test_mistakes_on_the_command_line(tmp_path):
    for arguments, says in [
        ([], "run needs a script"),
        (["-m"], "run needs a script"),
        (["no_such.py"], "cannot open 'no_such.py': no such file"),
        (["--repotr", "x.py"], "unknown option '--repotr'"),
        (["--json", "x.py"], "unknown option '--json'"),
    ]:
        done = run(tmp_path, "-m", "stator", "run", *arguments)
        assert done.returncode == 2 and says in done.stderr and "usage:" in done.stderr


def test_what_is_compiled(tmp_path):
    script = write(
        tmp_path,
        "program.py",
        """
        import numpy as np, stator
        def plain(x):
            return x + 1
        @stator.compile
        def decorated(x):
            return x * 2
        x = np.ones(100)
        list(map(plain, [x] * 10)), list(map(decorated, [x] * 10))  # a loop would be compiled with what it calls
        stator.wait()
        print(decorated.stats()["replays"] > 5, stator.stats()["traces"])
        """,
    )
    for options, traces in [((), 2), (("--all",), 2), (("--decorated",), 1)]:
        done = run_program("", "-m", "stator", "run", *options, str(script))
        assert done.stdout.split() == ["True", str(traces)], done.stderr


# --- the report ---


def report_of(tmp_path, text, *options):
    write(tmp_path, "program.py", text)
    done = run(tmp_path, "-m", "stator", "run", "--report=r.html", "--json=r.json", *options, "program.py")
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "r.json").read_text()), done.stderr, (tmp_path / "r.html").read_text()


OPAQUE = """
import time
import numpy as np
import stator

@stator.compile
def simulate(x, seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        y = x * 2 + 1
        z = np.fromiter(y, float)
    return z

simulate(np.arange(20_000.0), 1.0)
"""


def test_an_opaque_line_comes_first(tmp_path):
    data, text, _ = report_of(tmp_path, OPAQUE)
    first = data["functions"][0]
    assert first["function"] == "simulate"
    line = max(first["lines"], key=lambda at: at["lost"])
    assert line["line"] == 11 and line["parts"]["numpy"] > 0.5 * data["cpu"] / 2
    assert any("fromiter" in r["text"] for r in line["reasons"])
    listed = text[text.index("What would pay most") :].splitlines()
    assert "simulate" in listed[1] and any("np.fromiter(y, float)" in at for at in listed[2:8])


def test_a_line_that_waits_for_random_numbers_is_none_to_change(tmp_path):
    data, text, _ = report_of(tmp_path, OPAQUE.replace("np.fromiter(y, float)", "np.random.permutation(y)"))
    assert data["parts"]["routines"] > 0.5 * data["cpu"] / 2
    assert "simulate" in text[text.index("In NumPy's routines") :].splitlines()[1]


def test_shares_add_up(tmp_path):
    data, _, _ = report_of(tmp_path, OPAQUE)
    parts = data["parts"]
    told = sum(s for name, s in parts.items() if name != "waiting")
    assert (
        abs(told - sum(sum(f["parts"].values()) for f in data["functions"]) + parts["waiting"])
        < 0.2 * told + 0.2
    )
    # All CPU time of Python's threads is told; the compiler and the sampler have their own.
    assert 0.6 * data["cpu"] < told < 1.1 * data["cpu"] + 0.05
    for f in data["functions"]:
        lines = sum(sum(at["parts"].values()) for at in f["lines"])
        assert lines == pytest.approx(sum(f["parts"].values()))


def test_a_loop_that_is_native_is_captured(tmp_path):
    data, text, page = report_of(
        tmp_path,
        """
        import time
        import stator

        @stator.compile
        def total(n):
            s = 0.0
            for i in range(n):
                s += i * 0.5
            return s

        total(1000)
        stator.wait()
        end = time.process_time() + 1.0
        while time.process_time() < end:
            total(1_000_000)
        """,
    )
    assert data["captured"] > 0.8
    assert data["parts"]["generated"] > 10 * data["parts"]["library"]
    total = next(f for f in data["functions"] if f["function"] == "total")
    assert max(total["lines"], key=lambda at: at["parts"].get("generated", 0))["line"] == 8


def test_a_loop_that_calls_functions_of_stators_own_is_captured(tmp_path):
    """Sines are; and the only call of the only function is caught, after much that is none of stator's business."""
    write(
        tmp_path,
        "program.py",
        """
        import argparse
        import numpy as np


        def settings():
            parser = argparse.ArgumentParser()
            for k in range(8):
                parser.add_argument(f"--name{k}")
            return parser.parse_args([])


        def main():
            x = np.linspace(0, 1, 1000)
            for _ in range(20000):
                x = x + 0.01 * np.sin(x)
            return x


        settings()
        main()
        """,
    )
    done = run(tmp_path, "-m", "stator", "run", "--report", "--json=out.json", "program.py")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    main = next(f for f in report["functions"] if f["function"] == "main")
    captured = main["parts"].get("generated", 0.0) + main["parts"].get("library", 0.0)
    assert captured > 5 * main["parts"].get("overhead", 0.0), main["parts"]


def test_library_nodes_are_told_apart_at_the_calling_line(tmp_path):
    data, _, _ = report_of(
        tmp_path,
        """
        import time
        import numpy as np, stator

        @stator.compile
        def order(x):
            y = x + 1
            return np.sort(y)

        x = np.sin(np.arange(50_000.0))
        end = time.process_time() + 1.0
        while time.process_time() < end:
            order(x)
        """,
    )
    order = next(f for f in data["functions"] if f["function"] == "order")
    line = max(order["lines"], key=lambda at: at["parts"].get("library", 0))
    assert line["line"] == 8 and line["parts"]["library"] > 5 * order["parts"].get("generated", 0.0)


def test_reasons_of_functions_that_stay_in_python(tmp_path):
    data, text, _ = report_of(
        tmp_path,
        """
        import time
        import numpy as np

        def once(x):
            return np.sort(x)

        def scalars(n):
            t = 0
            for i in range(n):
                t += i % 7
            return t

        def numbers(n):
            end = time.process_time() + 0.4
            while time.process_time() < end:
                yield n

        once(np.random.default_rng(0).random(4_000_000))
        list(map(scalars, [5000] * 400))  # a loop would be compiled with what it calls
        for k in numbers(1):
            pass
        """,
    )
    reasons = {f["function"]: [r["reason"] for r in f["reasons"]] for f in data["functions"]}
    assert reasons["once"] == ["FewCalls"]
    assert reasons["scalars"] == ["NoArrayArguments"]
    assert reasons["numbers"] == ["Generator"]
    assert "decorate it with @stator.compile" in text
    once = next(f for f in data["functions"] if f["function"] == "once")
    assert once["parts"]["numpy"] > once["parts"].get("python", 0.0)
    scalars = next(f for f in data["functions"] if f["function"] == "scalars")
    assert scalars["parts"]["python"] > 10 * scalars["parts"].get("numpy", 0.0)


def test_threads_and_what_they_wait_for(tmp_path):
    data, _, _ = report_of(
        tmp_path,
        """
        import threading, time
        import numpy as np

        def work(x):
            while time.thread_time() < 0.5:
                np.sort(x)

        def rest():
            time.sleep(0.5)

        threads = [threading.Thread(target=work, args=(np.arange(100_000.0),)), threading.Thread(target=rest)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        """,
    )
    by_name = {f["function"]: f["parts"] for f in data["functions"]}
    assert by_name["work"]["numpy"] > 0.1
    assert by_name["rest"]["waiting"] > 0.2


def test_threads_that_wait_from_the_beginning(tmp_path):
    """They use no CPU time by which a sampler would notice them."""
    data, _, _ = report_of(
        tmp_path,
        """
        import threading, time

        def rest():
            time.sleep(0.5)

        threads = [threading.Thread(target=rest) for _ in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        """,
    )
    by_name = {f["function"]: f["parts"] for f in data["functions"]}
    assert by_name["rest"]["waiting"] > 20 * 0.5 * 0.6


class Page(HTMLParser):
    VOID = ("meta", "br", "input", "link", "img")

    def __init__(self):
        super().__init__()
        self.open, self.outside = [], []

    def handle_starttag(self, tag, attributes):
        self.outside += [(k, v) for k, v in attributes if k in ("src", "href", "srcset", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_needs_nothing_else(tmp_path):
    _, _, text = report_of(tmp_path, OPAQUE.replace("1.0)", "0.3)"))
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == [] and page.outside == []
    assert "@import" not in text and "url(" not in text and "http" not in text
    assert "np.fromiter(y, float)" in text and "simulate" in text


def test_the_programs_own_signals_and_forks(tmp_path):
    """A program's own timer, its handler of our signal, and its children are left alone."""
    text = """
    import os, signal, subprocess, sys, time
    import numpy as np
    counts = {signal.SIGALRM: 0, signal.SIGURG: 0}
    def count(number, frame):
        counts[number] += 1
    signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    def spend(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            np.sort(np.arange(1000.0))
    spend(0.3)
    signal.signal(signal.SIGURG, count)
    os.kill(os.getpid(), signal.SIGURG)
    spend(0.1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(counts[signal.SIGALRM] > 5, counts[signal.SIGURG] < 3)
    sys.stdout.flush()  # what is in the buffer a child would write, too
    pid = os.fork()
    if pid == 0:
        spend(0.05)
        sys.exit(4)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print(subprocess.run([sys.executable, "-c", "print(5)"], capture_output=True).stdout)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-c", "print(6)"])
    """
    write(tmp_path, "program.py", text)
    done = run(tmp_path, "-m", "stator", "run", "--report=r.html", "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True True", "4", "b'5\\n'", "6"]
    assert "where the time went" not in done.stderr  # exec: there is no end


def test_exec_is_not_ended_by_a_signal_on_its_way(tmp_path):
    text = "import os, sys\nn = int(sys.argv[1])\n"
    text += "os.execv(sys.executable, [sys.executable, '-m', 'stator', 'run', '--report', __file__, str(n - 1)]) if n else print('end')\n"
    write(tmp_path, "program.py", text)
    done = run(tmp_path, "-m", "stator", "run", "--report", "program.py", "8")
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_profile_of_a_block():
    done = run_program("""
    import time, numpy as np, stator
    def spend(x):
        end = time.process_time() + 0.3
        while time.process_time() < end:
            np.sort(x)
    with stator.profile("a block") as p:
        try:
            with stator.profile():
                pass
        except RuntimeError as error:
            print(error)
        spend(np.arange(100_000.0))
    report = p.report
    spend = next(f for f in report.functions if f.name == "spend")
    print(spend.parts["numpy"] > 0.05, report.data()["title"], "a block" in str(report), "<html" in report.html())
    with stator.profile() as p:
        pass
    print(p.report.captured, "nothing is left" in str(p.report))
    """)
    assert done.stdout.splitlines() == [
        "no profile can be made: a profile is being made already",
        "True a block True True",
        "0.0 True",
    ], done.stderr


def test_names_that_no_file_can_have(tmp_path):
    """Memory of code that is gone may look so, too; the report is made all the same."""
    data, _, _ = report_of(
        tmp_path,
        """
        import time
        def busy():
            end = time.process_time() + 0.3
            while time.process_time() < end:
                pass
        busy.__code__ = busy.__code__.replace(co_filename="nowhere\\0.py")
        busy()
        """,
    )
    assert not any("nowhere" in f["file"] for f in data["functions"])
