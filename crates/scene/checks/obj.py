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
    rows: dict[str, list[list[str]]] = {"v": [], "vt": [], "vn": [], "f": [], "p": []}
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            kind, *values = line.split()
            if kind in rows:
                rows[kind].append(values)
    vertices = numbers(rows["v"], 6)
    positions, colors = vertices[:, :3], vertices[:, 3:]
    texcoords, normals = numbers(rows["vt"], 2), numbers(rows["vn"], 3)
    texcoords[:, 1] = 1 - texcoords[:, 1]
    if rows["f"]:
        corners = np.array([[indices(corner) for corner in face] for face in rows["f"]])
    else:
        points = [int(point) for row in rows["p"] for point in row]
        corners = np.array([[[point, 0, 0]] for point in points], dtype=int).reshape(-1, 1, 3)
    return joined(
        [
            Corners(
                positions[corners[..., 0] - 1],
                of_indices(unit(normals), corners[..., 2]),
                of_indices(linear(colors), corners[..., 0]) if np.isfinite(colors).any() else None,
                of_indices(texcoords, corners[..., 1]),
            )
        ]
    )


def numbers(rows: list[list[str]], count: int) -> Array:
    """Rows of numbers, filled with NaN."""
    full = [row[:count] + ["nan"] * (count - len(row)) for row in rows]
    return np.array(full, dtype=float).reshape(-1, count)


def indices(corner: str) -> list[int]:
    """The numbers of position, coordinate and normal, from 1; 0 for none."""
    parts = [int(part) if part else 0 for part in corner.split("/")]
    return (parts + [0, 0])[:3]


def of_indices(values: Array, chosen: Array) -> Array | None:
    if not (chosen > 0).any():
        return None
    padded = np.concatenate([np.full((1, values.shape[1]), np.nan), values])
    return np.asarray(padded[chosen])


def linear(channels: Array) -> Array:
    """Channels of sRGB as linear light (IEC 61966-2-1)."""
    with np.errstate(invalid="ignore"):
        return np.where(channels > 0.04045, np.power((channels + 0.055) / 1.055, 2.4), channels / 12.92)
