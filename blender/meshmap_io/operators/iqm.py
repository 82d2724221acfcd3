# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer of IQM files."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, StringProperty

from ..model.options import ReadOptions
from .base import MeshImporter


class ImportIqm(bpy.types.Operator, MeshImporter):
    """Import Inter-Quake Models: meshes, an armature, and an action for each animation"""

    bl_idname = "import_scene.meshmap_iqm"
    bl_label = "Import IQM"
    format, label, extensions = "iqm", "IQM", ".iqm"
    filename_ext = ".iqm"
    filter_glob: StringProperty(default="*.iqm", options={"HIDDEN"})

    skeleton: BoolProperty(name="Armature", description="Import joints and weights", default=True)
    animations: BoolProperty(name="Animations", description="Import each animation as an action", default=True)
    animation_file: StringProperty(
        name="Animations From",
        description="Another IQM file with the same joints, whose animations are also imported",
        subtype="FILE_PATH",
    )
    set_frame_range: BoolProperty(
        name="Set Frame Range",
        description="Set the frame range of the scene to that of the first animation",
        default=False,
    )
    sections = {"Animation": ("skeleton", "animations", "animation_file", "set_frame_range")}

    def read_options(self) -> ReadOptions:
        options = super().read_options()
        options.skeleton, options.animations = self.skeleton, self.animations
        options.animation_file = bpy.path.abspath(self.animation_file)
        return options

    def imported(self, context, path, model, objects, notes) -> None:
        if not (self.set_frame_range and model.animations):
            return
        scene, first = context.scene, model.animations[0]
        frames = (len(first.matrices) - 1) * scene.render.fps / scene.render.fps_base / first.fps
        scene.frame_end = scene.frame_start + max(round(frames), 0)
