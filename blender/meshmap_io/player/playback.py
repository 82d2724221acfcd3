# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the snapshot of the frame in every mesh that plays a file."""

from __future__ import annotations

import bpy
import meshmap
import numpy as np
from bpy.app.handlers import persistent

from ..build.materials import Materials
from ..build.mesh import fill_mesh, set_positions
from ..model.arrays import drop_triangles
from ..model.data import Floats
from ..model.notes import Notes
from ..model.options import ReadOptions
from ..model.read import mesh_of_snapshot
from .clips import Clip, Clips
from ..timing import sample

clips = Clips()
problems: dict[int, str] = {}
"""The reason a mesh cannot play, by `session_uid`. Shown in the panel."""
shown: dict[int, tuple] = {}
"""The sample that each mesh shows, by `session_uid`, so that nothing is done twice."""


def frame_rate(scene: bpy.types.Scene) -> float:
    return scene.render.fps / scene.render.fps_base


def clip_of(mesh: bpy.types.Mesh) -> Clip:
    """The open file of a mesh. Raises an error if it is missing or damaged."""
    return clips.get(bpy.path.abspath(mesh.meshmap_playback.filepath, library=mesh.library))


def positions_at(mesh: bpy.types.Mesh, scene: bpy.types.Scene, frame: float) -> Floats:
    """The positions of a mesh in a frame."""
    clip, pace = clip_of(mesh), mesh.meshmap_playback.pace()
    return clip.positions(sample(pace.place(frame, frame_rate(scene), clip.step), clip.count, pace))


def show(mesh: bpy.types.Mesh, scene: bpy.types.Scene) -> None:
    """Shows the current frame in a mesh. A file that is missing or damaged leaves the mesh as it is, and is reported."""
    try:
        show_frame(mesh, scene)
    except (OSError, ValueError, meshmap.Error) as error:
        if problems.get(mesh.session_uid) != str(error):
            problems[mesh.session_uid] = str(error)
            print(f"meshmap: the mesh {mesh.name} does not play: {error} (see Properties > Data > CGeo Playback)")
    else:
        problems.pop(mesh.session_uid, None)


def show_frame(mesh: bpy.types.Mesh, scene: bpy.types.Scene) -> None:
    clip, settings = clip_of(mesh), mesh.meshmap_playback
    pace, rate = settings.pace(), frame_rate(scene)
    place = pace.place(scene.frame_current_final, rate, clip.step)
    at = sample(place, clip.count, pace)
    now = (settings.filepath, at, settings.use_velocity)
    if shown.get(mesh.session_uid) == now:
        return
    positions = clip.positions(at)
    shape = clip.shape(at.first)
    if shape != settings.shape:
        rebuild(mesh, clip, shape)
    if len(positions) != len(mesh.vertices):
        raise ValueError(
            f"snapshot {at.first} has {len(positions):,} vertices, the mesh has {len(mesh.vertices):,}: "
            "turn off Play to keep the edited mesh, or import the file again"
        )
    set_positions(mesh, finite(positions))
    if settings.use_velocity:
        set_velocities(mesh, finite(clip.velocities(place, pace)))
    mesh.update()
    shown[mesh.session_uid] = now
    clip.prefetch(place, pace.per_frame(rate, clip.step), pace)


def finite(values: Floats) -> Floats:
    """NaN and infinite numbers as 0, as the importer makes them."""
    return values if np.isfinite(values).all() else np.nan_to_num(values, nan=0, posinf=0, neginf=0)


def rebuild(mesh: bpy.types.Mesh, clip: Clip, index: int) -> None:
    """Gives a mesh the triangles and texture coordinates of another snapshot."""
    settings = mesh.meshmap_playback
    notes = Notes()
    options = ReadOptions(flip_v=settings.flip_v, flip_faces=settings.flip_faces, snapshot=index, plays=True)
    data = mesh_of_snapshot(clip.file, clip.scene, options, notes)
    drop_triangles(data, notes)
    mesh.clear_geometry()
    fill_mesh(mesh, data, True, notes)
    Materials(limit=len(mesh.materials)).assign_known(mesh, data)
    settings.shape = index


def set_velocities(mesh: bpy.types.Mesh, values: Floats) -> None:
    attribute = mesh.attributes.get("velocity") or mesh.attributes.new("velocity", "FLOAT_VECTOR", "POINT")
    attribute.data.foreach_set("vector", values.ravel())


def forget(mesh: bpy.types.Mesh) -> None:
    shown.pop(mesh.session_uid, None)


@persistent
def on_frame_change(scene: bpy.types.Scene, _graph: bpy.types.Depsgraph | None = None) -> None:
    for mesh in bpy.data.meshes:
        # In edit mode the vertices belong to the editor.
        if mesh.meshmap_playback.is_playing and not mesh.is_editmode:
            show(mesh, scene)


@persistent
def on_load(_path: str | None) -> None:
    """Forgets everything about the file that was open before."""
    shown.clear()
    problems.clear()
    clips.close()
    on_frame_change(bpy.context.scene)


@persistent
def on_undo(scene: bpy.types.Scene, _graph: bpy.types.Depsgraph | None = None) -> None:
    """Undo restores the positions of an earlier frame."""
    shown.clear()
    on_frame_change(scene)


HANDLERS = (("frame_change_pre", on_frame_change), ("load_post", on_load), ("undo_post", on_undo), ("redo_post", on_undo))


def register() -> None:
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).remove(handler)
    clips.close()
