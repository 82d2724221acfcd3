# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of all importers: files, common options, and the report."""

from __future__ import annotations

from pathlib import Path

import bpy
import meshmap
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy_extras.io_utils import ImportHelper, poll_file_object_drop

from ..build.scene import BuildOptions, build
from ..model.data import Model
from ..model.notes import Notes, Unusable
from ..model.read import read
from ..model.options import ReadOptions

MOST_LINES = 40
"""Lines of a report for one file. The last one has the number of lines that are not shown."""


class MeshImporter(ImportHelper):
    """The base of all importers. A subclass sets `format`, `label` and `extensions`, and adds its options."""

    bl_options = {"UNDO", "PRESET"}
    format: str
    label: str
    extensions: str

    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})

    up: EnumProperty(
        name="Up Axis",
        description="The axis of the file that points up",
        items=[
            ("AUTO", "From the Format", "The axis that the format defines, or the one that its tools usually write"),
            ("X", "X", "X points up"),
            ("Y", "Y", "Y points up"),
            ("Z", "Z", "Z points up"),
        ],
    )
    scale: FloatProperty(name="Scale", description="Scale of the objects", default=1.0, min=1e-6, max=1e6)
    normals: BoolProperty(name="Normals", description="Import the normals of the file as custom normals", default=True)
    flip_faces: BoolProperty(
        name="Flip Faces",
        description="Reverse the winding of all triangles, for files whose front is on the other side",
    )
    max_materials: IntProperty(
        name="Material Limit",
        description="Meshes with more materials get one material, and the attribute material_id on their faces",
        default=256,
        min=1,
        max=32767,
    )

    textures: StringProperty(
        name="Textures",
        description="Look for the images that the file names in this folder as well as beside the file",
        subtype="DIR_PATH",
    )

    def invoke(self, context, _event):
        return self.invoke_popup(context)

    def paths(self) -> list[str]:
        names = [each.name for each in self.files if each.name]
        return [str(Path(self.directory) / name) for name in names] or [self.filepath]

    def read_options(self) -> ReadOptions:
        """The choices for the reader. Subclasses add their options."""
        return ReadOptions(normals=self.normals, flip_faces=self.flip_faces)

    def build_options(self, context) -> BuildOptions:
        return BuildOptions(
            up=self.up,
            scale=self.scale,
            max_materials=self.max_materials,
            first_frame=float(context.scene.frame_start),
        )

    def imported(self, context, path: str, model: Model, objects: list[bpy.types.Object], notes: Notes) -> None:
        """Called after each file. Subclasses continue with its objects."""

    def execute(self, context):
        if context.mode != "OBJECT" and context.object:
            bpy.ops.object.mode_set(mode="OBJECT")
        paths, imported = self.paths(), 0
        failures = []
        for path in paths:
            notes = Notes()
            try:
                self.import_file(context, path, notes)
                imported += 1
            except (meshmap.Error, Unusable, OSError) as error:
                failures.append(f"{Path(path).name} is not imported: {error}")
            self.report_notes(path, notes)
        for line in failures:
            self.report({"WARNING"} if imported else {"ERROR"}, line)
        if imported:
            self.report({"INFO"}, f"{imported} of {len(paths)} {'file' if len(paths) == 1 else 'files'} imported")
        return {"FINISHED"} if imported else {"CANCELLED"}

    def import_file(self, context, path: str, notes: Notes) -> None:
        model = read(path, self.format, self.read_options(), notes)
        if not model.meshes and model.skeleton is None:
            raise Unusable("the file has no mesh and no skeleton that can be used")
        options = self.build_options(context)
        options.texture_folders = [str(Path(path).parent), *filter(None, [bpy.path.abspath(self.textures)])]
        objects = build(context, model, options, notes)
        self.imported(context, path, model, objects, notes)

    def report_notes(self, path: str, notes: Notes) -> None:
        for line in notes.lines[:MOST_LINES]:
            self.report({"WARNING"}, f"{Path(path).name}: {line}")
        hidden = len(notes.lines) - MOST_LINES
        if hidden > 0:
            self.report({"WARNING"}, f"{Path(path).name}: {hidden:,} more lines are not shown")

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        self.section("transform", "Transform", ("up", "scale", *self.transform_options))
        self.section("geometry", "Geometry", ("normals", "flip_faces", *self.geometry_options, "max_materials", "textures"))
        for name, options in self.sections.items():
            self.section(name.lower().replace(" ", "_"), name, options)

    transform_options: tuple[str, ...] = ()
    geometry_options: tuple[str, ...] = ()
    sections: dict[str, tuple[str, ...]] = {}

    def section(self, key: str, title: str, options: tuple[str, ...]) -> None:
        header, body = self.layout.panel(f"MESHMAP_import_{self.format}_{key}")
        header.label(text=title)
        if body:
            for option in options:
                body.prop(self, option)


class UndefinedOrigin:
    """The option of formats that do not define the origin of texture coordinates."""

    flip_v: BoolProperty(
        name="Flip V",
        description="Mirror texture coordinates vertically. The format does not define their origin",
    )
    geometry_options = ("flip_v",)

    def read_options(self) -> ReadOptions:
        options = super().read_options()
        options.flip_v = self.flip_v
        return options


def handler_of(importer: type[MeshImporter]) -> type[bpy.types.FileHandler]:
    """The file handler that makes drag and drop call an importer."""

    class Handler(bpy.types.FileHandler):
        bl_idname = f"MESHMAP_FH_{importer.format}"
        bl_label = importer.label
        bl_import_operator = importer.bl_idname
        bl_file_extensions = importer.extensions

        @classmethod
        def poll_drop(cls, context):
            return poll_file_object_drop(context)

    Handler.__name__ = Handler.bl_idname
    return Handler
