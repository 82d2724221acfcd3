# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer of OpenCTM files."""

from __future__ import annotations

import bpy

from .base import MeshImporter, UndefinedOrigin


class ImportOpenCtm(UndefinedOrigin, bpy.types.Operator, MeshImporter):
    """Import OpenCTM files: meshes with UV maps, colours and attributes"""

    bl_idname = "import_scene.meshmap_openctm"
    bl_label = "Import OpenCTM"
    format, label, extensions = "openctm", "OpenCTM", ".ctm"
    filename_ext = ".ctm"
    filter_glob: bpy.props.StringProperty(default="*.ctm", options={"HIDDEN"})
