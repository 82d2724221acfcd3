# SPDX-License-Identifier: GPL-3.0-or-later
"""Material slots. Files can have tens of thousands of materials, for which Blender has no time."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import meshmap
import numpy as np

from ..readers.model import MeshData
from ..readers.notes import Notes


SLOTS = "meshmap_materials"
"""The custom property with the material ID of each slot."""


class Materials:
    """The materials of one import: one for each name."""

    def __init__(self, limit: int, folders: Sequence[str] = ()) -> None:
        self.limit = limit
        self.folders = folders
        self.by_name: dict[str, bpy.types.Material] = {}

    def get(self, name: str) -> bpy.types.Material:
        if name not in self.by_name:
            self.by_name[name] = bpy.data.materials.new(name)
        return self.by_name[name]

    def textured(self, name: str, texture: str | None) -> bpy.types.Material:
        """The material of a name, with the image of a texture if one is found."""
        is_new = name not in self.by_name
        material = self.get(name)
        path = meshmap.find_texture(texture, list(self.folders)) if texture and is_new else None
        if path is not None:
            if material.node_tree is None:
                material.use_nodes = True
            nodes, links = material.node_tree.nodes, material.node_tree.links
            image = nodes.new("ShaderNodeTexImage")
            image.image = bpy.data.images.load(str(path), check_existing=True)
            image.location = (-300, 300)
            surface = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
            links.new(image.outputs["Color"], surface.inputs["Base Color"])
        return material

    def assign_known(self, mesh: bpy.types.Mesh, data: MeshData) -> None:
        """Gives triangles the slots that their material IDs already have in a mesh, and adds slots for the other IDs."""
        slots = list(mesh.get(SLOTS, ()))
        if data.material_ids is None or not slots:
            return
        for number in np.unique(data.material_ids).tolist():
            if number not in slots:
                slots.append(number)
                mesh.materials.append(self.get(data.material_names.get(number, f"material_{number}")))
        mesh[SLOTS] = slots
        order = np.argsort(slots)
        found = order[np.searchsorted(slots, data.material_ids, sorter=order)]
        mesh.polygons.foreach_set("material_index", found.astype(np.int32))

    def assign(self, mesh: bpy.types.Mesh, data: MeshData, notes: Notes) -> None:
        """Gives a mesh its slots; above the limit one slot, and the attribute `material_id`."""
        if data.material_ids is None or not len(data.material_ids):
            for name in data.material_names.values():
                mesh.materials.append(self.textured(name, data.texture))
            return
        used, slots = np.unique(data.material_ids, return_inverse=True)
        if len(used) > self.limit:
            notes.add(
                f"{len(used):,} materials are more than the limit of {self.limit:,}: {mesh.name} has one material, and the ID of "
                "each triangle is in the face attribute material_id"
            )
            mesh.materials.append(self.get(data.name))
            ids = mesh.attributes.new("material_id", "INT", "FACE")
            ids.data.foreach_set("value", data.material_ids)
            return
        for number in used:
            mesh.materials.append(self.get(data.material_names.get(int(number), f"material_{number}")))
        mesh[SLOTS] = used.tolist()
        if len(used) > 1:
            mesh.polygons.foreach_set("material_index", slots.astype(np.int32).ravel())
