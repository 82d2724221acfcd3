"""Reads USD files with usd-core, and compares them with what the library says.

    usd.py FOLDER    every NAME.usdc of the folder: all validators are silent, and the points and triangles are the bits
                     of NAME.geometry, which the example `geometry` wrote: of each snapshot of a CGeo file, and of each
                     mesh of others. Triangles with two equal corners are left out, and a file of nothing but these has
                     its vertices as points
"""

import pathlib
import struct
import sys

from pxr import Usd, UsdGeom, UsdShade, UsdValidation


def parts(path):
    """Positions and corners, as bytes, of each snapshot or mesh."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        points, corners = struct.unpack_from("<II", data, place)
        place += 8
        middle, end = place + points * 12, place + points * 12 + corners * 4
        yield data[place:middle], drawn(data[middle:end])
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
        elements = of[primvar.GetInterpolation()]
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
        expect(times in ([], [float(time) for time in range(len(expected))]), f"the times {times}")
        normals = UsdGeom.PrimvarsAPI(meshes[0]).GetPrimvar("normals")
        expect(not normals or normals.GetTimeSamples() == times, "normals at other times than points")
        pairs = [(meshes[0], Usd.TimeCode(time)) for time in range(len(expected))]
    else:
        expected = [part for part in expected if part[1]] or [part for part in expected if part[0]]
        if not any(corners for _, corners in expected):
            meshes = [UsdGeom.Points(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Points)]
        expect(len(meshes) == len(expected), f"{len(meshes)} meshes, where {len(expected)} are expected")
        pairs = [(mesh, Usd.TimeCode.Default()) for mesh in meshes]
    for (mesh, time), (points, corners) in zip(pairs, expected):
        check_mesh(mesh, time, points, corners)
    return len(expected)


def main():
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.usdc"))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    wrong = compared = 0
    for path in paths:
        try:
            compared += check(path, validators)
        except Exception as error:
            print(f"{path.name}: {error}")
            wrong += 1
    print(f"usd-core: {len(paths)} files, {compared} meshes and snapshots, {len(validators)} validators, {wrong} files wrong")
    return 1 if wrong or not paths else 0


sys.exit(main())
