"""Clusters and a surface of metal: relaxed, shaken, and an atom that hops from place to place."""

import numpy as np
from ase import Atoms, units
from ase.build import add_adsorbate, bulk, fcc100
from ase.calculators.emt import EMT
from ase.cluster import Icosahedron
from ase.constraints import FixAtoms
from ase.eos import EquationOfState
from ase.md.velocitydistribution import MaxwellBoltzmannDistribution, Stationary
from ase.md.verlet import VelocityVerlet
from ase.optimize import BFGS, FIRE

PACKAGE = "ase"


def prepare():
    return (np.random.RandomState(25),)


def lattice():
    volumes, energies = [], []
    for scale in np.linspace(0.95, 1.05, 5):
        metal = bulk("Cu", "fcc", a=3.6 * scale, cubic=True)
        metal.calc = EMT()
        volumes.append(metal.get_volume())
        energies.append(metal.get_potential_energy())
    return EquationOfState(volumes, energies).fit()


def shake(random):
    cluster = Icosahedron("Cu", 2)
    cluster.symbols[0] = "Ni"
    cluster.calc = EMT()
    MaxwellBoltzmannDistribution(cluster, temperature_K=300, rng=random)
    Stationary(cluster)
    walk = VelocityVerlet(cluster, 5 * units.fs)
    energies = []
    walk.attach(lambda: energies.append((cluster.get_potential_energy(), cluster.get_kinetic_energy())))
    walk.run(60)
    BFGS(cluster, logfile=None).run(fmax=0.05, steps=25)
    return energies, cluster.get_positions(), cluster.get_all_distances()[0]


def hop(places):
    slab = fcc100("Al", size=(2, 2, 2))
    add_adsorbate(slab, "Au", 1.7, "hollow")
    slab.center(axis=2, vacuum=4.0)
    slab.set_constraint(FixAtoms(mask=[atom.tag > 1 for atom in slab]))
    slab.calc = EMT()
    FIRE(slab, logfile=None).run(fmax=0.1, steps=15)
    energies = [slab.get_potential_energy()]
    start = slab.get_positions()
    for shift in places:
        slab.set_positions(start)
        slab.positions[-1] += shift
        energies.append(slab.get_potential_energy())
        energies.append(float(np.abs(slab.get_forces()).max()))
    return energies, slab.get_positions()


def drive(random):
    path = [np.array([0.3 * k, 0.0, 0.1 * np.sin(0.5 * k)]) for k in range(6)]
    small = Atoms("Cu4", positions=random.uniform(-1.5, 1.5, (4, 3)), calculator=EMT())
    search = BFGS(small, logfile=None, maxstep=0.1)
    search.run(fmax=0.02, steps=40)
    return lattice(), shake(random), hop(path), small.get_positions(), small.get_potential_energy()
