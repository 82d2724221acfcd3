# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex groups from joints and weights."""

from __future__ import annotations

import bpy
import numpy as np

from ..model.data import MeshData


def add_vertex_groups(target: bpy.types.Object, data: MeshData, bones: list[str]) -> bool:
    """A group for each bone. Returns False if no vertex has a weight."""
    joints, weights = data.joints, data.weights
    if joints is None or weights is None or not len(joints):
        return False
    vertices = np.repeat(np.arange(len(joints), dtype=np.int64), joints.shape[1])
    joints, weights = joints.ravel().astype(np.int64), weights.ravel().astype(np.float64)
    used = weights > 0
    vertices, joints, weights = vertices[used], joints[used], weights[used]
    if not len(vertices):
        return False
    groups = [target.vertex_groups.new(name=bone) for bone in bones]
    # One call for all vertices with the same joint and weight, as weights are often stored in a byte.
    order = np.lexsort((weights, joints))
    vertices, joints, weights = vertices[order], joints[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(joints) != 0) | (np.diff(weights) != 0)]))
    for first, last in zip(starts.tolist(), [*starts[1:].tolist(), len(vertices)]):
        groups[joints[first]].add(vertices[first:last].tolist(), float(weights[first]), "REPLACE")
    return True
