"""np.arange in traces and in loops: bounds that cross each other or leave a dtype's range, and floats."""

import numpy as np
import pytest
import stator

CALLS = [
    "np.arange(n)",
    "np.arange(m, n)",
    "np.arange(n, m, -1)",
    "np.arange(m, n, 3)",
    "np.arange(n, dtype=np.int8)",
    "np.arange(n, dtype=np.uint16)",
    "np.arange(m, n, dtype=np.uint64)",
    "np.arange(m, n, dtype=np.float32)",
    "np.arange(m, n, -2, dtype=float)",
    "np.arange(0, -3, -1, dtype=float)",
    "np.arange(2**62, 2**62 + n)",
    "np.arange(n * 1.0)",
    "np.arange(-0.0, 3.0)",  # the first element is the start, and no sum
    "np.arange(1, 2.5)",
    "np.arange(0.0, 2.0, 0.1)",
    "np.arange(float('nan'))",
    "np.arange(0, n, 0)",
    "np.arange(n, None, 2)",
    "np.arange(stop=n)",
    "np.arange(np.int32(4))",
    "np.arange(n)[:, None] * np.arange(m)",
]
BOUNDS = [(7, 2), (9, 3), (1, 0), (0, 0), (2, 5), (-3, 2), (300, -300), (70000, -5), (6, 2)]


def written(call, loop):
    if loop:
        text = f"def f(n, m):\n  t = 0.0\n  for i in range(30):\n    a = {call}\n    t += a.sum() + i\n  return a, t\n"
    else:
        text = f"def f(n, m):\n  a = {call}\n  return a, a + 1\n"
    space = {"np": np}
    exec(text, space)
    return space["f"]


def outcome(function, bounds):
    try:
        return [(x.dtype, np.shape(x), x.tobytes()) for x in map(np.asarray, function(*bounds))]
    except Exception as error:
        return repr(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_arange(call, loop):
    function = written(call, loop)
    compiled = stator.compile(function)
    for bounds in BOUNDS:
        for _ in range(2):
            assert outcome(compiled, bounds) == outcome(function, bounds), bounds
            stator.wait()
