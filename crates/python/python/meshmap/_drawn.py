"""The meshes of a file that viewers show, as plain arrays. The loaders of other packages use them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _meshmap
from ._error import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXTENSIONS = tuple(sorted(ending for endings in _meshmap.FORMATS.values() for ending in endings))


@dataclass(frozen=True)
class Drawn:
    """A mesh: vertices and triangles in the order of the file.

    Triangles are counter-clockwise, vertices that follow joints are in the bind shape of a skin, and the V of texture coordinates runs
    upward, as in the OBJ and PLY files that ``convert`` writes.
    """

    name: str
    mesh: _meshmap.Mesh
    positions: NDArray[np.float32]
    triangles: NDArray[Any]
    bind_shape: NDArray[np.float64] | None
    """``float64 [3, 4]``, which has been applied to the positions."""

    def others(self) -> list[str]:
        """The names of all attributes but the positions; none without positions."""
        return [name for name in self.mesh if name != "position"] if len(self.positions) else []

    def values(self, name: str) -> NDArray[Any]:
        """An attribute other than the position: normals in the bind shape, V upward, other numbers as in the file."""
        values = self.mesh[name]
        if name == "normal" and self.bind_shape is not None:
            return bound_normals(values, self.bind_shape)
        is_texcoord = name == "texcoord" or name.startswith("texcoord[")
        if is_texcoord and values.shape[1] >= 2 and self.mesh.conventions["v_origin"] == "top":
            upward = values.astype(np.float32)
            upward[:, 1] = 1 - upward[:, 1]
            return upward
        return values

    def attribute(self, name: str, components: int) -> NDArray[np.float32] | None:
        """These components of an attribute of each position; None if the file does not store them, or stores no positions."""
        if name not in self.others():
            return None
        values = self.values(name)
        if values.shape[1] < components:
            return None
        return values[:, :components]

    def normals(self) -> NDArray[np.float32] | None:
        """``float32 [vertices, 3]``, if the file stores normals."""
        return self.attribute("normal", 3)

    def texcoords(self) -> NDArray[np.float32] | None:
        """``float32 [vertices, 2]``, if the file stores texture coordinates."""
        return self.attribute("texcoord", 2)


def drawn(source: Any, snapshot: int | None = None, lod: str | None = None) -> list[Drawn]:
    """All geometry, the finest level of detail and the first snapshot, or the requested ones."""
    file = _meshmap.open(source) if not isinstance(source, _meshmap.File) else source
    if snapshot is not None:
        addresses = [f"snapshots[{snapshot}]"]
    elif lod is not None:
        name = lod if lod.endswith("_lod") else f"{lod}_lod"
        addresses = [entry.address for entry in file.meshes() if entry.address.startswith(name + ".")]
    else:
        entries = file.meshes()
        finest = min((entry.level for entry in entries if entry.level is not None), default=None)
        # By role, so that point clouds, which have no triangles to draw, are loaded as well.
        addresses = [
            entry.address
            for entry in entries
            if entry.role != "physics" and entry.level in (None, finest) and entry.snapshot in (None, 0)
        ]
    # All faces have the bind shape of one skin, which is read once: a file may have thousands of faces.
    shape: NDArray[np.float64] | None = None
    is_shape_read = False
    meshes = []
    for address in addresses:
        mesh = file.mesh(address)
        if "position" not in mesh:
            continue
        follows = follows_joints(mesh)
        if follows and not is_shape_read:
            shape = bind_shape(mesh)
            is_shape_read = True
        meshes.append(in_bind_shape(mesh, shape if follows else None))
    return meshes


def drawn_mesh(mesh: _meshmap.Mesh) -> Drawn:
    """A mesh with positions; one without has no vertices."""
    return in_bind_shape(mesh, bind_shape(mesh) if follows_joints(mesh) else None)


def in_bind_shape(mesh: _meshmap.Mesh, shape: NDArray[np.float64] | None) -> Drawn:
    """A mesh, moved into this bind shape."""
    triangles = mesh.indices
    is_clockwise = mesh.conventions["front_face"] == "clockwise"
    positions = mesh["position"][:, :3] if "position" in mesh else np.empty((0, 3), np.float32)
    if shape is not None:
        positions = bound_positions(positions, shape)
    return Drawn(
        name=mesh.name or mesh.address,
        mesh=mesh,
        positions=positions,
        triangles=triangles[:, [0, 2, 1]] if is_clockwise else triangles,
        bind_shape=shape,
    )


def follows_joints(mesh: _meshmap.Mesh) -> bool:
    """True if the file stores joints and weights of the vertices."""
    return "joints" in mesh and "weights" in mesh


def bind_shape(mesh: _meshmap.Mesh) -> NDArray[np.float64] | None:
    """``float64 [3, 4]``, which moves stored vertices into the bind pose; None if they are there, or if the skin is damaged."""
    try:
        rows = mesh._bind_shape()
    except Error as error:
        if error.kind not in ("malformed", "truncated"):
            raise
        # The geometry is complete without the skin, except for its size.
        warnings.warn(f"the bind shape of the skin is left out: {error}", stacklevel=2)
        return None
    return None if rows is None else np.array(rows)


def bound_positions(positions: NDArray[Any], shape: NDArray[np.float64]) -> NDArray[np.float32]:
    """Positions in the bind pose."""
    moved: NDArray[np.float64] = positions.astype(np.float64) @ shape[:, :3].T + shape[:, 3]
    return moved.astype(np.float32)


def bound_normals(normals: NDArray[Any], shape: NDArray[np.float64]) -> NDArray[np.float32]:
    """Normals in the bind pose, of length 1; 0 if they have none.

    Cofactors transform them, because a matrix with scales of three sizes would tilt them.
    """
    a, b, c = shape[:, :3]
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
    turned = normals[:, :3].astype(np.float64) @ cofactors.T
    lengths = np.linalg.norm(turned, axis=1, keepdims=True)
    units: NDArray[np.float64] = turned / np.where(lengths > 0, lengths, 1)
    return units.astype(np.float32)
