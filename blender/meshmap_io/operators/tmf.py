# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer of TMF files."""

from __future__ import annotations

import bpy

from .base import MeshImporter, UndefinedOrigin


class ImportTmf(UndefinedOrigin, bpy.types.Operator, MeshImporter):
    """Import TMF files: meshes with normals and texture coordinates per corner, and custom data"""

    bl_idname = "import_scene.meshmap_tmf"
    bl_label = "Import TMF"
    format, label, extensions = "tmf", "TMF", ".tmf"
    filename_ext = ".tmf"
    filter_glob: bpy.props.StringProperty(default="*.tmf", options={"HIDDEN"})
