"""Loops that wait for what another process stores."""

import mmap
import os
import signal
import time

import numpy as np
import pytest
import stator

COUNT = 20


def waits(flags, n):
    rounds = 0
    for i in range(n):
        while not flags[i]:
            rounds += 1
    return rounds


def waits_in_turn(flags, n):
    i = 0
    while i < n:
        if flags[i]:
            i += 1
    return i


def waits_for_ever(flags, n):
    seen = 0
    while True:
        if flags[n - 1]:
            return seen
        seen += 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that shares memory")
@pytest.mark.parametrize("function", [waits, waits_in_turn, waits_for_ever])
def test_waiting(function):
    def late(number, frame):
        raise TimeoutError("what the other process stored was not seen")

    signal.signal(signal.SIGALRM, late)
    flags = np.ndarray(COUNT, np.bool_, mmap.mmap(-1, 4096))
    compiled = stator.compile(function)
    flags[:] = True
    for _ in range(3):
        compiled(flags, COUNT)
    stator.wait()
    flags[:] = False
    if (child := os.fork()) == 0:
        for i in range(COUNT):
            time.sleep(0.02)
            flags[i] = True
        os._exit(0)
    signal.alarm(30)  # a signal, too, makes loops look again: the handler says that they had not
    try:
        compiled(flags, COUNT)
    finally:
        signal.alarm(0)
        os.waitpid(child, 0)
    assert flags.all()
