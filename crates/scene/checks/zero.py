"""Column zero: what a file shows, from the stored arrays and the rules of its format, independent of all doors.

The rules are written from the specifications, and share no code with `crates/scene`.

| rule | source |
|---|---|
| IQM, Second Life mesh and CGeo have Z up, OpenCTM and TMF Y up | SDK, viewer, 3ds Max; the tools convert OBJ without a change |
| fronts are where most normals of the first mesh with normals point; without normals clockwise in IQM, else counter-clockwise | SDK |
| V counts from the upper edge in IQM, else from the lower one | SDK, viewer, OBJ |
| a unit is a metre; in CGeo, what the two sizes of the box in the header say, else `Scale` millimetres | Corona |
| drawn are the finest level of detail and, at rest, the first snapshot; no mesh for physics | viewer |
| colours are sRGB, if all numbers are from 0 to 1; else they are no colours | exporters |
| integers of IQM are normalized, except for joints | SDK |
| snapshots follow each other in whole microseconds, which are rounded steps of usual rates: 33,333 are 30 a second | film, television |
| a pose is translation x rotation x scale, relative to the parent *pose*; joints at rest hang on parent *joints* | iqm.txt |
| weights have the sum 1, the largest four count; a vertex without weights rests | SDK, engines |
| a joint that does not exist moves nothing; in a Second Life mesh it is the last joint | engines, viewer |
| faces with weights are in the bind shape of the skin, their normals by its cofactors | viewer |
"""

import math
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from drawn import REST, Array, Corners, Moment, joined, move, move_normals, unit
from stored import IqmTables, cgeo_properties, read

# The frames or snapshots per second of a file that stores no rate.
USUAL_RATE = 24.0
# If a file has more clips, the first, the last and some others by a fixed seed are compared.
MOST_CLIPS = 6
SEED = 20

Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
Y_UP = np.eye(4)


@dataclass
class Part:
    """A mesh: arrays, each with the indices of corners that refer to it."""

    positions: Array
    corners: Array
    normals: Array | None = None
    normal_corners: Array | None = None
    colors: Array | None = None
    color_corners: Array | None = None
    texcoords: Array | None = None
    texcoord_corners: Array | None = None
    # The stored arrays, if others are drawn.
    stored: "Part | None" = None
    names: list[str] = field(default_factory=list)

    def gather(self, name: str) -> Array | None:
        """The elements at the corners."""
        values: Array | None = getattr(self, name + "s")
        own: Array | None = getattr(self, name + "_corners", None)
        corners = self.corners if own is None else own
        if values is None or len(values) == 0 < len(corners):
            return None
        return values[corners]


class Zero:
    """A file as it is stored and meant."""

    def __init__(self, path: Path) -> None:
        self.stored = read(path)
        self.up = Z_UP
        self.metres = 1.0
        self.v_from_top = False
        self.is_clockwise = False
        self.moments: list[Moment] = [REST]
        self.is_joints = False
        self.clip_names: list[str] = []

    @property
    def verified(self) -> int:
        return self.stored.verified

    def parts(self, moment: Moment) -> list[Part]:
        raise NotImplementedError

    def turned(self, moment: Moment) -> bool:
        """True if the order of corners is reversed, so that fronts are counter-clockwise."""
        # A level is looked at by itself; a snapshot is a state of one object.
        for part in self.parts(moment if moment.kind == "level" else REST):
            sign = side_of_normals(part.stored or part)
            if sign:
                return sign < 0
        return self.is_clockwise

    def at(self, moment: Moment) -> Corners:
        if moment.kind == "between":
            return self.between(moment)
        parts = self.parts(moment)
        reverse = self.turned(moment)
        shown = [self.corners_of(part, reverse) for part in parts]
        if all(is_degenerate(part.corners).all() for part in parts):
            shown = [self.points_of(part) for part in parts]
        return joined(shown)

    def between(self, moment: Moment) -> Corners:
        """The mean of two snapshots with the same triangles; else the earlier one."""
        first, second = (self.at(Moment("snapshot", 0, find(moment.frame))) for find in (math.floor, math.ceil))
        if first.positions.shape != second.positions.shape or not self.have_same_triangles(moment):
            return first
        share = moment.frame - math.floor(moment.frame)
        first.positions = first.positions * (1 - share) + second.positions * share
        if first.normals is not None and second.normals is not None:
            first.normals = unit(first.normals * (1 - share) + second.normals * share)
        # Doors may interpolate these or not.
        first.texcoords = None
        return first

    def have_same_triangles(self, moment: Moment) -> bool:
        return True

    def is_sheared(self, moment: Moment) -> bool:
        return False

    def shears_bones(self, moment: Moment) -> bool:
        return False

    def turns_alone(self, moment: Moment) -> bool:
        """True if the normals of a snapshot show other fronts than the normals of the first snapshot."""
        sides = [side_of_normals(part) for when in (REST, moment) for part in self.parts(when)[:1]]
        return len(sides) == 2 and sides[0] != sides[1]

    def corners_of(self, part: Part, reverse: bool) -> Corners:
        positions = part.gather("position")
        assert positions is not None
        colors, texcoords = part.gather("color"), part.gather("texcoord")
        corners = Corners(positions, part.gather("normal"), colors, texcoords)
        self.make_upright(corners)
        if reverse:
            for name in ("positions", "normals", "colors", "texcoords"):
                array = getattr(corners, name)
                setattr(corners, name, None if array is None else array[:, ::-1])
        return corners

    def points_of(self, part: Part) -> Corners:
        count = len(part.positions)

        def of(array: Array | None) -> Array | None:
            return array[:, None] if array is not None and len(array) == count else None

        corners = Corners(part.positions[:, None], of(part.normals), of(part.colors), of(part.texcoords))
        self.make_upright(corners)
        return corners

    def make_upright(self, corners: Corners) -> None:
        corners.positions = move(corners.positions.astype(float), self.up) * self.metres
        if corners.normals is not None:
            corners.normals = move_normals(corners.normals.astype(float), self.up)
        if corners.texcoords is not None:
            corners.texcoords = corners.texcoords[..., :2].astype(float)
            if not self.v_from_top:
                corners.texcoords[..., 1] = 1 - corners.texcoords[..., 1]

    def names(self) -> set[str]:
        """The names of materials, and of images in the folder of the file."""
        names = {name for part in self.parts(REST) for name in part.names if name and len(part.corners)}
        # A name without an ending may be the one of a PNG.
        paths = [path for name in names for path in (Path(name).name, Path(name).name + ".png")]
        beside = {path.name for path in self.stored.path.parent.iterdir()}
        return names | beside.intersection(paths)


def is_degenerate(corners: Array) -> Array:
    """True for triangles with two equal corners, which are not drawn. A mesh of nothing else is a cloud of points."""
    a, b, c = corners.reshape(-1, 3).T
    return np.asarray((a == b) | (b == c) | (c == a))


def side_of_normals(part: Part) -> int:
    """1 if most normals point to the side from which corners run counter-clockwise, -1 if most point away, 0 if neither.

    About 4,096 triangles are asked, as the documentation of the library says: in a file of random normals, others give another
    answer.
    """
    positions, normals = part.gather("position"), part.gather("normal")
    if positions is None or normals is None or not len(positions):
        return 0
    every = math.ceil(len(positions) / 4096)
    positions, normals = positions[::every], normals[::every]
    with np.errstate(all="ignore"):
        a, b, c = np.moveaxis(positions.astype(float), 1, 0)
        along = np.einsum("ij,ikj->ik", np.cross(b - a, c - a), normals.astype(float))
    return int(np.sign(np.sign(np.nan_to_num(along)).sum()))


def linear_light(colors: Array) -> Array | None:
    """Colours in sRGB as linear light; None if they are no colours."""
    colors = colors.astype(float)
    if colors.shape[1] < 4:
        # Alpha is 1, other components are 0.
        added = np.zeros((len(colors), 4 - colors.shape[1]))
        added[:, -1] = 1
        colors = np.concatenate([colors, added], axis=1)
    with np.errstate(all="ignore"):
        if not ((colors >= 0) & (colors <= 1)).all():
            return None
        light = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    light[:, 3] = colors[:, 3]
    return light


class OpenCtm(Zero):
    """Bodies. The first UV map is the texture coordinates; the first attribute map named `Color` is the colours."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.up = Y_UP
        self.list = [self.part_of(f"bodies[{body}]") for body in range(self.stored.count("bodies", ".positions"))]

    def part_of(self, body: str) -> Part:
        stored = self.stored
        colors = None
        for number in reversed(range(stored.count(f"{body}.attribute_maps", ".values"))):
            if stored.texts.get(f"{body}.attribute_maps[{number}].name", "").lower() == "color":
                colors = linear_light(stored.arrays[f"{body}.attribute_maps[{number}].values"])
        image = stored.texts.get(f"{body}.uv_maps[0].file", "")
        return Part(
            stored.arrays[f"{body}.positions"],
            stored.arrays[f"{body}.indices"],
            normals=stored.get(f"{body}.normals"),
            colors=colors,
            texcoords=stored.get(f"{body}.uv_maps[0].coords"),
            names=[image],
        )

    def parts(self, moment: Moment) -> list[Part]:
        return self.list


class Tmf(Zero):
    """Meshes whose arrays have indices of their own. Indices beyond the last whole triangle mean nothing."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.up = Y_UP
        numbers = {int(address[7 : address.index("]")]) for address in self.stored.arrays if address.startswith("meshes[")}
        self.list = [
            self.part_of(number) for number in sorted(numbers) if self.stored.get(f"meshes[{number}].vertices") is not None
        ]

    def part_of(self, number: int) -> Part:

        def get(name: str) -> Array | None:
            return self.stored.get(f"meshes[{number}].{name}")

        vertices, lead = get("vertices"), get("vertex_triangles")
        assert vertices is not None

        def triangles(indices: Array | None) -> Array:
            indices = np.zeros(0, np.uint32) if indices is None else indices
            return indices[: len(indices) // 3 * 3].reshape(-1, 3)

        part = Part(vertices, triangles(lead))
        for name, source in (("normal", "normals"), ("texcoord", "uvs")):
            values, indices = get(source), get(source[:-1] + "_triangles")
            if values is None:
                continue
            if lead is not None and indices is not None and len(indices) == len(lead):
                setattr(part, name + "_corners", triangles(indices))
            elif len(values) != len(vertices):
                # Neither an index for each corner nor an element for each vertex.
                continue
            setattr(part, name + "s", values)
        for custom in range(self.stored.count(f"meshes[{number}].custom", "")):
            values = self.stored.arrays[f"meshes[{number}].custom[{custom}]"]
            if values.ndim == 2 and values.shape[1] == 4 and len(values) == len(vertices) > 0:
                part.colors = linear_light(values)
                break
        return part

    def parts(self, moment: Moment) -> list[Part]:
        return self.list


class SlMesh(Zero):
    """Faces of the finest level that the asset has, or of another one."""

    LEVELS = ("high_lod", "medium_lod", "low_lod", "lowest_lod")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.levels = [name for name in self.LEVELS if self.faces_of(name)]
        if len(self.levels) > 1:
            self.moments = [REST, *(Moment("level", name=name) for name in [*self.levels, "all"])]

    def faces_of(self, level: str) -> list[int]:
        start = f"{level}.faces["
        names = [address[len(start) :] for address in self.stored.arrays if address.startswith(start)]
        return sorted({int(name[: name.index("]")]) for name in names if name.endswith(".positions")})

    def part_of(self, face: str) -> Part:

        def get(name: str) -> Array | None:
            return self.stored.get(f"{face}.{name}")

        positions, indices = get("positions"), get("indices")
        assert positions is not None
        indices = np.zeros(0, np.uint16) if indices is None else indices
        part = Part(positions, indices[: len(indices) // 3 * 3].reshape(-1, 3), normals=get("normals"), texcoords=get("tex_coords"))
        shape = self.stored.get("skin.bind_shape_matrix")
        if get("joint_weights") is not None and shape is not None and np.isfinite(shape).all():
            part.stored = replace(part)
            # Row vectors times the matrix: as a matrix for columns, it is the transpose.
            matrix = shape.reshape(4, 4).T.astype(float)
            part.positions = move(part.positions.astype(float), matrix)
            if part.normals is not None:
                part.normals = move_normals(part.normals.astype(float), matrix)
        return part

    def parts(self, moment: Moment) -> list[Part]:
        if not self.levels:
            return []
        # The finest of all levels is shown.
        level = moment.name if moment.name in self.levels else self.levels[0]
        return [self.part_of(f"{level}.faces[{face}]") for face in self.faces_of(level)]


class CGeo(Zero):
    """Snapshots of one object."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        properties = cgeo_properties(path)
        self.metres = unit_of(properties) or 1.0
        self.count = self.stored.count("snapshots", ".positions")
        step = number(properties.get("time per animation snapshot [microseconds]", "")) or 0.0
        self.step = 1 / rate_of(step) if step > 0 else 1 / USUAL_RATE
        shown = sorted({0, self.count // 2, self.count - 1} & set(range(self.count)))
        self.moments = [REST] + [Moment("snapshot", 0, frame, frame * self.step) for frame in shown if self.count > 1]
        if self.count > 1:
            between = self.count // 2 - 0.5
            self.moments.append(Moment("between", 0, between, between * self.step))

    def part_at(self, snapshot: int) -> Part:

        def get(name: str) -> Array | None:
            return self.stored.get(f"snapshots[{snapshot}].{name}")

        positions, corners = get("positions"), get("triangles.positions")
        assert positions is not None
        corners = np.zeros((0, 3), np.uint32) if corners is None else corners
        return Part(
            positions,
            corners,
            normals=get("normals"),
            normal_corners=get("triangles.normals"),
            texcoords=get("map_channels[0]"),
            texcoord_corners=get("triangles.map_channels[0]"),
        )

    def parts(self, moment: Moment) -> list[Part]:
        return [self.part_at(int(moment.frame))] if self.count else []

    def have_same_triangles(self, moment: Moment) -> bool:
        first, second = (self.part_at(int(find(moment.frame))) for find in (math.floor, math.ceil))
        return np.array_equal(first.corners, second.corners)


def rate_of(microseconds: float) -> float:
    """The snapshots per second: a whole number, or one of television, whose step is rounded to the stored one; else the exact one."""
    exact = 1e6 / microseconds
    for television in (1.0, 1.001):
        rate = round(exact * television) / television
        if 1 <= round(rate) <= 240 and abs(1e6 / rate - microseconds) < 1:
            return rate
    return exact


def number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def unit_of(properties: dict[str, str]) -> float | None:
    """Metres per unit: by the longest side of the box, which the header has in both units, or by its scale."""
    sizes = []
    for name in ("bounding box size (original units)", "bounding box size (millimeters)"):
        sizes.append([number(text) or 0.0 for text in properties.get(name, "").split()[:3]])
    sides = [side for side in zip(*sizes) if min(side) > 0]
    if sides and all(len(size) == 3 for size in sizes):
        units, millimetres = max(sides)
        return float(millimetres / units / 1000)
    scale = number(properties.get("scale", ""))
    return scale / 1000 if scale is not None and scale > 0 else None


class Iqm(Zero):
    """Meshes, joints, and clips that move them."""

    POSITION, TEXCOORD, NORMAL, JOINTS, WEIGHTS, COLOR = 0, 1, 2, 4, 5, 6
    FLOATS = (6, 7, 8)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.v_from_top = True
        self.is_clockwise = True
        self.tables = IqmTables(path)
        tables = self.tables
        self.is_joints = not tables.meshes
        self.rest_joints = self.joints_at_rest()
        clips = [clip for clip in tables.anims if 0 < clip[2] and clip[1] + clip[2] <= tables.frames]
        poses = len(tables.pose_parents)
        joints = len(tables.joint_parents) or (poses if self.is_joints else 0)
        # Joints of which a number is NaN move nothing.
        self.clips = clips if poses == joints > 0 and np.isfinite(self.rest_joints).all() else []
        self.clip_names = [clip[0] for clip in self.clips]
        self.moments = [REST, *self.moments_of_clips()]

    def moments_of_clips(self) -> list[Moment]:
        chosen = list(range(len(self.clips)))
        if len(chosen) > MOST_CLIPS:
            others = random.Random(SEED).sample(chosen[1:-1], MOST_CLIPS - 2)
            chosen = [0, *sorted(others), chosen[-1]]
        moments = []
        for clip in chosen:
            name, _, count, rate, _ = self.clips[clip]
            is_named = bool(name) and self.clip_names.index(name) == clip
            rate = rate if 0 < rate < math.inf else USUAL_RATE
            for frame in sorted({(count - 1) // 2, count - 1}):
                moments.append(Moment("clip", clip, frame, frame / rate, name, is_named))
        return moments

    def array_of(self, kind: int) -> Array | None:
        """The first vertex array of a type, as floats."""
        for index, (found, form, _) in enumerate(self.tables.vertex_arrays):
            if found != kind:
                continue
            array = self.stored.arrays[f"vertex_arrays[{index}]"]
            if form in self.FLOATS or kind == self.JOINTS:
                return array.astype(float)
            most = np.iinfo(array.dtype).max
            return np.maximum(array.astype(float) / most, -1.0)
        return None

    def joints_at_rest(self) -> Array:
        """The places of joints, as matrices in the model's space."""
        joints = self.stored.get("joints")
        if joints is not None and len(joints):
            return in_model_space(matrices(joints), self.tables.joint_parents)
        return self.places(0) if self.is_joints and self.tables.frames and self.tables.pose_parents else np.zeros((0, 4, 4))

    def places(self, frame: int) -> Array:
        """The places of joints in a frame: poses hang on poses."""
        return in_model_space(matrices(self.stored.arrays["frames"][frame]), self.tables.pose_parents)

    def places_at(self, moment: Moment) -> Array:
        if moment.kind == "rest":
            return self.rest_joints
        return self.places(self.clips[moment.clip][1] + int(moment.frame))

    def parts(self, moment: Moment) -> list[Part]:
        positions = self.array_of(self.POSITION)
        if positions is None or not self.tables.meshes:
            return []
        positions = widened(positions, 3)
        normals, texcoords, colors = (self.array_of(kind) for kind in (self.NORMAL, self.TEXCOORD, self.COLOR))
        normals = None if normals is None else widened(normals, 3)
        texcoords = None if texcoords is None else widened(texcoords, 2)
        if moment.kind == "clip":
            skin = self.skin(self.places_at(moment), len(positions))
            positions = np.einsum("vij,vj->vi", skin[:, :3, :3], positions) + skin[:, :3, 3]
            if normals is not None:
                normals = np.einsum("vij,vj->vi", cofactors(skin), normals)
        triangles = self.stored.get("triangles")
        parts = []
        for _, material, first, count in self.tables.meshes:
            chosen = np.zeros((0, 3), np.uint32) if triangles is None else triangles[first : first + count]
            # Colours are decided by each mesh.
            used = np.unique(chosen)
            light = None if colors is None or not len(used) else linear_light(colors[used])
            corners = None if light is None else np.searchsorted(used, chosen)
            parts.append(
                Part(positions, chosen, normals=normals, colors=light, color_corners=corners, texcoords=texcoords, names=[material])
            )
        return parts

    def skin(self, places: Array, vertices: int) -> Array:
        """The matrix of each vertex: the mean of what its joints do, by their weights."""
        moved = places @ np.linalg.inv(self.rest_joints)
        joints, weights = influences(self.array_of(self.JOINTS), self.array_of(self.WEIGHTS), len(moved), vertices)
        total = weights.sum(axis=1)
        blended = np.einsum("vk,vkij->vij", weights, moved[joints]) / np.where(total > 0, total, 1)[:, None, None]
        blended[total <= 0] = np.eye(4)
        return np.asarray(blended)

    def is_sheared(self, moment: Moment) -> bool:
        """True if the place of a joint relative to its parent is sheared, because poses have other parents."""
        if moment.kind != "clip" or self.tables.joint_parents == self.tables.pose_parents or not self.tables.joint_parents:
            return False
        places = self.places_at(moment)
        for joint, parent in enumerate(self.tables.joint_parents):
            local = (np.linalg.pinv(places[parent]) if parent >= 0 else np.eye(4)) @ places[joint]
            if is_sheared(local):
                return True
        return False

    def shears_bones(self, moment: Moment) -> bool:
        """True if the place of a joint, or the transform of its vertices, is sheared."""
        places = self.places_at(moment)
        return any(is_sheared(matrix) for matrix in [*places, *(places @ np.linalg.inv(self.rest_joints))])

    def at(self, moment: Moment) -> Corners:
        if not self.is_joints:
            return super().at(moment)
        places = self.places_at(moment)
        corners = Corners(places[:, None, :3, 3])
        self.make_upright(corners)
        return corners


def widened(array: Array, components: int) -> Array:
    """Components that are not stored are 0."""
    missing = max(0, components - array.shape[1])
    return np.pad(array, ((0, 0), (0, missing)))[:, :components]


def matrices(poses: Array) -> Array:
    """Poses of ten numbers as matrices for columns: a point is scaled, rotated by a quaternion of length 1, and translated."""
    poses = poses.astype(float)
    translate, rotate, scale = poses[:, :3], poses[:, 3:7], poses[:, 7:]
    with np.errstate(all="ignore"):
        x, y, z, w = (rotate / np.linalg.norm(rotate, axis=1, keepdims=True)).T
    out = np.zeros((len(poses), 4, 4))
    out[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=1)
    out[:, 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=1)
    out[:, 2, :3] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1)
    out[:, :3, :3] *= scale[:, None, :]
    out[:, :3, 3] = translate
    out[:, 3, 3] = 1
    return out


def is_sheared(matrix: Array) -> bool:
    axes = matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=0).clip(1e-30)
    return bool(np.abs(axes.T @ axes - np.eye(3)).max() > 1e-5)


def in_model_space(relative: Array, parents: list[int]) -> Array:
    places = relative.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            places[joint] = places[parent] @ relative[joint]
    return places


def cofactors(skin: Array) -> Array:
    rows = skin[:, :3, :3]
    a, b, c = rows[:, 0], rows[:, 1], rows[:, 2]
    return np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)


def influences(joints: Array | None, weights: Array | None, count: int, vertices: int) -> tuple[Array, Array]:
    """At most four joints of each vertex, which exist, and their weights."""
    if joints is None or weights is None or not count:
        return np.zeros((vertices, 1), int), np.zeros((vertices, 1))
    stored = min(joints.shape[1], weights.shape[1])
    joints, weights = joints[:, :stored], weights[:, :stored].copy()
    with np.errstate(invalid="ignore"):
        weights[~np.isfinite(weights) | (weights < 0) | (joints >= count) | (joints < 0)] = 0
    joints = np.where(weights > 0, joints, 0).astype(int)
    return joints, weights


ZEROS: dict[str, Any] = {"openctm": OpenCtm, "tmf": Tmf, "slmesh": SlMesh, "cgeo": CGeo, "iqm": Iqm}
ENDINGS = {".ctm": "openctm", ".slm": "slmesh", ".llmesh": "slmesh"}


def column_zero(path: Path) -> Zero:
    zero: Zero = ZEROS[ENDINGS.get(path.suffix, path.suffix[1:])](path)
    return zero
