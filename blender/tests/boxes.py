# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes around the objects that Blender's own imports make of converted files, compared with the boxes of the mesh files.

    python boxes.py MESHMAP FOLDER    the command, and the folder of test files

Each target is imported with the usual settings. An object has to stand upright, and in metres if the file knows its unit; STL has no unit, and
its numbers are millimetres.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import bpy

# The axis that points up, and the unit in metres if the file knows it.
FILES = {
    "cgeo/valid/anim_a.cgeo": ("z", 0.01),
    "iqm/valid/skin_multi_anim.iqm": ("z", None),
    "iqm/valid/fmt_half.iqm": ("z", None),
    "openctm/valid/conv_sphere_obj_MG1.ctm": ("y", None),
    "slmesh/valid/nodemv_02_static_4lod.slmesh": ("z", 1.0),
    "tmf/valid/v021_unified_cube.tmf": ("y", None),
}
IMPORTS = {
    "glb": lambda path: bpy.ops.import_scene.gltf(filepath=path),
    "usdc": lambda path: bpy.ops.wm.usd_import(filepath=path),
    "obj": lambda path: bpy.ops.wm.obj_import(filepath=path),
    "ply": lambda path: bpy.ops.wm.ply_import(filepath=path),
    "stl": lambda path: bpy.ops.wm.stl_import(filepath=path),
}


def expected(meshmap: str, path: Path) -> tuple[list[list[float]], float | None]:
    """The box in Blender's axes, and the length of 1 in metres."""
    info = json.loads(subprocess.run([meshmap, "info", "--json", "--full", path], check=True, capture_output=True).stdout)
    boxes = [mesh["box"] for mesh in info["meshes"] if mesh["box"] and is_drawn(mesh["address"])]
    low = [min(box[0][axis] for box in boxes) for axis in range(3)]
    high = [max(box[1][axis] for box in boxes) for axis in range(3)]
    up, metres = FILES["/".join(path.parts[-3:])]
    if up == "y":
        low, high = [low[0], -high[2], low[1]], [high[0], -low[2], high[1]]
    return [low, high], metres


def is_drawn(address: str) -> bool:
    """True if the usual conversion has the mesh in its first frame."""
    if address.startswith("snapshots"):
        return address == "snapshots[0]"
    return not address.startswith(("medium_lod", "low_lod", "lowest_lod", "physics"))


def imported(target: str, path: str) -> list[list[float]]:
    """The box around all meshes in the world, without modifiers."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    IMPORTS[target](path)
    bpy.context.view_layer.update()
    points = [
        object.matrix_world @ vertex.co
        for object in bpy.data.objects
        # The import of glTF adds a sphere that bones are drawn as.
        if object.type == "MESH" and "glTF_not_exported" not in [each.name for each in object.users_collection]
        for vertex in object.data.vertices
    ]
    return [[pick(point[axis] for point in points) for axis in range(3)] for pick in (min, max)]


def main(meshmap: str, root: Path) -> None:
    """Compares all files in all targets."""
    compared = 0
    for name in FILES:
        box, metres = expected(meshmap, root / name)
        for target in IMPORTS:
            with tempfile.TemporaryDirectory() as folder:
                output = str(Path(folder, f"out.{target}"))
                subprocess.run([meshmap, "convert", root / name, "-o", output, "-q"], check=True)
                found = imported(target, output)
            scale = (metres or 1.0) * (1000.0 if target == "stl" and metres is not None else 1.0)
            wanted = [[number * scale for number in corner] for corner in box]
            size = max(high - low for low, high in zip(*wanted))
            apart = max(abs(a - b) for pair in zip(found, wanted) for a, b in zip(*pair))
            print(f"{name} as {target}: {[[round(n, 4) for n in corner] for corner in found]}, apart {apart:.2g}")
            assert apart < 1e-4 * size, (name, target, found, wanted)
            compared += 1
    print(f"{compared} boxes are equal")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
