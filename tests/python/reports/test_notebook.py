"""`%load_ext stator` in IPython: the magics, cells as IPython runs them, what is shown as HTML."""

import sys
import textwrap

import pytest
from process import run_program

pytest.importorskip("IPython")

SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()


def cell(text):
    with capture_output() as seen:
        result = shell.run_cell(text, store_history=True)
    return result, seen


assert cell("%load_ext stator")[0].success
cell("import numpy as np; import stator; x = np.linspace(0, 1, 10_000)")
"""

LOOP = """
def smooth(x):
    for k in range(60):
        x = x + 0.1 * (np.roll(x, 1) - 2 * x + np.roll(x, -1))
    return x
"""


def run(text, **environment):
    done = run_program(SHELL + f"LOOP = {LOOP!r}\n" + textwrap.dedent(text), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_cell_runs_as_ipython_runs_it():
    print(
        run(
            """
            result, seen = cell("%%stator\\n" + LOOP + "for _ in range(20): y = smooth(x)\\ny.shape")
            assert result.success, seen.stdout
            assert "(10000,)" in seen.stdout, seen.stdout
            report = seen.outputs[-1].data
            # What runs smooth is named by the report: smooth itself, or the cell whose native loop runs it inside.
            assert "captured" in report["text/plain"] and "(Cell In[" in report["text/plain"], report
            assert "<iframe" in report["text/html"]
            # Names are the notebook's, and what raises is the cell's, at its own line.
            assert shell.user_ns["y"].shape == (10_000,)
            result, seen = cell("%%stator\\na = 1\\nb = a / 0\\nc = 2")
            assert type(result.error_in_exec) is ZeroDivisionError
            assert "b = a / 0" in seen.stdout and "_notebook.py" not in seen.stdout, seen.stdout
            assert shell.user_ns["a"] == 1 and "c" not in shell.user_ns
            # Results equal those without it.
            cell("%stator off")
            cell("z = smooth(x)")
            assert shell.user_ns["z"].tobytes() == shell.user_ns["y"].tobytes()
            result, seen = cell("%%stator\\n1 + 1;")
            assert "2" not in seen.stdout.split()
            assert type(cell("%%stator\\n1 +")[0].error_in_exec or cell("%%stator\\n1 +")[0].error_before_exec) is SyntaxError
            """
        )
    )


def test_on_off_and_report():
    run(
        """
        assert "is on for decorated functions" in cell("%stator")[1].stdout
        assert cell("%stator report")[0].error_in_exec is not None
        cell("%stator on")
        assert "is on" in cell("%stator")[1].stdout
        cell(LOOP + "for _ in range(30): y = smooth(x)")
        cell("stator.wait()")
        cell("for _ in range(30): y = smooth(x)")
        assert stator_served() > 0
        # As above: smooth or the cells.
        report = cell("%stator report")[0].result
        assert "captured" in str(report) and "(Cell In[" in str(report), str(report)
        cell("%stator off")
        assert "is off" in cell("%stator")[1].stdout
        before = stator_served()
        cell("for _ in range(5): y = smooth(x)")
        assert stator_served() == before
        assert cell("%stator on please")[0].error_in_exec is not None
        assert cell("%%stator loud\\n1")[0].error_in_exec is not None
        cell("%unload_ext stator")
        assert not cell("%stator on")[0].success or "not found" in cell("%stator on")[1].stderr
        """.replace("stator_served()", "__import__('stator').stats()['served']")
    )


@pytest.mark.parametrize("magic", ["", "%%stator\n"], ids=["on", "cell"])
def test_what_came_before_has_no_say_in_the_next_cell(magic):
    """The hook of all functions is off while calls are frequent that gain nothing; a cell is looked at all the same."""
    run(
        f"""
        cell("%stator on")
        cell("def g(k): return k")
        for _ in range(3):
            cell("n = sum(map(g, range(400_000)))")
        before = shell.user_ns["stator"].stats()["recalls"]
        result, _ = cell({magic!r} + "s = 0.0\\nfor k in range(4_000_000):\\n    s += k * 0.5")
        assert result.success and shell.user_ns["s"] == 4_000_000 * 3_999_999 * 0.25
        assert shell.user_ns["stator"].stats()["recalls"] > before
        """,
        STATOR_RETIRE="1",
        STATOR_TUNE="recall_first_look=100000",
    )


def test_reloading_and_profiles_of_others():
    run(
        """
        cell("%reload_ext stator")
        assert "on for decorated functions" in cell("%stator")[1].stdout
        with stator_profile() as p:
            result, seen = cell("%%stator\\n1 + 1; # two")
            assert result.success and "another profile" in seen.stdout and "2" not in seen.stdout.split(), seen.stdout
            assert cell("%stator on")[0].success
        assert "is on" in cell("%stator")[1].stdout
        """.replace("stator_profile", "__import__('stator').profile")
    )


def test_compiled_functions_are_shown():
    run(
        """
        cell("@stator.compile\\ndef f(x):\\n    return x * 2.0 + 1.0\\nfor _ in range(4): f(x)")
        data, _ = shell.display_formatter.format(shell.user_ns["f"])
        assert "trace f#1" in data["text/html"] and "replays" in data["text/html"], data
        assert "Cell In[3]" in data["text/html"], data
        shown = cell("stator.explain(f)(np.arange(4))")[0].result
        assert str(shown).startswith("f (Cell In[3]:1)"), shown
        assert "in f: " not in str(shown) or "Cell In[3]:" in str(shown)
        data, _ = shell.display_formatter.format(shell.user_ns["f"].graph())
        assert '<pre class="stator">' in data["text/html"]
        cell("def g(): pass")
        data, _ = shell.display_formatter.format(shell.user_ns["g"])
        assert "text/html" not in data
        """
    )


def test_where_stator_is_off():
    run(
        """
        cell("@stator.compile\\ndef f(x):\\n    return x * 2.0")
        assert "text/html" not in shell.display_formatter.format(shell.user_ns["f"])[0]
        """,
        STATOR="0",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="stator runs on Linux")
def test_it_costs_nothing_to_those_who_do_not_load_it():
    done = run_program("import sys, stator; print([m for m in sys.modules if m.startswith('IPython')])")
    assert done.stdout == "[]\n"
