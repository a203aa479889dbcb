"""Customers, servers and waiting times, with draws of NumPy."""

import numpy as np
import simpy

PACKAGE = "simpy"


def prepare():
    return (np.random.default_rng(5),)


def drive(rng):
    env, waits = simpy.Environment(), []
    servers = simpy.Resource(env, capacity=2)

    def customer():
        arrived = env.now
        with servers.request() as request:
            yield request
            waits.append(env.now - arrived)
            yield env.timeout(rng.exponential(1.5))

    def source():
        for _ in range(800):
            yield env.timeout(rng.exponential(1.0))
            env.process(customer())

    env.process(source())
    env.run()
    return np.mean(waits), len(waits)
