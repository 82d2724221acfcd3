# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer of Second Life mesh assets."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, StringProperty

from ..model.options import ReadOptions
from .base import MeshImporter


class ImportSlMesh(bpy.types.Operator, MeshImporter):
    """Import Second Life mesh assets: levels of detail, rigged meshes, and geometry for physics"""

    bl_idname = "import_scene.meshmap_slmesh"
    bl_label = "Import Second Life Mesh"
    format, label, extensions = "slmesh", "Second Life Mesh", ".slmesh;.llmesh;.slm"
    filename_ext = ".slmesh"
    filter_glob: StringProperty(default="*.slmesh;*.llmesh;*.slm", options={"HIDDEN"})

    all_levels: BoolProperty(
        name="All Levels of Detail",
        description="Import every level into a collection of its own. Coarser levels are hidden",
    )
    physics: BoolProperty(name="Physics", description="Import the mesh and the hulls for physics, hidden")
    skeleton: BoolProperty(name="Armature", description="Import the joints of rigged meshes", default=True)
    sections = {"Second Life": ("all_levels", "physics", "skeleton")}

    def read_options(self) -> ReadOptions:
        options = super().read_options()
        options.all_levels, options.physics, options.skeleton = self.all_levels, self.physics, self.skeleton
        return options
