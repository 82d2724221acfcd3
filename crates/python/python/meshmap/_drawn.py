"""The meshes of a file that viewers show, as plain arrays. The loaders of other packages use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _meshmap

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXTENSIONS = tuple(sorted(ending for endings in _meshmap.FORMATS.values() for ending in endings))


@dataclass(frozen=True)
class Drawn:
    """A mesh: vertices and triangles as in the file, triangles counter-clockwise."""

    name: str
    mesh: _meshmap.Mesh
    positions: NDArray[np.float32]
    triangles: NDArray[Any]

    def others(self) -> list[str]:
        """The names of all attributes but the positions; none without positions."""
        return [name for name in self.mesh if name != "position"] if len(self.positions) else []

    def attribute(self, name: str, components: int) -> NDArray[np.float32] | None:
        """These components of an attribute of each position; None if the file does not store them, or stores no positions."""
        values = self.mesh.get(name)
        if values is None or not self.others() or values.shape[1] < components:
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
    meshes = (file.mesh(address) for address in addresses)
    return [drawn_mesh(mesh) for mesh in meshes if "position" in mesh]


def drawn_mesh(mesh: _meshmap.Mesh) -> Drawn:
    """A mesh with positions; one without has no vertices."""
    triangles = mesh.indices
    is_clockwise = mesh.conventions["front_face"] == "clockwise"
    return Drawn(
        name=mesh.name or mesh.address,
        mesh=mesh,
        positions=mesh["position"][:, :3] if "position" in mesh else np.empty((0, 3), np.float32),
        triangles=triangles[:, [0, 2, 1]] if is_clockwise else triangles,
    )
