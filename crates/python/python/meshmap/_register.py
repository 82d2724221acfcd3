"""Loaders of trimesh and meshio."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from . import _meshmap
from ._drawn import EXTENSIONS, SURFACE, Drawn, drawn


def register() -> list[str]:
    """Registers loaders with the packages that are installed. Returns the names of these packages."""
    done = []
    for name, add in (("trimesh", _add_trimesh), ("meshio", _add_meshio)):
        try:
            add()
        except ImportError:
            continue
        done.append(name)
    return done


def _add_trimesh() -> None:
    load = import_module("trimesh.exchange.load")
    for extension in EXTENSIONS:
        load.mesh_loaders[extension] = _load_trimesh


def _load_trimesh(file_obj: Any, file_type: str | None = None, **options: Any) -> dict[str, Any]:
    """The arguments of a ``trimesh.Trimesh``, or of a ``trimesh.Scene`` if the file has several meshes."""
    meshes = drawn(_source(file_obj), options.get("snapshot"), options.get("lod"), SURFACE)
    if len(meshes) == 1:
        return trimesh_arguments(meshes[0])
    names: dict[str, Drawn] = {}
    for mesh in meshes:
        name, count = mesh.name, 1
        while name in names:
            name, count = f"{mesh.name}_{count}", count + 1
        names[name] = mesh
    return {
        "geometry": {name: trimesh_arguments(mesh) for name, mesh in names.items()},
        "graph": [{"frame_to": name, "geometry": name, "matrix": np.eye(4)} for name in names],
    }


def trimesh_arguments(mesh: Drawn) -> dict[str, Any]:
    """The arguments of a ``trimesh.Trimesh``."""
    arguments: dict[str, Any] = {
        "vertices": mesh.positions.astype(np.float64),
        "faces": mesh.triangles.astype(np.int64),
        # Keep the file's order and number of vertices.
        "process": False,
        "metadata": {"name": mesh.name, "address": mesh.address},
    }
    if (normals := mesh.normals()) is not None:
        arguments["vertex_normals"] = normals.astype(np.float64)
    if (texcoords := mesh.texcoords()) is not None:
        arguments["visual"] = import_module("trimesh.visual").TextureVisuals(uv=texcoords.astype(np.float64))
    return arguments


def _add_meshio() -> None:
    meshio = import_module("meshio")
    known = meshio._helpers.reader_map
    for name, endings in _meshmap.FORMATS.items():
        if f"meshmap-{name}" not in known:
            meshio.register_format(f"meshmap-{name}", [f".{ending}" for ending in endings], _read_meshio, {})


def _read_meshio(filename: Any) -> Any:
    return meshio_mesh(drawn(_source(filename)))


def meshio_mesh(meshes: list[Drawn]) -> Any:
    """A ``meshio.Mesh``: each mesh is a block of cells."""
    meshio = import_module("meshio")
    points = [mesh.positions.astype(np.float64) for mesh in meshes]
    firsts = np.cumsum([0, *(len(positions) for positions in points)])
    cells = [
        ("triangle", mesh.triangles.astype(np.int64) + first) for mesh, first in zip(meshes, firsts, strict=False)
    ]
    point_data = {}
    if meshes:
        for name in set.intersection(*(set(mesh.attributes) for mesh in meshes)):
            arrays = [np.array(mesh.attributes[name]) for mesh in meshes]
            if len({array.shape[1:] for array in arrays}) == 1:
                point_data[name] = np.concatenate(arrays)
    materials = [mesh.material_ids for mesh in meshes]
    cell_data: dict[str, list[Any]] = {}
    if materials and all(ids is not None for ids in materials):
        cell_data["material_ids"] = [np.asarray(ids, dtype=np.int64) for ids in materials]
    all_points = np.concatenate(points) if points else np.empty((0, 3))
    return meshio.Mesh(all_points, cells, point_data=point_data, cell_data=cell_data)


def _source(file: Any) -> Any:
    """The path of a file object, which several threads can read by ranges, or the object itself."""
    name = getattr(file, "name", None)
    try:
        if isinstance(name, str) and hasattr(file, "fileno") and file.fileno() >= 0:
            return name
    except OSError:
        pass
    return file
