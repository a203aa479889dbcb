"""Transfer functions, state space, steps and poles."""

import control
import numpy as np

PACKAGE = "control"


def prepare():
    return (np.linspace(0, 10, 100),)


def drive(times):
    g = control.tf([1.0], [1.0, 2.0, 3.0])
    out = []
    for gain in (0.5, 1.0, 2.0):
        loop = control.feedback(gain * g, 1)
        out.append(control.step_response(loop, times).outputs)
        out.append(np.sort_complex(control.poles(loop)))
        out.append(np.abs(control.frequency_response(loop, np.logspace(-1, 1, 30)).response))
    return out
