# SPDX-License-Identifier: GPL-3.0-or-later
"""Material slots. Files can have tens of thousands of materials, for which Blender has no time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bpy
import meshmap
import numpy as np

from ..model.data import MeshData
from ..model.notes import Notes


SLOTS = "meshmap_materials"
"""The custom property with the material ID of each slot."""


class Materials:
    """The materials of one import: one for each name, and one more if meshes with and without colours share a name."""

    def __init__(self, limit: int, folders: Sequence[str] = ()) -> None:
        self.limit = limit
        self.folders = folders
        self.by_name: dict[tuple[str, bool], bpy.types.Material] = {}

    def get(
        self, name: str, tint: tuple[int, int, int] | None, texture: str | None = None, has_colors: bool = False
    ) -> bpy.types.Material:
        """The material of a name, with the image of a texture if one is found, and with the colours of vertices; else with a tint."""
        key = name, has_colors
        if key not in self.by_name:
            self.by_name[key] = bpy.data.materials.new(name)
            path = meshmap.find_texture(texture, list(self.folders)) if texture else None
            if path is not None or has_colors:
                set_base_color(self.by_name[key], path, has_colors)
            elif tint is not None:
                set_tint(self.by_name[key], tint)
        return self.by_name[key]

    def of_id(self, data: MeshData, number: int) -> bpy.types.Material:
        """The material of the triangles with this ID."""
        return self.get(data.material_names.get(number, f"material_{number}"), data.tints.get(number))

    def assign_known(self, mesh: bpy.types.Mesh, data: MeshData) -> None:
        """Gives triangles the slots that their material IDs already have in a mesh, and adds slots for the other IDs."""
        slots = list(mesh.get(SLOTS, ()))
        if data.material_ids is None or not slots:
            return
        for number in np.unique(data.material_ids).tolist():
            if number not in slots:
                slots.append(number)
                mesh.materials.append(self.of_id(data, number))
        mesh[SLOTS] = slots
        order = np.argsort(slots)
        found = order[np.searchsorted(slots, data.material_ids, sorter=order)]
        mesh.polygons.foreach_set("material_index", found.astype(np.int32))

    def assign(self, mesh: bpy.types.Mesh, data: MeshData, notes: Notes) -> None:
        """Gives a mesh its slots; above the limit one slot, and the attribute `material_id`."""
        if data.material_ids is None or not len(data.material_ids):
            has_colors = bool(data.colors)
            for name in data.material_names.values() or [data.name]:
                mesh.materials.append(self.get(name, data.tints.get(0), data.texture, has_colors))
            return
        used, slots = np.unique(data.material_ids, return_inverse=True)
        if len(used) > self.limit:
            notes.add(
                f"{len(used):,} materials are more than the limit of {self.limit:,}: {mesh.name} has one material, and the ID of "
                "each triangle is in the face attribute material_id"
            )
            mesh.materials.append(self.get(data.name, data.tints.get(0)))
            ids = mesh.attributes.new("material_id", "INT", "FACE")
            ids.data.foreach_set("value", data.material_ids)
            return
        for number in used:
            mesh.materials.append(self.of_id(data, int(number)))
        mesh[SLOTS] = used.tolist()
        if len(used) > 1:
            mesh.polygons.foreach_set("material_index", slots.astype(np.int32).ravel())


def set_tint(material: bpy.types.Material, tint: tuple[int, int, int]) -> None:
    """Gives a new material a colour of the palette, in which all programs of meshmap draw it."""
    if material.node_tree is None:
        material.use_nodes = True
    color = [*(linear(byte / 255) for byte in tint), 1.0]
    material.diffuse_color = color
    surface = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    surface.inputs["Base Color"].default_value = color


def linear(value: float) -> float:
    """A component of sRGB as linear light."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def set_base_color(material: bpy.types.Material, image: Path | None, has_colors: bool) -> None:
    """Gives a new material the colours of an image, of the mesh, or their product."""
    if material.node_tree is None:
        material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    outputs = []
    if image is not None:
        texture = nodes.new("ShaderNodeTexImage")
        texture.image = bpy.data.images.load(str(image), check_existing=True)
        texture.location = (-600 if has_colors else -300, 300)
        outputs.append(texture.outputs["Color"])
    if has_colors:
        # Without a name, it is the first attribute of colours.
        colors = nodes.new("ShaderNodeVertexColor")
        colors.location = (-600 if image else -300, 0)
        outputs.append(colors.outputs["Color"])
    if len(outputs) > 1:
        product = nodes.new("ShaderNodeMix")
        product.data_type, product.blend_type, product.location = "RGBA", "MULTIPLY", (-300, 300)
        inputs = [socket for socket in product.inputs if socket.type == "RGBA"]
        product.inputs[0].default_value = 1
        for output, socket in zip(outputs, inputs):
            links.new(output, socket)
        outputs = [socket for socket in product.outputs if socket.type == "RGBA"]
    surface = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    links.new(outputs[0], surface.inputs["Base Color"])
