# SPDX-License-Identifier: GPL-3.0-or-later
"""The choices of an importer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ReadOptions:
    """Each format uses the fields that apply to it."""

    normals: bool = True
    flip_faces: bool = False
    """Reverse the winding of all triangles."""
    flip_v: bool = False
    """Mirror texture coordinates vertically in formats that do not define their origin."""
    snapshot: int = 0
    """CGeo: the snapshot that the mesh is made of."""
    plays: bool = False
    """CGeo: the mesh will move, so that normals of one snapshot are of no use."""
    all_levels: bool = False
    """Second Life: all levels of detail, not only the finest."""
    physics: bool = False
    """Second Life: the mesh and the hulls for physics."""
    skeleton: bool = True
    animations: bool = True
    animation_file: str = ""
    """IQM: another file, whose animations move the skeleton of the file."""
