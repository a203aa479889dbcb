"""Reports: what time is booked on, and what they say of it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from process import run_program
from stator._profile import Report


def row(seconds, spent="plain", by="python", routine="", line=7, **more):
    return {
        "file": "/p.py", "function": "f", "line": line, "first_line": 3, "spent": spent, "by": by, "routine": routine,
        "seconds": seconds, "samples": 1, "first": 0.0, "early": False, "reason": "None",
    } | more  # fmt: skip


def known(**more):
    return {
        "file": "/p.py", "function": "f", "line": 3, "retired": False, "compared": (0.0, 0.0), "remarks": [], "regions": [],
        "calls": 1, "lines": [],
    } | more  # fmt: skip


def report(rows, functions=(), **more):
    whole = {"rows": rows, "wall": 1.0, "cpu": 1.0, "compile": 0.0, "threads": 1, "interrupted": False}
    return Report(whole | more, list(functions))


def test_a_line_that_waits_for_a_routine_is_no_loss():
    blas = {"by": "numpy", "routine": "linear algebra (BLAS and LAPACK)"}
    large = report([row(0.9, **blas), row(0.05, by="numpy"), row(0.05)])
    assert large.parts["routines"] == 0.9 and large.functions[0].lost < 0.11
    text = str(large)
    assert "In NumPy's routines" in text and "f (/p.py:3): 900 ms in linear algebra (BLAS and LAPACK)" in text
    small = report([row(0.4, **blas), row(0.3, by="numpy"), row(0.3)])
    assert small.parts["routines"] == 0 and small.parts["numpy"] == 0.7
    # In compiled code it is a library node; on another line it decides nothing.
    assert report([row(1.0, spent="library", **blas)]).parts["routines"] == 0
    assert report([row(0.5, **blas), row(9.0, line=8)]).parts["routines"] == 0.5


def test_comparisons_are_told_and_count_in_no_share():
    both = [row(0.5, spent="generated"), row(2.0, spent="compared")]
    r = report(both, [known(compared=(2e-6, 7e-6))])
    assert r.captured == 1.0 and r.seconds == 0.5
    said = "a call takes 2.0 µs, as plain Python 7.0 µs: 3.5 times as fast"
    assert said in " ".join(str(r).split()) and said in r.html()
    assert r.data()["functions"][0]["compared"] == (2e-6, 7e-6)
    assert "times as fast" not in str(report(both, [known()]))


def test_answered_calls_are_captured():
    r = report([row(0.5, spent="answered"), row(0.5)], host_calls={"numpy.mean": 12000, "a + b": 0})
    assert r.captured == 0.5 and r.host_calls == {"numpy.mean": 12000}
    assert "numpy.mean 12,000" in str(r)


def test_what_has_won_without_a_plain_call_is_compared_while_a_profile_is_made():
    done = run_program(
        """
import numpy as np, stator
@stator.compile
def f(x):
    return (np.sin(x) * 2 + x) ** 2 - np.sqrt(x + 3) * (x + 1) + x / 3
x = np.linspace(0, 1, 1000)
for _ in range(50): f(x)
stator.wait()
for _ in range(5000): f(x)
with stator.profile() as p:
    for _ in range(20000): f(x)
f = next(f for f in p.report.functions if f.name == "f")
served, plain = f.compared
print(0 < served < plain, p.report.parts["compared"] >= 0, "times as fast" in str(p.report))
""",
        STATOR_RETIRE="1",
    )
    assert done.stdout.split() == ["True", "True", "True"], done.stderr


def test_matrix_products_are_found_in_blas(tmp_path):
    """The library that they are in is known by its name."""
    program = tmp_path / "p.py"
    program.write_text(
        textwrap.dedent("""
        import time
        import numpy as np, stator
        def f(a):
            out = {}
            end = time.process_time() + 0.6
            while time.process_time() < end:
                out[str(len(out) % 3)] = np.linalg.svd(a)[1]
            return out
        with stator.profile() as p:
            f(np.random.default_rng(1).random((150, 150)))
        print(p.report.parts["routines"] > p.report.parts["numpy"])
        """)
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True\n", done.stderr
