# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays that Blender can hold: finite numbers, and triangles with three different corners."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .data import Attribute, Floats, Ints, MeshData
from .notes import Notes


def finite(values: Floats, what: str, notes: Notes) -> Floats:
    """`values`, or a copy with 0 for NaN and infinite numbers, and a line with their count."""
    is_wrong = ~np.isfinite(values)
    wrong = int(is_wrong.sum())
    if not wrong:
        return values
    notes.add(f"{what}: {wrong:,} NaN or infinite {'number is' if wrong == 1 else 'numbers are'} replaced with 0")
    return np.where(is_wrong, np.float32(0), values)


def usable_triangles(triangles: Ints, notes: Notes) -> NDArray[np.bool_]:
    """True for triangles with three different corners. Blender crashes on the others, so they are counted and dropped."""
    a, b, c = triangles.T
    is_usable = (a != b) & (b != c) & (c != a)
    dropped = int((~is_usable).sum())
    notes.count(dropped, "triangle has two equal corners and is dropped", "triangles have two equal corners and are dropped")
    return is_usable


def drop_triangles(mesh: MeshData, notes: Notes) -> None:
    """Drops the unusable triangles of a mesh, with everything that belongs to them."""
    keep = usable_triangles(mesh.triangles, notes)
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
    mesh.triangles = reversed_corners(mesh.triangles)
    for channel in [mesh.normals, *mesh.uvs, *mesh.colors]:
        if channel is not None and channel.corners is not None:
            channel.corners = reversed_corners(channel.corners)


def reversed_corners(corners: Ints) -> Ints:
    """The first corner stays the first, as in files that `meshmap.convert` writes."""
    return np.ascontiguousarray(corners[:, [0, 2, 1]])


def of_points(values: NDArray[np.generic], corners: Ints, triangles: Ints, points: int) -> NDArray[np.generic] | None:
    """The value of each position, if all corners of a position have one; None if they differ."""
    by_point = np.zeros((points, *values.shape[1:]), values.dtype)
    by_point[triangles.ravel()] = values[corners.ravel()]
    return by_point if np.array_equal(by_point[triangles], values[corners]) else None


def ints(indices: NDArray[np.integer]) -> Ints:
    """Indices as Blender stores them."""
    return indices.view(np.int32) if indices.dtype == np.uint32 else indices.astype(np.int32)
