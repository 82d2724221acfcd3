"""Reads OBJ, PLY and STL with trimesh and meshio, and compares them with what the library says.

    read_back.py FOLDER    every NAME.obj, NAME.ply and NAME.stl of the folder: the corners of all triangles are at the
                           positions of NAME.geometry, which the example `geometry` wrote, and points of files without
                           triangles as well: bit for bit, as far as the readers keep them
"""

import pathlib
import re
import struct
import sys

import meshio
import numpy
import trimesh


def expected(path, snapshots):
    """The positions of the corners of all triangles, and of all points."""
    data, place, corners, vertices = path.read_bytes(), 0, [numpy.empty((0, 3, 3), "f4")], [numpy.empty((0, 3), "f4")]
    while place < len(data):
        _, count, indices = struct.unpack_from("<dII", data, place)
        place += 16
        points = numpy.frombuffer(data, "<f4", count * 3, place).reshape(-1, 3)
        place += count * 12
        vertices.append(points)
        corners.append(points[numpy.frombuffer(data, "<u4", indices, place)].reshape(-1, 3, 3))
        place += indices * 4
        if snapshots:
            # These targets hold the first.
            break
    return numpy.concatenate(corners), numpy.concatenate(vertices)


def of_trimesh(path):
    scene = trimesh.load(path, process=False, maintain_order=True, force="scene")
    meshes = scene.geometry.values()
    corners = [mesh.vertices[mesh.faces] for mesh in meshes if hasattr(mesh, "faces")]
    return numpy.concatenate(corners or [mesh.vertices for mesh in meshes])


def of_meshio(path):
    mesh = meshio.read(path)
    corners = [mesh.points[cells.data] for cells in mesh.cells if cells.type == "triangle"]
    return numpy.concatenate(corners or [mesh.points])


def is_beyond_meshio(path):
    """It takes no numbers of materials in PLY, and in OBJ no colours, and no normals and coordinates with indices of their own."""
    data = path.read_bytes()
    if path.suffix == ".ply":
        return b"property int material_index\n" in data[:4096]
    counts = {len(re.findall(rb"^%s " % kind, data, re.MULTILINE)) for kind in (b"v", b"vt", b"vn")}
    has_colors = re.search(rb"^v( \S+){6}$", data, re.MULTILINE) is not None
    return path.suffix == ".obj" and (has_colors or len(counts - {0}) > 1)


def ordered(corners):
    """Triangles, or points, in an order that does not depend on the order of objects and materials."""
    rows = numpy.asarray(corners, dtype="f4").reshape(len(corners), -1) + 0.0
    return rows[numpy.lexsort(rows.T)]


def check(path, read):
    corners, points = expected(path.with_suffix(".geometry"), path.stem.endswith(".cgeo"))
    found = read(path)
    kind, wanted = ("triangles", corners) if found.ndim == 3 else ("points", points)
    if not numpy.array_equal(ordered(wanted), ordered(found)):
        raise ValueError(f"{len(found)} {kind} are others than the {len(wanted)} of the file")
    return len(wanted)


def main():
    wrong = 0
    paths = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.suffix in (".obj", ".ply", ".stl"))
    for name, read, is_beyond in (("trimesh", of_trimesh, lambda _: False), ("meshio", of_meshio, is_beyond_meshio)):
        files = triangles = beyond = 0
        for path in paths:
            if is_beyond(path):
                beyond += 1
                continue
            try:
                triangles += check(path, read)
                files += 1
            except Exception as error:
                print(f"{name}: {path.name}: {type(error).__name__}: {error}")
                wrong += 1
        print(f"{name}: {files} files, {triangles} triangles and points where the library has them; {beyond} files that it cannot read")
    return 1 if wrong or not paths else 0


sys.exit(main())
