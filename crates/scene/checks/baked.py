"""Skins in USD: compares `UsdSkelBakeSkinning` at every frame of every clip with skinning in NumPy.

    baked.py FILE..    IQM files with joints and meshes; others are passed

Scales of joints have 16 bits in USD. So NumPy rounds them before it moves vertices, in the same way, and the loss by that is printed:
both are shares of the size of the mesh. Normals are compared by the rule of USD, which blends what each joint makes of a normal; the command
and glTF blend the matrices of joints. Exit status 1 if a position is further away than 1e-5 of the size, or a normal than 1e-4.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from pxr import Usd, UsdGeom, UsdSkel

from command import convert
from drawn import REST, Absent, Array, Moment, unit
from usd import skinned
from zero import USUAL_RATE, Iqm, in_model_space, influences, matrices

MOST_APART, MOST_TURNED = 1e-5, 1e-4


class Rounded(Iqm):
    """A file whose poses have scales of 16 bits, relative to the parents of joints."""

    def places(self, frame: int) -> Array:
        parents = self.tables.joint_parents
        if parents == self.tables.pose_parents:
            poses = self.stored.arrays["frames"][frame].astype(float)
            poses[:, 7:] = halves(poses[:, 7:])
            return in_model_space(matrices(poses), parents)
        places = super().places(frame)
        local = np.stack(
            [
                np.linalg.inv(places[parent]) @ places[joint] if parent >= 0 else places[joint]
                for joint, parent in enumerate(parents)
            ]
        )
        scales = np.linalg.norm(local[:, :3, :3], axis=1)
        local[:, :3, :3] *= (halves(scales) / scales)[:, None, :]
        return in_model_space(local, parents)

    def normals_by_joints(self, moment: Moment, normals: Array) -> Array:
        """Normals as USD moves them: the sum of what the inverse transposes of joints make of each, by its weights."""
        moved = self.places_at(moment) @ np.linalg.inv(self.rest_joints)
        turned = np.linalg.inv(moved[:, :3, :3]).transpose(0, 2, 1)
        joints, weights = influences(self.array_of(self.JOINTS), self.array_of(self.WEIGHTS), len(moved), len(normals))
        total = weights.sum(axis=1)
        blended = np.einsum("vk,vkij,vj->vi", weights, turned[joints], normals)
        blended[total <= 0] = normals[total <= 0]
        return unit(blended)


def halves(numbers: Array) -> Array:
    return np.clip(numbers, -65504, 65504).astype(np.float32).astype(np.float16).astype(float)


def corners_of(zero: Iqm, moment: Moment, vertices: Array) -> list[Array]:
    """The vertices at the corners of each mesh that has triangles; those with two equal corners are left out."""
    shown = []
    for part in zero.parts(REST):
        a, b, c = part.corners.T
        kept = part.corners[(a != b) & (b != c) & (c != a)]
        if len(kept):
            shown.append(vertices[kept])
    return shown


def written_corners(stage: Usd.Stage, code: float) -> list[tuple[Array, Array | None]]:
    """The points and normals at the corners of each mesh of a stage."""
    shown = []
    for prim in stage.Traverse():
        if not prim.IsA(UsdGeom.Mesh):
            continue
        mesh = UsdGeom.Mesh(prim)
        chosen = np.array(mesh.GetFaceVertexIndicesAttr().Get(code), int).reshape(-1, 3)
        normals = mesh.GetNormalsAttr().Get(code)
        shown.append(
            (
                np.array(mesh.GetPointsAttr().Get(code), float)[chosen],
                None if normals is None else np.array(normals, float)[chosen],
            )
        )
    return shown


def apart(expected: Array, found: Array) -> float:
    """The greatest distance of corners. Both have the triangles in one order, but may have their corners in two."""
    if expected.shape != found.shape:
        return float("inf")
    distances = [np.abs(found[:, order] - expected).max(axis=(1, 2)) for order in ((0, 1, 2), (0, 2, 1))]
    return float(np.minimum(*distances).max(initial=0.0))


class Worst:
    """The greatest differences so far."""

    def __init__(self) -> None:
        self.frames = 0
        self.positions = self.lost = self.normals = 0.0

    def check_frame(self, zero: Iqm, rounded: Rounded, moment: Moment, stage: Usd.Stage, code: float) -> None:
        whole, near = zero.parts(moment), rounded.parts(moment)
        expected = corners_of(rounded, moment, near[0].positions)
        exact = corners_of(zero, moment, whole[0].positions)
        size = max(float(np.ptp(np.concatenate(exact).reshape(-1, 3), axis=0).max()), 1e-30)
        found = written_corners(stage, code)
        if len(found) != len(expected):
            raise AssertionError(f"{len(found)} meshes, where {len(expected)} are expected")
        normals = zero.array_of(zero.NORMAL)
        turned = None if normals is None else corners_of(rounded, moment, rounded.normals_by_joints(moment, normals[:, :3]))
        for index, (points, directions) in enumerate(found):
            self.positions = max(self.positions, apart(expected[index], points) / size)
            self.lost = max(self.lost, apart(expected[index], exact[index]) / size)
            if turned is not None and directions is not None and np.isfinite(turned[index]).all():
                self.normals = max(self.normals, apart(turned[index], directions))
        self.frames += 1


def check(path: Path, folder: Path) -> Worst | None:
    """Compares all frames of a file; None if it has no clip of a mesh that is written."""
    zero = Iqm(path)
    if zero.is_joints or not zero.clips:
        return None
    rounded = Rounded(path)
    stage = Usd.Stage.Open(str(convert(path, folder / "out.usdc")))
    names = [prim.GetDisplayName() or prim.GetName() for prim in stage.Traverse() if prim.IsA(UsdSkel.Animation)]
    rate = stage.GetTimeCodesPerSecond()
    worst, written = Worst(), 0
    for clip, (name, _, count, own_rate, _) in enumerate(zero.clips):
        if any(zero.is_sheared(Moment("clip", clip, frame)) for frame in range(count)):
            continue
        if name and names[written] != name:
            raise AssertionError(f"{names[written]}, where {name} is expected")
        baked = skinned(stage, written)
        written += 1
        own_rate = own_rate if 0 < own_rate < float("inf") else USUAL_RATE
        for frame in range(count):
            worst.check_frame(zero, rounded, Moment("clip", clip, frame), baked, frame * rate / own_rate)
    return worst if worst.frames else None


def main(paths: list[str]) -> int:
    files = frames = failed = 0
    largest = Worst()
    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = check(path, Path(folder))
            except Absent as error:
                print(f"{path.name}: refused: {error}")
                continue
        if worst is None:
            continue
        files, frames = files + 1, frames + worst.frames
        for name in ("positions", "lost", "normals"):
            setattr(largest, name, max(getattr(largest, name), getattr(worst, name)))
        if worst.positions > MOST_APART or worst.normals > MOST_TURNED:
            failed += 1
            print(f"{path.name}: positions {worst.positions:.1e} apart, normals {worst.normals:.1e}")
    print(
        f"UsdSkelBakeSkinning: {files} files, {frames} frames: positions {largest.positions:.1e} of the size apart, normals {largest.normals:.1e}; "
        f"scales of 16 bits cost {largest.lost:.1e} of the size; {failed} files wrong"
    )
    return 1 if failed or not frames else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
