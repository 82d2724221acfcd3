# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties > Data > CGeo Playback."""

from __future__ import annotations

import bpy

from . import playback


class CGeoPanel(bpy.types.Panel):
    bl_idname = "DATA_PT_meshmap_playback"
    bl_label = "CGeo Playback"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "data"

    @classmethod
    def poll(cls, context):
        return context.mesh is not None and bool(context.mesh.meshmap_playback.filepath)

    def draw_header(self, context):
        self.layout.prop(context.mesh.meshmap_playback, "is_playing", text="")

    def draw(self, context):
        layout, mesh = self.layout, context.mesh
        settings = mesh.meshmap_playback
        layout.use_property_split = True
        problem = playback.problems.get(mesh.session_uid)
        row = layout.row(align=True)
        row.alert = bool(problem)
        row.prop(settings, "filepath")
        if problem:
            box = layout.box()
            box.alert = True
            box.label(text=problem, icon="ERROR")
            box.operator("mesh.meshmap_relink", icon="FILE_REFRESH")
        column = layout.column()
        column.active = settings.is_playing
        for name in ("first_frame", "speed", "offset", "wrap", "interpolation", "use_velocity"):
            column.prop(settings, name)
        row = layout.row(align=True)
        row.operator("mesh.meshmap_bake_pc2", text="Bake to PC2")
        row.operator("mesh.meshmap_bake_shape_keys", text="Bake to Shape Keys")


def register() -> None:
    bpy.utils.register_class(CGeoPanel)


def unregister() -> None:
    bpy.utils.unregister_class(CGeoPanel)
