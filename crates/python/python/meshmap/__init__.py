"""Reads CGeo, IQM, OpenCTM, Second Life and TMF meshes as NumPy arrays, without a copy if the file allows it.

    >>> import meshmap
    >>> with meshmap.open("wave.ctm") as file:
    ...     mesh = file.mesh()
    ...     print(mesh["position"].mean(axis=0), mesh.indices.shape)

Arrays are read-only and stay valid while they are referenced. Numbers, and the order of vertices and triangles, are the
file's.
"""

from __future__ import annotations

from _collections_abc import Mapping
from _collections_abc import Sequence as _Sequence

from ._again import _again, _decoded, _part, _reopen
from ._convert import convert
from ._error import Error
from ._lists import to_lists
from ._meshmap import (
    Anim,
    ArrayEntry,
    Arrays,
    Block,
    Body,
    Buffer,
    Catalog,
    CGeoFile,
    Clip,
    Decoded,
    Entry,
    Event,
    Face,
    Fact,
    File,
    Finding,
    Group,
    Hulls,
    IqmFile,
    Joint,
    Map,
    Material,
    Mesh,
    OpenCtmFile,
    RemoteUrl,
    Scene,
    SceneSkeleton,
    Shape,
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
    find_texture,
    geometry,
    open,
    render,
    scene,
)

# As in typing, whose import takes longer than all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import polars

    from ._sources import Sources

__all__ = [
    "Anim",
    "ArrayEntry",
    "Arrays",
    "Block",
    "Body",
    "Buffer",
    "Catalog",
    "CGeoFile",
    "Clip",
    "Decoded",
    "Entry",
    "Error",
    "Event",
    "Face",
    "Fact",
    "File",
    "Finding",
    "Group",
    "Hulls",
    "IqmFile",
    "Joint",
    "Map",
    "Material",
    "Mesh",
    "OpenCtmFile",
    "RemoteUrl",
    "Scene",
    "SceneSkeleton",
    "Shape",
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
    "find",
    "find_texture",
    "geometry",
    "open",
    "register",
    "relation",
    "render",
    "scan",
    "scene",
    "to_lists",
]


Mapping.register(File)
Mapping.register(Mesh)
_Sequence.register(Snapshots)
_Sequence.register(Block)


def register() -> list[str]:
    """Registers loaders for these formats with trimesh and meshio, if they are installed.

    Returns the names of the packages registered.
    PyVista finds this package by itself.
    """
    from ._register import register as register_all

    return register_all()


def find(sources: Sources, *, max_total_bytes: int = 1 << 30) -> list[str | RemoteUrl]:
    """The mesh files that sources name, in order: paths, and `RemoteUrl`s of files in stores, which print without secrets.

    An object that a store lists twice is in the result twice. An object whose key cannot be requested, such as ``a/../b``, is an error
    when it is read. The requests of a list end after ``MESHMAP_DEADLINE`` seconds, 1,800 by default.

    Args:
        sources: A path, or several: files, folders (all files below them that hold a mesh), globs such as
            ``assets/**/*.cgeo``, and URLs such as ``s3://bucket/tree.ctm``. A URL that ends with ``/``, or that has
            ``*``, stands for all objects that it begins, or that it matches; these need a build with the feature ``stores``.
        max_total_bytes: The most memory of the result. ``jobs.tasks`` divides longer lists.

    Raises:
        Error: The result needs more memory than that.
        FileNotFoundError: A source does not exist, or no source has a mesh file.
        OSError: A store does not answer, or its list does not end in time.
        ValueError: A store repeats more than 10,000 objects, or does not sort them.
    """
    from . import _sources

    return _sources.find(sources, max_total_bytes)


def scan(
    sources: Sources,
    *,
    full: bool = False,
    hash: bool = False,
    geometry: bool | Sequence[str] = False,
    drawn: bool = False,
    formats: Sequence[str] | None = None,
    max_total_bytes: int | None = None,
) -> polars.LazyFrame:
    """The catalogue of mesh files, or their geometry, as a lazy frame of Polars.

    The files are listed when the frame is collected, and each time again. Columns, limits and predicates are pushed down: files are decoded as
    far as the columns need, and none after the last row. Predicates that use only ``path`` or only ``format`` skip files, also if they are joined with others by ``&``.

    Args:
        sources: As of ``find``.
        full: Decodes and checks everything, as of ``catalog``.
        hash: Reads the bytes of each file for their SHA-256.
        geometry: Has a row for each mesh with its arrays, as ``geometry``: True, or the names of its columns.
        drawn: Selects the meshes that viewers show, if ``geometry`` is set.
        formats: The formats that have rows.
        max_total_bytes: The memory for a file, as of ``catalog``.

    Raises:
        FileNotFoundError: The only source is a path that does not exist. Collecting the frame raises an error if no source has a mesh file.
    """
    from ._polars import scan as scan_files
    from ._tables import table

    of = table(
        full=full, hash=hash, geometry=geometry, drawn=drawn, formats=formats, max_total_bytes=max_total_bytes
    )
    return scan_files(sources, of)


def relation(
    sources: Sources,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    full: bool = False,
    hash: bool = False,
    geometry: bool | Sequence[str] = False,
    drawn: bool = False,
    columns: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    max_total_bytes: int | None = None,
) -> duckdb.DuckDBPyRelation:
    """The catalogue of mesh files, or their geometry, as a relation of DuckDB, which reads the files again for each query.

    Args:
        sources: As of ``find``.
        connection: By default DuckDB's own.
        full: Decodes and checks everything, as of ``catalog``.
        hash: Reads the bytes of each file for their SHA-256.
        geometry: Has a row for each mesh with its arrays, as ``geometry``: True, or the names of its columns.
        drawn: Selects the meshes that viewers show, if ``geometry`` is set.
        columns: The names of the columns: DuckDB reads all of them, whatever a query needs.
        formats: The formats that have rows.
        max_total_bytes: The memory for a file, as of ``catalog``.

    Raises:
        FileNotFoundError: A source does not exist, or no source has a mesh file.
    """
    import duckdb

    from . import _sources
    from ._tables import table

    of = table(
        full=full,
        hash=hash,
        geometry=geometry,
        drawn=drawn,
        columns=columns,
        formats=formats,
        max_total_bytes=max_total_bytes,
    )
    return (connection or duckdb.default_connection()).from_arrow(of.of(_sources.find(sources)))
