"""Imports what was written into Blender (PyPI bpy), and compares positions with the point caches of the same files.

    blender.py FOLDER    for every NAME.pc2 of the folder, with NAME.obj, NAME.glb and NAME.usdc next to it

The OBJ with its cache and the USD file are compared at every sample, bit for bit. In the GLB, each shape key must contain
only positions of its sample, and all positions that triangles use.
"""

import pathlib
import struct
import sys

import bpy
import numpy


def empty():
    bpy.ops.wm.read_factory_settings(use_empty=True)


def mesh_objects():
    return [thing for thing in bpy.context.scene.objects if thing.type == "MESH"]


def shown(thing, frame):
    """The positions of the vertices at a frame, in the coordinates of the object."""
    bpy.context.scene.frame_set(frame)
    mesh = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    points = numpy.empty(len(mesh.vertices) * 3, numpy.float32)
    mesh.vertices.foreach_get("co", points)
    return points.reshape(-1, 3)


def samples_of(path):
    data = path.read_bytes()
    points, samples = struct.unpack_from("<i", data, 16)[0], struct.unpack_from("<i", data, 28)[0]
    return numpy.frombuffer(data, "<f4", points * samples * 3, 32).reshape(samples, points, 3)


def key_points(block):
    points = numpy.empty(len(block.data) * 3, numpy.float32)
    block.data.foreach_get("co", points)
    return points.reshape(-1, 3)


def rows(points):
    """The different points; -0 is 0."""
    return {row.tobytes() for row in points + numpy.float32(0)}


def check_cache(path, samples):
    empty()
    bpy.ops.wm.obj_import(filepath=str(path.with_suffix(".obj")), forward_axis="Y", up_axis="Z", validate_meshes=False)
    [thing] = mesh_objects()
    cache = thing.modifiers.new("cache", "MESH_CACHE")
    cache.cache_format, cache.filepath = "PC2", str(path)
    cache.time_mode, cache.play_mode, cache.frame_start = "FRAME", "SCENE", 0
    cache.forward_axis, cache.up_axis = "POS_Y", "POS_Z"
    for frame, points in enumerate(samples):
        if not numpy.array_equal(shown(thing, frame), points):
            return f"point cache: other positions in frame {frame}"
    used = numpy.empty(len(thing.data.loops), numpy.int32)
    thing.data.loops.foreach_get("vertex_index", used)
    return numpy.unique(used)


def check_glb(path, samples, used):
    empty()
    bpy.ops.import_scene.gltf(filepath=str(path.with_suffix(".glb")))
    things = mesh_objects()
    for index, points in enumerate(samples):
        # The importer turns Y up to Z up: (x, y, z) becomes (x, -z, y).
        turned = numpy.stack([points[:, 0], -points[:, 2], points[:, 1]], 1)
        keys = [thing.data.shape_keys.key_blocks for thing in things]
        if any(len(blocks) != len(samples) for blocks in keys):
            return f"GLB: {[len(blocks) for blocks in keys]} shape keys, where there are {len(samples)} snapshots"
        held = set().union(*(rows(key_points(blocks[index])) for blocks in keys))
        if held != rows(turned[used]):
            return f"GLB: other positions in snapshot {index}"
    return None


def check_usd(path, samples):
    empty()
    bpy.ops.wm.usd_import(filepath=str(path.with_suffix(".usdc")), import_subdivision=False)
    [thing] = mesh_objects()
    for frame, points in enumerate(samples):
        if not numpy.array_equal(shown(thing, frame), points):
            return f"USD: other positions in frame {frame}"
    return None


paths = sorted(pathlib.Path(sys.argv[1]).glob("*.pc2"))
wrong = 0
for path in paths:
    samples = samples_of(path)
    used = check_cache(path, samples)
    faults = [used] if isinstance(used, str) else [check_glb(path, samples, used), check_usd(path, samples)]
    for fault in filter(None, faults):
        wrong += 1
        print(f"{path.name}: {fault}")
    print(f"{path.name}: {samples.shape[0]} snapshots of {samples.shape[1]} positions compared", flush=True)
print(f"Blender {bpy.app.version_string}: {len(paths)} files, {wrong} differ")
sys.exit(wrong > 0 or not paths)
