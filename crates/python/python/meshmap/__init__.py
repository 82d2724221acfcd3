"""Reads CGeo, IQM, OpenCTM, Second Life and TMF meshes as NumPy arrays, without a copy if the file allows it.

    >>> import meshmap
    >>> with meshmap.open("wave.ctm") as file:
    ...     mesh = file.mesh()
    ...     print(mesh["position"].mean(axis=0), mesh.indices.shape)

Arrays are read-only and stay valid while they are referenced. Numbers, and the order of vertices and triangles, are the
file's.
"""

from __future__ import annotations

from ._error import Error
from ._lists import to_lists
from ._meshmap import (
    Anim,
    ArrayEntry,
    Block,
    Body,
    Buffer,
    Catalog,
    CGeoFile,
    Decoded,
    Entry,
    Face,
    File,
    Finding,
    Group,
    Hulls,
    IqmFile,
    Joint,
    Map,
    Mesh,
    OpenCtmFile,
    Skeleton,
    Skin,
    SlMeshFile,
    Snapshot,
    SnapshotCache,
    Snapshots,
    Submesh,
    Timing,
    TmfFile,
    TmfMesh,
    Triangles,
    VertexArray,
    __version__,
    catalog,
    convert,
    open,
    render,
)

# As in typing, whose import takes longer than all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Anim",
    "ArrayEntry",
    "Block",
    "Body",
    "Buffer",
    "Catalog",
    "CGeoFile",
    "Decoded",
    "Entry",
    "Error",
    "Face",
    "File",
    "Finding",
    "Group",
    "Hulls",
    "IqmFile",
    "Joint",
    "Map",
    "Mesh",
    "OpenCtmFile",
    "Skeleton",
    "Skin",
    "SlMeshFile",
    "Snapshot",
    "SnapshotCache",
    "Snapshots",
    "Submesh",
    "Timing",
    "TmfFile",
    "TmfMesh",
    "Triangles",
    "VertexArray",
    "__version__",
    "catalog",
    "convert",
    "open",
    "register",
    "render",
    "to_lists",
]


def register() -> list[str]:
    """Registers loaders for these formats with trimesh and meshio, if they are installed.

    Returns the names of the packages registered.
    PyVista finds this package by itself.
    """
    from ._register import register as register_all

    return register_all()


def _reopen(origin: Any, is_reader: bool, options: dict[str, Any]) -> File:
    """Opens a pickled file again."""
    return open(reader=origin, **options) if is_reader else open(origin, **options)
