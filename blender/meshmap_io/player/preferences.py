# SPDX-License-Identifier: GPL-3.0-or-later
"""The preferences of the extension: memory for decoded snapshots."""

from __future__ import annotations

import bpy

from . import playback

PACKAGE = __package__.rpartition(".")[0]


class MeshmapPreferences(bpy.types.AddonPreferences):
    bl_idname = PACKAGE

    cache_mib: bpy.props.IntProperty(
        name="Snapshot Cache (MiB)",
        description="Memory for decoded snapshots of CGeo animations. An animation that fits is decoded once",
        default=1024,
        min=16,
        max=1 << 20,
        update=lambda self, _context: playback.clips.resize(self.cache_mib),
    )

    def draw(self, _context):
        self.layout.prop(self, "cache_mib")


def register() -> None:
    bpy.utils.register_class(MeshmapPreferences)
    addon = bpy.context.preferences.addons.get(PACKAGE)
    if addon is not None and addon.preferences is not None:
        playback.clips.resize(addon.preferences.cache_mib)


def unregister() -> None:
    bpy.utils.unregister_class(MeshmapPreferences)
