"""The door OBJ: Y up, metres, V from the lower edge, colours of vertices in sRGB behind positions, and no alpha."""

import re
from pathlib import Path

import numpy as np

from command import convert, options_of
from compare import Bounds
from drawn import REST, Array, Corners, Moment, joined, unit


class ObjDoor:
    """An OBJ file with its MTL."""

    bounds = Bounds()

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.output = path, folder / "out.obj"
        self.rest = self.at(REST)
        materials = self.output.with_suffix(".mtl").read_text()
        self.materials = set(re.findall(r"^newmtl (.*)$", materials, re.MULTILINE))
        self.materials |= {Path(image).name for image in re.findall(r"^map_Kd (.*)$", materials, re.MULTILINE)}

    def names(self) -> set[str]:
        return self.materials

    def at(self, moment: Moment) -> Corners:
        return read(convert(self.path, self.output, options_of(moment)))


def read(path: Path) -> Corners:
    rows: dict[bytes, list[bytes]] = {b"v": [], b"vt": [], b"vn": [], b"f": [], b"p": []}
    for line in path.read_bytes().split(b"\n"):
        kind, _, values = line.partition(b" ")
        if kind in rows:
            rows[kind].append(values)
    vertices = numbers(rows[b"v"])
    positions, colors = vertices[:, :3], vertices[:, 3:]
    texcoords, normals = numbers(rows[b"vt"]), numbers(rows[b"vn"])
    if len(texcoords):
        texcoords[:, 1] = 1 - texcoords[:, 1]
    if rows[b"f"]:
        parts = [corners(faces) for faces in by_form(rows[b"f"])]
    else:
        points = numbers(rows[b"p"]).astype(int).reshape(-1, 1)
        parts = [np.pad(points[..., None], ((0, 0), (0, 0), (0, 2)))]
    return joined(
        [
            Corners(
                positions[part[..., 0] - 1],
                of_indices(unit(normals), part[..., 2]),
                of_indices(linear(colors), part[..., 0]) if colors.shape[1] else None,
                of_indices(texcoords, part[..., 1]),
            )
            for part in parts
        ]
    )


def numbers(rows: list[bytes]) -> Array:
    """Rows with as many numbers each."""
    flat = np.fromstring(b" ".join(rows), sep=" ")
    return flat.reshape(len(rows), -1) if rows else np.zeros((0, 3))


def by_form(faces: list[bytes]) -> list[list[bytes]]:
    """Faces one after another that have the same indices at their corners."""
    groups: list[list[bytes]] = []
    form = None
    for face in faces:
        found = (b"//" in face, face.count(b"/"))
        if found != form:
            groups.append([])
            form = found
        groups[-1].append(face)
    return groups


def corners(faces: list[bytes]) -> Array:
    """The numbers of position, coordinate and normal of corners, from 1; 0 for none."""
    has_texcoords, has_normals = b"/" in faces[0] and b"//" not in faces[0], faces[0].count(b"/") == 6
    flat = numbers([b" ".join(faces).replace(b"//", b" ").replace(b"/", b" ")]).astype(int)
    stored = flat.reshape(len(faces), 3, -1)
    out = np.zeros((len(faces), 3, 3), int)
    out[..., 0] = stored[..., 0]
    if has_texcoords:
        out[..., 1] = stored[..., 1]
    if has_normals:
        out[..., 2] = stored[..., -1]
    return out


def of_indices(values: Array, chosen: Array) -> Array | None:
    if not (chosen > 0).any():
        return None
    padded = np.concatenate([np.full((1, values.shape[1]), np.nan), values])
    return np.asarray(padded[chosen])


def linear(channels: Array) -> Array:
    """Channels of sRGB as linear light (IEC 61966-2-1)."""
    with np.errstate(invalid="ignore"):
        return np.where(channels > 0.04045, np.power((channels + 0.055) / 1.055, 2.4), channels / 12.92)
