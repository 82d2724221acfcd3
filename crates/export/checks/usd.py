"""Reads USD files with usd-core, and compares them with what the library says.

    usd.py FOLDER    every NAME.usdc and NAME.usdz of the folder: all validators are silent, and the points and triangles are the bits
                     of NAME.geometry, which the example `geometry` wrote: of each sample of a snapshot of a CGeo file,
                     and of each mesh of others. Triangles with two equal corners are left out, and a file of nothing but
                     these has its vertices as points. Files with time samples are referred to by stages of other rates
"""

import pathlib
import struct
import sys

from pxr import Usd, UsdGeom, UsdShade, UsdValidation


def parts(path):
    """The time, and positions and corners as bytes, of each snapshot or mesh."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        steps, points, corners = struct.unpack_from("<dII", data, place)
        place += 16
        middle, end = place + points * 12, place + points * 12 + corners * 4
        yield steps, data[place:middle], drawn(data[middle:end])
        place = end


def drawn(corners):
    """The triangles whose corners differ: others are not valid in USD."""
    triangles = (corners[at : at + 12] for at in range(0, len(corners), 12))
    return b"".join(triangle for triangle in triangles if len({triangle[:4], triangle[4:8], triangle[8:]}) == 3)


def content(array):
    return memoryview(array).tobytes() if array else b""


class Wrong(Exception):
    pass


def expect(is_so, what):
    if not is_so:
        raise Wrong(what)


def check_points(mesh, time, points):
    name = f"{mesh.GetPath()} at {time}"
    expect(content(mesh.GetPointsAttr().Get(time)) == points, f"{name}: other points")


def check_mesh(mesh, time, points, corners):
    name = f"{mesh.GetPath()} at {time}"
    check_points(mesh, time, points)
    if not mesh.GetPrim().IsA(UsdGeom.Mesh):
        return
    expect(content(mesh.GetFaceVertexIndicesAttr().Get(time)) == corners, f"{name}: other triangles")
    counts, indices = mesh.GetFaceVertexCountsAttr().Get(time), mesh.GetFaceVertexIndicesAttr().Get(time)
    is_valid, why = UsdGeom.Mesh.ValidateTopology(indices, counts, len(points) // 12)
    expect(is_valid, f"{name}: {why}")
    extent = UsdGeom.PointBased.ComputeExtent(mesh.GetPointsAttr().Get(time))
    expect(not points or list(extent) == list(mesh.GetExtentAttr().Get(time)), f"{name}: another box")
    for primvar in UsdGeom.PrimvarsAPI(mesh).GetPrimvars():
        if not primvar.HasValue():
            continue
        values, index = primvar.Get(time), primvar.GetIndices(time)
        of = {"vertex": len(points) // 12, "faceVarying": len(corners) // 4, "uniform": len(counts)}
        if primvar.GetInterpolation() == "constant":
            # The transform of a skin.
            continue
        elements = of[primvar.GetInterpolation()] * primvar.GetElementSize()
        expect(len(index if primvar.IsIndexed() else values) == elements, f"{name}: {primvar.GetName()} is too long")
        expect(not index or max(index) < len(values), f"{name}: indices of {primvar.GetName()} beyond its end")
    subsets = UsdGeom.Subset.GetAllGeomSubsets(mesh)
    faces = sorted(face for subset in subsets for face in subset.GetIndicesAttr().Get(time))
    expect(not subsets or faces == list(range(len(counts))), f"{name}: materials of other faces")
    for subset in subsets:
        material, _ = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
        expect(bool(material), f"{subset.GetPath()} has no material")


def check(path, validators):
    stage = Usd.Stage.Open(str(path))
    expect(bool(stage.GetDefaultPrim()), "no default prim")
    for error in UsdValidation.ValidationContext(validators).Validate(stage):
        raise Wrong(f"{error.GetIdentifier()}: {error.GetMessage()}")
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    expected = list(parts(path.with_suffix(".geometry")))
    if path.stem.endswith(".cgeo"):
        meshes = meshes or [UsdGeom.Points(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Points)]
        expect(len(meshes) == 1, f"{len(meshes)} meshes")
        times = meshes[0].GetPointsAttr().GetTimeSamples()
        expect(times in ([], [steps for steps, _, _ in expected]), f"the times {times}")
        normals = UsdGeom.PrimvarsAPI(meshes[0]).GetPrimvar("normals")
        expect(not normals or normals.GetTimeSamples() == times, "normals at other times than points")
        pairs = [(meshes[0], Usd.TimeCode(steps)) for steps, _, _ in expected]
    else:
        expected = [part for part in expected if part[2]] or [part for part in expected if part[1]]
        if not any(corners for _, _, corners in expected):
            meshes = [UsdGeom.Points(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Points)]
        expect(len(meshes) == len(expected), f"{len(meshes)} meshes, where {len(expected)} are expected")
        pairs = [(mesh, Usd.TimeCode.Default()) for mesh in meshes]
    for (mesh, time), (_, points, corners) in zip(pairs, expected):
        check_mesh(mesh, time, points, corners)
    return len(expected)


def check_references(path):
    """A stage of another rate has each sample at the second at which the file has it."""
    own = Usd.Stage.Open(str(path))
    sampled = [
        attribute
        for prim in own.Traverse()
        for attribute in prim.GetAttributes()
        if attribute.GetName() in ("points", "translations", "rotations") and attribute.GetNumTimeSamples() > 1
    ]
    for rate in (24, 25, 30, 60) if sampled else ():
        shot = Usd.Stage.CreateInMemory()
        shot.SetTimeCodesPerSecond(rate)
        shot.OverridePrim("/shot").GetReferences().AddReference(str(path))
        for attribute in sampled:
            there = attribute.GetPath().ReplacePrefix(own.GetDefaultPrim().GetPath(), "/shot")
            codes = shot.GetAttributeAtPath(there).GetTimeSamples()
            seconds = [code / own.GetTimeCodesPerSecond() for code in attribute.GetTimeSamples()]
            expect(len(codes) == len(seconds), f"{there} at {rate}: {len(codes)} samples")
            late = max(abs(code / rate - second) for code, second in zip(codes, seconds))
            expect(late < 1e-9 * max(1.0, seconds[-1]), f"{there} at {rate}: a sample is {late} s late")
            if own.GetTimeCodesPerSecond() == rate:
                whole = attribute.GetTimeSamples()
                expect(codes == whole, f"{there} at {rate}: samples between the frames of the file")
    return len(sampled)


def main():
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.usd[cz]"))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    wrong = compared = sampled = 0
    for path in paths:
        try:
            compared += check(path, validators)
            sampled += check_references(path)
        except Exception as error:
            print(f"{path.name}: {error}")
            wrong += 1
    print(
        f"usd-core: {len(paths)} files, {compared} meshes and snapshots, {len(validators)} validators, "
        f"{sampled} attributes in stages of four rates, {wrong} files wrong"
    )
    return 1 if wrong or not paths else 0


sys.exit(main())
