"""Chains of a protein built from angles, measured and laid over one another."""

import numpy as np
from Bio.PDB.Atom import Atom
from Bio.PDB.Chain import Chain
from Bio.PDB.Model import Model
from Bio.PDB.NeighborSearch import NeighborSearch
from Bio.PDB.Polypeptide import PPBuilder
from Bio.PDB.Residue import Residue
from Bio.PDB.Structure import Structure
from Bio.PDB.Superimposer import Superimposer
from Bio.PDB.vectors import Vector, calc_angle, calc_dihedral, rotaxis2m

PACKAGE = "biopython"

NAMES = ["ALA", "GLY", "LEU", "SER", "LYS", "VAL"]


def prepare():
    rng = np.random.default_rng(16)
    helix = np.radians(np.array([-60.0, -45.0]) + 8.0 * rng.normal(size=(40, 2)))
    return (helix, np.radians(10.0 * rng.normal(size=(9, 40, 2))))


def place(a, b, c, length, angle, torsion):
    """The point at a distance of c, with an angle at c and a torsion around b-c."""
    bc = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, bc)
    normal /= np.linalg.norm(normal)
    across = np.cross(normal, bc)
    local = length * np.array(
        [-np.cos(angle), np.sin(angle) * np.cos(torsion), np.sin(angle) * np.sin(torsion)]
    )
    return c + local[0] * bc + local[1] * across + local[2] * normal


def build(name, torsions):
    chain = Chain(name)
    n, ca, c = np.array([0.0, 0.0, 0.0]), np.array([1.46, 0.0, 0.0]), np.array([2.0, 1.42, 0.0])
    for i, (phi, psi) in enumerate(torsions):
        residue = Residue((" ", i + 1, " "), NAMES[i % len(NAMES)], " ")
        for k, (atom, at) in enumerate((("N", n), ("CA", ca), ("C", c))):
            residue.add(Atom(atom, at, 0.0, 1.0, " ", f" {atom:<3}", 3 * i + k, atom[0]))
        chain.add(residue)
        following = place(n, ca, c, 1.33, np.radians(116.6), psi)
        n, ca = following, place(ca, c, following, 1.46, np.radians(121.7), np.pi)
        c = place(c, n, ca, 1.53, np.radians(111.0), phi)
    return chain


def drive(torsions, noise):
    structure = Structure("made")
    for k, change in enumerate(noise):
        structure.add(Model(k))
        structure[k].add(build("A", torsions + change))
    reference = [residue["CA"] for residue in structure[0]["A"]]
    report = []
    for model in structure:
        chain = model["A"]
        atoms = [residue["CA"] for residue in chain]
        over = Superimposer()
        over.set_atoms(reference, atoms)
        over.apply(list(model.get_atoms()))
        rotation, shift = over.rotran
        report.append((float(over.rms), rotation, shift, model.center_of_mass()))
        for peptide in PPBuilder().build_peptides(chain):
            report.append((str(peptide.get_sequence()), peptide.get_phi_psi_list()))
        spots = [atom.get_vector() for atom in atoms]
        for i in range(len(spots) - 3):
            report.append((calc_dihedral(*spots[i : i + 4]), calc_angle(*spots[i : i + 3])))
        contacts = np.array([[first - second for second in atoms] for first in atoms[::2]])
        close = NeighborSearch(list(model.get_atoms())).search_all(5.0, level="R")
        report.append((contacts, sorted((a.id[1], b.id[1]) for a, b in close)))
    axis, spun = Vector(0.0, 0.6, 0.8), []
    for residue in structure[0]["A"]:
        turn = rotaxis2m(0.05 * residue.id[1], axis)
        residue.transform(turn, np.zeros(3))
        spun.append(residue["CA"].coord)
    return report, spun
