# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes an animation independent of the extension: as a PC2 file with a modifier, or as shape keys."""

from __future__ import annotations

import struct

import bpy
import meshmap
import numpy as np
from bpy.props import StringProperty
from bpy_extras.io_utils import ExportHelper

from ..build.action import add_keys, curves_of, show_action
from ..model.data import Floats
from . import playback

MOST_SHAPE_KEYS = 1000
"""Shape keys are kept in memory and in the .blend file, all of them."""


class Bake:
    """The base of both kinds of baking."""

    bl_options = {"UNDO"}

    @classmethod
    def poll(cls, context):
        target = context.object
        return target is not None and target.type == "MESH" and target.data.meshmap_playback.is_playing

    def frames(self, context) -> range:
        return range(context.scene.frame_start, context.scene.frame_end + 1)

    def positions(self, context, frame: int) -> Floats:
        mesh = context.object.data
        positions = playback.finite(playback.positions_at(mesh, context.scene, frame))
        if len(positions) != len(mesh.vertices):
            raise ValueError(
                f"frame {frame} has {len(positions):,} vertices, the mesh has {len(mesh.vertices):,}: "
                "choose a frame range in which the triangles stay the same"
            )
        return positions

    def execute(self, context):
        try:
            self.bake(context)
        except (OSError, ValueError, meshmap.Error) as error:
            self.report({"ERROR"}, f"not baked: {error}")
            return {"CANCELLED"}
        return {"FINISHED"}


class BakePc2(Bake, bpy.types.Operator, ExportHelper):
    """Write the frames of the scene to a PC2 file, and play them with a Mesh Cache modifier, which needs no extension"""

    bl_idname = "mesh.meshmap_bake_pc2"
    bl_label = "Bake to PC2"
    filename_ext = ".pc2"
    filter_glob: StringProperty(default="*.pc2", options={"HIDDEN"})

    def bake(self, context) -> None:
        target, frames = context.object, self.frames(context)
        with open(self.filepath, "wb") as out:
            out.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, len(target.data.vertices), frames.start, 1.0, len(frames)))
            for frame in frames:
                out.write(np.ascontiguousarray(self.positions(context, frame), "<f4").tobytes())
        target.data.meshmap_playback.is_playing = False
        modifier = target.modifiers.new("CGeo", "MESH_CACHE")
        modifier.cache_format, modifier.filepath = "PC2", self.filepath
        modifier.time_mode, modifier.play_mode, modifier.frame_start = "FRAME", "SCENE", frames.start
        modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
        self.report({"INFO"}, f"{len(frames):,} frames written to {self.filepath}")


class BakeShapeKeys(Bake, bpy.types.Operator):
    """Make a shape key for each frame of the scene, with an action that shows them in turn"""

    bl_idname = "mesh.meshmap_bake_shape_keys"
    bl_label = "Bake to Shape Keys"

    def bake(self, context) -> None:
        target, frames = context.object, self.frames(context)
        if len(frames) > MOST_SHAPE_KEYS:
            raise ValueError(f"{len(frames):,} frames are more than {MOST_SHAPE_KEYS:,} shape keys: bake to PC2")
        if target.data.shape_keys is not None:
            raise ValueError("the mesh already has shape keys: remove them, or bake to PC2")
        baked = [self.positions(context, frame) for frame in frames]
        target.data.meshmap_playback.is_playing = False
        target.shape_key_add(name="Basis", from_mix=False)
        action = bpy.data.actions.new(f"{target.data.name}_snapshots")
        keys = target.data.shape_keys
        curves = curves_of(action, "KEY", keys.name)
        for frame, positions in zip(frames, baked):
            key = target.shape_key_add(name=f"frame_{frame}", from_mix=False)
            key.data.foreach_set("co", np.ascontiguousarray(positions).ravel())
            curve = curves(f'key_blocks["{key.name}"].value', 0, keys.name)
            # The first frame is also shown before it, and the last one after it.
            times = np.array([each for each in (frame - 1, frame, frame + 1) if each in frames])
            add_keys(curve, times, (times == frame).astype(np.float64))
        show_action(keys, action)
        self.report({"INFO"}, f"{len(frames):,} shape keys made")


CLASSES = (BakePc2, BakeShapeKeys)


def register() -> None:
    for each in CLASSES:
        bpy.utils.register_class(each)


def unregister() -> None:
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
