# SPDX-License-Identifier: GPL-3.0-or-later
"""Second Life mesh assets: levels of detail, geometry for physics, and the skin."""

from __future__ import annotations

import meshmap
import numpy as np

from .arrays import finite, influences, ints
from .model import Channel, MeshData, Model, Skeleton
from .notes import Notes
from .options import ReadOptions


def read(file: meshmap.SlMeshFile, stem: str, options: ReadOptions, notes: Notes) -> Model:
    model = Model(name=stem, metres=1.0)
    skin = notes.intact("skin", lambda: file.skin) if options.skeleton else None
    if skin is not None:
        model.skeleton = read_skeleton(skin, notes)
    bones = len(model.skeleton.names) if model.skeleton is not None else 0
    shape = None if skin is None else bind_shape(skin, notes)
    if model.skeleton is not None and shape is not None:
        model.skeleton.mesh_matrix = shape
    lods = file.lods
    for level in lods:
        mesh = notes.intact(level, lambda: read_level(file, level, stem, bones, shape, options, notes))
        if mesh is None:
            continue
        mesh.is_hidden = bool(model.meshes)
        if options.all_levels:
            mesh.collection = level
            mesh.name = f"{stem}_{level}"
        model.meshes.append(mesh)
        if not options.all_levels:
            break
    if options.physics:
        model.meshes += read_physics(file, stem, options, notes)
    return model


def read_level(
    file: meshmap.SlMeshFile,
    level: str,
    name: str,
    bones: int,
    shape: np.ndarray | None,
    options: ReadOptions,
    notes: Notes,
) -> MeshData | None:
    """All faces of a level as one mesh, with a material for each.

    Faces with weights are in the bind shape. If they are all of the mesh and follow bones, it is the matrix of the object; else it is
    in their vertices.
    """
    block = file.physics_mesh if level == "physics_mesh" else file.lod(level)
    faces = [face for face in block or () if face.has_geometry]
    arrays = [
        (face, read) for face in faces if (read := notes.intact(f"face {face.index}", lambda: (face.positions, face.indices)))
    ]
    if not arrays:
        return None
    counts = [len(positions) for _, (positions, _) in arrays]
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    triangles = [ints(indices[: len(indices) // 3 * 3].reshape(-1, 3)) + first for (_, (_, indices)), first in zip(arrays, firsts)]
    positions = np.concatenate([positions for _, (positions, _) in arrays])
    mesh = MeshData(name, finite(positions, "positions", notes), np.concatenate(triangles).astype(np.int32))
    mesh.material_ids = np.repeat([face.index for face, _ in arrays], [len(it) for it in triangles]).astype(np.int32)
    mesh.material_names = {face.index: f"face_{face.index}" for face, _ in arrays}

    def joined(what: str, width: int, fill: float, read) -> np.ndarray | None:
        """The arrays of all faces; `fill` for faces without this one. None if no face has it."""
        parts = [notes.intact(f"{what} of face {face.index}", lambda: read(face)) for face, _ in arrays]
        if all(part is None for part in parts):
            return None
        return np.concatenate([np.full((count, width), fill) if part is None else part for part, count in zip(parts, counts)])

    if options.normals and (normals := joined("normals", 3, 0, lambda face: face.normals)) is not None:
        mesh.normals = Channel("normals", finite(normals.astype(np.float32), "normals", notes))
    if (uv := joined("texture coordinates", 2, 0, lambda face: face.texcoords)) is not None:
        mesh.uvs.append(Channel("UVMap", finite(uv.astype(np.float32), "texture coordinates", notes)))
    if bones:
        parts = [
            notes.intact(f"weights of face {face.index}", lambda: influences(file.mesh(f"{level}.faces[{face.index}]"), bones, notes))
            for face, _ in arrays
        ]
        if any(part is not None for part in parts):
            # Faces without weights rest.
            free = [(np.zeros((count, 4), np.int32), np.zeros((count, 4), np.float32)) for count in counts]
            joints, weights = zip(*(none if part is None else part for part, none in zip(parts, free)))
            mesh.joints, mesh.weights = np.concatenate(joints), np.concatenate(weights)
    if shape is not None:
        follows = np.repeat([face.joint_indices is not None for face, _ in arrays], counts)
        is_moved = mesh.weights is not None and bool((mesh.weights > 0).any())
        if follows.any() and not (is_moved and follows.all()):
            move_to_bind_shape(mesh, follows, shape)
    return mesh


def move_to_bind_shape(mesh: MeshData, follows: np.ndarray, shape: np.ndarray) -> None:
    """Moves some vertices of a mesh into the bind shape."""
    mesh.is_bound = True
    places = mesh.positions.copy()
    places[follows] = places[follows] @ shape[:3, :3].T + shape[:3, 3]
    mesh.positions = places
    if mesh.normals is not None:
        a, b, c = shape[:3, :3]
        cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
        normals = mesh.normals.values.astype(np.float64)
        normals[follows] = normals[follows] @ cofactors.T
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        mesh.normals.values = (normals / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def read_physics(file: meshmap.SlMeshFile, stem: str, options: ReadOptions, notes: Notes) -> list[MeshData]:
    meshes = []
    mesh = notes.intact("physics mesh", lambda: read_level(file, "physics_mesh", f"{stem}_physics_mesh", 0, None, options, notes))
    if mesh is not None:
        meshes.append(mesh)
    convex = notes.intact("physics hulls", lambda: file.physics_convex)
    if convex is not None:
        hulls = list(enumerate(notes.intact("physics hulls", lambda: convex.hulls) or []))
        bounding = notes.intact("bounding hull", lambda: convex.bounding_verts)
        hulls += [] if bounding is None else [("bounding", bounding)]
        for number, points in hulls:
            hull = MeshData(f"{stem}_hull_{number}", finite(points, "hull", notes), np.empty((0, 3), np.int32), is_hull=True)
            meshes.append(hull)
    for mesh in meshes:
        mesh.collection, mesh.is_hidden = "physics", True
    return meshes


def read_skeleton(skin: meshmap.Skin, notes: Notes) -> Skeleton | None:
    names, pose = skin.joint_names, skin.bind_pose()
    if pose is None:
        notes.add("the skin is left out: it does not have one matrix for each joint")
        return None
    if skin.alt_inverse_bind_matrices is not None:
        notes.add("joint positions of the upload (alt_inverse_bind_matrix) are left out: bones are where the mesh is bound")
    if skin.pelvis_offset:
        notes.add(f"the pelvis offset of {skin.pelvis_offset:g} m is left out")
    for index in pose["replaced"]:
        notes.add(f"the matrix of the joint {names[index]} is sheared or has no inverse: the mesh rests in the bind pose")
    return Skeleton(names, pose["parents"], as_columns(pose["places"]))


def bind_shape(skin: meshmap.Skin, notes: Notes) -> np.ndarray | None:
    """From the stored vertices of faces with weights to the model; None if it changes nothing."""
    if skin.bind_shape_matrix is None:
        return None
    shape = as_columns(skin.bind_shape_matrix[None])[0]
    if not np.isfinite(shape).all():
        notes.add("the bind shape of the skin is left out: it has NaN or infinite numbers")
        return None
    return None if np.array_equal(shape, np.eye(4)) else shape


def as_columns(matrices: np.ndarray) -> np.ndarray:
    """The file stores matrices for row vectors; these are for column vectors."""
    square = matrices.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
    square[:, 3] = 0, 0, 0, 1
    return square
