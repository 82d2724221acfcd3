# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports files through the installed extension, and compares them with the Python package. Run by `corpus.py`.

    python worker.py < paths      one path per line; prints one JSON object per line

Needs `bpy`, and a profile with the extension in BLENDER_USER_RESOURCES.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from pathlib import Path

import bpy
import numpy as np

EXTENSION = "bl_ext.user_default.meshmap_io"
IMPORTERS = {".cgeo": "cgeo", ".iqm": "iqm", ".ctm": "openctm", ".tmf": "tmf"}


class Differs(AssertionError):
    """Blender has other values than the file."""


def clear() -> None:
    data = bpy.data
    for blocks in (data.objects, data.meshes, data.armatures, data.materials, data.actions, data.collections):
        data.batch_remove(list(blocks))


def import_file(path: Path, **options) -> tuple[list[bpy.types.Object], str]:
    """The objects of a file; and why it was refused."""
    clear()
    importer = getattr(bpy.ops.import_scene, f"meshmap_{IMPORTERS.get(path.suffix, 'slmesh')}")
    try:
        importer(filepath=str(path), **options)
    except RuntimeError as error:
        return [], str(error).strip()
    return list(bpy.data.objects), ""


def positions_of(mesh: bpy.types.Mesh) -> np.ndarray:
    values = np.empty(len(mesh.vertices) * 3, np.float32)
    if len(values):
        mesh.attributes["position"].data.foreach_get("vector", values)
    return values.reshape(-1, 3)


def triangles_of(mesh: bpy.types.Mesh) -> np.ndarray:
    values = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", values)
    return values.reshape(-1, 3)


def uvs_of(mesh: bpy.types.Mesh, index: int) -> np.ndarray:
    values = np.empty(len(mesh.loops) * 2, np.float32)
    mesh.uv_layers[index].uv.foreach_get("vector", values)
    return values.reshape(-1, 3, 2)


def normals_of(mesh: bpy.types.Mesh) -> np.ndarray:
    values = np.empty(len(mesh.loops) * 3, np.float32)
    mesh.corner_normals.foreach_get("vector", values)
    return values.reshape(-1, 3, 3)


def same(what: str, found: np.ndarray, expected: np.ndarray, tolerance: float = 0) -> None:
    if found.shape != expected.shape:
        raise Differs(f"{what}: {found.shape}, expected {expected.shape}")
    if tolerance == 0 and found.tobytes() == np.ascontiguousarray(expected, found.dtype).tobytes():
        return
    difference = float(np.abs(found.astype(np.float64) - expected).max(initial=0))
    if not difference <= tolerance:
        raise Differs(f"{what}: differs by {difference:.3g}")


def finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.float32(0))


def usable(triangles: np.ndarray, vertices: int) -> np.ndarray:
    a, b, c = triangles.T
    return (triangles < vertices).all(axis=1) & (a != b) & (b != c) & (c != a)


def whole(indices: np.ndarray) -> np.ndarray:
    """Corners of triangles, without the rest of an incomplete triangle."""
    return indices[: len(indices) // 3 * 3].reshape(-1, 3)


class Expected:
    """A mesh as the Python package reads it: an address of `File`, or faces of a level of detail."""

    def __init__(self, positions: np.ndarray, corners: np.ndarray, views: list, scene, shape: np.ndarray | None = None) -> None:
        keep = usable(corners, len(positions))
        self.positions = finite(positions)
        order = [0, 2, 1] if scene.turns_triangles else [0, 1, 2]
        self.triangles = corners[keep][:, order]

        def joined(name: str, width: int) -> np.ndarray | None:
            parts = [view[name][view.indices] if name in view else None for view in views]
            if all(part is None for part in parts):
                return None
            whole = [
                np.zeros((view.triangle_count, 3, width), np.float32) if part is None else part for part, view in zip(parts, views)
            ]
            return finite(np.concatenate(whole)[keep][:, order, :width])

        self.uv = joined("texcoord", 2)
        if self.uv is not None and self.uv.shape[-1] < 2:
            self.uv = None
        if self.uv is not None and views[0].conventions["v_origin"] == "top":
            self.uv = self.uv.copy()
            self.uv[..., 1] = 1 - self.uv[..., 1]
        self.normals = None if shape is not None else joined("normal", 3)
        colors = [finite(view["color"]) for view in views if "color" in view]
        self.is_colored = any(each.size and each.min() >= 0 and each.max() <= 1 for each in colors)
        self.light = None
        if self.is_colored and len(colors[0]) == len(self.positions):
            # sRGB as linear light.
            rgb = np.zeros((len(colors[0]), 3))
            rgb[:, : colors[0].shape[1]] = colors[0][:, :3]
            self.light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def bind_shape_of(file) -> np.ndarray | None:
    """The matrix that moves the vertices of a skin into its bind pose; None if it changes nothing."""
    import meshmap

    try:
        skin = file.skin
    except meshmap.Error:
        return None
    if skin is None or skin.bind_shape_matrix is None or not np.isfinite(skin.bind_shape_matrix).all():
        return None
    shape = skin.bind_shape_matrix.reshape(4, 4).T.astype(np.float64)
    return None if np.array_equal(shape[:3], np.eye(4)[:3]) else shape


def expected_meshes(file, path: Path) -> list[Expected]:
    import meshmap

    scene = meshmap.scene(file)
    if scene.are_points:
        return []
    if file.format == "cgeo":
        decoded = file.snapshots[0].decode()
        return [Expected(decoded.positions, decoded.triangles.positions, [file.snapshots[0].mesh()], scene)]
    if file.format == "tmf":
        stored = [(mesh, entry) for mesh, entry in zip(file.stored_meshes, file.meshes()) if mesh.positions is not None]
        empty = np.empty(0, np.uint32)
        found = []
        for mesh, entry in stored:
            corners = whole(empty if mesh.position_indices is None else mesh.position_indices)
            # Positions that no triangle uses are not drawn, unless vertices are the file's.
            view = file.mesh(entry.address)
            count = len(mesh.positions) if view.vertex_count == len(mesh.positions) else int(corners.max(initial=-1)) + 1
            found.append(Expected(mesh.positions[:count], corners, [view], scene))
        return found
    if file.format != "slmesh":
        views = [file.mesh(entry.address) for entry in file.meshes()]
        return [Expected(view["position"], view.indices, [view], scene) for view in views if "position" in view]
    shape = bind_shape_of(file)
    for level in file.lods:
        views = [file.mesh(entry.address) for entry in file.meshes() if entry.address.startswith(f"{level}.")]
        views = [view for view in views if view.vertex_count]
        if views:
            firsts = np.cumsum([0, *(view.vertex_count for view in views)])
            corners = np.concatenate([view.indices.astype(np.int64) + first for view, first in zip(views, firsts)])
            parts = []
            for view in views:
                positions = view["position"]
                if shape is not None and "joints" in view and "weights" in view:
                    positions = (positions.astype(np.float64) @ shape[:3, :3].T + shape[:3, 3]).astype(np.float32)
                parts.append(positions)
            moved = shape if any("joints" in view for view in views) else None
            return [Expected(np.concatenate(parts), corners, views, scene, moved)]
    return []


def size_of(positions: np.ndarray) -> float:
    """The largest number of positions."""
    return float(np.abs(positions).max(initial=0))


def compare_mesh(target: bpy.types.Object, expected: Expected, counts: dict[str, int]) -> None:
    mesh, name = target.data, target.name
    same(f"positions of {name}", positions_of(mesh), expected.positions, size_of(expected.positions) * 1e-6)
    same(f"triangles of {name}", triangles_of(mesh), expected.triangles.astype(np.int32))
    counts["meshes"] += 1
    if expected.uv is not None:
        same(f"UVs of {name}", uvs_of(mesh, 0), expected.uv)
        counts["uvs"] += 1
    if expected.light is not None:
        found = np.empty(len(mesh.vertices) * 4, np.float32)
        mesh.color_attributes[0].data.foreach_get("color", found)
        if np.abs(found.reshape(-1, 4)[:, :3] - expected.light).max(initial=0) > 1e-6:
            raise Differs(f"colours of {name}: not linear light")
        counts["light"] += 1
    if expected.is_colored and len(expected.triangles):
        for material in mesh.materials or [None]:
            links = material.node_tree.links if material and material.node_tree else []
            if not any(link.from_node.type == "VERTEX_COLOR" for link in links):
                raise Differs(f"colours of {name}: not shown by its material")
        counts["colors"] += 1
    if expected.normals is not None and len(expected.normals):
        lengths = np.linalg.norm(expected.normals.astype(np.float64), axis=-1)
        is_usual = lengths > 0
        wanted = expected.normals / np.where(is_usual, lengths, 1)[..., None]
        # Normals of deformed meshes are stored as two 16-bit angles around Blender's own normal.
        is_deformed = bool(target.vertex_groups)
        tolerance = 2e-2 if is_deformed else 1e-5
        if is_deformed:
            # Triangles without an area have no normal to start from.
            is_usual &= np.linalg.norm(normals_of(mesh), axis=-1) > 0.5
        same(
            f"normals of {name}",
            np.where(is_usual[..., None], normals_of(mesh), 0),
            np.where(is_usual[..., None], wanted, 0),
            tolerance,
        )
        counts["normals"] += 1


def compare_hash(path: Path, file, objects: list[bpy.types.Object], counts: dict[str, int]) -> None:
    """Compares positions with the hash that another program made, for formats that store one array per mesh."""
    expectation = path.with_name(path.name + ".expect.json")
    names = {"cgeo": "snapshots[0].positions", "openctm": "positions", "tmf": "meshes[{}].vertices"}
    if file.format not in names or not expectation.is_file():
        return
    arrays = json.loads(expectation.read_text(encoding="utf-8")).get("arrays", {})
    for index, target in enumerate(objects):
        known = arrays.get(names[file.format].format(index))
        positions = positions_of(target.data)
        if known and len(objects) == len(file.meshes()) or file.format == "cgeo" and known:
            if known["shape"] == list(positions.shape) and np.isfinite(positions).all():
                if hashlib.sha256(positions.tobytes()).hexdigest() == known["sha256"]:
                    counts["hashes"] += 1
                elif not (positions == 0).any():
                    raise Differs(f"positions of {target.name}: another hash than in {expectation.name}")


def view_of(file, target: bpy.types.Object):
    """The mesh of the file that an object was made of."""
    wanted = positions_of(target.data).tobytes()
    views = [
        view for view in file.values() if "position" in view and finite(view["position"]).astype(np.float32).tobytes() == wanted
    ]
    name = re.sub(r"\.\d{3}$", "", target.name)
    return next((view for view in views if view.name == name), views[0])


def compare_skins(file, objects: list[bpy.types.Object], counts: dict[str, int], errors: list[float]) -> None:
    """Vertices that Blender moves, against matrices of the package, for all frames of all animations."""
    rig = next((each for each in objects if each.type == "ARMATURE"), None)
    if rig is None or file.format != "iqm" or rig.animation_data is None or file.skeleton is None:
        return
    scene = bpy.context.scene
    fps = scene.render.fps / scene.render.fps_base
    actions = list(bpy.data.actions)
    anims = {}
    for anim in file.anims:
        anims.setdefault(anim.name or "animation", anim)
    for action in actions:
        anim = anims.get(action.name)
        if anim is None or anim.num_frames == 0:
            continue
        rig.animation_data.action = action
        rig.animation_data.action_slot = action.slots[0]
        rate = anim.framerate if anim.framerate > 0 and np.isfinite(anim.framerate) else 24
        for number in range(anim.num_frames):
            at = scene.frame_start + number * fps / rate
            # Blender's frames have 24 bits of fraction; the last key may lie a rounding error before the frame.
            scene.frame_set(int(np.floor(at)), subframe=at - np.floor(at))
            frame = file.frames(anim.first_frame + number, anim.first_frame + number + 1)[0]
            matrices = file.skeleton.skinning_matrices(frame).astype(np.float64)
            graph = bpy.context.evaluated_depsgraph_get()
            for target in objects:
                if target.type != "MESH" or not target.vertex_groups:
                    continue
                view = view_of(file, target)
                joints, weights = view["joints"].astype(np.int64), view["weights"].astype(np.float64)
                weights = np.where((joints < len(matrices)) & np.isfinite(weights) & (weights > 0), weights, 0)
                sums = weights.sum(axis=1)
                if not sums.any():
                    continue
                weights = weights / np.where(sums > 0, sums, 1)[:, None]
                points = finite(view["position"]).astype(np.float64)
                homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
                moved = np.einsum("vj,vjab,vb->va", weights, matrices[np.minimum(joints, len(matrices) - 1)], homogeneous)
                moved[sums == 0] = points[sums == 0]
                found = positions_of(target.evaluated_get(graph).data)
                size = max(float(np.ptp(moved, axis=0).max()), float(np.ptp(points, axis=0).max()), 1e-6)
                error = float(np.abs(found - moved).max()) / size
                errors.append(error)
                counts["skinned"] += 1


def compare_snapshots(path: Path, file, counts: dict[str, int]) -> None:
    """Plays all snapshots of a file, also those with other triangles."""
    import meshmap

    if len(file.snapshots) < 2:
        return
    objects, refusal = import_file(path, interpolation="NEAREST")
    if refusal:
        raise Differs(f"played: {refusal}")
    mesh, scene = objects[0].data, bpy.context.scene
    step = next((shape.step for shape in meshmap.scene(file).shapes), None) or 1 / 24
    for number in range(len(file.snapshots)):
        try:
            expected = finite(file.snapshots[number].positions())
        except meshmap.Error:
            continue
        at = mesh.meshmap_playback.first_frame + number * step * scene.render.fps / scene.render.fps_base
        scene.frame_set(int(at // 1), subframe=at % 1)
        same(f"snapshot {number}", positions_of(mesh), expected)
        counts["snapshots"] += 1


def are_near(found: np.ndarray, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and bool((np.abs(found - expected) <= size_of(expected) * 1e-6).all())


def check(path: Path) -> dict:
    """Compares a file with its import."""
    import meshmap

    started = time.perf_counter()
    bpy.context.scene.frame_set(1)
    options = {"animation": "NONE"} if path.suffix == ".cgeo" else {}
    objects, refusal = import_file(path, **options)
    result = {"path": str(path), "seconds": time.perf_counter() - started, "refused": refusal}
    if refusal:
        return result
    counts = dict.fromkeys(["meshes", "uvs", "colors", "light", "normals", "hashes", "skinned", "armatures", "actions", "snapshots"], 0)
    counts["armatures"] = sum(each.type == "ARMATURE" for each in objects)
    counts["actions"] = len(bpy.data.actions)
    meshes = [each for each in objects if each.type == "MESH"]
    errors: list[float] = []
    with meshmap.open(path) as file:
        try:
            expected = expected_meshes(file, path)
        except meshmap.Error as error:
            result["not_compared"] = str(error)
            expected = []
        try:
            # By position, because Blender renames and sorts objects.
            for each in expected:
                matches = [it for it in meshes if are_near(positions_of(it.data), each.positions)]
                matches = [it for it in matches if len(it.data.polygons) == len(each.triangles)] or matches
                if not matches:
                    raise Differs(f"no object has the {len(each.positions):,} positions of a mesh")
                problems = []
                for match in matches:
                    try:
                        compare_mesh(match, each, counts)
                        break
                    except Differs as error:
                        problems.append(error)
                else:
                    raise problems[0]
            compare_hash(path, file, meshes, counts)
            compare_skins(file, objects, counts, errors)
            if file.format == "cgeo":
                compare_snapshots(path, file, counts)
        except Differs as error:
            result["differs"] = str(error)
    result |= counts
    if errors:
        result["skin_error"] = max(errors)
    return result


def main() -> None:
    bpy.ops.preferences.addon_enable(module=EXTENSION)
    print("\nRESULT " + json.dumps({"ready": bpy.app.version_string}), flush=True)
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        print("\nRESULT " + json.dumps(check(path)), flush=True)


if __name__ == "__main__":
    main()
