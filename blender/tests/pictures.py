# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders files through the installed extension, to be looked at: `python pictures.py OUT FILE..`

Two frames of what is animated, every level of detail of Second Life meshes, else one picture. GLB and USD files go through
Blender's own importers. A picture without the mesh is an error. Needs `bpy`, and a profile with the extension in BLENDER_USER_RESOURCES.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

from worker import EXTENSION, import_file

SIZE = 400


def stage() -> None:
    """An empty scene with a light from above and a grey background, which Cycles renders without a GPU."""
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples, scene.cycles.seed = "CPU", 8, 0
    scene.cycles.use_denoising = False
    scene.render.resolution_x = scene.render.resolution_y = SIZE
    scene.render.resolution_percentage = 100
    scene.render.film_transparent = True
    scene.render.image_settings.file_format = "PNG"
    scene.world = bpy.data.worlds.new("world")
    scene.world.color = 0.25, 0.25, 0.25


def add_camera(objects: list[bpy.types.Object]) -> None:
    """A camera and a sun that see all objects from the front right."""
    graph = bpy.context.evaluated_depsgraph_get()
    graph.update()
    corners = [
        each.matrix_world @ Vector(corner)
        for each in objects
        if each.type == "MESH"
        for corner in each.evaluated_get(graph).bound_box
    ]
    low, high = (np.array(corners).min(axis=0), np.array(corners).max(axis=0))
    middle, radius = Vector((low + high) / 2), max(float(np.linalg.norm(high - low)) / 2, 1e-6)
    scene = bpy.context.scene
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    towards = Vector((0.5, -1.0, 0.45)).normalized()
    camera.location = middle + towards * radius * 3.2
    camera.rotation_euler = (-towards).to_track_quat("-Z", "Y").to_euler()
    camera.data.clip_start, camera.data.clip_end = radius / 100, radius * 100
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy = 3
    sun.rotation_euler = 0.6, 0.3, 0.2
    for each in (camera, sun):
        scene.collection.objects.link(each)
    scene.camera = camera


def render(path: Path) -> np.ndarray:
    """The pixels of the picture that is written, `[height, width, 4]`."""
    scene = bpy.context.scene
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(path))
    pixels = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(pixels)
    bpy.data.images.remove(image)
    covered = float((pixels[3::4] > 0).mean())
    if covered < 0.005:
        raise SystemExit(f"{path}: the mesh covers {covered:.1%} of the picture")
    print(f"{path}: the mesh covers {covered:.0%}")
    return pixels.reshape(scene.render.resolution_y, scene.render.resolution_x, 4)


def pictures(path: Path, out: Path) -> None:
    stage()
    scene = bpy.context.scene
    is_second_life = path.suffix in (".slmesh", ".llmesh", ".slm")
    if path.suffix == ".glb":
        bpy.ops.import_scene.gltf(filepath=str(path))
        # Without the shapes that the importer makes for bones.
        objects = [each for each in scene.objects if each.visible_get()]
        scene.frame_end = max((int(action.frame_range[1]) for action in bpy.data.actions), default=1)
    elif path.suffix == ".usdc":
        bpy.ops.wm.usd_import(filepath=str(path))
        objects = list(scene.objects)
    else:
        objects, refusal = import_file(path, **({"all_levels": True} if is_second_life else {}))
        if refusal:
            raise SystemExit(f"{path}: {refusal}")
    if is_second_life:
        meshes = [each for each in objects if each.type == "MESH"]
        add_camera(meshes)
        for shown in meshes:
            for each in meshes:
                each.hide_render = each != shown
            render(out / f"{shown.name}.png")
        return
    rig = next((each for each in objects if each.type == "ARMATURE"), None)
    end = scene.frame_end
    if rig is not None and rig.animation_data is not None:
        end = int(rig.animation_data.action.frame_range[1])
        scene.frame_set(1 + (end - 1) // 3)
    meshes = [each for each in objects if each.type == "MESH"]
    is_played = any(each.data.meshmap_playback.is_playing or each.data.shape_keys or each.modifiers for each in meshes)
    is_animated = is_played or rig is not None and rig.animation_data is not None
    add_camera(objects)
    frames = [1 + (end - 1) // 3, 1 + (end - 1) * 2 // 3] if is_animated and end > 1 else [1]
    found = []
    for frame in frames:
        scene.frame_set(frame)
        found.append(render(out / f"{path.name}_{frame}.png"))
    if len(found) > 1 and frames[0] != frames[1] and np.array_equal(found[0], found[1]):
        raise SystemExit(f"{path}: frames {frames[0]} and {frames[1]} look the same")


if __name__ == "__main__":
    bpy.ops.preferences.addon_enable(module=EXTENSION)
    for name in sys.argv[2:]:
        pictures(Path(name), Path(sys.argv[1]))
