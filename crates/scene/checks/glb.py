"""The door GLB: a reader of glTF 2.0 that evaluates nodes, skins, morph targets and animations by the specification."""

import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from command import convert, options_of
from compare import Bounds
from drawn import REST, Absent, Array, Corners, Moment, joined, move, unit

TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
NUMBERS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Glb:
    """A GLB file."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        length = struct.unpack_from("<I", data, 12)[0]
        self.json: dict[str, Any] = json.loads(data[20 : 20 + length])
        self.binary = memoryview(data)[28 + length :]
        self.known: dict[int, Array] = {}

    def elements(self, view: int, offset: int, kind: int, numbers: int, count: int) -> Array:
        entry = self.json["bufferViews"][view]
        start = entry.get("byteOffset", 0) + offset
        dtype = np.dtype(TYPES[kind])
        step = entry.get("byteStride") or dtype.itemsize * numbers
        return np.ndarray((count, numbers), dtype, self.binary, start, (step, dtype.itemsize)).copy()

    def accessor(self, index: int) -> Array:
        """The numbers of an accessor, as floats unless they are plain integers."""
        if index in self.known:
            return self.known[index]
        entry = self.json["accessors"][index]
        numbers, count, kind = NUMBERS[entry["type"]], entry["count"], entry["componentType"]
        if "bufferView" in entry:
            values = self.elements(entry["bufferView"], entry.get("byteOffset", 0), kind, numbers, count)
        else:
            values = np.zeros((count, numbers), TYPES[kind])
        if sparse := entry.get("sparse"):
            places, others = sparse["indices"], sparse["values"]
            rows = self.elements(places["bufferView"], places.get("byteOffset", 0), places["componentType"], 1, sparse["count"])
            values[rows[:, 0]] = self.elements(others["bufferView"], others.get("byteOffset", 0), kind, numbers, sparse["count"])
        if entry.get("normalized"):
            values = np.maximum(values / np.iinfo(values.dtype).max, -1.0)
        elif kind == 5126:
            values = values.astype(float)
        self.known[index] = values
        return values


def sampled(times: Array, values: Array, seconds: float, rule: str, is_rotation: bool) -> Array:
    """The value of a sampler at a time. Values of one key may be several rows."""
    keys: Array = values.reshape(len(times), -1)
    # Times are stored in single precision, and the microseconds of a proxy are rounded.
    near = int(np.abs(times - seconds).argmin())
    if abs(times[near] - seconds) < 1e-6 * (near + 1) + 1e-6 * abs(seconds):
        return np.asarray(keys[near])
    after = int(np.searchsorted(times, seconds))
    if after == 0 or after == len(times):
        return np.asarray(keys[min(after, len(times) - 1)])
    if rule == "STEP":
        return np.asarray(keys[after - 1])
    share = (seconds - times[after - 1]) / (times[after] - times[after - 1])
    first, second = keys[after - 1], keys[after]
    if not is_rotation:
        return np.asarray(first * (1 - share) + second * share)
    cosine = float(first @ second)
    second, cosine = (-second, -cosine) if cosine < 0 else (second, cosine)
    if cosine > 1 - 1e-9:
        return np.asarray(first * (1 - share) + second * share)
    angle = np.arccos(cosine)
    return np.asarray((np.sin((1 - share) * angle) * first + np.sin(share * angle) * second) / np.sin(angle))


def local_matrix(node: dict[str, Any]) -> Array:
    if "matrix" in node:
        return np.asarray(node["matrix"], float).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0, 0, 0, 1))
    out = np.eye(4)
    out[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    out[:3, :3] *= np.asarray(node.get("scale", (1, 1, 1)), float)
    out[:3, 3] = node.get("translation", (0, 0, 0))
    return out


class GlbDoor:
    """A GLB file as it is drawn."""

    # Colours are 16-bit integers.
    bounds = Bounds(colors=0.51 / 65535)

    def __init__(self, path: Path, folder: Path, options: tuple[str, ...] = ()) -> None:
        self.path, self.folder = path, folder
        # Otherwise only the first snapshot has normals.
        always = ("--morph-normals",) if path.suffix == ".cgeo" else ()
        self.glb = Glb(convert(path, folder / "out.glb", options + always))
        self.json = self.glb.json

    def names(self) -> set[str]:
        names = {material.get("name", "") for material in self.json.get("materials", [])}
        return names | {Path(unquote(image["uri"])).name for image in self.json.get("images", []) if "uri" in image}

    def nodes_at(self, moment: Moment) -> list[dict[str, Any]]:
        """The nodes with their transforms and weights at a moment."""
        nodes = [dict(node) for node in self.json["nodes"]]
        if moment.kind == "rest":
            return nodes
        animations = self.json.get("animations", [])
        if moment.clip >= len(animations):
            raise Absent(f"{len(animations)} animations")
        animation = animations[moment.clip]
        for channel in animation["channels"]:
            sampler, target = animation["samplers"][channel["sampler"]], channel["target"]
            times, values = self.glb.accessor(sampler["input"])[:, 0], self.glb.accessor(sampler["output"])
            rule, name = sampler.get("interpolation", "LINEAR"), target["path"]
            nodes[target["node"]][name] = sampled(times, values, moment.seconds, rule, name == "rotation")
        return nodes

    def at(self, moment: Moment) -> Corners:
        if moment.kind == "level":
            return GlbDoor(self.path, self.folder, options_of(moment)).at(REST)
        nodes = self.nodes_at(moment)
        world: dict[int, Array] = {}
        order = list(self.json["scenes"][self.json.get("scene", 0)]["nodes"])
        for root in order:
            world[root] = local_matrix(nodes[root])
        for index in order:
            for child in nodes[index].get("children", []):
                world[child] = world[index] @ local_matrix(nodes[child])
                order.append(child)
        parts = []
        for index in order:
            # A node without size is how runs of snapshots are hidden.
            if "mesh" in nodes[index] and np.abs(world[index][:3, :3]).max() > 0:
                parts += self.mesh(nodes[index], world, index)
        if not parts:
            return self.joints(world)
        return joined(parts)

    def joints(self, world: dict[int, Array]) -> Corners:
        """The places of joints, in a file without meshes."""
        joints = [joint for skin in self.json.get("skins", [])[:1] for joint in skin["joints"]]
        if not joints:
            children = {child for node in self.json["nodes"] for child in node.get("children", [])}
            joints = sorted(children & set(world))
        return Corners(np.array([world[joint][None, :3, 3] for joint in joints]).reshape(-1, 1, 3))

    def mesh(self, node: dict[str, Any], world: dict[int, Array], index: int) -> list[Corners]:
        mesh = self.json["meshes"][node["mesh"]]
        weights = np.asarray(node.get("weights", mesh.get("weights", [])), float)
        skin = self.json["skins"][node["skin"]] if "skin" in node else None
        return [self.primitive(primitive, weights, skin, world, world[index]) for primitive in mesh["primitives"]]

    def primitive(
        self, primitive: dict[str, Any], weights: Array, skin: dict[str, Any] | None, world: dict[int, Array], place: Array
    ) -> Corners:
        attributes = {name: self.glb.accessor(index) for name, index in primitive["attributes"].items()}
        positions, normals = attributes["POSITION"].astype(float), attributes.get("NORMAL")
        for weight, target in zip(weights, primitive.get("targets", [])):
            if weight:
                positions = positions + weight * self.glb.accessor(target["POSITION"])
                if "NORMAL" in target and normals is not None:
                    normals = normals + weight * self.glb.accessor(target["NORMAL"])
        if skin is None:
            positions = move(positions, place)
            if normals is not None:
                normals = unit(normals @ np.linalg.inv(place[:3, :3])) * np.sign(np.linalg.det(place[:3, :3]))
        else:
            moved = self.skinning(attributes, skin, world)
            positions = np.einsum("vij,vj->vi", moved[:, :3, :3], positions) + moved[:, :3, 3]
            if normals is not None:
                # A matrix that mirrors turns the front of a triangle around, and its normal with it.
                sides = np.sign(np.linalg.det(moved[:, :3, :3]))
                normals = unit(np.einsum("vji,vj->vi", inverses(moved[:, :3, :3]), normals)) * sides[:, None]
        corners = self.corners(primitive, len(positions))
        colors = attributes.get("COLOR_0")
        if colors is not None and colors.shape[1] == 3:
            colors = np.concatenate([colors, np.ones((len(colors), 1))], axis=1)
        texcoords = attributes.get("TEXCOORD_0")
        texcoords = self.transformed(primitive, texcoords)

        def of(array: Array | None) -> Array | None:
            return None if array is None else array[corners]

        return Corners(positions[corners], of(normals), of(colors), of(texcoords))

    def transformed(self, primitive: dict[str, Any], texcoords: Array | None) -> Array | None:
        """Texture coordinates through KHR_texture_transform, which quantized ones need."""
        material = self.json["materials"][primitive["material"]] if "material" in primitive else {}
        texture = material.get("pbrMetallicRoughness", {}).get("baseColorTexture", {})
        transform = texture.get("extensions", {}).get("KHR_texture_transform")
        if texcoords is None or transform is None:
            return texcoords
        return np.asarray(texcoords * transform.get("scale", (1, 1)) + transform.get("offset", (0, 0)))

    def skinning(self, attributes: dict[str, Array], skin: dict[str, Any], world: dict[int, Array]) -> Array:
        """The matrix of each vertex: the sum of the matrices of its joints by its weights, which glTF asks to have the sum 1."""
        places = np.stack([world[joint] for joint in skin["joints"]])
        if "inverseBindMatrices" in skin:
            places = places @ self.glb.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        out = np.zeros((len(attributes["JOINTS_0"]), 4, 4))
        for joints, weights in zip(attributes["JOINTS_0"].T.astype(int), attributes["WEIGHTS_0"].T):
            out += weights[:, None, None] * places[joints]
        return out

    def corners(self, primitive: dict[str, Any], vertices: int) -> Array:
        indices = self.glb.accessor(primitive["indices"])[:, 0].astype(int) if "indices" in primitive else np.arange(vertices)
        if primitive.get("mode", 4) == 0:
            return indices[:, None]
        return indices.reshape(-1, 3)


def inverses(matrices: Array) -> Array:
    """Inverse matrices; NaN for singular matrices."""
    with np.errstate(all="ignore"):
        singular = np.abs(np.linalg.det(matrices)) < 1e-300
        out: Array = np.linalg.inv(np.where(singular[:, None, None], np.eye(3), matrices))
    out[singular] = np.nan
    return out
