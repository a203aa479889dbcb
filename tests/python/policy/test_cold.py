"""In a new process with an empty cache a loop is stepped until its code is there. What that costs is a part of what the code
costs: it must not be what decides that serving the function does not pay."""

from process import run_program

PROGRAM = """
import numpy as np
import stator


@stator.compile
def f(x, n):
    s = x[0]
    for i in range(n):
        s += x[i % x.size] * 2
    return s


x = np.arange(100.0)
for _ in range(3):
    f(x, 20_000)
stator.wait()
for _ in range(6):
    f(x, 20_000)
print(f.stats()["retired"], f.stats()["served"] > 0, sum(r.entries for r in f.regions) > 0)
"""


def test_waiting_for_code_is_no_loss(tmp_path):
    """With an entry that costs half a millisecond where it is refused: two would be too many."""
    tune = "refused_entry_cost=500000"
    done = run_program(PROGRAM, STATOR_RETIRE="1", STATOR_TUNE=tune, STATOR_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "True", "True"]
