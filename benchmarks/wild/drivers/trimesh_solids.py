"""Solids made, refined, smoothed, cut into slices, laid over one another and weighed."""

import numpy as np
import trimesh

PACKAGE = "trimesh"


def prepare():
    return (np.random.default_rng(15),)


def smooth(mesh, rounds):
    """The user's own Taubin smoothing, vertex by vertex over the neighbours: in, then out again."""
    vertices = mesh.vertices.view(np.ndarray).copy()
    neighbours = [sorted(around) for around in mesh.vertex_neighbors]
    for k in range(rounds):
        moved, share = np.empty_like(vertices), -0.53 if k % 2 else 0.5
        for i, around in enumerate(neighbours):
            moved[i] = vertices[i] + share * (vertices[around].mean(axis=0) - vertices[i])
        vertices = moved
    return trimesh.Trimesh(vertices, mesh.faces, process=False)


def distance(mesh, point):
    """How far a point is from a mesh, by the nearest point of each of its triangles."""
    nearest = trimesh.triangles.closest_point(mesh.triangles, np.tile(point, (len(mesh.faces), 1)))
    return float(np.sqrt(((nearest - point) ** 2).sum(axis=1)).min())


def outline(mesh, normal, height):
    lines = trimesh.intersections.mesh_plane(mesh, normal, height * np.asarray(normal))
    return len(lines), float(trimesh.util.row_norm(lines[:, 1] - lines[:, 0]).sum())


def drive(rng):
    report, tools = [], trimesh.transformations
    solids = [
        trimesh.creation.box(extents=(1.0, 2.0, 0.5)),
        trimesh.creation.icosphere(subdivisions=2, radius=0.8),
        trimesh.creation.torus(major_radius=1.0, minor_radius=0.3, major_sections=16, minor_sections=8),
        trimesh.creation.capsule(height=1.0, radius=0.4, count=[10, 10]),
    ]
    for solid in solids:
        turn = tools.rotation_matrix(rng.uniform(0, 3), rng.normal(size=3))
        solid.apply_transform(turn)
        fine = solid.subdivide()
        fine.vertices = fine.vertices + 0.02 * rng.normal(size=fine.vertices.shape)
        soft = smooth(fine, 4)
        report.append((solid.volume, fine.volume, soft.volume, soft.area, soft.euler_number))
        report.append((soft.moment_inertia, soft.center_mass, soft.principal_inertia_components))
        report.append([outline(soft, [0.0, 0.6, 0.8], height) for height in np.linspace(-0.25, 0.25, 8)])
        report.append([distance(solid, vertex) for vertex in soft.vertices[::12]])
        report.append((soft.face_adjacency_angles.sum(), soft.is_watertight, soft.is_winding_consistent))
        moved = tools.transform_points(soft.vertices[::5], turn)
        found, _, cost = trimesh.registration.procrustes(moved, soft.vertices[::5], scale=False)
        angle, direction, _ = tools.rotation_from_matrix(found)
        report.append((found, cost, angle, np.asarray(direction)))
        # the solid turned slowly from where it was to where it is
        start, end = tools.quaternion_from_euler(0.1, 0.2, 0.3), tools.quaternion_from_matrix(turn)
        for share in np.linspace(0.0, 1.0, 40):
            between = tools.quaternion_matrix(tools.quaternion_slerp(start, end, share))
            corners = tools.transform_points(solid.bounds, tools.concatenate_matrices(between, turn))
            report.append((corners, tools.euler_from_matrix(between)))
    return report
