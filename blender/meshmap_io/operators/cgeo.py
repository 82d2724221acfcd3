# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer of CGeo files."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from ..player.playback import clip_of, show
from ..player.settings import INTERPOLATIONS, WRAPS
from ..timing import USUAL_RATE
from ..model.options import ReadOptions
from .base import MeshImporter, UndefinedOrigin


class ImportCGeo(UndefinedOrigin, bpy.types.Operator, MeshImporter):
    """Import Corona proxies: the mesh of a snapshot, and animations that play from the disk"""

    bl_idname = "import_scene.meshmap_cgeo"
    bl_label = "Import CGeo"
    format, label, extensions = "cgeo", "CGeo", ".cgeo"
    filename_ext = ".cgeo"
    filter_glob: StringProperty(default="*.cgeo", options={"HIDDEN"})

    use_file_unit: BoolProperty(name="File Unit", description="Scale by the unit that the file stores", default=True)
    snapshot: IntProperty(name="Snapshot", description="The snapshot that the mesh is made of, from 0", default=0, min=0)
    animation: EnumProperty(
        name="Animation",
        items=[
            ("PLAY", "Play from Disk", "Show one snapshot per frame, which is read from the file"),
            ("SHAPE_KEYS", "Shape Keys", "Make a shape key for each frame, which needs no file and more memory"),
            ("NONE", "None", "Only the mesh of one snapshot"),
        ],
    )
    speed: FloatProperty(name="Speed", description="2 plays twice as fast, -1 backwards", default=1.0)
    wrap: EnumProperty(
        name="Loop",
        items=WRAPS,
    )
    interpolation: EnumProperty(
        name="Interpolation",
        items=INTERPOLATIONS,
    )
    set_frame_range: BoolProperty(
        name="Set Frame Range", description="End the frame range of the scene with the last snapshot", default=True
    )
    set_frame_rate: BoolProperty(
        name="Set Frame Rate", description="Set the frame rate of the scene to that of the file, so that each frame is a snapshot"
    )
    relative_path: BoolProperty(
        name="Relative Path", description="Store the path relative to the .blend file, if it is saved", default=True
    )
    transform_options = ("use_file_unit",)
    geometry_options = (*UndefinedOrigin.geometry_options, "snapshot")
    sections = {
        "Animation": (
            "animation",
            "speed",
            "wrap",
            "interpolation",
            "set_frame_range",
            "set_frame_rate",
            "relative_path",
        )
    }

    def read_options(self) -> ReadOptions:
        options = super().read_options()
        options.snapshot = self.snapshot
        options.plays = self.animation != "NONE"
        return options

    def build_options(self, context):
        options = super().build_options(context)
        options.use_file_unit = self.use_file_unit
        return options

    def imported(self, context, path, model, objects, notes) -> None:
        clip = model.clip
        if self.animation == "NONE" or clip is None:
            return
        if clip.step is None:
            notes.add(f"the file does not store the times of its snapshots: {USUAL_RATE:g} per second are assumed")
        step, scene = clip.step or 1 / USUAL_RATE, context.scene
        if self.set_frame_rate:
            # Rates such as 29.97 are a whole number divided by 1.001 or the like.
            scene.render.fps = max(round(1 / step), 1)
            scene.render.fps_base = scene.render.fps * step
        rate = scene.render.fps / scene.render.fps_base
        if self.set_frame_range:
            scene.frame_end = scene.frame_start + max(round((clip.count - 1) * step * rate / max(abs(self.speed), 1e-6)), 0)
        mesh = objects[0].data
        settings = mesh.meshmap_playback
        is_relative = self.relative_path and bpy.data.is_saved
        settings.filepath = bpy.path.relpath(path) if is_relative else path
        settings.first_frame, settings.speed = scene.frame_start, self.speed
        settings.wrap, settings.interpolation = self.wrap, self.interpolation
        settings.flip_faces, settings.flip_v = self.flip_faces, self.flip_v
        settings.shape = clip_of(mesh).shape(self.snapshot)
        settings.is_playing = True
        show(mesh, scene)
        if self.animation == "SHAPE_KEYS":
            try:
                bpy.ops.mesh.meshmap_bake_shape_keys()
            except RuntimeError as error:
                notes.add(f"no shape keys, the mesh plays from the disk: {error}".strip())
