# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenCTM: one mesh for each body of a file."""

from __future__ import annotations

import meshmap

from .arrays import finite, ints, per_vertex, v_up
from .model import Attribute, MeshData, Model
from .notes import Notes
from .options import ReadOptions


def read(file: meshmap.OpenCtmFile, stem: str, options: ReadOptions, notes: Notes) -> Model:
    model = Model(name=stem, metres=1.0)
    bodies = file.bodies
    for number, body in enumerate(bodies):
        name = stem if len(bodies) == 1 else f"{stem}_{number}"
        mesh = notes.intact(f"body {number}", lambda: read_body(body, name, options, notes))
        if mesh is not None:
            model.meshes.append(mesh)
    return model


def read_body(body: meshmap.Body, name: str, options: ReadOptions, notes: Notes) -> MeshData:
    mesh = MeshData(name, finite(body.positions, "positions", notes), ints(body.triangles))
    vertices = len(mesh.positions)
    if options.normals:
        mesh.normals = per_vertex("normals", notes.intact("normals", lambda: body.normals), vertices, notes)
    for number, uv_map in enumerate(body.uv_maps):
        label = uv_map.name or ("UVMap" if number == 0 else f"UVMap_{number}")
        channel = per_vertex(label, notes.intact(f"UV map {label}", lambda: uv_map.values), vertices, notes)
        if channel is not None:
            channel.values = v_up(channel.values) if options.flip_v else channel.values
            mesh.uvs.append(channel)
    if body.uv_maps and body.uv_maps[0].file:
        mesh.texture = body.uv_maps[0].file
        mesh.material_names = {0: mesh.texture}
    for number, attribute in enumerate(body.attribute_maps):
        label = attribute.name or f"attribute_{number}"
        channel = per_vertex(label, notes.intact(f"attribute {label}", lambda: attribute.values), vertices, notes)
        if channel is None:
            continue
        # The specification names the attribute of vertex colours.
        if label.lower() == "color":
            mesh.colors.append(channel)
        else:
            mesh.attributes.append(Attribute(label, channel.values))
    return mesh
