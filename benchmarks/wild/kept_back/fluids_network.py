"""Water in a network of pipes: friction, bends, and the flows that balance in each loop."""

import numpy as np
from fluids.core import Reynolds, dP_from_K
from fluids.drag import drag_sphere
from fluids.fittings import bend_rounded, contraction_sharp, entrance_sharp, exit_normal
from fluids.friction import friction_factor
from fluids.piping import nearest_pipe

PACKAGE = "fluids"

RHO, MU, SIDE = 997.0, 8.9e-4, 5


class Pipe:
    def __init__(self, length, wanted, bends):
        self.length, self.bends = length, bends
        self.size, self.inside, self.outside, self.wall = nearest_pipe(Di=wanted)
        self.area = np.pi / 4.0 * self.inside**2

    def drop(self, flow):
        """The loss of pressure and its slope, for a flow that may run backwards."""
        speed = abs(flow) / self.area + 1e-6
        re = Reynolds(V=speed, D=self.inside, rho=RHO, mu=MU)
        f = friction_factor(Re=re, eD=4.6e-5 / self.inside)
        k = f * self.length / self.inside
        if self.bends:
            k += self.bends * bend_rounded(Di=self.inside, angle=90.0, fd=f, bend_diameters=3.0)
        loss = dP_from_K(k, rho=RHO, V=speed)
        return np.sign(flow) * loss, 2.0 * loss / (speed * self.area)


def along(row, column):
    return row * (SIDE - 1) + column


def down(row, column):
    return SIDE * (SIDE - 1) + row * SIDE + column


def prepare():
    rng = np.random.default_rng(26)
    count = 2 * SIDE * (SIDE - 1)
    lengths, sizes = rng.uniform(50.0, 200.0, count), rng.uniform(0.08, 0.25, count)
    pipes = [
        Pipe(length, wanted, i % 3) for i, (length, wanted) in enumerate(zip(lengths, sizes, strict=True))
    ]
    loops = [
        [(along(r, c), 1), (down(r, c + 1), 1), (along(r + 1, c), -1), (down(r, c), -1)]
        for r in range(SIDE - 1)
        for c in range(SIDE - 1)
    ]
    return pipes, loops, rng.uniform(0.001, 0.004, (12, SIDE, SIDE))


def first_guess(demand):
    """All water comes in at one corner, runs along the first row and down each column."""
    flows = np.zeros(2 * SIDE * (SIDE - 1))
    for column in range(SIDE):
        if column < SIDE - 1:
            flows[along(0, column)] = demand[:, column + 1 :].sum()
        for row in range(SIDE - 1):
            flows[down(row, column)] = demand[row + 1 :, column].sum()
    return flows


def balance(pipes, flows, loops):
    """Hardy and Cross: each loop is put right in turn until none changes."""
    history = []
    for _ in range(40):
        worst = 0.0
        for loop in loops:
            total, slope = 0.0, 0.0
            for i, sign in loop:
                loss, change = pipes[i].drop(sign * flows[i])
                total += loss
                slope += change
            shift = -total / slope
            for i, sign in loop:
                flows[i] += sign * shift
            worst = max(worst, abs(shift))
        history.append(worst)
        if worst < 1e-9:
            break
    return flows, history


def settle(diameter, heights):
    """A grain of sand that sinks, until it is deeper than the last height."""
    volume, speed, depth, dt, times = np.pi / 6.0 * diameter**3, 0.0, 0.0, 0.002, []
    for step in range(2000):
        re = Reynolds(V=speed + 1e-9, D=diameter, rho=RHO, mu=MU)
        drag = 0.5 * drag_sphere(re) * RHO * speed**2 * np.pi / 4.0 * diameter**2
        speed += dt * (9.81 * (2650.0 - RHO) * volume - drag) / (2650.0 * volume)
        depth += dt * speed
        while len(times) < len(heights) and depth > heights[len(times)]:
            times.append(step * dt)
        if len(times) == len(heights):
            break
    return speed, depth, times


def drive(pipes, loops, demands):
    day = []
    for demand in demands:
        flows, history = balance(pipes, first_guess(demand), loops)
        losses = np.array([pipe.drop(flow)[0] for pipe, flow in zip(pipes, flows, strict=True)])
        day.append((flows, history, losses))
    curve = []
    for flow in np.linspace(0.001, 0.04, 100):
        k = entrance_sharp() + exit_normal() + contraction_sharp(Di1=0.3, Di2=pipes[0].inside)
        curve.append(dP_from_K(k, rho=RHO, V=flow / pipes[0].area) + pipes[0].drop(flow)[0])
    grains = [settle(diameter, np.linspace(0.02, 0.2, 6)) for diameter in np.linspace(2e-4, 1e-3, 6)]
    return [(pipe.size, pipe.inside) for pipe in pipes], day, np.array(curve), grains
