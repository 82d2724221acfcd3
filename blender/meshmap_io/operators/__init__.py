# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Import and drag and drop: one importer for each format."""

from __future__ import annotations

import bpy

from .base import handler_of
from .cgeo import ImportCGeo
from .iqm import ImportIqm
from .openctm import ImportOpenCtm
from .slmesh import ImportSlMesh
from .tmf import ImportTmf

IMPORTERS = (ImportCGeo, ImportIqm, ImportOpenCtm, ImportSlMesh, ImportTmf)
CLASSES = (*IMPORTERS, *(handler_of(importer) for importer in IMPORTERS))


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    for importer in IMPORTERS:
        extensions = importer.extensions.replace(";", "/")
        self.layout.operator(importer.bl_idname, text=f"{importer.label} ({extensions})")


def register() -> None:
    for each in CLASSES:
        bpy.utils.register_class(each)
    bpy.types.TOPBAR_MT_file_import.append(menu)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_import.remove(menu)
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
