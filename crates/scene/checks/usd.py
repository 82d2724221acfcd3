"""The door USD, read by usd-core: axis and unit of the stage, time samples, primvars, skeletons and skins."""

from pathlib import Path
from typing import Any

import meshmap
import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel

from command import convert, options_of
from compare import Bounds
from drawn import REST, Absent, Array, Corners, Moment, joined, unit


class UsdDoor:
    """A USD file as a program draws it that applies `upAxis` and `metersPerUnit`."""

    bounds = Bounds()

    def __init__(self, path: Path, folder: Path, options: tuple[str, ...] = ()) -> None:
        self.path, self.folder, self.options = path, folder, options
        # A stage that was opened before maps its file.
        output = folder / f"out{len(list(folder.iterdir()))}.usdc"
        self.stage = Usd.Stage.Open(str(convert(path, output, options)))
        turn = {"Z": [[1, 0, 0], [0, 0, 1], [0, -1, 0]], "Y": np.eye(3)}[UsdGeom.GetStageUpAxis(self.stage)]
        self.turn = np.asarray(turn, float)
        self.metres = UsdGeom.GetStageMetersPerUnit(self.stage)
        self.prims = list(self.stage.Traverse())
        self.skeletons = [UsdSkel.Skeleton(prim) for prim in self.prims if prim.IsA(UsdSkel.Skeleton)]
        if has_rounded_scales(path):
            # `baked.py` compares with scales of joints that are rounded in the same way.
            self.bounds = Bounds(positions=2e-3)

    def names(self) -> set[str]:
        names = set()
        for prim in self.prims:
            if prim.IsA(UsdShade.Material):
                names.add(prim.GetDisplayName() or prim.GetName())
            if prim.IsA(UsdShade.Shader):
                file = UsdShade.Shader(prim).GetInput("file")
                if file:
                    names.add(Path(file.Get().path).name)
        return names

    def code(self, moment: Moment) -> Usd.TimeCode:
        if moment.kind == "rest":
            return Usd.TimeCode(self.stage.GetStartTimeCode()) if self.stage.HasAuthoredTimeCodeRange() else Usd.TimeCode.Default()
        code = moment.seconds * self.stage.GetTimeCodesPerSecond() + self.stage.GetStartTimeCode()
        # The microseconds of a proxy are rounded.
        near = round(code * 2) / 2
        return Usd.TimeCode(near if abs(code - near) < 1e-4 * max(1.0, abs(code)) else code)

    def at(self, moment: Moment) -> Corners:
        if moment.kind == "level":
            return UsdDoor(self.path, self.folder, self.options + options_of(moment)).at(REST)
        code = self.code(moment)
        stage, shown = self.stage, code
        if self.skeletons:
            stage = skinned(self.stage, moment.clip if moment.kind == "clip" else None)
            if moment.kind == "rest":
                shown = Usd.TimeCode.Default()
        shapes = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.PointBased) and is_visible(prim, shown)]
        if shapes:
            return joined([self.shape(prim, shown) for prim in shapes])
        if not self.skeletons:
            return Corners(np.zeros((0, 3, 3)))
        return self.joints(moment, code)

    def upright(self, points: Array, prim: Usd.Prim, code: Usd.TimeCode) -> Array:
        world = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(code))
        return np.asarray((points @ world[:3, :3] + world[3, :3]) @ self.turn.T * self.metres)

    def shape(self, prim: Usd.Prim, code: Usd.TimeCode) -> Corners:
        points = np.array(UsdGeom.PointBased(prim).GetPointsAttr().Get(code), float).reshape(-1, 3)
        if prim.IsA(UsdGeom.Mesh):
            mesh = UsdGeom.Mesh(prim)
            assert set(mesh.GetFaceVertexCountsAttr().Get(code) or [3]) == {3}
            chosen = np.array(mesh.GetFaceVertexIndicesAttr().Get(code), int).reshape(-1, 3)
            if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
                raise NotImplementedError("left-handed triangles")
        else:
            chosen = np.arange(len(points))[:, None]
        normals = self.primvar(prim, "normals", code, chosen)
        if normals is None and UsdGeom.PointBased(prim).GetNormalsAttr().HasAuthoredValue():
            rule = UsdGeom.PointBased(prim).GetNormalsInterpolation()
            normals = spread(np.array(UsdGeom.PointBased(prim).GetNormalsAttr().Get(code), float), rule, chosen)
        if normals is not None:
            world = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(code))[:3, :3]
            normals = unit(normals @ np.linalg.inv(world).T @ self.turn.T)
        colors, opacity = (self.primvar(prim, name, code, chosen) for name in ("displayColor", "displayOpacity"))
        if colors is not None:
            alpha = np.ones((*colors.shape[:2], 1)) if opacity is None else opacity.reshape(*colors.shape[:2], 1)
            colors = np.concatenate([colors, alpha], axis=2)
        texcoords = self.primvar(prim, "st", code, chosen)
        if texcoords is not None:
            texcoords[..., 1] = 1 - texcoords[..., 1]
        return Corners(self.upright(points, prim, code)[chosen], normals, colors, texcoords)

    def primvar(self, prim: Usd.Prim, name: str, code: Usd.TimeCode, chosen: Array) -> Array | None:
        """The values at the corners, through indices."""
        primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar(name)
        if not primvar or not primvar.HasValue():
            return None
        values = primvar.ComputeFlattened(code)
        if values is None:
            return None
        return spread(np.array(values, float), primvar.GetInterpolation(), chosen)

    def joints(self, moment: Moment, code: Usd.TimeCode) -> Corners:
        """The places of joints."""
        skeleton = self.skeletons[0]
        if moment.kind == "clip":
            stage = bound(self.stage, moment.clip)
            skeleton = UsdSkel.Skeleton(stage.GetPrimAtPath(skeleton.GetPath()))
            transforms = UsdSkel.Cache().GetSkelQuery(skeleton).ComputeJointSkelTransforms(code, False)
        else:
            transforms = UsdSkel.Cache().GetSkelQuery(skeleton).ComputeJointSkelTransforms(Usd.TimeCode.Default(), True)
        if transforms is None:
            raise Absent("no transforms of joints")
        places = np.array([place_of(transform) for transform in transforms]).reshape(-1, 3)
        return Corners(self.upright(places, skeleton.GetPrim(), code)[:, None])


def has_rounded_scales(path: Path) -> bool:
    """True if poses have scales that floats of 16 bits do not hold."""
    with meshmap.open(path) as file:
        addresses = [entry.address for entry in file.arrays()]
        if "frames" not in addresses:
            return False
        scales = np.asarray(file.array("frames"), np.float32)[..., 7:]
    with np.errstate(over="ignore"):
        return bool((scales.astype(np.float16).astype(np.float32) != scales).any())


def bound(stage: Usd.Stage, clip: int) -> Usd.Stage:
    """A copy of a stage whose skeleton plays this clip."""
    # A layer that is opened by its path would be the one that other stages have.
    copy = Usd.Stage.Open(Sdf.Layer.OpenAsAnonymous(stage.GetRootLayer().realPath))
    animations = [prim for prim in copy.Traverse() if prim.IsA(UsdSkel.Animation)]
    if clip >= len(animations):
        raise Absent(f"{len(animations)} animations")
    for prim in copy.Traverse():
        if prim.IsA(UsdSkel.Skeleton):
            UsdSkel.BindingAPI(prim).GetAnimationSourceRel().SetTargets([animations[clip].GetPath()])
    return copy


def skinned(stage: Usd.Stage, clip: int | None) -> Usd.Stage:
    """A copy of a stage in which skins are points that move: in a clip, or where the joints rest."""
    if clip is not None:
        copy = bound(stage, clip)
    else:
        copy = Usd.Stage.Open(Sdf.Layer.OpenAsAnonymous(stage.GetRootLayer().realPath))
        for prim in copy.Traverse():
            if prim.IsA(UsdSkel.Skeleton):
                UsdSkel.BindingAPI(prim).GetAnimationSourceRel().SetTargets([])
    if not UsdSkel.BakeSkinning(Usd.PrimRange(copy.GetPseudoRoot())):
        raise RuntimeError("UsdSkelBakeSkinning")
    return copy


def place_of(transform: Gf.Matrix4d) -> Any:
    return transform.ExtractTranslation()


def is_visible(prim: Usd.Prim, code: Usd.TimeCode) -> bool:
    return bool(UsdGeom.Imageable(prim).ComputeVisibility(code) != UsdGeom.Tokens.invisible)


def spread(values: Array, rule: str, chosen: Array) -> Array:
    """Values at the corners of triangles."""
    numbers = values.shape[1] if values.ndim == 2 else 1
    values = values.reshape(-1, numbers)
    if rule in ("vertex", "varying"):
        return values[chosen]
    if rule == "faceVarying":
        return values.reshape(*chosen.shape, numbers)
    if rule == "uniform":
        return np.repeat(values[:, None], chosen.shape[1], axis=1)
    return np.broadcast_to(values[0], (*chosen.shape, numbers)).copy()
