# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer of OpenCTM files."""

from __future__ import annotations

import bpy

from ..readers.options import ReadOptions
from .base import MeshImporter, UndefinedOrigin


class ImportOpenCtm(UndefinedOrigin, bpy.types.Operator, MeshImporter):
    """Import OpenCTM files: meshes with UV maps, colours and attributes"""

    bl_idname = "import_scene.meshmap_openctm"
    bl_label = "Import OpenCTM"
    format, label, extensions = "openctm", "OpenCTM", ".ctm"
    filename_ext = ".ctm"
    filter_glob: bpy.props.StringProperty(default="*.ctm", options={"HIDDEN"})
    geometry_options = ("flip_v",)

    def read_options(self) -> ReadOptions:
        options = super().read_options()
        options.flip_v = self.flip_v
        return options
