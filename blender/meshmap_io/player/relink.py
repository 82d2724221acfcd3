# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the file of an animation again that was moved or renamed."""

from __future__ import annotations

from pathlib import Path

import bpy
import meshmap
from bpy.props import BoolProperty, StringProperty
from bpy_extras.io_utils import ImportHelper

from . import playback


class RelinkCGeo(bpy.types.Operator, ImportHelper):
    """Choose the CGeo file that the mesh plays. Other meshes with the same file follow"""

    bl_idname = "mesh.meshmap_relink"
    bl_label = "Relink CGeo"
    bl_options = {"UNDO"}
    filename_ext = ".cgeo"
    filter_glob: StringProperty(default="*.cgeo", options={"HIDDEN"})
    same_folder: BoolProperty(
        name="Other Missing Files",
        description="Also relink other meshes whose file is missing and is in the folder of the chosen file",
        default=True,
    )

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "MESH"

    def execute(self, context):
        chosen, mesh = Path(bpy.path.abspath(self.filepath)), context.object.data
        before, count = mesh.meshmap_playback.filepath, 0
        try:
            playback.clips.get(str(chosen))
        except (OSError, ValueError, meshmap.Error) as error:
            self.report({"ERROR"}, f"{chosen} cannot be played: {error}")
            return {"CANCELLED"}
        for other in bpy.data.meshes:
            settings = other.meshmap_playback
            old = Path(bpy.path.abspath(settings.filepath)) if settings.filepath else None
            if other == mesh or (before and settings.filepath == before):
                settings.filepath = str(chosen)
            elif self.same_folder and old and not old.exists() and (chosen.parent / old.name).exists():
                settings.filepath = str(chosen.parent / old.name)
            else:
                continue
            settings.is_playing = True
            count += 1
        self.report({"INFO"}, f"{count} {'mesh' if count == 1 else 'meshes'} relinked")
        return {"FINISHED"}


def register() -> None:
    bpy.utils.register_class(RelinkCGeo)


def unregister() -> None:
    bpy.utils.unregister_class(RelinkCGeo)
