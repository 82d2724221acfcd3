# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays that Blender can hold: finite numbers, and triangles with three different corners."""

from __future__ import annotations

import meshmap
import numpy as np
from numpy.typing import NDArray

from .model import Attribute, Channel, Floats, Ints, MeshData
from .notes import Notes


def finite(values: Floats, what: str, notes: Notes) -> Floats:
    """`values`, or a copy with 0 for NaN and infinite numbers, and a line with their count."""
    is_wrong = ~np.isfinite(values)
    wrong = int(is_wrong.sum())
    if not wrong:
        return values
    notes.add(f"{what}: {wrong:,} NaN or infinite {'number is' if wrong == 1 else 'numbers are'} replaced with 0")
    return np.where(is_wrong, np.float32(0), values)


def influences(view: meshmap.Mesh, bones: int, notes: Notes) -> tuple[Ints, Floats] | None:
    """Four bones of each vertex and their weights. Vertices without weights have none: they rest. None if the mesh has no weights."""
    found = view.influences(bones)
    if found is None:
        return None
    for name, one, many in (
        ("beyond", "weight is left out: there is no such joint", "weights are left out: there are no such joints"),
        ("clamped", "weight is on the last joint: there is no such joint", "weights are on the last joint: there are no such joints"),
        ("dropped", "weight beyond four of a vertex is left out", "weights beyond four of a vertex are left out"),
    ):
        notes.count(found[name], one, many)
    joints = found["joints"].astype(np.int32)
    return joints, np.where(joints < bones, found["weights"], np.float32(0))


def v_up(texcoords: Floats) -> Floats:
    """Texture coordinates whose V is 0 at the top of the picture, as Blender wants them."""
    turned = texcoords.copy()
    turned[:, 1] = 1 - turned[:, 1]
    return turned


def usable_triangles(triangles: Ints, vertices: int, notes: Notes) -> NDArray[np.bool_]:
    """True for triangles with three different corners in range. Blender crashes on the others, so they are counted and dropped."""
    a, b, c = triangles.T
    in_range = (triangles.view(np.uint32) < vertices).all(axis=1)
    distinct = (a != b) & (b != c) & (c != a)
    dropped = int((~in_range).sum())
    notes.count(
        dropped, "triangle has an index out of range and is dropped", "triangles have an index out of range and are dropped"
    )
    dropped = int((in_range & ~distinct).sum())
    notes.count(dropped, "triangle has two equal corners and is dropped", "triangles have two equal corners and are dropped")
    return in_range & distinct


def drop_triangles(mesh: MeshData, notes: Notes) -> None:
    """Drops the unusable triangles of a mesh, with everything that belongs to them."""
    keep = usable_triangles(mesh.triangles, len(mesh.positions), notes)
    if keep.all():
        return
    mesh.triangles = mesh.triangles[keep]
    if mesh.material_ids is not None:
        mesh.material_ids = mesh.material_ids[keep]
    for channel in [mesh.normals, *mesh.uvs, *mesh.colors]:
        if channel is not None and channel.corners is not None:
            channel.corners = channel.corners[keep]
    mesh.attributes = [Attribute(it.name, it.values[keep], it.domain) if it.domain == "FACE" else it for it in mesh.attributes]


def reverse_winding(mesh: MeshData) -> None:
    """Turns the front of each triangle to its other side."""
    mesh.triangles = np.ascontiguousarray(mesh.triangles[:, ::-1])
    for channel in [mesh.normals, *mesh.uvs, *mesh.colors]:
        if channel is not None and channel.corners is not None:
            channel.corners = np.ascontiguousarray(channel.corners[:, ::-1])


def runs_against_normals(mesh: MeshData) -> bool:
    """True if most normals point away from the front of their triangles. Up to 10,000 triangles are checked."""
    if mesh.normals is None or not len(mesh.triangles):
        return False
    some = slice(None, None, len(mesh.triangles) // 10_000 + 1)
    a, b, c = np.moveaxis(mesh.positions[mesh.triangles[some]].astype(np.float64), 1, 0)
    at = mesh.triangles if mesh.normals.corners is None else mesh.normals.corners
    along = np.einsum("ij,ij->i", np.cross(b - a, c - a), mesh.normals.values[at[some]].sum(axis=1))
    return bool((along < 0).sum() > (along > 0).sum())


def corners(indices: NDArray[np.integer] | None, triangles: int, values: int, what: str, notes: Notes) -> Ints | None:
    """Indices of values per corner, `[triangles, 3]`; None and a line if they do not fit."""
    if indices is None or indices.size != triangles * 3:
        notes.add(f"{what} is left out: it does not have an index for each corner of the {triangles:,} triangles")
        return None
    shaped = indices.reshape(-1, 3)
    if triangles and int(shaped.max()) >= values:
        notes.add(f"{what} is left out: index {int(shaped.max()):,} is out of range, there are {values:,} values")
        return None
    return shaped.astype(np.int32, copy=False)


def per_vertex(name: str, values: Floats | None, vertices: int, notes: Notes) -> Channel | None:
    """A channel with one value per vertex; None if there are no values, or another number of them."""
    if values is None:
        return None
    if len(values) != vertices:
        notes.add(f"{name} is left out: it has {len(values):,} values, the mesh has {vertices:,} vertices")
        return None
    return Channel(name, finite(values, name, notes))


def ints(indices: NDArray[np.integer]) -> Ints:
    """Indices as Blender stores them. Indices above 2^31 become negative; `drop_triangles` counts them as out of range."""
    return indices.view(np.int32) if indices.dtype == np.uint32 else indices.astype(np.int32)
