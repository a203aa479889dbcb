"""A membrane and a rod in finite differences: in time step by step, and at rest."""

import numpy as np
from findiff import PDE, BoundaryConditions, Diff, FinDiff, Gradient, Laplacian, coefficients

PACKAGE = "findiff"


def prepare():
    x = np.linspace(0.0, 1.0, 31)
    grid = np.meshgrid(x, x, indexing="ij")
    return x, grid, np.exp(-60.0 * ((grid[0] - 0.4) ** 2 + (grid[1] - 0.6) ** 2))


def drive(x, grid, bump):
    h = x[1] - x[0]
    report = [coefficients(deriv=d, acc=a)["center"]["coefficients"] for d in (1, 2, 3) for a in (2, 4)]
    # a struck membrane, by leapfrog
    laplacian = Laplacian(h=[h, h], acc=4)
    now, before = bump.copy(), bump.copy()
    energy, dt = [], 0.4 * h
    gradient = Gradient(h=[h, h], acc=2)
    for step in range(160):
        after = 2.0 * now - before + dt * dt * laplacian(now)
        after[0, :] = after[-1, :] = after[:, 0] = after[:, -1] = 0.0
        before, now = now, after
        if step % 4 == 0:
            slope = gradient(now)
            energy.append(float((((now - before) / dt) ** 2 + slope[0] ** 2 + slope[1] ** 2).sum()))
    # a rod whose conduction depends on its heat, with operators made of others
    rod, d_dx = np.sin(np.pi * x) ** 2, FinDiff(0, h, 1, acc=4)
    for _ in range(900):
        rod = rod + 2e-4 * d_dx((1.0 + 0.5 * rod) * d_dx(rod))
        rod[0], rod[-1] = 0.0, 0.1
    # the membrane at rest under a load
    operator = FinDiff(0, h, 2) + FinDiff(1, h, 2) - 3.0 * FinDiff(0, h, 1)
    bounds = BoundaryConditions(bump.shape)
    bounds[0, :] = 0.0
    bounds[-1, :] = 1.0
    bounds[:, 0] = FinDiff(1, h, 1), bump
    bounds[:, -1] = 0.5
    rest = PDE(operator, 5.0 * bump, bounds).solve()
    uneven = x**1.5
    curve = Diff(0, uneven, acc=4)(np.exp(uneven))
    return report, now, energy, rod, rest, curve, operator.stencil(bump.shape).apply(bump, (5, 5))
