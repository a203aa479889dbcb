"""STATOR=all: which functions are taken, and when."""

import pytest

from tests.python.process import run_program

REPORT = """
s = stator.stats()
print(s["calls"], s["recordings"] > 0, s["served"] > 0, s["regions"])
"""


def ran(program: str, **options: str) -> list[str]:
    done = run_program(program + REPORT, STATOR="all", STATOR_ASYNC="0", **options)
    return done.stdout.split()


def test_methods_have_their_arrays_in_attributes():
    program = """
import numpy as np, stator
class Body:
    def __init__(self):
        self.position, self.velocity = np.zeros(30), np.ones(30)
    def step(self, dt):
        self.position = self.position + self.velocity * dt
        self.velocity = self.velocity * 0.99 - self.position * dt
body = Body()
for k in range(20):
    body.step(0.1)
position, velocity = np.zeros(30), np.ones(30)
for k in range(20):
    position = position + velocity * 0.1
    velocity = velocity * 0.99 - position * 0.1
assert body.position.tobytes() == position.tobytes() and body.velocity.tobytes() == velocity.tobytes()
"""
    assert ran(program) == ["18", "True", "True", "0"]


HOLDERS = {
    "slots": """
class Mesh:
    __slots__ = "u", "f"
    def __init__(self): self.u, self.f = arrays()
mesh, body = Mesh(), "u, f = m.u, m.f"
""",
    "dataclass with defaults": """
from dataclasses import dataclass
@dataclass
class Mesh:
    u: object = None
    f: object = None
mesh, body = Mesh(*arrays()), "u, f = m.u, m.f"
""",
    "an attribute's attribute": """
class Mesh: pass
mesh, inner, body = Mesh(), Mesh(), "u, f = m.l.u, m.l.f"
mesh.l = inner
inner.u, inner.f = arrays()
""",
    "a named tuple's": """
from typing import NamedTuple
class Mesh(NamedTuple):
    u: object
    f: object
mesh, body = Mesh(*arrays()), "u, f = m.u, m.f"
""",
    "list": '''mesh, body = list(arrays()), "u, f = m"''',
    "dict": '''mesh, body = dict(zip("uf", arrays())), "u, f = m['u'], m['f']"''',
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_where_arrays_are_found(holder):
    program = f"""
import numpy as np, stator
def arrays(): return np.zeros(40), np.ones(40)
{HOLDERS[holder]}
text = "def smooth(m):\\n    BODY\\n    for k in range(40):\\n        for i in range(1, len(u) - 1):\\n" \\
    "            u[i] = 0.5 * (u[i - 1] + u[i + 1]) + f[i]\\n"
space = {{}}
exec(text.replace("BODY", body), space)
for k in range(60):  # the hook may be off for some milliseconds
    space["smooth"](mesh)
"""
    _, _, served, regions = ran(program)
    assert served == "True" and int(regions) > 0


def test_looking_for_arrays_runs_no_code_of_the_program():
    program = """
import stator
class Proxy:
    asked = []
    def __getattr__(self, name):
        Proxy.asked.append(name)
        raise AttributeError(name)
class Lazy:
    asked = []
    @property
    def u(self):
        Lazy.asked.append("u")
        return None
def touch(o, wanted):
    return o.u if wanted else None
for k in range(10):
    touch(Proxy(), False), touch(Lazy(), False)
assert Proxy.asked == [] == Lazy.asked
"""
    assert ran(program, STATOR_ALL_AFTER="0") == ["0", "False", "False", "0"]


def test_a_function_with_a_loop_is_taken_in_its_first_call():
    program = """
import numpy as np, stator
def main():
    u = np.zeros(40)
    for k in range(3000):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        u[0] = 1.0
    return u
def same():
    u = np.zeros(40)
    for k in range(3000):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        u[0] = 1.0
    return u
found = main()
with stator.stance("eager"):
    assert found.tobytes() == same().tobytes()
"""
    assert ran(program) == ["1", "True", "True", "1"]


def test_calls_that_pass_before_a_function_is_taken():
    program = """
import numpy as np, stator
def f(u):
    return u * 2.0 + 1.0
for k in range(8):
    assert f(np.arange(9.0)).tobytes() == (np.arange(9.0) * 2.0 + 1.0).tobytes()
"""
    assert ran(program)[0] == "6"
    assert ran(program, STATOR_ALL_AFTER="0")[0] == "8"
    assert ran(program, STATOR_ALL_AFTER="5")[0] == "3"


def test_functions_of_no_arrays_are_left_alone():
    program = """
import numpy as np, stator
def total(items):
    s = 0
    for x in items:
        s += x
    return s
assert [total(range(100)) for k in range(10)] == [4950] * 10
"""
    assert ran(program) == ["0", "False", "False", "0"]


def test_a_function_that_plain_python_is_quicker_for_is_retired():
    program = """
import numpy as np, stator
class Odd(np.ndarray):
    pass
def f(u, words):
    return [w.upper().strip().lower().title().split("e") for w in words], u is None
u = np.ones(3)
for k in range(3000):
    f(u, ["one", "three", "seven"])
"""
    told = "s = stator.stats(); print(s['calls'] - s['eager_calls'])"
    done = run_program(program + told, STATOR="all", STATOR_ASYNC="0", STATOR_RETIRE="1")
    assert int(done.stdout) < 500, "calls that were not left to Python"


def test_exceptions_and_tracebacks_are_the_programs_own():
    program = """
import numpy as np, stator, traceback
def f(u, i):
    v = u * 2.0
    return v[i] + 1.0
for i in [1, 2, 3, 4, 99]:
    try:
        f(np.arange(5.0), i)
    except IndexError as e:
        print(traceback.extract_tb(e.__traceback__)[-1].name, e)
"""
    done = run_program(program, STATOR="all", STATOR_ASYNC="0", STATOR_ALL_AFTER="0")
    assert done.stdout.strip() == "f index 99 is out of bounds for axis 0 with size 5"


def test_what_a_recorded_call_calls_is_taken_too():
    """What main calls runs in the middle of its first call: so does the whole program."""
    program = """
import numpy as np, stator
class Layer:
    def forward(self, x):
        return np.tanh(x * 0.5) + x
    def backward(self, x):
        return 1.0 - np.tanh(x) ** 2
class Trainer:
    def __init__(self):
        self.layer, self.seen = Layer(), []
    def fit(self, x, rounds):
        for k in self.batches(rounds):
            x = x * 0.1 + next(map(self.step, [x]))
        return x
    def batches(self, rounds):
        yield from range(rounds)
    def step(self, x):
        self.seen.append(id(x))
        return self.layer.forward(x) - self.layer.backward(x)
def main():
    x = np.linspace(0.0, 1.0, 400)
    for k in range(1):
        x = x * 2.0
    return Trainer().fit(x, 40)
found = main()
s = stator.stats()
assert s["served"] > 30, s
with stator.stance("eager"):
    assert found.tobytes() == main().tobytes()
"""
    assert ran(program)[1:3] == ["True", "True"]


def test_the_hook_is_off_where_calls_are_short_and_nothing_is_served():
    """Calls of two or three microseconds, each of which it would make longer by some percent. Once in three it may be on by chance."""
    program = """
import stator
from stator._stator import _testing
def work(n):
    return sum(range(n))
def main():
    seen = 0
    for k in range(400):
        for _ in range(100):
            work(170)
        seen += _testing.hook_installed()
    return seen
main()
print(min(main() for _ in range(3)))
"""
    # With its credit it may be on until it has cost a millisecond.
    done = run_program(program, STATOR="all", STATOR_RETIRE="1", STATOR_TUNE="hook_credit=0")
    assert int(done.stdout) < 200, "times in 400 that it was found on"


def test_short_plain_calls_that_are_timed_are_as_without_the_hook():
    """What it costs in calls inside is a cost of being served: it must not make plain Python look slower."""
    program = """
import numpy as np
import stator
from stator._stator import _testing
on = []
def inside():
    on.append(_testing.hook_installed())
def f(u):
    inside()
    return ((((u * 2.0 + 1.0) * u - 0.5) * u + 0.25) * u - 0.125) * u + 3.0
for k in range(5000):
    f(np.ones(3))
stats = stator.stats()
print(stats["served"] > 0, sum(not x for x in on) > 2, on[0])
"""
    done = run_program(program, STATOR="all", STATOR_ASYNC="0", STATOR_RETIRE="1")
    assert done.stdout.split() == ["True", "True", "True"]


# Steps that are counted at ten times of what they take, as on a processor that is ten times as quick: a function has run
# all the same, though less time passed than was counted.
QUICK = "step_cost=400,account_allowance=20000000,trial_allowance=20000000,trials_begin=50000000,trials_most_kept=50000000"


@pytest.mark.parametrize("tune", ["", QUICK], ids=["as it is", "on a quick processor"])
def test_a_loop_is_caught_in_the_only_call_of_its_function(tune):
    program = """
import numpy as np
import stator
def main(n):
    x, s = np.linspace(0.0, 1.0, 64), 0.0
    for i in range(n):
        for j in range(64):
            s += x[j] * i
    return s
print(main(20000))
stats = stator.stats()
print(stats["regions"] > 0, stats["kernels_launched"] > 0)
"""
    # A process that has no processor for a while when its loop is first seen has overdrawn its account, and rightly
    # goes on in the evaluator: that does not happen five times.
    for _ in range(5):
        done = run_program(program, STATOR="all", STATOR_ASYNC="0", STATOR_RETIRE="1", STATOR_TUNE=tune)
        assert done.stderr == ""
        if done.stdout.splitlines()[1] == "True True":
            return
    raise AssertionError(done.stdout)
