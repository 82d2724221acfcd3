"""Meshes as objects of other packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from . import _meshmap
from ._drawn import SURFACE, drawn_mesh
from ._pyvista import poly_data
from ._register import meshio_mesh, trimesh_arguments


def to_trimesh(mesh: _meshmap.Mesh) -> Any:
    """A ``trimesh.Trimesh``."""
    return import_module("trimesh").Trimesh(**trimesh_arguments(drawn_mesh(mesh, SURFACE)))


def to_pyvista(mesh: _meshmap.Mesh) -> Any:
    """A ``pyvista.PolyData``."""
    return poly_data(drawn_mesh(mesh))


def to_meshio(mesh: _meshmap.Mesh) -> Any:
    """A ``meshio.Mesh``."""
    return meshio_mesh([drawn_mesh(mesh)])


def to_open3d(mesh: _meshmap.Mesh) -> Any:
    """An ``open3d.geometry.TriangleMesh``."""
    open3d = import_module("open3d")
    shown = drawn_mesh(mesh)
    vectors = open3d.utility
    made = open3d.geometry.TriangleMesh(
        vectors.Vector3dVector(shown.positions.astype(np.float64)),
        vectors.Vector3iVector(shown.triangles.astype(np.int32)),
    )
    if (normals := shown.normals()) is not None:
        made.vertex_normals = vectors.Vector3dVector(normals.astype(np.float64))
    if (texcoords := shown.texcoords()) is not None:
        # Open3D has texture coordinates for each corner.
        made.triangle_uvs = vectors.Vector2dVector(texcoords[shown.triangles.ravel()].astype(np.float64))
    if (materials := shown.material_ids) is not None:
        made.triangle_material_ids = vectors.IntVector(materials.astype(np.int32))
    return made


def plot(mesh: _meshmap.Mesh, **options: Any) -> Any:
    """Shows the mesh by PyVista."""
    return to_pyvista(mesh).plot(**options)
