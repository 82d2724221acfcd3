"""The reader of PyVista, which finds it by the entry point ``pyvista.readers``: ``pyvista.read("scan.ctm")``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ._drawn import Drawn, drawn


def read(path: str, *, snapshot: int | None = None, lod: str | None = None, **_: Any) -> Any:
    """Reads a file as ``pyvista.PolyData``, or as ``pyvista.MultiBlock`` if it has several meshes.

    Normals are point data ``Normals``, texture coordinates ``TCoords``, other attributes have their own names, and the
    material of each triangle is cell data ``material_ids``.
    """
    if "://" in path:
        raise import_module("pyvista.core.utilities.reader_registry").LocalFileRequiredError
    pyvista = import_module("pyvista")
    meshes = drawn(path, snapshot, lod)
    if len(meshes) == 1:
        return poly_data(meshes[0])
    blocks = pyvista.MultiBlock()
    for mesh in meshes:
        blocks.append(poly_data(mesh), mesh.name)
    return blocks


def poly_data(mesh: Drawn) -> Any:
    """A ``pyvista.PolyData``."""
    pyvista = import_module("pyvista")
    points = np.array(mesh.positions)
    if len(mesh.triangles) or not len(points):
        data = pyvista.PolyData.from_regular_faces(points, np.asarray(mesh.triangles, dtype=np.int64))
    else:
        # With a cell for each vertex, so that points are drawn.
        data = pyvista.PolyData(points)
    if (normals := mesh.normals()) is not None:
        data.point_data["Normals"] = np.array(normals)
        data.point_data.active_normals_name = "Normals"
    if (texcoords := mesh.texcoords()) is not None:
        data.active_texture_coordinates = np.array(texcoords)
    for name, values in mesh.attributes.items():
        if name not in ("normal", "texcoord"):
            data.point_data[name] = np.array(values)
    if (materials := mesh.material_ids) is not None and len(mesh.triangles):
        data.cell_data["material_ids"] = np.array(materials)
    return data
