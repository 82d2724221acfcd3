# SPDX-License-Identifier: GPL-3.0-or-later
"""IQM: meshes, their skeleton, and its animations, also from another file."""

from __future__ import annotations

import meshmap
import numpy as np

from .arrays import finite, influences, ints, per_vertex, reverse_winding, v_up
from .model import Animation, Attribute, MeshData, Model, Skeleton
from .notes import Notes, Unusable
from .options import ReadOptions

STANDARD = {"position", "normal", "tangent", "texcoord", "joints", "weights", "color"}


def read(file: meshmap.IqmFile, stem: str, options: ReadOptions, notes: Notes) -> Model:
    if not len(file.meshes()) and not file.joints and file.anims:
        raise Unusable("the file has animations only: import the file that has the mesh, with this one as Animations From")
    model = Model(name=stem, metres=1.0)
    skeleton = file.skeleton if options.skeleton else None
    if skeleton is not None:
        model.skeleton = read_skeleton(file, skeleton, notes)
    bones = len(model.skeleton.names) if model.skeleton is not None else 0
    for entry in file.meshes():
        name = entry.name or stem
        mesh = notes.intact(f"mesh {name}", lambda: read_mesh(file.mesh(entry.address), name, bones, options, notes))
        if mesh is not None:
            model.meshes.append(mesh)
    if options.animations and model.skeleton is not None:
        model.animations += read_animations(file, file, "", notes)
        if options.animation_file:
            with meshmap.open(options.animation_file) as other:
                if other.format == "iqm":
                    model.animations += read_animations(file, other, f" of {options.animation_file}", notes)
                else:
                    notes.add(f"animations of {options.animation_file} are left out: the file is not IQM")
    return model


def read_mesh(view: meshmap.Mesh, name: str, bones: int, options: ReadOptions, notes: Notes) -> MeshData | None:
    if "position" not in view:
        notes.add(f"mesh {name} is left out: it has no positions")
        return None
    positions = view["position"]
    if positions.shape[1] < 3:
        notes.add(f"mesh {name} is left out: its positions have {positions.shape[1]} components")
        return None
    positions = np.ascontiguousarray(positions[:, :3], np.float32)
    mesh = MeshData(name, finite(positions, "positions", notes), ints(view.indices))
    vertices = len(mesh.positions)
    if options.normals:
        normals = notes.intact("normals", lambda: view.get("normal"))
        if normals is not None and normals.shape[1] < 3:
            notes.add(f"normals are left out: they have {normals.shape[1]} components")
        elif normals is not None:
            mesh.normals = per_vertex("normals", normals[:, :3].astype(np.float32), vertices, notes)
    for key in view.keys():
        values = notes.intact(key, lambda: view[key])
        if values is None or key in STANDARD - {"texcoord", "color"}:
            continue
        if key.startswith("texcoord") and values.shape[1] > 1:
            channel = per_vertex("UVMap", values[:, :2].astype(np.float32), vertices, notes)
            if channel is not None:
                channel.values = v_up(channel.values)
                mesh.uvs.append(channel)
        elif key.startswith("color"):
            # As in the library, colours that are not stored are 0, and alpha is 1.
            rgba = np.tile(np.float32([0, 0, 0, 1]), (len(values), 1))
            rgba[:, : values.shape[1]] = values
            channel = per_vertex("Color", rgba, vertices, notes)
            if channel is not None:
                mesh.colors.append(channel)
        else:
            mesh.attributes.append(Attribute(key, values))
    found = notes.intact("weights", lambda: influences(view, bones, notes)) if bones else None
    if found is not None:
        mesh.joints, mesh.weights = found
    if view.material:
        mesh.material_names = {0: view.material}
        mesh.texture = view.texture
    reverse_winding(mesh)
    return mesh


def read_skeleton(file: meshmap.IqmFile, skeleton: meshmap.Skeleton, notes: Notes) -> Skeleton | None:
    bind = four_rows(skeleton.bind_matrices)
    if not np.isfinite(bind).all():
        notes.add("the skeleton is left out: a joint has NaN or infinite numbers")
        return None
    return Skeleton([joint.name for joint in file.joints], skeleton.parents, bind)


def read_animations(file: meshmap.IqmFile, source: meshmap.IqmFile, where: str, notes: Notes) -> list[Animation]:
    """The animations of `source`, which move the skeleton of `file`."""
    if not source.anims or not source.frame_count:
        return []
    try:
        resting = file.check_animation(source)
    except meshmap.Error as error:
        notes.add(f"animations{where} are left out: {error}")
        return []
    if resting:
        notes.add(f"animations{where} do not move {len(resting)} joints: {', '.join(resting[:8])}")
    animations = []
    for anim in source.anims:
        first, last = anim.first_frame, anim.first_frame + anim.num_frames
        if not anim.num_frames or last > source.frame_count:
            notes.add(f"animation {anim.name} is left out: its frames {first} to {last} are not in the file")
            continue
        frames = notes.intact(f"animation {anim.name}", lambda: file.frames(first, last, animation=source))
        if frames is None:
            continue
        matrices = four_rows(file.skeleton.skinning_matrices(frames, animation=source))
        if anim.is_loop and len(matrices) > 1:
            # Blender repeats an action from its last key, which is its first.
            matrices = np.concatenate([matrices, matrices[:1]])
        if not np.isfinite(matrices).all():
            notes.add(f"animation {anim.name} is left out: a joint has NaN or infinite numbers, or no size in the bind pose")
            continue
        if anim.rate != anim.framerate:
            notes.add(f"animation {anim.name} does not store its frame rate: {anim.rate:g} is assumed")
        animations.append(Animation(anim.name or "animation", anim.rate, anim.is_loop, matrices))
    return animations


def four_rows(matrices: np.ndarray) -> np.ndarray:
    """Matrices `[.., 3, 4]` with a last row of 0 0 0 1."""
    square = np.zeros((*matrices.shape[:-2], 4, 4))
    square[..., :3, :] = matrices
    square[..., 3, 3] = 1
    return square
