"""The door of C: the functions `mm_scene_*` of a shared library, called as a program does that knows no format.

MESHMAP_LIBRARY names the library.
"""

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_double, c_float, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from compare import Bounds
from drawn import Absent, Array, Corners, Moment, joined, move, move_normals

POSITION, NORMAL, TEXCOORD, COLOR, JOINTS, WEIGHTS = 1, 2, 4, 5, 6, 7
U16, F32 = 3, 8
JOINT, SKIN = 1, 2
ALL_LEVELS = 1
AT_REST = ctypes.c_size_t(-1).value


class Sized(Structure):
    """A struct of the header that begins with its size."""

    def __init__(self) -> None:
        super().__init__()
        self.size = ctypes.sizeof(self)


class SceneOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("mesh", c_char_p),
        ("animations", c_void_p),
        ("levels", c_uint32),
        ("level", c_uint32),
        ("up", c_uint32),
        ("v_origin", c_uint32),
        ("unit_millimeters", c_double),
        ("has_frame", c_uint32),
        ("frame", c_uint32),
        ("skip_unreadable", c_uint32),
        ("drop_degenerate", c_uint32),
    ]


class SceneInfo(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("upright", c_float * 16),
        ("metres_per_unit", c_double),
        ("up", c_uint32),
        ("knows_up", c_bool),
        ("are_points", c_bool),
        ("is_double_sided", c_bool),
        ("shape_count", c_size_t),
        ("joint_count", c_size_t),
        ("clip_count", c_size_t),
        ("remark_count", c_size_t),
    ]


class ShapeInfo(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("address", c_char_p),
        ("key_count", c_size_t),
        ("seconds_per_key", c_double),
        ("level", c_int64),
        ("object", c_int64),
        ("is_coarser", c_bool),
        ("has_keys", c_bool),
    ]


class Material(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("image", c_char_p), ("color", c_float * 4)]


class Clip(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("frame_count", c_size_t),
        ("seconds", c_double),
        ("rate", c_float),
        ("is_rate_stored", c_bool),
        ("repeats", c_bool),
        ("event_count", c_size_t),
    ]


class MeshInfo(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("vertex_count", c_size_t),
        ("index_count", c_size_t),
        ("attribute_count", c_size_t),
        ("address", c_char_p),
        ("name", c_char_p),
        ("material", c_char_p),
        ("role", c_uint32),
        ("index_format", c_uint32),
        ("has_material_ids", c_bool),
        ("has_seconds", c_bool),
        ("role_index", c_uint64),
        ("seconds", c_double),
    ]


class Error(Sized):
    # Only the beginning of the struct, which has the text.
    _fields_ = [("size", c_size_t), ("status", ctypes.c_int32), ("format", c_uint32), ("text", c_char_p)] + [
        (name, c_char_p) for name in ("what", "address", "path", "expected", "found")
    ] + [("has_byte_range", c_bool), ("has_decoded_range", c_bool)] + [
        (name, c_uint64) for name in ("byte_begin", "byte_end", "decoded_begin", "decoded_end")
    ]


def library() -> Any:
    loaded = ctypes.CDLL(os.environ["MESHMAP_LIBRARY"])
    loaded.mm_status_name.restype = c_char_p
    loaded.mm_scene_pose.argtypes = [c_void_p, c_size_t, c_double, c_uint32, c_void_p, c_size_t, c_size_t, POINTER(c_size_t)]
    loaded.mm_scene_key_at.argtypes = [c_void_p, c_size_t, c_double, POINTER(c_size_t), POINTER(c_size_t), POINTER(c_float)]
    loaded.mm_mesh_read_attribute.argtypes = [c_void_p, c_size_t] + 3 * [c_uint32] + [c_void_p] + 2 * [c_size_t] + [POINTER(c_size_t)]
    loaded.mm_mesh_triangles.argtypes = [c_void_p, c_void_p, c_size_t, c_size_t, POINTER(c_size_t)]
    return loaded


LIBRARY = library()


class CDoor:
    """A scene, drawn by the comments of the header."""

    bounds = Bounds()

    def __init__(self, path: Path, folder: Path, level: str = "") -> None:
        self.path = path
        self.file, self.scene = c_void_p(), c_void_p()
        self.call("mm_open", os.fsencode(path), None, byref(self.file))
        options = SceneOptions()
        if level == "all":
            options.levels = ALL_LEVELS
        elif level:
            # The address of a block.
            options.mesh = level.encode()
        self.call("mm_scene_new", self.file, byref(options), byref(self.scene))
        self.info = SceneInfo()
        self.call("mm_scene_get_info", self.scene, byref(self.info))
        # Columns lie one after another.
        self.upright = np.array(self.info.upright, float).reshape(4, 4).T

    def __del__(self) -> None:
        LIBRARY.mm_scene_free(self.scene)
        LIBRARY.mm_close(self.file)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(LIBRARY, name)(*arguments)
        if status:
            error = Error()
            known = LIBRARY.mm_last_error(byref(error)) == 0 and error.status == status
            text = error.text if known else LIBRARY.mm_status_name(status)
            raise Absent(f"{name}: {text.decode()}")

    def names(self) -> set[str]:
        found = set()
        for shape in range(self.info.shape_count):
            material = Material()
            self.call("mm_scene_get_material", self.scene, c_size_t(shape), c_uint32(0), byref(material))
            found |= {material.name.decode(), Path(material.image.decode()).name}
        return found - {""}

    def at(self, moment: Moment) -> Corners:
        if moment.kind == "level":
            return CDoor(self.path, self.path, moment.name).at(Moment("rest"))
        if not self.info.shape_count and not self.info.joint_count:
            return joined([])
        if not self.info.shape_count:
            joints = self.pose(moment, JOINT)[:-1]
            return Corners(move(joints[:, :3, 3], self.upright)[:, None])
        skin = self.pose(moment, SKIN) if self.info.joint_count else np.eye(4)[None]
        return joined([self.corners(shape, moment, skin) for shape in range(self.info.shape_count)])

    def pose(self, moment: Moment, kind: int) -> Array:
        """The matrices of the joints, and the identity."""
        clip, seconds = AT_REST, 0.0
        if moment.kind == "clip":
            clip, about = moment.clip, Clip()
            self.call("mm_scene_get_clip", self.scene, c_size_t(clip), byref(about))
            seconds = moment.frame / about.rate
        count = self.info.joint_count + 1
        matrices = np.zeros((count, 4, 4), np.float32)
        self.call("mm_scene_pose", self.scene, clip, seconds, kind, matrices.ctypes.data, 0, count, None)
        return matrices.transpose(0, 2, 1).astype(float)

    def corners(self, shape: int, moment: Moment, skin: Array) -> Corners:
        about = ShapeInfo()
        self.call("mm_scene_get_shape", self.scene, c_size_t(shape), byref(about))
        if about.is_coarser:
            return Corners(np.zeros((0, 3, 3)))
        before, after, fraction = c_size_t(), c_size_t(), c_float()
        if moment.kind in ("snapshot", "between"):
            seconds = moment.frame * about.seconds_per_key
            self.call("mm_scene_key_at", self.scene, shape, seconds, byref(before), byref(after), byref(fraction))
        first, triangles = self.read(shape, before.value, skin)
        if fraction.value < 1e-6:
            return first
        second, others = self.read(shape, after.value, skin)
        if not np.array_equal(triangles, others):
            return first
        return between(first, second, fraction.value)

    def read(self, shape: int, key: int, skin: Array) -> tuple[Corners, Array]:
        """The corners of a shape at a key, moved by joints, and its triangles."""
        mesh, about = c_void_p(), MeshInfo()
        self.call("mm_scene_mesh", self.scene, c_size_t(shape), c_size_t(key), byref(mesh))
        try:
            self.call("mm_mesh_get_info", mesh, byref(about))
            positions = self.attribute(mesh, POSITION, F32, 3)
            normals = self.attribute(mesh, NORMAL, F32, 3)
            joints, weights = self.attribute(mesh, JOINTS, U16, 4), self.attribute(mesh, WEIGHTS, F32, 4)
            colors, texcoords = self.attribute(mesh, COLOR, F32, 4), self.attribute(mesh, TEXCOORD, F32, 2)
            count = about.index_count // 3
            triangles = np.zeros((count, 3), np.uint32)
            if count:
                self.call("mm_mesh_triangles", mesh, triangles.ctypes.data, 0, count, None)
        finally:
            LIBRARY.mm_mesh_free(mesh)
        assert positions is not None
        if joints is not None and weights is not None:
            blended = np.einsum("vk,vkij->vij", weights, skin[joints.astype(int)])
            positions = np.einsum("vij,vj->vi", blended[:, :3, :3], positions) + blended[:, :3, 3]
            if normals is not None:
                normals = turned(normals, blended)
        if normals is not None:
            normals = move_normals(normals, self.upright)
        chosen = np.arange(len(positions))[:, None] if self.info.are_points else triangles

        def at_corners(values: Array | None) -> Array | None:
            return None if values is None else values[chosen]

        upright = move(positions, self.upright)[chosen]
        return Corners(upright, at_corners(normals), at_corners(colors), at_corners(texcoords)), triangles

    def attribute(self, mesh: c_void_p, semantic: int, scalar: int, components: int) -> Array | None:
        index, count = c_size_t(), c_size_t()
        if LIBRARY.mm_mesh_find_attribute(mesh, c_uint32(semantic), c_uint32(0), None, byref(index)):
            return None
        self.call("mm_mesh_read_attribute", mesh, index, scalar, components, 0, None, 0, 0, byref(count))
        values = np.zeros((count.value, components), np.uint16 if scalar == U16 else np.float32)
        if count.value:
            data = values.ctypes.data
            self.call("mm_mesh_read_attribute", mesh, index, scalar, components, 0, data, 0, count.value, None)
        return values.astype(float)


def turned(normals: Array, matrices: Array) -> Array:
    """Normals, each moved by the cofactors of its matrix."""
    a, b, c = (matrices[:, row, :3] for row in range(3))
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
    return np.asarray(np.einsum("vij,vj->vi", cofactors, normals))


def between(first: Corners, second: Corners, fraction: float) -> Corners:
    """Positions and normals between two keys of the same triangles."""
    normals = first.normals
    if normals is not None and second.normals is not None:
        normals = normals + (second.normals - normals) * fraction
        normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    positions = first.positions + (second.positions - first.positions) * fraction
    return Corners(positions, normals, first.colors, first.texcoords)
