"""The sha256 of every array that a file decodes to, computed only from NumPy arrays."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import meshmap

TYPES = {
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
    "float16": "f16", "float32": "f32", "float64": "f64",
}  # fmt: skip


class Listing:
    def __init__(self) -> None:
        self.arrays: dict[str, dict[str, Any]] = {}
        self.strings: dict[str, str] = {}

    def array(self, path: str, values: Any) -> None:
        if values is None:
            return
        assert isinstance(values, np.ndarray) and not values.flags.writeable
        little = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
        self.arrays[path] = {
            "type": TYPES[values.dtype.name],
            "shape": list(values.shape),
            "sha256": hashlib.sha256(little.tobytes()).hexdigest(),
        }

    def string(self, path: str, text: str | None) -> None:
        if text is not None:
            self.strings[path] = text


def listed(file: meshmap.File) -> Listing:
    """The digest by the table of arrays, of the first body of an OpenCTM file only, without its prefix."""
    listing = Listing()
    for array in file.arrays():
        address = array.address.removeprefix("bodies[0].")
        if not address.startswith("bodies["):
            values = file.array(array.address)
            assert array.dtype == values.dtype.name and array.shape in (None, list(values.shape))
            listing.array(address, values)
    for address, text in file.texts().items():
        if not address.removeprefix("bodies[0].").startswith("bodies["):
            listing.string(address.removeprefix("bodies[0]."), text)
    return listing


def digest(file: meshmap.File) -> Listing:
    """The digest by the accessors of each format."""
    listing = Listing()
    if isinstance(file, meshmap.CGeoFile):
        _cgeo(file, listing)
    elif isinstance(file, meshmap.IqmFile):
        _iqm(file, listing)
    elif isinstance(file, meshmap.OpenCtmFile):
        _openctm(file, listing)
    elif isinstance(file, meshmap.SlMeshFile):
        _slmesh(file, listing)
    elif isinstance(file, meshmap.TmfFile):
        _tmf(file, listing)
    return listing


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _cgeo(file: meshmap.CGeoFile, listing: Listing) -> None:
    for index, snapshot in enumerate(file.snapshots):
        path = f"snapshots[{index}]."
        snapshot.sections()
        listing.array(path + "bounding_box", snapshot.bounding_box)
        listing.array(path + "point_cloud", snapshot.point_cloud)
        decoded = snapshot.decode()
        listing.array(path + "positions", decoded.positions)
        listing.array(path + "normals", decoded.normals)
        for channel, coordinates in enumerate(decoded.texcoords):
            listing.array(f"{path}map_channels[{channel}]", coordinates)
        triangles = decoded.triangles
        listing.array(path + "triangles.positions", triangles.positions)
        listing.array(path + "triangles.normals", triangles.normals)
        for channel, indices in enumerate(triangles.texcoords):
            listing.array(f"{path}triangles.map_channels[{channel}]", indices)
        if triangles.material_ids is not None:
            listing.array(path + "triangles.material_ids", _frozen(triangles.material_ids.astype(np.uint16)))
        listing.array(path + "triangles.edge_visibility", triangles.edge_visibility)
    listing.string("object_name", file.object_name)
    listing.string("material_name", file.material_name)


def _iqm(file: meshmap.IqmFile, listing: Listing) -> None:
    for index, array in enumerate(file.vertex_arrays):
        listing.array(f"vertex_arrays[{index}]", array.values)
    if len(file.triangles):
        listing.array("triangles", file.triangles)
    listing.array("adjacency", file.adjacency)
    if file.joints:
        listing.array("joints", file.joint_transforms)
    if file.frame_count and file.pose_count:
        listing.array("frames", file.frames())
    listing.array("bounds", file.frame_bounds)
    for index, mesh in enumerate(file.submeshes):
        listing.string(f"meshes[{index}].name", mesh.name)
        listing.string(f"meshes[{index}].material", mesh.material)
    for index, joint in enumerate(file.joints):
        listing.string(f"joints[{index}].name", joint.name)
    for index, anim in enumerate(file.anims):
        listing.string(f"anims[{index}].name", anim.name)


def _openctm(file: meshmap.OpenCtmFile, listing: Listing) -> None:
    body = file.bodies[0]
    arrays = body.decode()
    body.check()
    listing.array("indices", arrays["triangles"])
    listing.array("positions", arrays["positions"])
    listing.array("normals", arrays.get("normals"))
    listing.string("comment", body.comment)
    for index, (uv_map, coords) in enumerate(zip(body.uv_maps, arrays["texcoords"], strict=True)):
        listing.array(f"uv_maps[{index}].coords", coords)
        listing.string(f"uv_maps[{index}].name", uv_map.name)
        listing.string(f"uv_maps[{index}].file", uv_map.file)
    for index, (attribute_map, values) in enumerate(zip(body.attribute_maps, arrays["attribute_maps"], strict=True)):
        listing.array(f"attribute_maps[{index}].values", values)
        listing.string(f"attribute_maps[{index}].name", attribute_map.name)


def _slmesh(file: meshmap.SlMeshFile, listing: Listing) -> None:
    blocks = [file.lod(name) for name in ("high", "medium", "low", "lowest")]
    for block in [*blocks, file.physics_mesh]:
        if block is None:
            continue
        for face in block:
            if not face.has_geometry:
                continue
            path = f"{block.name}.faces[{face.index}]."
            listing.array(path + "positions", face.positions)
            listing.array(path + "normals", face.normals)
            listing.array(path + "tex_coords", face.texcoords)
            listing.array(path + "indices", face.indices)
            listing.array(path + "joint_indices", face.joint_indices)
            listing.array(path + "joint_weights", face.joint_weights)
    if (skin := file.skin) is not None:
        listing.array("skin.bind_shape_matrix", skin.bind_shape_matrix)
        listing.array("skin.inverse_bind_matrices", skin.inverse_bind_matrices)
        listing.array("skin.alt_inverse_bind_matrices", skin.alt_inverse_bind_matrices)
        for index, name in enumerate(skin.joint_names):
            listing.string(f"skin.joint_names[{index}]", name)
    if (hulls := file.physics_convex) is not None:
        listing.array("physics_convex.hull_sizes", hulls.hull_sizes)
        listing.array("physics_convex.hull_points", hulls.hull_points)
        listing.array("physics_convex.bounding_verts", hulls.bounding_verts)


def _tmf(file: meshmap.TmfFile, listing: Listing) -> None:
    names = {
        "vertices": "positions",
        "normals": "normals",
        "uvs": "texcoords",
        "tangents": "tangents",
        "vertex_triangles": "position_indices",
        "normal_triangles": "normal_indices",
        "uv_triangles": "texcoord_indices",
        "tangent_triangles": "tangent_indices",
    }
    for index, mesh in enumerate(file.stored_meshes):
        listing.string(f"meshes[{index}].name", mesh.name)
        for name, own in names.items():
            listing.array(f"meshes[{index}].{name}", getattr(mesh, own))
        for place, (name, values) in enumerate(mesh.custom):
            listing.string(f"meshes[{index}].custom[{place}].name", name)
            listing.array(f"meshes[{index}].custom[{place}]", values)
