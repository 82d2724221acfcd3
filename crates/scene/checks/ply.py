"""The door PLY: Z up, metres, V from the lower edge, colours in sRGB as bytes."""

from pathlib import Path

import numpy as np

from command import convert, options_of
from compare import Bounds
from drawn import REST, Array, Corners, Moment, unit

SCALARS = {"float": "<f4", "uchar": "u1", "int": "<i4", "uint": "<u4"}


class PlyDoor:
    """A binary PLY file."""

    # Colours are bytes in sRGB, whose linear light is at most this far from the exact one.
    bounds = Bounds(colors=0.0045)

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.output = path, folder / "out.ply"
        self.at(REST)

    def names(self) -> None:
        return None

    def at(self, moment: Moment) -> Corners:
        return read(convert(self.path, self.output, options_of(moment)))


def read(path: Path) -> Corners:
    data = path.read_bytes()
    end = data.index(b"end_header\n") + 11
    elements: dict[str, tuple[int, list[tuple[str, str]]]] = {}
    for line in data[:end].decode().split("\n"):
        words = line.split()
        if words[:1] == ["element"]:
            properties: list[tuple[str, str]] = []
            elements[words[1]] = (int(words[2]), properties)
        elif words[:2] == ["property", "list"]:
            properties += [("count", "u1"), ("corners", "3<u4")]
        elif words[:1] == ["property"]:
            properties.append((words[2], SCALARS[words[1]]))
    count, properties = elements["vertex"]
    vertices = np.frombuffer(data, np.dtype(properties), count, end)
    faces, properties = elements["face"]
    triangles = np.frombuffer(data, np.dtype(properties), faces, end + vertices.nbytes)
    chosen = triangles["corners"] if faces else np.arange(count)[:, None]

    def of(*names: str) -> Array | None:
        if names[0] not in (vertices.dtype.names or ()):
            return None
        return np.stack([vertices[name] for name in names], axis=1).astype(float)

    positions, normals, texcoords = of("x", "y", "z"), of("nx", "ny", "nz"), of("s", "t")
    assert positions is not None
    colors = of("red", "green", "blue", "alpha") if "alpha" in (vertices.dtype.names or ()) else of("red", "green", "blue")
    if colors is not None:
        colors = linear_of_bytes(colors)
    if texcoords is not None:
        texcoords[:, 1] = 1 - texcoords[:, 1]

    def at_corners(values: Array | None) -> Array | None:
        return None if values is None else values[chosen]

    return Corners(
        y_up(positions)[chosen],
        at_corners(None if normals is None else unit(y_up(normals))),
        at_corners(colors),
        at_corners(texcoords),
    )


def y_up(vectors: Array) -> Array:
    """From Z up."""
    x, y, z = vectors.T
    return np.stack([x, z, -y], axis=1)


def linear_of_bytes(colors: Array) -> Array:
    share = colors / 255
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    light[:, 3:] = share[:, 3:]
    return light
