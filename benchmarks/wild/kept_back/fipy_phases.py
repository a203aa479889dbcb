"""Finite volumes: two phases that part, salt that is carried along, and a front that moves."""

import numpy as np
from fipy import (
    CellVariable,
    DefaultAsymmetricSolver,
    DiffusionTerm,
    Grid1D,
    Grid2D,
    ImplicitSourceTerm,
    PowerLawConvectionTerm,
    TransientTerm,
)

PACKAGE = "fipy"


def prepare():
    return (np.random.default_rng(18),)


def part(rng):
    """Cahn and Hilliard's equation on a small square."""
    mesh = Grid2D(nx=12, ny=12, dx=0.5, dy=0.5)
    phi = CellVariable(mesh=mesh, name="phi", value=0.5 + 0.1 * rng.normal(size=mesh.numberOfCells))
    face = phi.arithmeticFaceValue
    bulk = (1 - 6 * face * (1 - face)) * 1.0
    equation = TransientTerm() == DiffusionTerm(coeff=bulk) - DiffusionTerm(coeff=(1.0, 0.3))
    step = 0.01
    for _ in range(6):
        equation.solve(phi, dt=step, solver=DefaultAsymmetricSolver(tolerance=1e-10))
        step *= 1.4
    return np.array(phi.value)


def carry():
    mesh = Grid1D(nx=50, dx=0.02)
    salt = CellVariable(mesh=mesh, name="salt", value=0.0, hasOld=True)
    salt.constrain(1.0, mesh.facesLeft)
    salt.faceGrad.constrain([0.0], mesh.facesRight)
    x, history = mesh.cellCenters[0], []
    decay = 0.2 + 0.5 * x
    equation = (
        TransientTerm() + PowerLawConvectionTerm(coeff=[1.0]) + ImplicitSourceTerm(coeff=decay)
    ) == DiffusionTerm(coeff=0.01 * (1 + salt))
    for _ in range(8):
        salt.updateOld()
        for _ in range(2):
            residual = equation.sweep(var=salt, dt=0.03)
        history.append((float(residual), float(salt.cellVolumeAverage.value)))
    return np.array(salt.value), history


def drive(rng):
    return part(rng), carry()
