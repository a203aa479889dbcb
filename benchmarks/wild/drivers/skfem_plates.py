"""Finite elements: a plate with sources, refined where the error is large, and heat in time."""

import numpy as np
from scipy.sparse.linalg import splu
from skfem import (
    Basis,
    BilinearForm,
    ElementTriP1,
    ElementTriP2,
    Functional,
    InteriorFacetBasis,
    LinearForm,
    MeshTri,
    condense,
    solve,
)
from skfem.helpers import dot, grad

PACKAGE = "scikit-fem"


@BilinearForm
def stiffness(u, v, w):
    return (1.0 + 0.5 * w.x[0]) * dot(grad(u), grad(v))


@BilinearForm
def mass(u, v, w):
    return u * v


def load(x):
    return np.exp(-80.0 * ((x[0] - 0.3) ** 2 + (x[1] - 0.7) ** 2))


@LinearForm
def source(v, w):
    return load(w.x) * v


@Functional
def inside(w):
    return w.h**2 * load(w.x) ** 2


@Functional
def across(w):
    normal = w.n
    jump = (w["u1"].grad[0] - w["u2"].grad[0]) * normal[0] + (w["u1"].grad[1] - w["u2"].grad[1]) * normal[1]
    return w.h * jump**2


def prepare():
    return (MeshTri.init_tensor(np.linspace(0, 1, 5), np.linspace(0, 1, 5)),)


def estimate(mesh, u):
    element = ElementTriP1()
    out = inside.elemental(Basis(mesh, element))
    sides = [InteriorFacetBasis(mesh, element, side=k) for k in (0, 1)]
    jumps = across.elemental(sides[0], u1=sides[0].interpolate(u), u2=sides[1].interpolate(u))
    facets = np.zeros(mesh.facets.shape[1])
    facets[sides[0].find] = jumps
    for k in range(3):
        out = out + 0.5 * facets[mesh.t2f[k]]
    return out


def drive(mesh):
    report = []
    for _ in range(10):
        basis = Basis(mesh, ElementTriP1())
        u = solve(*condense(stiffness.assemble(basis), source.assemble(basis), D=mesh.boundary_nodes()))
        error = estimate(mesh, u)
        report.append((mesh.t.shape[1], float(u.max()), float(error.sum())))
        mesh = mesh.refined(np.flatnonzero(error > 0.4 * error.max())).smoothed()
    basis = Basis(mesh, ElementTriP2())
    a, m = stiffness.assemble(basis), mass.assemble(basis)
    held = basis.get_dofs().all()
    free = basis.complement_dofs(held)
    dt, heat = 0.002, np.zeros(basis.N)
    solver = splu((m + 0.5 * dt * a)[free][:, free].tocsc())
    explicit, push = m - 0.5 * dt * a, dt * source.assemble(basis)
    for step in range(60):
        heat[free] = solver.solve((explicit @ heat + push)[free])
        if step % 10 == 0:
            report.append((step, heat.copy()))
    return report, basis.probes(np.array([[0.3, 0.5], [0.7, 0.5]])) @ heat
