# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes from arrays, without a loop over vertices."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np

from ..model.data import Attribute, Channel, Floats, MeshData
from ..model.notes import Notes

FREE_NORMALS = (4, 5, 0)
"""The first version whose attribute `custom_normal` can store normals as they are."""
TAKEN = {"position", "material_index", "sharp_face", "sharp_edge", "custom_normal", "velocity", "material_id"}
"""Names of attributes that mean something to Blender or to this extension."""


def new_mesh(data: MeshData, is_deformed: bool, notes: Notes) -> bpy.types.Mesh:
    """A mesh without materials. Normals of deformed meshes follow the surface, normals of other meshes are exactly the file's."""
    mesh = bpy.data.meshes.new(data.name)
    fill_mesh(mesh, data, is_deformed, notes)
    return mesh


def fill_mesh(mesh: bpy.types.Mesh, data: MeshData, is_deformed: bool, notes: Notes) -> None:
    """Fills an empty mesh."""
    set_geometry(mesh, data.positions, data.triangles)
    if data.is_hull:
        make_hull(mesh)
        return
    for channel in data.uvs:
        add_uv_map(mesh, data, channel, notes)
    for channel in data.colors:
        values = of_corners(data, channel) if channel.corners is not None else channel.values
        domain = "CORNER" if channel.corners is not None else "POINT"
        add_attribute(mesh, Attribute(channel.name, values, domain), notes)
    if mesh.color_attributes:
        mesh.color_attributes.active_color_index = mesh.color_attributes.render_color_index = 0
    for attribute in data.attributes:
        add_attribute(mesh, attribute, notes)
    if data.normals is not None:
        set_normals(mesh, data, data.normals, is_deformed)
    elif not data.is_smooth:
        mesh.shade_flat()


def set_geometry(mesh: bpy.types.Mesh, positions: Floats, triangles: np.ndarray) -> None:
    """Vertices and triangles of an empty mesh, in their order."""
    mesh.vertices.add(len(positions))
    set_positions(mesh, positions)
    mesh.loops.add(triangles.size)
    mesh.loops.foreach_set("vertex_index", np.ascontiguousarray(triangles).ravel())
    mesh.polygons.add(len(triangles))
    mesh.polygons.foreach_set("loop_start", np.arange(0, triangles.size, 3, dtype=np.int32))
    mesh.update(calc_edges=True)


def set_positions(mesh: bpy.types.Mesh, positions: Floats) -> None:
    if len(positions):
        mesh.attributes["position"].data.foreach_set("vector", np.ascontiguousarray(positions, np.float32).ravel())


def make_hull(mesh: bpy.types.Mesh) -> None:
    """Turns the points of a mesh into their convex hull."""
    shape = bmesh.new()
    shape.from_mesh(mesh)
    if len(shape.verts) > 3:
        bmesh.ops.convex_hull(shape, input=shape.verts)
    shape.to_mesh(mesh)
    shape.free()


def of_corners(data: MeshData, channel: Channel) -> Floats:
    """The values of a channel, one per corner."""
    corners = data.triangles if channel.corners is None else channel.corners
    return channel.values[corners.ravel()]


def add_uv_map(mesh: bpy.types.Mesh, data: MeshData, channel: Channel, notes: Notes) -> None:
    layer = mesh.uv_layers.new(name=channel.name, do_init=False)
    if layer is None:
        notes.add(f"UV map {channel.name} is left out: a mesh of Blender has at most 8")
    elif len(mesh.loops):
        layer.uv.foreach_set("vector", of_corners(data, channel).ravel())


def add_attribute(mesh: bpy.types.Mesh, source: Attribute, notes: Notes) -> None:
    """Adds a generic attribute, or colours, which are linear light."""
    values = source.values
    width = values.shape[1] if values.ndim == 2 else 1
    is_whole = np.issubdtype(values.dtype, np.integer)
    if width == 1:
        kind, key = ("INT", "value") if is_whole else ("FLOAT", "value")
    elif width in (2, 3, 4):
        kind, key = {2: ("FLOAT2", "vector"), 3: ("FLOAT_VECTOR", "vector"), 4: ("FLOAT_COLOR", "color")}[width]
    else:
        notes.add(f"attribute {source.name} is left out: Blender has no attributes of {width} components")
        return
    name = f"file_{source.name}" if source.name in TAKEN else source.name
    attribute = mesh.attributes.new(name, kind, source.domain)
    if len(attribute.data):
        # An attribute of Blender stores 32-bit integers, of which large unsigned integers keep their bits.
        numbers = values.astype(np.int32 if kind == "INT" else np.float32, copy=False)
        attribute.data.foreach_set(key, np.ascontiguousarray(numbers).ravel())


def set_normals(mesh: bpy.types.Mesh, data: MeshData, channel: Channel, is_deformed: bool) -> None:
    if not len(data.triangles):
        return
    values = with_lengths(mesh, data, channel)
    if not is_deformed and bpy.app.version >= FREE_NORMALS:
        domain = "POINT" if channel.corners is None else "CORNER"
        if domain == "CORNER":
            values = values[channel.corners.ravel()]
            mark_creases(mesh, values)
        mesh.attributes.new("custom_normal", "FLOAT_VECTOR", domain).data.foreach_set("vector", values.ravel())
    elif channel.corners is None:
        mesh.normals_split_custom_set_from_vertices(values)
    else:
        mesh.normals_split_custom_set(values[channel.corners.ravel()])


def mark_creases(mesh: bpy.types.Mesh, normals: Floats) -> None:
    """Marks edges as sharp on whose sides normals differ: Cycles has one normal for each vertex, and splits meshes at sharp edges."""
    edges = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("edge_index", edges)
    corners = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    following = np.arange(len(corners)).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    is_forward = (corners < corners[following])[:, None]
    # The normals at both ends of the edge of each corner, in the order of the vertices.
    ends = np.where(is_forward, np.hstack([normals, normals[following]]), np.hstack([normals[following], normals]))
    first = np.zeros((len(mesh.edges), 6), np.float32)
    first[edges] = ends
    is_sharp = np.zeros(len(mesh.edges), bool)
    is_sharp[edges[(ends != first[edges]).any(axis=1)]] = True
    mesh.attributes.new("sharp_edge", "BOOLEAN", "EDGE").data.foreach_set("value", is_sharp)


def with_lengths(mesh: bpy.types.Mesh, data: MeshData, channel: Channel) -> Floats:
    """The normals with a length of 1, those without a length replaced with Blender's own if there is one per vertex."""
    values = np.ascontiguousarray(channel.values[:, :3], np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64))
    is_unit = np.abs(lengths - 1) < 1e-6
    if is_unit.all():
        return values
    values = values.copy()
    has_length = lengths > 0
    scaled = has_length & ~is_unit
    values[scaled] = (values[scaled] / lengths[scaled, None]).astype(np.float32)
    if channel.corners is None and not has_length.all():
        computed = np.empty(len(data.positions) * 3, np.float32)
        mesh.vertex_normals.foreach_get("vector", computed)
        values[~has_length] = computed.reshape(-1, 3)[~has_length]
    else:
        values[~has_length] = 0, 0, 1
    return values
