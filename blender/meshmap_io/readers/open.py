# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a file of any format."""

from __future__ import annotations

from pathlib import Path

import meshmap

from . import cgeo, iqm, openctm, slmesh, tmf
from .arrays import drop_triangles, reverse_winding, runs_against_normals
from .model import Model
from .notes import Notes, Unusable
from .options import ReadOptions

READERS = {"cgeo": cgeo.read, "iqm": iqm.read, "openctm": openctm.read, "slmesh": slmesh.read, "tmf": tmf.read}
NAMES = {
    "cgeo": "CGeo",
    "iqm": "IQM",
    "openctm": "OpenCTM",
    "slmesh": "Second Life Mesh",
    "tmf": "TMF",
}


def read(path: str, format: str, options: ReadOptions, notes: Notes) -> Model:
    """Everything that is intact in a file. Raises `meshmap.Error`, `OSError` or `Unusable` if nothing can be read."""
    with meshmap.open(path) as file:
        if file.format != format:
            raise Unusable(f"the file is {NAMES[file.format]}: import it with File > Import > {NAMES[file.format]}")
        model = READERS[format](file, Path(path).stem, options, notes)
        model.up = file.conventions["usual_up"].upper()
    for mesh in model.meshes:
        drop_triangles(mesh, notes)
    first = next((mesh for mesh in model.meshes if mesh.normals is not None and len(mesh.triangles)), None)
    is_against = first is not None and runs_against_normals(first)
    if is_against and not options.flip_faces:
        notes.add("most normals point away from the fronts, which look black: triangles are turned, which Flip Faces undoes")
    model.is_flipped = is_against != options.flip_faces
    if model.is_flipped:
        for mesh in model.meshes:
            reverse_winding(mesh)
    return model
