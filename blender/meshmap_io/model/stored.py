# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of files that Blender has a place for, and a scene does not: names of UV maps, data of triangles, geometry for physics."""

from __future__ import annotations

import meshmap
import numpy as np

from .arrays import finite
from .data import Attribute, MeshData
from .notes import Notes


def uv_name(texts: dict[str, str], address: str, number: int) -> str:
    """The name that the file gives to a UV map, or Blender's."""
    return texts.get(f"{address}.uv_maps[{number}].name") or ("UVMap" if number == 0 else f"UVMap_{number}")


def has_normals(file: meshmap.File, shape: meshmap.Shape, key: int) -> bool:
    """True if a snapshot has normals, which may not have been read: its surface is shaded smooth."""
    if shape.snapshots is None or not isinstance(file, meshmap.CGeoFile):
        return False
    return file.snapshots[shape.snapshots[key]].counts["normals"] > 0


def material_base(file: meshmap.File) -> str:
    """The name of the material of a whole file; empty without one."""
    return getattr(file, "material_name", None) or ""


def face_attributes(file: meshmap.File, address: str, triangles: int, notes: Notes) -> list[Attribute]:
    """Custom data with a value for each triangle."""
    if not isinstance(file, meshmap.TmfFile):
        return []
    attributes = []
    for stored, entry in zip(file.stored_meshes, file.meshes()):
        if entry.address != address:
            continue
        positions = notes.intact("positions", lambda: stored.positions)
        vertices = 0 if positions is None else len(positions)
        for label, values in notes.intact("custom data", lambda: stored.custom) or []:
            values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
            if len(values) == vertices:
                continue
            if len(values) == triangles:
                attributes.append(Attribute(label, values, "FACE"))
            else:
                notes.add(f"custom data {label} is left out: its {len(values):,} values are neither per vertex nor per triangle")
    return attributes


def hulls(file: meshmap.File, stem: str, notes: Notes) -> list[MeshData]:
    """The convex hulls for physics, as points."""
    convex = notes.intact("physics hulls", lambda: file.physics_convex) if isinstance(file, meshmap.SlMeshFile) else None
    if convex is None:
        return []
    found = list(enumerate(notes.intact("physics hulls", lambda: convex.hulls) or []))
    bounding = notes.intact("bounding hull", lambda: convex.bounding_verts)
    found += [] if bounding is None else [("bounding", bounding)]
    return [
        MeshData(f"{stem}_hull_{number}", finite(points, "hull", notes), np.empty((0, 3), np.int32), is_hull=True)
        for number, points in found
    ]
