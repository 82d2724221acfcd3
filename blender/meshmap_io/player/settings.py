# SPDX-License-Identifier: GPL-3.0-or-later
"""The playback settings of a mesh, saved in the .blend file."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from . import playback
from ..timing import Pace

WRAPS = [
    ("CLAMP", "Off", "The first or the last snapshot"),
    ("LOOP", "Loop", "The first snapshot follows the last"),
    ("PING_PONG", "Ping-Pong", "Back to the first snapshot, then forth again"),
]
INTERPOLATIONS = [
    ("LINEAR", "Linear", "Vertices move in straight lines between snapshots"),
    ("NEAREST", "Nearest", "The nearest snapshot"),
]


def changed(settings: MeshmapPlayback, context: bpy.types.Context) -> None:
    """Shows the current frame again."""
    mesh = settings.id_data
    playback.forget(mesh)
    if settings.is_playing:
        playback.show(mesh, context.scene)


class MeshmapPlayback(bpy.types.PropertyGroup):
    filepath: StringProperty(name="File", description="The CGeo file that the mesh plays", subtype="FILE_PATH", update=changed)
    is_playing: BoolProperty(name="Play", description="Show the snapshot of each frame", default=False, update=changed)
    first_frame: FloatProperty(name="Start Frame", description="The frame of the first snapshot", default=1.0, update=changed)
    speed: FloatProperty(name="Speed", description="2 plays twice as fast, -1 backwards", default=1.0, update=changed)
    offset: FloatProperty(name="Offset", description="Snapshots that are skipped at the start frame", default=0.0, update=changed)
    wrap: EnumProperty(
        name="Loop",
        description="What is shown before the first snapshot and after the last",
        items=WRAPS,
        update=changed,
    )
    interpolation: EnumProperty(
        name="Interpolation",
        items=INTERPOLATIONS,
        update=changed,
    )
    use_velocity: BoolProperty(
        name="Velocity",
        description="Write the attribute velocity in each frame, from which Cycles renders motion blur",
        default=False,
        update=changed,
    )
    shape: IntProperty(
        description="The snapshot whose triangles the mesh has: another one is built where triangles change",
        default=0,
        options={"HIDDEN"},
    )
    flip_faces: BoolProperty(options={"HIDDEN"})
    flip_v: BoolProperty(options={"HIDDEN"})

    def pace(self) -> Pace:
        return Pace(self.first_frame, self.speed, self.offset, self.wrap, self.interpolation == "LINEAR")


def register() -> None:
    bpy.utils.register_class(MeshmapPlayback)
    bpy.types.Mesh.meshmap_playback = PointerProperty(type=MeshmapPlayback)


def unregister() -> None:
    del bpy.types.Mesh.meshmap_playback
    bpy.utils.unregister_class(MeshmapPlayback)
