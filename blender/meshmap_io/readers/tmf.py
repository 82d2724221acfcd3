# SPDX-License-Identifier: GPL-3.0-or-later
"""TMF: meshes with an index per corner for positions, normals and texture coordinates."""

from __future__ import annotations

import meshmap
import numpy as np

from .arrays import corners, finite, per_vertex, v_up
from .model import Attribute, Channel, MeshData, Model
from .notes import Notes
from .options import ReadOptions


def read(file: meshmap.TmfFile, stem: str, options: ReadOptions, notes: Notes) -> Model:
    model = Model(name=stem, metres=1.0)
    for number, stored in enumerate(file.stored_meshes):
        name = stored.name or f"{stem}_{number}"
        mesh = notes.intact(f"mesh {name}", lambda: read_mesh(stored, name, options, notes))
        if mesh is not None:
            model.meshes.append(mesh)
    return model


def read_mesh(stored: meshmap.TmfMesh, name: str, options: ReadOptions, notes: Notes) -> MeshData | None:
    positions, indices = stored.positions, stored.position_indices
    if positions is None:
        notes.add(f"mesh {name} is left out: it has no positions")
        return None
    at = np.empty((0, 3), np.int32) if indices is None else as_corners(indices)
    mesh = MeshData(name, finite(positions, "positions", notes), at)
    count = len(mesh.triangles)
    if options.normals:
        mesh.normals = channel("normals", lambda: stored.normals, lambda: stored.normal_indices, mesh, notes)
    uv = channel("UVMap", lambda: stored.texcoords, lambda: stored.texcoord_indices, mesh, notes)
    if uv is not None:
        uv.values = v_up(uv.values) if options.flip_v else uv.values
        mesh.uvs.append(uv)
    for label, values in notes.intact("custom data", lambda: stored.custom) or []:
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        values = values.view(np.int32) if values.dtype == np.uint32 else values
        if len(values) == len(mesh.positions) and values.ndim == 2 and values.shape[1] == 4:
            # Only colours have four components.
            mesh.colors.append(Channel(label, finite(values, label, notes)))
        elif len(values) == len(mesh.positions):
            mesh.attributes.append(Attribute(label, values))
        elif len(values) == count:
            mesh.attributes.append(Attribute(label, values, "FACE"))
        else:
            notes.add(f"custom data {label} is left out: its {len(values):,} values are neither per vertex nor per triangle")
    return mesh


def as_corners(indices: np.ndarray) -> np.ndarray:
    return indices[: len(indices) // 3 * 3].reshape(-1, 3).view(np.int32)


def channel(label, read_values, read_indices, mesh: MeshData, notes: Notes) -> Channel | None:
    """Values with an index per corner, or one value per vertex if there are no indices."""
    values = notes.intact(label, read_values)
    if values is None:
        return None
    indices = notes.intact(f"indices of {label}", read_indices)
    triangles = len(mesh.triangles)
    if indices is None or len(indices) // 3 != triangles:
        return per_vertex(label, values, len(mesh.positions), notes)
    at = corners(indices[: triangles * 3], triangles, len(values), label, notes)
    return None if at is None else Channel(label, finite(values, label, notes), at)
