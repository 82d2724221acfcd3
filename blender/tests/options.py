# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the options of the importers in Blender: `python options.py DATA`, where DATA is the folder with files of all formats.

Exit status 1 after a failure. Needs `bpy`, and a profile with the extension in BLENDER_USER_RESOURCES.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

from worker import EXTENSION, import_file, positions_of, triangles_of

DATA = Path(sys.argv[1])
IQM = DATA / "iqm/valid/skin_multi_anim.iqm"


def objects_of(path: Path, **options) -> dict[str, bpy.types.Object]:
    objects, refusal = import_file(path, **options)
    assert not refusal, refusal
    return {each.name: each for each in objects}


def first_mesh(objects: dict[str, bpy.types.Object]) -> bpy.types.Object:
    return next(each for each in objects.values() if each.type == "MESH")


def levels_are_collections() -> None:
    path = DATA / "slmesh/valid/nodemv_02_static_4lod.slmesh"
    objects = objects_of(path, all_levels=True, physics=True)
    names = {collection.name for collection in bpy.data.collections}
    assert {f"{path.stem}_high_lod", f"{path.stem}_lowest_lod"} <= names, names
    shown = [each.name for each in objects.values() if not each.hide_render]
    assert shown == [f"{path.stem}_high_lod"], shown


def several_files_are_imported_at_once() -> None:
    folder = DATA / "openctm/valid"
    names = [path.name for path in sorted(folder.glob("*.ctm"))[:3]]
    bpy.data.batch_remove(list(bpy.data.objects))
    done = bpy.ops.import_scene.meshmap_openctm(directory=str(folder), files=[{"name": name} for name in names])
    assert done == {"FINISHED"} and len(bpy.data.objects) >= 3


def a_file_of_another_format_names_its_importer() -> None:
    try:
        bpy.ops.import_scene.meshmap_openctm(filepath=str(IQM))
    except RuntimeError as error:
        assert "File > Import > IQM" in str(error), error
    else:
        raise AssertionError("imported")


def faces_are_flipped() -> None:
    path = sorted((DATA / "openctm/valid").glob("*RAW*.ctm"))[0]
    before = triangles_of(first_mesh(objects_of(path)).data)
    after = triangles_of(first_mesh(objects_of(path, flip_faces=True)).data)
    assert np.array_equal(before[:, [0, 2, 1]], after)


def the_up_axis_turns_objects_and_not_vertices() -> None:
    path = sorted((DATA / "openctm/valid").glob("*RAW*.ctm"))[0]
    target = first_mesh(objects_of(path, up="Y", scale=2.0))
    assert np.allclose(target.matrix_world @ Vector((0, 1, 0)), (0, 0, 2), atol=1e-6)


def many_materials_become_an_attribute() -> None:
    for path in sorted((DATA / "cgeo/valid").glob("*.cgeo")):
        objects, refusal = import_file(path)
        if refusal or len(first_mesh({each.name: each for each in objects}).data.materials) < 2:
            continue
        mesh = first_mesh({each.name: each for each in objects}).data
        slots = len(mesh.materials)
        mesh = first_mesh(objects_of(path, max_materials=1)).data
        assert len(mesh.materials) == 1, len(mesh.materials)
        ids = {each.value for each in mesh.attributes["material_id"].data}
        assert len(ids) == slots, (ids, slots)
        return
    raise AssertionError("no file has two materials")


def images_are_found_beside_the_file_and_in_a_folder() -> None:
    def images(path: Path, **options) -> list[str]:
        bpy.data.batch_remove(list(bpy.data.images))
        material = first_mesh(objects_of(path, **options)).data.materials[0]
        nodes = material.node_tree.nodes if material.node_tree else []
        found = [node for node in nodes if node.type == "TEX_IMAGE"]
        assert all(tuple(node.image.size) == (64, 64) and node.outputs["Color"].is_linked for node in found)
        return [Path(bpy.path.abspath(node.image.filepath)).name for node in found]

    path = DATA / "textures/crate.iqm"
    assert images(path) == ["crate.png"]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(path, folder))
        assert images(copy) == []
        assert images(copy, textures=str(path.parent)) == ["crate.png"]


def animations_come_from_another_file() -> None:
    objects_of(IQM, animations=False)
    assert not bpy.data.actions
    objects_of(IQM, animation_file=str(IQM))
    names = sorted(action.name for action in bpy.data.actions)
    assert len(names) == 8, names


def triangles_that_change_are_built_again() -> None:
    import meshmap

    found = 0
    for path in sorted((DATA / "cgeo/valid").glob("*.cgeo")):
        with meshmap.open(path) as file:
            count = len(file.snapshots)
            if count < 2:
                continue
            order = [0, 2, 1] if meshmap.scene(file).turns_triangles else [0, 1, 2]
            try:
                decoded = [snapshot.decode(parts=["positions", "triangles"]) for snapshot in file.snapshots]
            except meshmap.Error:
                continue
            objects, refusal = import_file(path, interpolation="NEAREST")
            if refusal:
                continue
            mesh = first_mesh({each.name: each for each in objects}).data
            step = next((shape.step for shape in meshmap.scene(file).shapes), None) or 1 / 24
            fps = bpy.context.scene.render.fps
            for number, one in enumerate(decoded):
                at = mesh.meshmap_playback.first_frame + number * step * fps
                bpy.context.scene.frame_set(int(at // 1), subframe=at % 1)
                expected = np.where(np.isfinite(one.positions), one.positions, 0)
                assert positions_of(mesh).tobytes() == expected.astype(np.float32).tobytes(), (path.name, number)
                corners = one.triangles.positions
                a, b, c = corners.T
                usable = corners[(a != b) & (b != c) & (c != a)]
                assert np.array_equal(triangles_of(mesh), usable[:, order]), (path.name, number)
            found += len({one.triangles.positions.tobytes() for one in decoded}) > 1
    assert found, "no file has snapshots with different triangles"


def snapshots_become_shape_keys() -> None:
    import meshmap

    path = DATA / "cgeo/valid/anim_a.cgeo"
    bpy.context.scene.frame_set(1)
    mesh = first_mesh(objects_of(path, animation="SHAPE_KEYS", set_frame_rate=True)).data
    with meshmap.open(path) as file:
        assert len(mesh.shape_keys.key_blocks) == len(file.snapshots) + 1
        assert not mesh.meshmap_playback.is_playing
        key = np.empty(len(mesh.vertices) * 3, np.float32)
        mesh.shape_keys.key_blocks[3].data.foreach_get("co", key)
        assert np.allclose(key.reshape(-1, 3), file.snapshots[2].positions(), atol=1e-6)


def edited_meshes_are_not_overwritten() -> None:
    objects = objects_of(DATA / "cgeo/valid/anim_a.cgeo")
    mesh = first_mesh(objects).data
    mesh.clear_geometry()
    bpy.context.scene.frame_set(3)
    assert len(mesh.vertices) == 0
    problem = sys.modules[f"{EXTENSION}.player.playback"].problems[mesh.session_uid]
    assert "turn off Play" in problem, problem


def undo_and_presets_are_offered() -> None:
    for name in ("cgeo", "iqm", "openctm", "slmesh", "tmf"):
        options = getattr(bpy.types, f"IMPORT_SCENE_OT_meshmap_{name}").bl_options
        assert {"UNDO", "PRESET"} <= options, options


CHECKS = [
    levels_are_collections,
    several_files_are_imported_at_once,
    a_file_of_another_format_names_its_importer,
    faces_are_flipped,
    the_up_axis_turns_objects_and_not_vertices,
    many_materials_become_an_attribute,
    images_are_found_beside_the_file_and_in_a_folder,
    animations_come_from_another_file,
    triangles_that_change_are_built_again,
    snapshots_become_shape_keys,
    edited_meshes_are_not_overwritten,
    undo_and_presets_are_offered,
]

if __name__ == "__main__":
    bpy.ops.preferences.addon_enable(module=EXTENSION)
    failures = 0
    for check in CHECKS:
        try:
            check()
            print(f"ok    {check.__name__}")
        except Exception:
            failures += 1
            traceback.print_exc()
            print(f"FAIL  {check.__name__}")
    print(f"options: {failures} of {len(CHECKS)} checks failed")
    sys.exit(failures > 0)
