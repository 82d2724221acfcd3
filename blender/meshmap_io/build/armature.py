# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures. A bone stands where its joint is in the bind pose; bones have no scale, so joints keep theirs in animations only."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ..model.data import Skeleton


@dataclass
class Rig:
    """An armature, and what actions need to know of it."""

    object: bpy.types.Object
    bones: list[str]
    """Names by joint: Blender renames bones with the same name."""
    parents: list[int | None]
    rest: np.ndarray
    """`[joints, 4, 4]`, from each bone to the armature."""


def new_armature(context: bpy.types.Context, name: str, skeleton: Skeleton, collection: bpy.types.Collection) -> Rig:
    armature = bpy.data.armatures.new(name)
    target = bpy.data.objects.new(name, armature)
    collection.objects.link(target)
    context.view_layer.objects.active = target
    bpy.ops.object.mode_set(mode="EDIT")
    edit = [armature.edit_bones.new(joint or "joint") for joint in skeleton.names]
    lengths = bone_lengths(skeleton)
    for bone, parent, matrix, length in zip(edit, skeleton.parents, skeleton.bind, lengths):
        bone.tail = 0, length, 0
        bone.matrix = Matrix(rigid(matrix).tolist())
        bone.length = length
        bone.parent = None if parent is None else edit[parent]
    bones = [bone.name for bone in edit]
    bpy.ops.object.mode_set(mode="OBJECT")
    rest = np.array([armature.bones[bone].matrix_local for bone in bones], np.float64)
    return Rig(target, bones, skeleton.parents, rest)


def rigid(matrix: np.ndarray) -> np.ndarray:
    """The rotation that is nearest to a matrix, and its translation."""
    turned = np.eye(4)
    left, sizes, right = np.linalg.svd(matrix[:3, :3])
    if sizes[-1] > 1e-12:
        turned[:3, :3] = left @ np.diag([1, 1, np.linalg.det(left @ right)]) @ right
    turned[:3, 3] = matrix[:3, 3]
    return turned


def bone_lengths(skeleton: Skeleton) -> list[float]:
    """The distance to the nearest child, or for joints without children half the length of the parent."""
    places = skeleton.bind[:, :3, 3]
    size = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    smallest = max(size * 0.01, 1e-3)
    distances: dict[int, float] = {}
    for joint, parent in enumerate(skeleton.parents):
        if parent is not None:
            distance = float(np.linalg.norm(places[joint] - places[parent]))
            if distance > smallest:
                distances[parent] = min(distance, distances.get(parent, distance))
    usual = float(np.median(list(distances.values()))) if distances else max(size * 0.1, 0.1)
    lengths = []
    for joint, parent in enumerate(skeleton.parents):
        above = usual if parent is None or parent >= joint else lengths[parent]
        lengths.append(distances.get(joint, max(above / 2, smallest)))
    return lengths
