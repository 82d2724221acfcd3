# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions from the motion of joints, with the layered API of Blender 4.4 and later or the one before."""

from __future__ import annotations

import bpy
import numpy as np

from ..model.data import Animation
from ..model.notes import Notes
from .armature import Rig

LAYERED = (4, 4, 0)
LINEAR = 1
"""The number of linear interpolation in `Keyframe.interpolation`."""


def new_action(rig: Rig, animation: Animation, first_frame: float, scene_fps: float, notes: Notes) -> bpy.types.Action:
    """An action with a key for each frame of the file, at its time."""
    count = len(animation.matrices)
    frames = first_frame + np.arange(count) * (scene_fps / animation.fps)
    action = bpy.data.actions.new(animation.name)
    action.use_fake_user = True
    action.use_frame_range = True
    action.frame_start, action.frame_end = float(frames[0]), float(frames[-1])
    action.use_cyclic = animation.is_loop
    curves = curves_of(action, "OBJECT", rig.object.name)
    places, rotations, scales, error = transforms(rig, animation.matrices)
    if error > 1e-4:
        notes.add(
            f"animation {animation.name} shears bones, which Blender cannot do: matrices differ by up to {error:.2g} from the file's"
        )
    for joint, bone in enumerate(rig.bones):
        path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"]'
        for name, values in (
            ("location", places[:, joint]),
            ("rotation_quaternion", rotations[:, joint]),
            ("scale", scales[:, joint]),
        ):
            # A channel that does not change needs one key, so that the bone does not keep what another action left.
            keys = 1 if np.ptp(values, axis=0).max() < 1e-9 else count
            for component in range(values.shape[1]):
                add_keys(curves(f"{path}.{name}", component, bone), frames[:keys], values[:keys, component])
    return action


def transforms(rig: Rig, skinning: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Locations, rotations and scales of all bones, relative to their rest poses and parents; and the largest difference that
    bones without shear make.

    A bone with rest matrix R moves vertices by D if its pose is D·R. Blender multiplies the poses of a chain of bones in single
    precision. The same is done here, so that each bone makes up for the rounding and the shear of those above it.
    """
    frames, joints = skinning.shape[:2]
    places, rotations, scales = (np.empty((frames, joints, width)) for width in (3, 4, 3))
    poses = np.empty(skinning.shape, np.float32)
    error = 0.0
    for joint, parent in enumerate(rig.parents):
        if parent is None:
            space = np.broadcast_to(rig.rest[joint].astype(np.float32), (frames, 4, 4))
        else:
            space = poses[:, parent] @ (np.linalg.inv(rig.rest[parent]) @ rig.rest[joint]).astype(np.float32)
        basis = inverse(space.astype(np.float64)) @ skinning[:, joint] @ rig.rest[joint]
        place, rotation, scale = decomposed(basis)
        made = composed(place, rotation, scale)
        error = max(error, float(np.abs(made - basis).max(initial=0)))
        poses[:, joint] = space @ made.astype(np.float32)
        places[:, joint], rotations[:, joint], scales[:, joint] = place, rotation, scale
    return places, rotations, scales, error


def inverse(matrices: np.ndarray) -> np.ndarray:
    """Inverses. A joint that a frame scales to nothing has none, and nothing of its children can be seen."""
    is_singular = np.abs(np.linalg.det(matrices)) < 1e-30
    if is_singular.any():
        matrices = matrices.copy()
        matrices[is_singular] = np.eye(4)
    return np.linalg.inv(matrices)


def decomposed(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The location, quaternion (w x y z, without jumps) and scale of each frame."""
    linear = matrices[:, :3, :3]
    scales = np.linalg.norm(linear, axis=-2)
    scales[np.linalg.det(linear) < 0] *= -1
    turns = linear / np.where(np.abs(scales) > 1e-30, scales, 1)[:, None, :]
    rotations = quaternions(turns)
    for frame in range(1, len(rotations)):
        if rotations[frame] @ rotations[frame - 1] < 0:
            rotations[frame] *= -1
    return matrices[:, :3, 3], rotations, scales


def composed(places: np.ndarray, rotations: np.ndarray, scales: np.ndarray) -> np.ndarray:
    matrices = np.zeros((len(places), 4, 4))
    matrices[:, :3, :3] = rotation_matrices(rotations) * scales[:, None, :]
    matrices[:, :3, 3] = places
    matrices[:, 3, 3] = 1
    return matrices


def quaternions(turns: np.ndarray) -> np.ndarray:
    """Unit quaternions, w x y z, of rotation matrices: the eigenvector of the largest eigenvalue, in every case."""
    m = np.moveaxis(turns, (-2, -1), (0, 1))
    k = np.empty((*turns.shape[:-2], 4, 4))
    k[..., 0, 0] = m[0, 0] + m[1, 1] + m[2, 2]
    k[..., 1, 1] = m[0, 0] - m[1, 1] - m[2, 2]
    k[..., 2, 2] = m[1, 1] - m[0, 0] - m[2, 2]
    k[..., 3, 3] = m[2, 2] - m[0, 0] - m[1, 1]
    k[..., 0, 1] = k[..., 1, 0] = m[2, 1] - m[1, 2]
    k[..., 0, 2] = k[..., 2, 0] = m[0, 2] - m[2, 0]
    k[..., 0, 3] = k[..., 3, 0] = m[1, 0] - m[0, 1]
    k[..., 1, 2] = k[..., 2, 1] = m[1, 0] + m[0, 1]
    k[..., 1, 3] = k[..., 3, 1] = m[0, 2] + m[2, 0]
    k[..., 2, 3] = k[..., 3, 2] = m[2, 1] + m[1, 2]
    return np.linalg.eigh(k)[1][..., -1]


def rotation_matrices(q: np.ndarray) -> np.ndarray:
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def curves_of(action: bpy.types.Action, kind: str, name: str):
    """A function that makes an F-curve of the action for a data-block of this kind and name."""
    if bpy.app.version < LAYERED:
        return lambda path, index, group: action.fcurves.new(path, index=index, action_group=group)
    slot = action.slots.new(kind, name)
    bag = action.layers.new("Layer").strips.new(type="KEYFRAME").channelbag(slot, ensure=True)

    def new_curve(path: str, index: int, group: str) -> bpy.types.FCurve:
        curve = bag.fcurves.new(path, index=index)
        curve.group = bag.groups.get(group) or bag.groups.new(group)
        return curve

    return new_curve


def add_keys(curve: bpy.types.FCurve, frames: np.ndarray, values: np.ndarray) -> None:
    keys = np.empty((len(frames), 2), np.float32)
    keys[:, 0], keys[:, 1] = frames, values
    curve.keyframe_points.add(len(frames))
    curve.keyframe_points.foreach_set("co", keys.ravel())
    curve.keyframe_points.foreach_set("interpolation", np.full(len(frames), LINEAR, np.int32))
    curve.update()


def show_action(target: bpy.types.ID, action: bpy.types.Action) -> None:
    """Makes an action the one that moves a data-block."""
    animation = target.animation_data_create()
    animation.action = action
    if bpy.app.version >= LAYERED:
        animation.action_slot = action.slots[0]
