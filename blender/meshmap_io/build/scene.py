# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects and collections of an import."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import radians

import bpy
from mathutils import Matrix

from ..model.data import Model
from ..model.notes import Notes
from .action import new_action, show_action
from .armature import Rig, new_armature
from .materials import Materials
from .mesh import new_mesh
from .weights import add_vertex_groups


@dataclass
class BuildOptions:
    """The options for putting a model into the scene."""

    up: str = "AUTO"
    scale: float = 1.0
    use_file_unit: bool = True
    max_materials: int = 256
    texture_folders: list[str] = field(default_factory=list)
    """Folders in which the images of a file are looked for."""
    first_frame: float = 1.0


def build(context: bpy.types.Context, model: Model, options: BuildOptions, notes: Notes) -> list[bpy.types.Object]:
    """Adds a model to the active collection, and returns its objects."""
    collection = context.collection
    placed = placement(context.scene, model, options)
    materials = Materials(options.max_materials, options.texture_folders)
    levels: dict[str, bpy.types.Collection] = {}
    rig = None
    objects = []
    if model.skeleton is not None and (
        model.animations or any(mesh.joints is not None for mesh in model.meshes) or not model.meshes
    ):
        rig = new_armature(context, f"{model.name}_armature" if model.meshes else model.name, model.skeleton, collection)
        rig.object.matrix_world = placed
        objects.append(rig.object)
    for data in model.meshes:
        is_skinned = rig is not None and data.weights is not None and bool((data.weights > 0).any())
        mesh = new_mesh(data, is_skinned, notes)
        materials.assign(mesh, data, notes)
        target = bpy.data.objects.new(data.name, mesh)
        home = collection
        if data.collection:
            if data.collection not in levels:
                levels[data.collection] = bpy.data.collections.new(f"{model.name}_{data.collection}")
                collection.children.link(levels[data.collection])
            home = levels[data.collection]
        home.objects.link(target)
        target.matrix_world = placed
        if rig is not None and is_skinned and add_vertex_groups(target, data, rig.bones):
            attach(target, rig)
        if data.is_hidden:
            target.hide_set(True)
            target.hide_render = True
        objects.append(target)
    if rig is not None:
        fps = context.scene.render.fps / context.scene.render.fps_base
        actions = [new_action(rig, animation, options.first_frame, fps, notes) for animation in model.animations]
        if actions:
            show_action(rig.object, actions[0])
    select(context, objects)
    return objects


def attach(target: bpy.types.Object, rig: Rig) -> None:
    """Makes an armature move a mesh, whose vertices are in the bind pose."""
    target.parent = rig.object
    target.matrix_parent_inverse = Matrix()
    target.matrix_basis = Matrix()
    modifier = target.modifiers.new("Armature", "ARMATURE")
    modifier.object = rig.object


def placement(scene: bpy.types.Scene, model: Model, options: BuildOptions) -> Matrix:
    """From the file's axes and unit to Blender's. The vertices stay as they are in the file."""
    up = model.up if options.up == "AUTO" else options.up
    turned = {"X": Matrix.Rotation(radians(-90), 4, "Y"), "Y": Matrix.Rotation(radians(90), 4, "X"), "Z": Matrix()}[up]
    scale = options.scale
    if options.use_file_unit:
        scale *= model.metres / scene.unit_settings.scale_length
    return turned @ Matrix.Scale(scale, 4)


def select(context: bpy.types.Context, objects: list[bpy.types.Object]) -> None:
    for other in context.view_layer.objects.selected:
        other.select_set(False)
    shown = [it for it in objects if not it.hide_get()]
    for target in shown:
        target.select_set(True)
    if shown:
        context.view_layer.objects.active = shown[0]
