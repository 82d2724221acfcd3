# SPDX-License-Identifier: GPL-3.0-or-later
"""A file as arrays for Blender, from its scene: the same shapes, skeleton and animations as in every other program."""

from __future__ import annotations

from pathlib import Path

import meshmap
import numpy as np

from .arrays import drop_triangles, finite, ints, of_points, reverse_winding
from .data import Animation, Attribute, Channel, Clip, MeshData, Model, Skeleton
from .notes import Notes, Unusable
from .options import ReadOptions
from .stored import face_attributes, has_normals, hulls, material_base, uv_name

NAMES = {
    "cgeo": "CGeo",
    "iqm": "IQM",
    "openctm": "OpenCTM",
    "slmesh": "Second Life Mesh",
    "tmf": "TMF",
}
LEFT_OUT = {
    "joint_offsets": "joint positions of the upload (alt_inverse_bind_matrix) are left out: bones are where the mesh is bound",
    "pelvis_offset": "the pelvis offset of {} m is left out",
}
"""Facts that Blender has no place for, with their first item."""


def read(path: str, format: str, options: ReadOptions, notes: Notes) -> Model:
    """Everything that is intact in a file. Raises `meshmap.Error`, `OSError` or `Unusable` if nothing can be read."""
    with meshmap.open(path) as file:
        if file.format != format:
            raise Unusable(f"the file is {NAMES[file.format]}: import it with File > Import > {NAMES[file.format]}")
        return read_file(file, Path(path).stem, options, notes)


def read_file(file: meshmap.File, stem: str, options: ReadOptions, notes: Notes) -> Model:
    scene = scene_of(file, options, notes)
    model = Model(name=stem, metres=scene.metres_per_unit or 1.0, up=scene.up.removeprefix("-").upper())
    for line in [*scene.remarks, *(f"left out: {error}" for error in scene.unreadable)]:
        notes.add(line)
    if options.skeleton:
        read_skeleton(model, scene, options, notes)
    bones = len(model.skeleton.names) if model.skeleton is not None else 0
    source = Source(file, scene, stem, bones, options)
    for shapes in meshes_of(scene):
        mesh = notes.intact(shapes[0].address, lambda: source.mesh(shapes, notes))
        if mesh is None:
            continue
        mesh.is_hidden = shapes[0].level is not None and bool(model.meshes)
        if options.all_levels and shapes[0].level is not None:
            mesh.collection = shapes[0].address.split(".")[0]
            mesh.name = f"{stem}_{mesh.collection}"
        model.meshes.append(mesh)
    add_clip(model, scene, options, notes)
    if options.physics:
        model.meshes += read_physics(file, stem, options, notes)
    for mesh in model.meshes:
        drop_triangles(mesh, notes)
    return model


def mesh_of_snapshot(file: meshmap.File, scene: meshmap.Scene, options: ReadOptions, notes: Notes) -> MeshData:
    """The mesh of one snapshot of an object through time."""
    return Source(file, scene, "", 0, options).mesh(scene.shapes[:1], notes)


def scene_of(file: meshmap.File, options: ReadOptions, notes: Notes) -> meshmap.Scene:
    """The scene of a file, of its levels of detail that are intact."""
    lod = "all" if options.all_levels else "finest"
    scene = None
    if options.animation_file and options.animations:
        try:
            scene = meshmap.scene(file, lod=lod, animations=[options.animation_file], skip_unreadable=True)
        except (meshmap.Error, ValueError) as error:
            notes.add(f"animations of {options.animation_file} are left out: {error}")
    if scene is None:
        scene = meshmap.scene(file, lod=lod, skip_unreadable=True)
    if not scene.shapes and scene.unreadable and lod == "finest":
        # A coarser level is better than none.
        every = meshmap.scene(file, lod="all", skip_unreadable=True)
        intact = [shape.address.split(".")[0] for shape in every.shapes]
        if intact:
            for error in scene.unreadable:
                notes.add(f"left out: {error}")
            return meshmap.scene(file, meshes=intact[:1], skip_unreadable=True)
    return scene


def meshes_of(scene: meshmap.Scene) -> list[list[meshmap.Shape]]:
    """The shapes of each mesh of Blender: the faces of a level of detail are one mesh, with a material for each."""
    meshes: list[list[meshmap.Shape]] = []
    for shape in scene.shapes:
        is_face = shape.object is not None
        if is_face and meshes and meshes[-1][0].level == shape.level:
            meshes[-1].append(shape)
        else:
            meshes.append([shape])
    return meshes


class Source:
    """A file, and what its meshes have in common."""

    def __init__(self, file: meshmap.File, scene: meshmap.Scene, stem: str, bones: int, options: ReadOptions) -> None:
        self.file = file
        self.stem = stem
        self.bones = bones
        self.options = options
        self.count = len(scene.shapes)
        self.texts = file.texts() if file.format == "openctm" else {}
        self.order = {shape.address: number for number, shape in enumerate(scene.shapes)}

    def mesh(self, shapes: list[meshmap.Shape], notes: Notes) -> MeshData:
        """One mesh of these shapes."""
        parts = [self.part(shape, notes) for shape in shapes]
        mesh = parts[0] if len(parts) == 1 else joined(parts)
        if shapes[0].object is not None:
            # Faces are known by their numbers.
            counts = [len(part.triangles) for part in parts]
            mesh.name = self.stem
            mesh.material_ids = np.repeat([shape.object for shape in shapes], counts).astype(np.int32)
            mesh.material_names = {shape.object: shape.material.name for shape in shapes if shape.material is not None}
            mesh.tints = {shape.object: shape.tint() for shape in shapes}
        if self.options.flip_faces:
            reverse_winding(mesh)
        return mesh

    def part(self, shape: meshmap.Shape, notes: Notes) -> MeshData:
        """The mesh of one shape."""
        key = self.key_of(shape)
        arrays = arrays_of(shape, key, self.wanted(shape), notes)
        label = shape.name or (self.stem if self.count == 1 else f"{self.stem}_{self.order[shape.address]}")
        triangles = ints(arrays.triangles)
        mesh = MeshData(label, finite(arrays.positions, "positions", notes), triangles)
        corners = {name: ints(values) for name, values in arrays.corners.items()}
        mesh.is_smooth = has_normals(self.file, shape, key)
        if arrays.normals is not None:
            mesh.normals = Channel("normals", finite(arrays.normals, "normals", notes), corners.get("normal"))
        for number, values in arrays.texcoords.items():
            values = finite(values, "texture coordinates", notes)
            if self.options.flip_v:
                values = np.column_stack([values[:, 0], 1 - values[:, 1]])
            at = corners.get(name_of_set("texcoord", number))
            mesh.uvs.append(Channel(uv_name(self.texts, shape.address, number), values, at))
        for number, values in arrays.colors.items():
            at = corners.get(name_of_set("color", number))
            self.add_colors(mesh, "Color" if number == 0 else f"Color_{number}", values, at)
        for label, values in arrays.others.items():
            at = corners.get(label)
            by_point = values if at is None else of_points(values, at, triangles, len(mesh.positions))
            if by_point is None:
                notes.add(f"attribute {label} is left out: it differs between the corners of a vertex")
            else:
                mesh.attributes.append(Attribute(label, by_point))
        mesh.attributes += face_attributes(self.file, shape.address, len(triangles), notes)
        self.add_materials(mesh, shape, arrays)
        self.add_weights(mesh, arrays, notes)
        return mesh

    def key_of(self, shape: meshmap.Shape) -> int:
        """The snapshot that is asked for; 0 for a shape that stands still."""
        if shape.snapshots is None:
            return 0
        if self.options.snapshot >= len(shape):
            count = len(shape)
            raise Unusable(f"there is no snapshot {self.options.snapshot}: the file has {count}, which are counted from 0")
        return self.options.snapshot

    def wanted(self, shape: meshmap.Shape) -> list[str] | None:
        """The names of the attributes to read; None for all. Normals of one snapshot are of no use for a mesh that will move."""
        if shape.snapshots is not None:
            moves = self.options.plays and len(shape) > 1
            return None if self.options.normals and not moves else ["texcoord"]
        return None if self.options.normals else [name for name in shape.view() if name != "normal"]

    def add_colors(self, mesh: MeshData, name: str, values: np.ndarray, at: np.ndarray | None) -> None:
        by_point = None if at is None else of_points(values, at, mesh.triangles, len(mesh.positions))
        mesh.colors.append(Channel(name, values, at) if by_point is None else Channel(name, by_point))

    def add_materials(self, mesh: MeshData, shape: meshmap.Shape, arrays: meshmap.Arrays) -> None:
        base = material_base(self.file)
        if arrays.material_ids is not None:
            mesh.material_ids = ints(arrays.material_ids)
            used = np.unique(mesh.material_ids).tolist()
            mesh.material_names = {it: base or "material" if len(used) == 1 else f"{base or 'material'}_{it}" for it in used}
            mesh.tints = {it: shape.tint(it) for it in used}
            return
        mesh.tints = {0: shape.tint()}
        if shape.material is not None:
            mesh.material_names = {0: shape.material.name}
            mesh.texture = shape.material.image
        elif base:
            mesh.material_names = {0: base}

    def add_weights(self, mesh: MeshData, arrays: meshmap.Arrays, notes: Notes) -> None:
        """Vertices that no joint moves have no weights: they rest."""
        if arrays.joints is None or arrays.weights is None or not self.bones:
            return
        mesh.joints = arrays.joints.astype(np.int32)
        mesh.weights = np.where(mesh.joints < self.bones, arrays.weights, np.float32(0))
        for name, one, many in (
            ("beyond", "weight is left out: there is no such joint", "weights are left out: there are no such joints"),
            ("clamped", "weight is on the last joint: there is no such joint", "weights are on the last joint: there are no such joints"),
            ("dropped", "weight beyond four of a vertex is left out", "weights beyond four of a vertex are left out"),
        ):
            notes.count(arrays.influence_counts[name], one, many)


def name_of_set(attribute: str, number: int) -> str:
    """The name of a set of an attribute, such as `texcoord[1]`."""
    return attribute if number == 0 else f"{attribute}[{number}]"


def arrays_of(shape: meshmap.Shape, key: int, wanted: list[str] | None, notes: Notes) -> meshmap.Arrays:
    """The arrays of a shape. Positions and triangles must be intact; the rest is left out if it is damaged."""
    try:
        return shape.arrays(key, attributes=wanted, one_index=False)
    except meshmap.Error:
        arrays = shape.arrays(key, attributes=[], one_index=False)
    intact = []
    for name in wanted if wanted is not None else names_of(shape):
        if notes.intact(name, lambda: shape.arrays(key, attributes=[name], one_index=False)) is not None:
            intact.append(name)
    return shape.arrays(key, attributes=intact, one_index=False) if intact else arrays


def names_of(shape: meshmap.Shape) -> list[str]:
    """The names of the attributes of a shape."""
    if shape.snapshots is not None:
        return ["normal", "texcoord"]
    return [name for name in shape.view() if name != "position"]


def joined(parts: list[MeshData]) -> MeshData:
    """Faces as one mesh: an attribute that a face lacks is 0 there."""
    counts = [len(part.positions) for part in parts]
    firsts = np.cumsum([0, *counts[:-1]])
    mesh = MeshData(
        parts[0].name,
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.triangles + first for part, first in zip(parts, firsts)]).astype(np.int32),
    )
    normals = [None if part.normals is None else part.normals.values for part in parts]
    if (values := filled(normals, counts)) is not None:
        mesh.normals = Channel("normals", values)
    for number in range(max(len(part.uvs) for part in parts)):
        sets = [part.uvs[number].values if number < len(part.uvs) else None for part in parts]
        values = filled(sets, counts)
        name = next(part.uvs[number].name for part in parts if number < len(part.uvs))
        if values is not None:
            mesh.uvs.append(Channel(name, values))
    joints, weights = filled([part.joints for part in parts], counts), filled([part.weights for part in parts], counts)
    if joints is not None and weights is not None:
        # Faces without weights rest.
        mesh.joints, mesh.weights = joints, weights
    return mesh


def filled(arrays: list[np.ndarray | None], counts: list[int]) -> np.ndarray | None:
    """The arrays one after the other, with 0 in place of missing ones; None if all are missing."""
    known = next((array for array in arrays if array is not None), None)
    if known is None:
        return None
    shape, kind = known.shape[1:], known.dtype
    return np.concatenate([np.zeros((count, *shape), kind) if array is None else array for array, count in zip(arrays, counts)])


def read_skeleton(model: Model, scene: meshmap.Scene, options: ReadOptions, notes: Notes) -> None:
    """The skeleton and its animations, if they can be used."""
    for line in scene.joint_remarks:
        notes.add(line)
    skeleton = scene.skeleton
    if skeleton is None:
        return
    for fact in scene.facts():
        if fact.kind in LEFT_OUT:
            notes.add(LEFT_OUT[fact.kind].format(*fact.first))
    model.skeleton = Skeleton(skeleton.names, skeleton.parents, skeleton.bind)
    if not options.animations:
        return
    inverse = skeleton.inverse_bind
    for clip in scene.clips:
        name = clip.name or "animation"
        matrices = notes.intact(f"animation {name}", lambda: clip.samples() @ inverse)
        if matrices is None:
            continue
        if clip.repeats and len(matrices) > 1:
            # Blender repeats an action from its last key, which is its first.
            matrices = np.concatenate([matrices, matrices[:1]])
        if not np.isfinite(matrices).all():
            notes.add(f"animation {name} is left out: a joint has NaN or infinite numbers, or no size in the bind pose")
            continue
        if not clip.is_rate_stored:
            notes.add(f"animation {name} does not store its frame rate: {clip.rate:g} is assumed")
        model.animations.append(Animation(name, clip.rate, clip.repeats, matrices))


def add_clip(model: Model, scene: meshmap.Scene, options: ReadOptions, notes: Notes) -> None:
    """The snapshots of an object through time, which play from the disk."""
    shape = next((shape for shape in scene.shapes if shape.snapshots is not None), None)
    if shape is None:
        return
    model.name = shape.name or model.name
    if scene.metres_per_unit is None:
        notes.add("the file does not store its unit: one unit is taken for one metre")
    if len(shape) > 1:
        model.clip = Clip(len(shape), shape.step)


def read_physics(file: meshmap.File, stem: str, options: ReadOptions, notes: Notes) -> list[MeshData]:
    """The mesh and the hulls for physics, hidden."""
    meshes = []
    address = next((entry.address.split(".")[0] for entry in file.meshes() if entry.role == "physics"), None)
    if address is not None:
        scene = notes.intact("physics mesh", lambda: meshmap.scene(file, meshes=[address], skip_unreadable=True))
        source = None if scene is None else Source(file, scene, f"{stem}_physics_mesh", 0, options)
        if scene is not None and source is not None and scene.shapes:
            mesh = notes.intact("physics mesh", lambda: source.mesh(scene.shapes, notes))
            meshes += [] if mesh is None else [mesh]
    meshes += hulls(file, stem, notes)
    for mesh in meshes:
        mesh.collection, mesh.is_hidden = "physics", True
    return meshes
