# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays, saves, reopens, bakes and renders a CGeo animation through the installed extension. Run by `.ci/blender`.

    python player.py PROXY OUT      PROXY has many snapshots with the same triangles, OUT is a folder for pictures

Compares the mesh of each frame with the snapshots that the Python package decodes, and prints times. Exit status 1 after a
difference. Needs `bpy`, and a profile with the extension in BLENDER_USER_RESOURCES.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import bpy
import numpy as np

from pictures import add_camera, render, stage
from worker import EXTENSION, positions_of


def evaluated(target: bpy.types.Object) -> np.ndarray:
    return positions_of(target.evaluated_get(bpy.context.evaluated_depsgraph_get()).data)


def need(condition: bool, problem: str) -> None:
    if not condition:
        raise SystemExit(f"player: {problem}")


def equal(what: str, found: np.ndarray, expected: np.ndarray, tolerance: float = 0) -> None:
    difference = float(np.abs(found - expected).max()) if found.shape == expected.shape else float("nan")
    need(difference <= tolerance, f"{what}: differs by {difference}")


def start(proxy: Path, **options) -> bpy.types.Object:
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.context.scene.render.fps = 25
    need(bpy.ops.import_scene.meshmap_cgeo(filepath=str(proxy), **options) == {"FINISHED"}, "not imported")
    return next(each for each in bpy.data.objects if each.type == "MESH")


def frame_of(file, number: int) -> float:
    """The frame of the scene that shows a snapshot."""
    import meshmap

    step = next((shape.step for shape in meshmap.scene(file).shapes), None) or 1 / 24
    return 1 + number * step * 25


def show(frame: float) -> None:
    bpy.context.scene.frame_set(int(frame // 1), subframe=frame % 1)


def interpolated(file, place: float) -> np.ndarray:
    first = int(place)
    a, b = (file.snapshots[min(index, len(file.snapshots) - 1)].positions() for index in (first, first + 1))
    return a + (b - a) * np.float32(place - first)


def main(proxy: Path, out: Path) -> None:
    import meshmap

    out.mkdir(parents=True, exist_ok=True)
    file = meshmap.open(proxy)
    count = len(file.snapshots)
    started = time.process_time(), time.perf_counter()
    target = start(proxy)
    print(f"import: {time.perf_counter() - started[1]:.2f} s, {time.process_time() - started[0]:.2f} s of CPU")
    mesh = target.data
    need(mesh.meshmap_playback.is_playing, "the mesh does not play")
    print(f"{len(mesh.vertices):,} vertices, {count} snapshots, UV maps: {len(mesh.uv_layers)}")

    frames = [frame_of(file, number) for number in range(count)]

    def cpu_per_frame(work) -> float:
        """Milliseconds of CPU time of all threads, including the threads that prefetch."""
        started = time.process_time()
        for each in range(count):
            work(each)
        return (time.process_time() - started) / count * 1000

    player = sys.modules[f"{EXTENSION}.player.playback"]
    # With all results kept in memory, as the player keeps them.
    kept = []
    bare = cpu_per_frame(lambda number: kept.append(file.snapshots[number].positions()))
    kept.clear()
    show(frames[-1])
    player.clips.close()
    cold, warm = (cpu_per_frame(lambda number: show(frames[number])) for _ in range(2))
    print(f"CPU per frame: bare decode {bare:.1f} ms, cold {cold:.1f} ms, warm {warm:.1f} ms")
    need(warm <= 10, "a frame that is decoded takes more than 10 ms")
    for number in range(count):
        show(frames[number])
        equal(f"snapshot {number}", positions_of(mesh), file.snapshots[number].positions())
    equal("evaluated mesh", evaluated(target), file.snapshots[count - 1].positions())

    show(frame_of(file, 0) + (frame_of(file, 1) - 1) * 2.5)
    equal("between snapshots", positions_of(mesh), interpolated(file, 2.5), 1e-6)
    settings = mesh.meshmap_playback
    settings.interpolation = "NEAREST"
    equal("nearest", positions_of(mesh), file.snapshots[3].positions())
    settings.interpolation, settings.speed = "LINEAR", 2.0
    show(frame_of(file, 1))
    equal("twice the speed", positions_of(mesh), file.snapshots[2].positions())
    settings.speed, settings.wrap = 1.0, "LOOP"
    show(frame_of(file, count + 1))
    equal("loop", positions_of(mesh), file.snapshots[1].positions())
    settings.wrap, settings.offset = "CLAMP", 1.0
    show(frame_of(file, 0))
    equal("offset", positions_of(mesh), file.snapshots[1].positions())
    settings.offset, settings.use_velocity = 0.0, True
    show(frame_of(file, 1))
    velocities = np.empty(len(mesh.vertices) * 3, np.float32)
    mesh.attributes["velocity"].data.foreach_get("vector", velocities)
    step = (frame_of(file, 1) - 1) / 25
    expected = (interpolated(file, 1.5) - interpolated(file, 0.5)) / step
    equal("velocity", velocities.reshape(-1, 3), expected, max(1e-4 * float(np.abs(expected).max()), 1e-6))
    settings.use_velocity = False
    mesh.attributes.remove(mesh.attributes["velocity"])

    show(frame_of(file, 1))
    blend = out / "playing.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    print(f".blend: {blend.stat().st_size / 1e6:.1f} MB")
    bpy.ops.wm.open_mainfile(filepath=str(blend))
    mesh = next(each for each in bpy.data.meshes if each.meshmap_playback.is_playing)
    show(frame_of(file, 3))
    equal("after reopening", positions_of(mesh), file.snapshots[3].positions())

    moved = out / "moved.cgeo"
    shutil.copyfile(proxy, moved)
    mesh.meshmap_playback.filepath = str(out / "missing.cgeo")
    show(frame_of(file, 4))
    equal("a missing file", positions_of(mesh), file.snapshots[3].positions())
    need("missing.cgeo" in player.problems[mesh.session_uid], "a missing file is not reported")
    bpy.context.view_layer.objects.active = next(each for each in bpy.data.objects if each.data == mesh)
    bpy.ops.mesh.meshmap_relink(filepath=str(moved))
    show(frame_of(file, 5))
    equal("after relinking", positions_of(mesh), file.snapshots[5].positions())
    need(not player.problems, "the problem stays after relinking")

    bake(proxy, out, file)
    render_between(proxy, out, file)
    print("player: all equal")


def bake(proxy: Path, out: Path, file) -> None:
    scene_frames = range(1, 5)
    for kind in ("pc2", "shape_keys"):
        target = start(proxy)
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = scene_frames[0], scene_frames[-1]
        place = [(frame - 1) / 25 / ((frame_of(file, 1) - 1) / 25) for frame in scene_frames]
        if kind == "pc2":
            bpy.ops.mesh.meshmap_bake_pc2(filepath=str(out / "baked.pc2"))
        else:
            bpy.ops.mesh.meshmap_bake_shape_keys()
        need(not target.data.meshmap_playback.is_playing, "the mesh plays after baking")
        for frame, at in zip(scene_frames, place):
            show(frame)
            equal(f"{kind} in frame {frame}", evaluated(target), interpolated(file, at), 1e-5)


def render_between(proxy: Path, out: Path, file) -> None:
    """A rendered frame 17.5 of a saved file is the picture of a mesh with the interpolated positions."""
    stage()
    bpy.context.scene.render.fps = 25
    bpy.ops.import_scene.meshmap_cgeo(filepath=str(proxy))
    target = next(each for each in bpy.data.objects if each.type == "MESH")
    add_camera([target])
    show(17.5)
    blend = out / "render.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    pictures = []
    for is_playing in (True, False):
        bpy.ops.wm.open_mainfile(filepath=str(blend))
        mesh = next(each for each in bpy.data.meshes if each.meshmap_playback.is_playing)
        mesh.meshmap_playback.is_playing = is_playing
        place = 16.5 / 25 / ((frame_of(file, 1) - 1) / 25)
        show(3)
        if is_playing:
            show(17.5)
        else:
            set_positions(mesh, interpolated(file, place))
        pictures.append(render(out / f"frame_17_5_{'playing' if is_playing else 'still'}.png"))
    difference = float(np.abs(pictures[0] - pictures[1]).max())
    need(difference <= 2 / 255, f"the picture of frame 17.5 differs by {difference:.3g}")
    print(f"frame 17.5: pictures differ by {difference * 255:.0f} of 255")


def set_positions(mesh: bpy.types.Mesh, positions: np.ndarray) -> None:
    mesh.attributes["position"].data.foreach_set("vector", positions.ravel())
    mesh.update()


if __name__ == "__main__":
    bpy.ops.preferences.addon_enable(module=EXTENSION)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
