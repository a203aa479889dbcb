"""An arm of six joints that follows a curve: forward and inverse kinematics of each point."""

import numpy as np
from ikpy.chain import Chain
from ikpy.link import OriginLink, URDFLink

PACKAGE = "ikpy"

JOINTS = (
    ((0.0, 0.0, 0.15), (0, 0, 1)),
    ((0.0, 0.0, 0.10), (0, 1, 0)),
    ((0.0, 0.0, 0.30), (0, 1, 0)),
    ((0.0, 0.0, 0.25), (0, 0, 1)),
    ((0.0, 0.0, 0.12), (0, 1, 0)),
    ((0.0, 0.0, 0.08), (0, 0, 1)),
)


def prepare():
    links = [OriginLink()]
    for i, (offset, axis) in enumerate(JOINTS):
        links.append(
            URDFLink(
                name=f"joint{i}",
                origin_translation=np.array(offset),
                origin_orientation=np.zeros(3),
                rotation=np.array(axis, float),
                bounds=(-2.8, 2.8),
            )
        )
    chain = Chain(links, active_links_mask=[False] + [True] * len(JOINTS), name="arm")
    t = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    curve = np.stack([0.30 + 0.08 * np.cos(t), 0.15 * np.sin(t), 0.45 + 0.05 * np.sin(2 * t)], axis=1)
    return chain, curve


def jacobian(chain, angles, step=1e-6):
    """Of the position of the hand, by central differences."""
    columns = []
    for i in range(1, len(angles)):
        moved = np.array([angles, angles])
        moved[0, i] += step
        moved[1, i] -= step
        ahead, behind = (chain.forward_kinematics(m)[:3, 3] for m in moved)
        columns.append((ahead - behind) / (2.0 * step))
    return np.stack(columns, axis=1)


def drive(chain, curve):
    angles = np.array([0.0, 0.1, 0.4, 0.6, 0.1, 0.3, 0.0])
    path = []
    for target in curve:
        angles = chain.inverse_kinematics(target, initial_position=angles)
        frames = chain.forward_kinematics(angles, full_kinematics=True)
        error = np.linalg.norm(frames[-1][:3, 3] - target)
        j = jacobian(chain, angles)
        manipulability = np.sqrt(max(np.linalg.det(j @ j.T), 0.0))
        reach = max(float(np.linalg.norm(f[:3, 3])) for f in frames)
        path.append((angles.copy(), float(error), float(manipulability), reach))
    return path
