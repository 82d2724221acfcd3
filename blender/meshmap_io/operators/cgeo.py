# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer of CGeo files."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ..readers.options import ReadOptions
from .base import MeshImporter, Undefined


class ImportCGeo(Undefined, bpy.types.Operator, MeshImporter):
    """Import Corona proxies: the mesh of a snapshot, and animations that play from the disk"""

    bl_idname = "import_scene.meshmap_cgeo"
    bl_label = "Import CGeo"
    format, label, extensions = "cgeo", "Corona Proxy", ".cgeo"
    filename_ext = ".cgeo"
    filter_glob: StringProperty(default="*.cgeo", options={"HIDDEN"})

    use_file_unit: BoolProperty(name="File Unit", description="Scale by the unit that the file stores", default=True)
    snapshot: IntProperty(name="Snapshot", description="The snapshot that the mesh is made of, from 0", default=0, min=0)
    transform_options = ("use_file_unit",)
    geometry_options = ("flip_faces", "flip_v", "snapshot")

    def read_options(self) -> ReadOptions:
        options = super().read_options()
        options.flip_faces, options.flip_v, options.snapshot = self.flip_faces, self.flip_v, self.snapshot
        return options

    def build_options(self, context):
        options = super().build_options(context)
        options.use_file_unit = self.use_file_unit
        return options
