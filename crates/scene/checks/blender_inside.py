"""Runs inside Blender: imports files through the installed extension, and writes what it shows at a moment.

    python blender_inside.py    needs `bpy`, and a profile with the extension in BLENDER_USER_RESOURCES

Reads requests from standard input, one JSON object a line, and answers each with a line `RESULT` and a JSON object: `{"path"}`
imports a file, and `{"moment", "output"}` writes the arrays of all meshes to a file of NumPy.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np

EXTENSION = "bl_ext.user_default.meshmap_io"
IMPORTERS = {".cgeo": "cgeo", ".iqm": "iqm", ".ctm": "openctm", ".tmf": "tmf"}


def clear() -> None:
    data = bpy.data
    for blocks in (data.objects, data.meshes, data.armatures, data.materials, data.actions, data.collections, data.images):
        data.batch_remove(list(blocks))


def open_file(request: dict[str, Any]) -> dict[str, Any]:
    clear()
    bpy.context.scene.frame_set(1)
    path = Path(request["path"])
    importer = getattr(bpy.ops.import_scene, f"meshmap_{IMPORTERS.get(path.suffix, 'slmesh')}")
    try:
        importer(filepath=str(path), **request.get("options", {}))
    except RuntimeError as error:
        return {"absent": str(error).strip()}
    images = [Path(bpy.path.abspath(image.filepath)).name for image in bpy.data.images if image.source == "FILE"]
    return {
        "names": [material.name for material in bpy.data.materials] + images,
        "is_skinned": any(each.vertex_groups for each in bpy.data.objects if each.type == "MESH"),
    }


def show(moment: dict[str, Any]) -> str:
    """Sets the frame and the action. Returns the reason if the file does not have the moment."""
    scene = bpy.context.scene
    rate = scene.render.fps / scene.render.fps_base
    for armature in bpy.data.armatures:
        armature.pose_position = "REST" if moment["kind"] == "rest" else "POSE"
    first = float(scene.frame_start)
    if moment["kind"] == "clip":
        rig = next((each for each in bpy.data.objects if each.type == "ARMATURE"), None)
        action = bpy.data.actions.get(moment["name"][:63])
        if rig is None or action is None:
            return f"no action of this name; {len(bpy.data.actions)} actions"
        rig.animation_data_create()
        rig.animation_data.action = action
        rig.animation_data.action_slot = action.slots[0]
        # Channels that this action does not have would keep what another one has set.
        for bone in rig.pose.bones:
            bone.matrix_basis.identity()
    played = (
        [mesh.meshmap_playback for mesh in bpy.data.meshes if mesh.meshmap_playback.filepath] if moment["kind"] != "clip" else []
    )
    if played:
        first = played[0].first_frame
    frame = first + moment["seconds"] * rate
    scene.frame_set(math.floor(frame), subframe=frame - math.floor(frame))
    return ""


def numbers(collection: Any, name: str, width: int) -> Any:
    values = np.empty(len(collection) * width, np.float32)
    collection.foreach_get(name, values)
    return values.reshape(-1, width)


def arrays_of(target: Any) -> dict[str, Any]:
    """The arrays of a mesh after its modifiers, one row for each corner or point."""
    mesh = target.data
    matrix = np.array(target.matrix_world, float)
    positions = numbers(mesh.vertices, "co", 3).astype(float) @ matrix[:3, :3].T + matrix[:3, 3]
    corners = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    if not len(corners):
        corners = np.arange(len(positions), dtype=np.int32)
    out = {
        "positions": positions[corners],
        "is_points": np.array(not len(mesh.loops)),
        "is_mirrored": np.array(np.linalg.det(matrix[:3, :3]) < 0),
    }
    if len(mesh.loops):
        assert all(polygon.loop_total == 3 for polygon in mesh.polygons)
        if mesh.has_custom_normals:
            out["normals"] = numbers(mesh.corner_normals, "vector", 3) @ np.linalg.inv(matrix[:3, :3])
        if len(mesh.uv_layers):
            out["texcoords"] = numbers(mesh.uv_layers[0].uv, "vector", 2)
    colors = mesh.color_attributes
    if len(colors) and colors[0].data_type == "FLOAT_COLOR":
        values = numbers(colors[0].data, "color", 4)
        out["colors"] = values[corners] if colors[0].domain == "POINT" else values
    return out


def is_shown(target: Any, moment: dict[str, Any]) -> bool:
    """True for what is visible; of a level of detail, which may be hidden, for what is in its collection."""
    if moment["kind"] == "level" and moment["name"] != "all":
        return any(collection.name.endswith(f"_{moment['name']}") for collection in target.users_collection)
    return not target.hide_render and target.visible_get()


def write(request: dict[str, Any]) -> dict[str, Any]:
    absent = show(request["moment"])
    if absent:
        return {"absent": absent}
    graph = bpy.context.evaluated_depsgraph_get()
    arrays: dict[str, Any] = {}
    count = 0
    for target in bpy.data.objects:
        if target.type == "MESH" and is_shown(target, request["moment"]):
            arrays |= {f"{name}{count}": array for name, array in arrays_of(target.evaluated_get(graph)).items()}
            count += 1
    joints = []
    for rig in bpy.data.objects:
        if rig.type == "ARMATURE":
            rest = rig.data.pose_position == "REST"
            heads = [bone.head_local for bone in rig.data.bones] if rest else [bone.head for bone in rig.pose.bones]
            joints += [list(rig.matrix_world @ head) for head in heads]
    arrays["joints"] = np.array(joints, float).reshape(-1, 3)
    np.savez(request["output"], **arrays)
    return {"count": count}


def main() -> None:
    bpy.ops.preferences.addon_enable(module=EXTENSION)
    for line in sys.stdin:
        request = json.loads(line)
        answer = open_file(request) if "path" in request else write(request)
        print("\nRESULT " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
