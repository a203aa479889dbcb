"""`STATOR_LOG_TO=logging`: what `STATOR_LOG` names goes through Python's logging, at places where handlers may run."""

import textwrap

from process import run_program

PROGRAM = """
import logging, os, sys, threading, time
import numpy as np
import stator

records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append(record)
logging.getLogger("stator").addHandler(Keep())
logging.getLogger("stator").setLevel(logging.INFO)

def f(x):
    return (x * 2.0 + 1.0).sum()

def delivered():
    for _ in range(100):
        pass  # what was kept is handed over between two of these
    return list(records)
"""


def run(text, **environment):
    done = run_program(PROGRAM + textwrap.dedent(text), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_lines_become_records():
    done = run(
        """
        f = stator.compile(f)
        before = time.time()
        with stator.options(log="traces,kernels", log_to="logging"):
            assert stator.options.log_to == "logging"
            f(np.arange(5.0))
            f(np.arange(5.0))
            stator.wait()
            seen = delivered()
        names = {r.name for r in seen}
        assert names == {"stator.traces", "stator.kernels"}, names
        first = next(r for r in seen if r.name == "stator.traces")
        assert first.getMessage().startswith("recorded f#1 at "), first.getMessage()
        assert first.levelno == logging.INFO and before <= first.created <= time.time()
        assert (first.threadName, first.thread) == ("MainThread", threading.get_ident())
        assert stator.options.log_to == "stderr"
        records.clear()
        f(np.arange(5))
        assert not delivered()
        """
    )
    assert done.stderr == ""


def test_the_variable_and_the_end_of_the_program():
    done = run(
        """
        logging.basicConfig(format="%(name)s %(levelname)s %(message)s", stream=sys.stdout)
        logging.getLogger("stator.recompiles").setLevel(logging.WARNING)
        f = stator.compile(f)
        f(np.arange(5.0)), f(np.arange(5)), f(np.arange(5).astype("f4"))
        """,
        STATOR_LOG="traces,recompiles",
        STATOR_LOG_TO="logging",
        STATOR_ASYNC="0",
    )
    lines = done.stdout.splitlines()
    assert lines and all(line.startswith("stator.traces INFO ") for line in lines), lines
    assert sum("recorded f#" in line for line in lines) == 3, lines
    assert done.stderr == ""


def test_handlers_that_use_arrays_or_fail_change_nothing():
    done = run(
        """
        @stator.compile
        def g(x):
            return x * 3.0

        class Works(logging.Handler):
            def emit(self, record):
                total.append(g(np.arange(3.0)).sum())  # compiled code of its own: no record of a record
                raise ZeroDivisionError
        total = []
        logging.raiseExceptions = False
        logging.getLogger("stator").addHandler(Works())
        x = np.linspace(0.0, 1.0, 1000)
        plain = [f(x[:n]) for n in range(1, 60)]
        f = stator.compile(f)
        with stator.options(log="all", log_to="logging"):
            result = []
            for n in range(1, 60):
                try:
                    result.append(f(x[:n]))
                except ZeroDivisionError:
                    result.append("the handler's exception in the program")
            stator.wait()
            delivered()
        assert result == plain, result
        assert 0 < len(total) < 1000, len(total)
        """,
    )
    assert "ZeroDivisionError" in done.stderr  # told of, as what no code can catch


def test_other_threads_and_forks():
    run(
        """
        f = stator.compile(f)
        stator.options.log, stator.options.log_to = "traces", "logging"
        worker = threading.Thread(target=lambda: f(np.arange(4.0)), name="worker")
        worker.start(), worker.join()
        seen = delivered()
        assert [r.threadName for r in seen if "recorded f" in r.getMessage()] in (["worker"], ["stator"]), seen
        records.clear()
        child = os.fork()
        if not child:
            try:
                f(np.arange(4))
                ok = len(delivered()) > 0
            finally:
                os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert not delivered()
        """
    )


def test_a_wrong_target_is_told_of():
    done = run_program("import stator\nprint(stator.options.log_to)", STATOR_LOG_TO="syslog")
    assert done.stdout.split() == ["stderr"]
    assert "STATOR_LOG_TO" in done.stderr and "stderr or logging" in done.stderr, done.stderr
