"""The door of Python: `meshmap.scene`, whose `upright` makes Y up and metres; V from the lower edge, colours as linear light."""

from pathlib import Path
from typing import Any

import meshmap
import numpy as np

from compare import Bounds
from drawn import REST, Absent, Array, Corners, Moment, joined, move, unit


class PythonDoor:
    """A scene, drawn by its documentation."""

    bounds = Bounds()

    def __init__(self, path: Path, folder: Path, lod: Any = "finest") -> None:
        self.path = path
        try:
            self.scene = meshmap.scene(path, lod=lod)
        except meshmap.Error as error:
            raise Absent(str(error)) from None
        self.upright = self.scene.upright

    def names(self) -> set[str]:
        materials = [shape.material for shape in self.scene.shapes if shape.material is not None]
        images = {Path(material.image).name for material in materials if material.image}
        return {material.name for material in materials} | images

    def at(self, moment: Moment) -> Corners:
        if moment.kind == "level":
            return PythonDoor(self.path, self.path, moment.name.removesuffix("_lod")).at(REST)
        if moment.kind == "between":
            raise Absent("one snapshot")
        places = self.places(moment)
        if not self.scene.shapes:
            return Corners(move(places[:, :3, 3], self.upright)[:, None])
        # Coarser levels of detail are drawn in place of the finest one.
        finest = min((shape.level for shape in self.scene.shapes if shape.level is not None), default=None)
        shown = [shape for shape in self.scene.shapes if shape.level == finest]
        return joined([self.corners(shape, moment, places) for shape in shown])

    def places(self, moment: Moment) -> Array:
        """The joints in the model's space."""
        if moment.kind == "clip":
            if moment.clip >= len(self.scene.clips):
                raise Absent(f"{len(self.scene.clips)} clips")
            return np.asarray(self.scene.clips[moment.clip].sample(int(moment.frame)))
        skeleton = self.scene.skeleton
        return np.zeros((0, 4, 4)) if skeleton is None else np.asarray(skeleton.bind)

    def corners(self, shape: Any, moment: Moment, places: Array) -> Corners:
        key = shape.snapshots.index(int(moment.frame)) if moment.kind == "snapshot" else 0
        arrays = shape.arrays(key)
        positions, normals = arrays.positions.astype(float), arrays.normals
        if moment.kind == "clip" and arrays.joints is not None:
            skeleton = self.scene.skeleton
            assert skeleton is not None
            # The joint after the last one rests.
            moved = np.concatenate([places @ skeleton.inverse_bind, np.eye(4)[None]])
            blended = np.einsum("vk,vkij->vij", arrays.weights.astype(float), moved[arrays.joints])
            positions = np.einsum("vij,vj->vi", blended[:, :3, :3], positions) + blended[:, :3, 3]
            if normals is not None:
                axes = [blended[:, row, :3] for row in range(3)]
                cofactors = np.stack([np.cross(axes[1], axes[2]), np.cross(axes[2], axes[0]), np.cross(axes[0], axes[1])], axis=1)
                normals = np.einsum("vij,vj->vi", cofactors, normals.astype(float))
        chosen = np.arange(len(positions))[:, None] if self.scene.are_points else arrays.triangles
        if normals is not None:
            # The upright matrix rotates, and scales alike in all directions.
            normals = unit(normals.astype(float) @ self.upright[:3, :3].T)[chosen]
        colors, texcoords = arrays.colors.get(0), arrays.texcoords.get(0)
        if texcoords is not None:
            texcoords = texcoords[chosen][..., :2].astype(float) * (1, -1) + (0, 1)
        return Corners(
            move(positions, self.upright)[chosen], normals, None if colors is None else colors[chosen].astype(float), texcoords
        )
