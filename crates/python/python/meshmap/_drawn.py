"""The shapes of a file as plain arrays, for the loaders of other packages."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _meshmap

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The attributes that trimesh has a place for.
SURFACE = ["normal", "texcoord"]
EXTENSIONS = tuple(sorted(ending for endings in _meshmap.FORMATS.values() for ending in endings))


@dataclass(frozen=True)
class Drawn:
    """A shape: vertices and triangles in the order of the file, as ``Shape.arrays`` returns them."""

    name: str
    address: str
    positions: NDArray[np.float32]
    triangles: NDArray[np.uint32]
    attributes: dict[str, NDArray[Any]] = field(default_factory=dict)
    """The other attributes by their names in ``Mesh``. Colours are as the file stores them, in sRGB, as other packages show them."""
    material_ids: NDArray[np.uint32] | None = None

    def texcoords(self) -> NDArray[np.float32] | None:
        """``float32 [vertices, 2]``, if the file stores texture coordinates."""
        return self.attributes.get("texcoord")

    def normals(self) -> NDArray[np.float32] | None:
        """``float32 [vertices, 3]``, if the file stores normals."""
        return self.attributes.get("normal")


def drawn(
    source: Any, snapshot: int | None = None, lod: str | None = None, attributes: list[str] | None = None
) -> list[Drawn]:
    """All geometry, the finest level of detail and the first snapshot, or the requested ones. With these attributes, or all."""
    snapshots = None if snapshot is None else [snapshot]
    scene = _meshmap.scene(source, lod=lod or "finest", snapshots=snapshots)  # type: ignore[arg-type]
    return drawn_shapes(scene, attributes)


def drawn_mesh(mesh: _meshmap.Mesh, attributes: list[str] | None = None) -> Drawn:
    """A mesh with positions; one without has no vertices."""
    shapes = drawn_shapes(_meshmap.scene_of_mesh(mesh), attributes)
    if shapes:
        return shapes[0]
    return Drawn(mesh.name or mesh.address, mesh.address, np.empty((0, 3), np.float32), np.empty((0, 3), np.uint32))


def drawn_shapes(scene: _meshmap.Scene, attributes: list[str] | None = None) -> list[Drawn]:
    """All shapes of a scene. Parts that cannot be used are warnings: the geometry is complete without them, except for its size."""
    for remark in scene.remarks:
        warnings.warn(remark, stacklevel=4)
    return [drawn_shape(shape, attributes) for shape in scene.shapes]


def drawn_shape(shape: _meshmap.Shape, attributes: list[str] | None = None) -> Drawn:
    """The arrays of a shape, of the first of its snapshots."""
    arrays = shape.arrays(attributes=attributes)
    return Drawn(
        name=shape.name or shape.address,
        address=shape.address,
        positions=arrays.positions,
        triangles=arrays.triangles,
        attributes=attributes_of(shape, arrays) if len(arrays.positions) else {},
        material_ids=arrays.material_ids,
    )


def attributes_of(shape: _meshmap.Shape, arrays: _meshmap.Arrays) -> dict[str, NDArray[Any]]:
    """The attributes of a shape other than positions, by their names."""
    attributes: dict[str, NDArray[Any]] = {}
    if arrays.normals is not None:
        attributes["normal"] = arrays.normals
    if arrays.tangents is not None:
        attributes["tangent"] = arrays.tangents
    for number, texcoords in arrays.texcoords.items():
        attributes[numbered("texcoord", number)] = texcoords
    if arrays.colors:
        view = shape.view()
        for number in arrays.colors:
            name = numbered("color", number)
            attributes[name] = view[name]
    if arrays.joints is not None and arrays.weights is not None:
        attributes["joints"] = arrays.joints
        attributes["weights"] = arrays.weights
    attributes |= arrays.others
    return attributes


def numbered(name: str, number: int) -> str:
    """The name of a set of an attribute in ``Mesh``."""
    return name if number == 0 else f"{name}[{number}]"
