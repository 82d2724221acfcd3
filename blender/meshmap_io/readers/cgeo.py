# SPDX-License-Identifier: GPL-3.0-or-later
"""CGeo: one snapshot of a Corona proxy, with an index per corner for normals and each map channel."""

from __future__ import annotations

import meshmap
import numpy as np

from .arrays import corners, finite, ints, v_up
from .model import Channel, Clip, MeshData, Model
from .notes import Notes, Unusable
from .options import ReadOptions


def read(file: meshmap.CGeoFile, stem: str, options: ReadOptions, notes: Notes) -> Model:
    count = len(file.snapshots)
    if options.snapshot >= count:
        raise Unusable(f"there is no snapshot {options.snapshot}: the file has {count}, which are counted from 0")
    unit = file.unit_millimeters
    if unit is None:
        notes.add("the file does not store its unit: one unit is taken for one metre")
    model = Model(name=file.object_name or stem, metres=1.0 if unit is None else unit / 1000)
    if count > 1:
        timing = file.timing
        model.clip = Clip(count, timing.step if timing and timing.step > 0 else None)
    moves = options.plays and model.clip is not None
    model.meshes.append(read_snapshot(file, options.snapshot, model.name, options.normals and not moves, options, notes))
    return model


def read_snapshot(
    file: meshmap.CGeoFile, index: int, name: str, with_normals: bool, options: ReadOptions, notes: Notes
) -> MeshData:
    """The mesh of a snapshot. Positions and triangles must be intact; the rest is left out if it is damaged."""
    snapshot = file.snapshots[index]
    parts = ["positions", "triangles", "texcoords", *(["normals"] if with_normals else [])]
    whole = notes.intact("part of the snapshot", lambda: snapshot.decode(parts=parts))

    def part(part: str) -> meshmap.Decoded | None:
        return whole or notes.intact(part, lambda: snapshot.decode(parts=part))

    decoded = whole or snapshot.decode(parts=["positions", "triangles"])
    triangles = decoded.triangles
    mesh = MeshData(name, finite(decoded.positions, "positions", notes), ints(triangles.positions))
    indices = triangles.normals
    mesh.is_smooth = indices is not None
    if with_normals and indices is not None and (has := part("normals")):
        if (at := corners(indices, len(triangles), len(has.normals), "normals", notes)) is not None:
            mesh.normals = Channel("normals", finite(has.normals, "normals", notes), at)
    if (sets := triangles.texcoords) and (has := part("texcoords")):
        for number, (indices, values) in enumerate(zip(sets, has.texcoords)):
            uv = finite(np.ascontiguousarray(values[:, :2]), "texture coordinates", notes)
            if (at := corners(indices, len(triangles), len(uv), f"map channel {number}", notes)) is not None:
                uv = v_up(uv) if options.flip_v else uv
                mesh.uvs.append(Channel("UVMap" if number == 0 else f"UVMap_{number}", uv, at))
    if (ids := triangles.material_ids) is not None:
        mesh.material_ids = ints(ids)
        base = file.material_name or "material"
        used = np.unique(mesh.material_ids)
        mesh.material_names = {int(it): base if len(used) == 1 else f"{base}_{it}" for it in used}
    elif file.material_name:
        mesh.material_names = {0: file.material_name}
    return mesh
